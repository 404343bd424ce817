//! Boards, with the stages that each went through.

use super::{WORDS, escape};
use crate::fault::seconds;
use crate::report::{Report, Stage};
use std::fmt::Write as _;

/// Adds a row for each board, where there are boards with names.
pub(super) fn boards(page: &mut String, report: &Report) {
    let names: Vec<&str> = report.boards().into_iter().flatten().collect();
    if names.is_empty() {
        return;
    }
    page.push_str("<h2>Boards</h2>\n<div class=\"boards\">\n");
    for board in names {
        let mut counts = String::new();
        for word in WORDS {
            let here =
                |case: &&crate::report::Case| case.board.as_deref() == Some(board) && case.word() == word;
            let count = report.results.iter().filter(here).count();
            if count > 0 {
                let _ = write!(counts, " <b class=\"{word}\">{count} {word}</b>");
            }
        }
        let name = escape(board);
        let _ = writeln!(
            page,
            "<div><button data-search=\"{name}\">{name}</button><span class=\"counts\">{counts}</span>"
        );
        let stages = report.stages.iter().filter(|(of, _)| of == board);
        let stages: Vec<&Stage> = stages.map(|(_, stage)| stage).collect();
        if !stages.is_empty() {
            page.push_str("<ol>");
            for stage in stages {
                let class = if stage.failed { "fail" } else { "pass" };
                let _ = write!(
                    page,
                    "<li class=\"{class}\"><b>{}</b> {}<span>{}</span></li>",
                    escape(stage.name),
                    seconds(&stage.time),
                    escape(&stage.note)
                );
            }
            page.push_str("</ol>");
        }
        page.push_str("</div>\n");
    }
    page.push_str("</div>\n");
}
