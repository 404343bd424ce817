//! The list of faults against the clauses it names.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a panic is a failed test")]

use mcp_hil_faults::{Transport, faults, find, variants};
use serde_json::Value;
use std::collections::{HashMap, HashSet};

const CLAUSES: &str = include_str!("../../requirements.jsonl");

fn clauses() -> HashMap<String, Value> {
    let rows = CLAUSES
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap());
    rows.map(|row| (row["id"].as_str().unwrap().to_owned(), row))
        .collect()
}

#[test]
fn every_fault_breaks_a_clause_of_its_level_and_revisions() {
    let clauses = clauses();
    let mut wrong = Vec::new();
    for fault in faults() {
        let Some(row) = clauses.get(fault.clause) else {
            wrong.push(format!("{}: there is no clause {}", fault.name, fault.clause));
            continue;
        };
        let level = fault.level.map(|level| level.to_string());
        if row["level"].as_str() != level.as_deref() {
            wrong.push(format!("{}: {} is a {}", fault.name, fault.clause, row["level"]));
        }
        if row["role"] == "client" {
            wrong.push(format!("{}: {} is about clients", fault.name, fault.clause));
        }
        let revisions = row["revisions"].as_array().unwrap();
        if !fault
            .revisions
            .iter()
            .all(|revision| revisions.contains(&revision.as_str().into()))
        {
            wrong.push(format!(
                "{}: {} is of {}",
                fault.name, fault.clause, row["revisions"]
            ));
        }
        if row["area"] != fault.area {
            wrong.push(format!(
                "{}: the area of {} is {}",
                fault.name, fault.clause, row["area"]
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn names_are_unique_and_found() {
    let mut seen = HashSet::new();
    for fault in faults().iter().chain(variants()) {
        assert!(seen.insert(fault.name), "{} twice", fault.name);
        assert_eq!(find(fault.name).map(|found| found.about), Some(fault.about));
        assert!(
            !fault.about.is_empty() && !fault.revisions.is_empty(),
            "{}",
            fault.name
        );
    }
    assert!(find("no-such-fault").is_none());
}

#[test]
fn there_are_enough() {
    assert!(faults().len() >= 150, "{} faults", faults().len());
    assert!(variants().len() >= 15, "{} variants", variants().len());
    assert!(faults().iter().any(|fault| fault.transport == Transport::Stdio));
}

#[test]
fn variants_break_no_clause() {
    assert!(
        variants()
            .iter()
            .all(|variant| variant.clause.is_empty() && variant.level.is_none())
    );
}
