//! The results as a page: counts by revision and area, then every fault.

use crate::coverage::Coverage;
use mcp_hil_conformance::run::GRADED;
use mcp_hil_faults::{Fault, Level, Transport};
use mcp_hil_harness::revision::Revision;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

/// Whether a fault was seen.
#[derive(Clone)]
pub enum Seen {
    /// By this check.
    By(String),
    /// Not, and why it can't be.
    Not(String),
}

/// A fault in a revision.
pub struct Row {
    pub fault: &'static Fault,
    pub revision: Revision,
    pub transport: Transport,
    pub seen: Seen,
}

/// Seen and all, of binding clauses and of others.
#[derive(Default)]
struct Count {
    binding: (usize, usize),
    other: (usize, usize),
}

impl Count {
    fn add(&mut self, row: &Row) {
        let is_binding = matches!(row.fault.level, Some(Level::Must | Level::MustNot));
        let (seen, all) = if is_binding {
            &mut self.binding
        } else {
            &mut self.other
        };
        *seen += usize::from(matches!(row.seen, Seen::By(_)));
        *all += 1;
    }
}

fn share((seen, all): (usize, usize)) -> String {
    if all == 0 {
        "-".to_owned()
    } else {
        format!("{seen} of {all} ({:.1} %)", 100.0 * seen as f64 / all as f64)
    }
}

/// Writes `RESULTS.md` beside the package.
pub fn write(rows: &mut [Row]) {
    rows.sort_by_key(|row| (row.revision, row.fault.area, row.fault.name));
    let mut text = String::from(
        "# What the suite sees\n\nWritten by `MCP_HIL_WRITE=1 cargo test -p mcp-hil-faults --test detection`. Each fault is put before the reference server, and \
         counts as seen where a check that names its clause turns red or warns. Bars: 98 % of faults against MUST, 90 % of others.\n\n| revision | area | MUST, MUST NOT | SHOULD, SHOULD NOT |\n|---|---|---|---|\n",
    );
    let mut counts: BTreeMap<(Revision, &str), Count> = BTreeMap::new();
    // faults that were reported in public: their kinds, and what became of them
    let mut field: BTreeMap<Revision, (BTreeSet<u8>, Count)> = BTreeMap::new();
    for row in rows.iter() {
        for area in [row.fault.area, "all"] {
            counts.entry((row.revision, area)).or_default().add(row);
        }
        if let Some(case) = row.fault.case {
            let (kinds, count) = field.entry(row.revision).or_default();
            kinds.insert(case);
            count.add(row);
        }
    }
    for ((revision, area), count) in &counts {
        let _ = writeln!(
            text,
            "| {revision} | {area} | {} | {} |",
            share(count.binding),
            share(count.other)
        );
    }
    text.push_str(
        "\nOf these, the faults that were reported of servers in public:\n\n| revision | kinds | MUST, MUST NOT | SHOULD, SHOULD NOT |\n|---|---|---|---|\n",
    );
    for (revision, (kinds, count)) in &field {
        let (binding, other) = (share(count.binding), share(count.other));
        let _ = writeln!(text, "| {revision} | {} | {binding} | {other} |", kinds.len());
    }
    text.push_str(
        "\nBinding clauses of a server that messages and packets show, by what became of them; a check counts where a fault turns it red. \
         Bar: 95 %.\n\n| revision | shown to be judged | check without a fault | not judged |\n|---|---|---|---|\n",
    );
    for revision in GRADED {
        let coverage = Coverage::of(revision);
        let not: Vec<_> = coverage
            .not_judged
            .iter()
            .map(|row| format!("`{}`", row.id))
            .collect();
        let _ = writeln!(
            text,
            "| {revision} | {} | {} | {} |",
            share((coverage.shown.len(), coverage.all())),
            coverage.without_fault.len(),
            not.join(", ")
        );
    }
    text.push_str("\n| revision | fault | what it does | clause | seen by |\n|---|---|---|---|---|\n");
    for row in rows.iter() {
        let seen = match &row.seen {
            Seen::By(check) => format!("`{check}`"),
            Seen::Not(why) => format!("not seen: {why}"),
        };
        let over = match row.transport {
            Transport::Stdio => " (stdio)",
            Transport::Mdns => " (mDNS)",
            Transport::Http | Transport::Any => "",
        };
        let _ = writeln!(
            text,
            "| {} | `{}`{over} | {} | `{}` | {seen} |",
            row.revision, row.fault.name, row.fault.about, row.fault.clause
        );
    }
    std::fs::write(concat!(env!("CARGO_MANIFEST_DIR"), "/RESULTS.md"), text).unwrap();
}
