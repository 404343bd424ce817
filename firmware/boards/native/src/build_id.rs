//! The GNU build id of the running program.

use std::fs::File;

use anyhow::{Context, Result};
use object::{Object, ReadCache};

/// In lowercase hex, read from the program's own file; empty where it was linked without one.
pub fn read() -> Result<String> {
    // Not by its path: the file may have been replaced since the start.
    let path = "/proc/self/exe";
    let file = ReadCache::new(File::open(path).with_context(|| format!("cannot open {path}"))?);
    let elf = object::File::parse(&file).with_context(|| format!("cannot parse {path}"))?;
    let id = elf
        .build_id()
        .with_context(|| format!("cannot read the notes of {path}"))?
        .unwrap_or_default();
    Ok(id.iter().map(|byte| format!("{byte:02x}")).collect())
}
