//! The clauses by area and revision.

use super::escape;
use crate::report::{Cell, Matrix, State};
use std::fmt::Write as _;

pub(super) fn matrix(page: &mut String, matrix: &Matrix) {
    page.push_str("<h2>Clauses by area and revision</h2>\n<div class=\"scroll\"><table>\n<tr><th>Area</th>");
    for revision in &matrix.revisions {
        let _ = write!(page, "<th>{}</th>", escape(revision));
    }
    page.push_str("</tr>\n");
    for (area, cells) in &matrix.areas {
        let area = escape(area);
        let _ = write!(
            page,
            "<tr><td><button data-search=\"{area}\">{area}</button></td>"
        );
        for cell in cells {
            self::cell(page, cell);
        }
        page.push_str("</tr>\n");
    }
    page.push_str("</table></div>\n<div class=\"legend\">");
    for (state, words) in [
        (State::Fail, "broken (MUST)"),
        (State::Warn, "broken (SHOULD, or derived)"),
        (State::Expected, "broken as expected"),
        (State::Pass, "kept"),
        (State::Skip, "not offered"),
        (State::Untried, "not judged"),
    ] {
        let _ = write!(
            page,
            "<span><span class=\"cell\"><i class=\"{}\"></i></span>{words}</span>",
            state.word()
        );
    }
    page.push_str("</div>\n");
}

fn cell(page: &mut String, cell: &Cell) {
    let untold = cell.count(State::Skip) + cell.count(State::Untried);
    if untold == cell.clauses.len() {
        let why = match cell.count(State::Skip) {
            _ if untold == 0 => "–".to_owned(),
            0 => format!("{untold} not judged"),
            _ => format!("{untold} not offered"),
        };
        let _ = write!(page, "<td class=\"counts\">{why}</td>");
        return;
    }
    page.push_str("<td><div class=\"cell\">");
    for state in State::ALL {
        for (id, _) in cell.clauses.iter().filter(|(_, is)| *is == state) {
            let (id, word) = (escape(id), state.word());
            let _ = write!(
                page,
                "<i class=\"{word}\" title=\"{id}: {word}\" data-search=\"{id}\"></i>"
            );
        }
    }
    let mut counts = Vec::new();
    for (state, word) in [
        (State::Fail, "broken"),
        (State::Warn, "warned"),
        (State::Expected, "expected"),
    ] {
        if cell.count(state) > 0 {
            counts.push(format!(
                "<b class=\"{}\">{} {word}</b>",
                state.word(),
                cell.count(state)
            ));
        }
    }
    counts.push(format!(
        "{} of {} kept",
        cell.count(State::Pass),
        cell.clauses.len()
    ));
    let _ = write!(
        page,
        "</div><span class=\"counts\">{}</span></td>",
        counts.join(", ")
    );
}
