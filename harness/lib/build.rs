//! Builds the transcripts and schemas of `fixtures/` into the library, so that an installed binary needs no checkout. The
//! package has links to both; in what `cargo package` makes they are copies.
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

fn main() -> io::Result<()> {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures");
    let mut table = String::from("&[\n");
    for folder in ["transcripts", "schemas"] {
        let root = fixtures.join(folder);
        println!("cargo::rerun-if-changed={}", root.canonicalize()?.display());
        for file in json_files(&root)? {
            let name = file.strip_prefix(&fixtures).map_err(io::Error::other)?;
            let _ = writeln!(
                table,
                "    ({:?}, include_str!({:?})),",
                name.display().to_string(),
                file.display().to_string()
            );
        }
    }
    table.push_str("]\n");
    let out = PathBuf::from(env::var_os("OUT_DIR").ok_or(io::ErrorKind::NotFound)?);
    fs::write(out.join("embedded.rs"), table)
}

/// Every `.json` file under a folder, sorted by path.
fn json_files(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    if !folder.is_dir() {
        return Ok(files);
    }
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            files.extend(json_files(&path)?);
        } else if path.extension().is_some_and(|extension| extension == "json") {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}
