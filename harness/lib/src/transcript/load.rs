//! Transcripts from files and folders, and those that are built in.

use super::{Transcript, TranscriptError};
use crate::fixtures;
use std::fs;
use std::path::{Path, PathBuf};

/// The transcripts that are built in, by revision and name.
///
/// # Errors
/// The first that can't be read; the tests of this library see to it that there is none.
pub fn embedded() -> Result<Vec<Transcript>, TranscriptError> {
    fixtures::all("transcripts/")
        .map(|(name, text)| Transcript::parse(name, text))
        .collect()
}

/// Reads files and folders, folders with all their sub-folders, each in the order of names.
///
/// # Errors
/// The first that can't be read, or a folder with none.
pub fn read(paths: &[PathBuf]) -> Result<Vec<Transcript>, TranscriptError> {
    let mut transcripts = Vec::new();
    for path in paths {
        let io = |source| TranscriptError::Io {
            file: path.display().to_string(),
            source,
        };
        let mut files = Vec::new();
        if fs::metadata(path).map_err(io)?.is_dir() {
            collect(path, &mut files).map_err(io)?;
            files.sort();
            if files.is_empty() {
                return Err(TranscriptError::Empty(path.display().to_string()));
            }
        } else {
            files.push(path.clone());
        }
        for file in files {
            let name = file.display().to_string();
            let text = fs::read_to_string(&file).map_err(|source| TranscriptError::Io {
                file: name.clone(),
                source,
            })?;
            transcripts.push(Transcript::parse(&name, &text)?);
        }
    }
    Ok(transcripts)
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) -> std::io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            collect(&path, files)?;
        } else if path.extension().is_some_and(|extension| extension == "json") {
            files.push(path);
        }
    }
    Ok(())
}
