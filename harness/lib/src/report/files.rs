//! Logs: every byte of a run, in files of a folder for each board.

use super::style::Style;
use super::{Case, Detail, Report, exchange_text, line};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{fs, io};

/// Writes what became of each transcript to `verdicts.log`, and its exchanges to `exchanges/REVISION__NAME.log`, in a
/// folder with the name of the board.
///
/// # Errors
/// Those of the file system.
pub fn write(folder: &Path, report: &Report) -> io::Result<()> {
    for board in report.boards() {
        let folder = board.map_or_else(|| folder.to_owned(), |board| folder.join(board));
        fs::create_dir_all(&folder)?;
        let results = || {
            report
                .results
                .iter()
                .filter(|played| played.board.as_deref() == board)
        };
        let verdicts: String = results()
            .map(|played| line(played, Style::PLAIN, Detail::Full))
            .collect();
        fs::write(folder.join("verdicts.log"), verdicts)?;
        for played in results().filter(|played| !played.exchanges.is_empty()) {
            write_one(&folder.join("exchanges"), played)?;
        }
    }
    Ok(())
}

/// Writes one transcript's verdict and exchanges to `REVISION__NAME.log`, and says where that is.
///
/// # Errors
/// Those of the file system.
pub fn write_one(folder: &Path, played: &Case) -> io::Result<PathBuf> {
    fs::create_dir_all(folder)?;
    let file = folder.join(format!("{}.log", played.id.replace('/', "__")));
    let mut text = line(played, Style::PLAIN, Detail::Full);
    for (step, exchange) in &played.exchanges {
        let _ = write!(text, "\n{step}\n{}", exchange_text(exchange));
    }
    fs::write(&file, text)?;
    Ok(file)
}
