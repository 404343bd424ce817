//! Addresses of a firmware as function, file and line.

use std::fmt;
use std::path::{Path, PathBuf};

/// The symbols of an ELF file.
pub struct Symbols {
    loader: addr2line::Loader,
}

impl fmt::Debug for Symbols {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Symbols").finish_non_exhaustive()
    }
}

/// The file has no symbols that can be read.
#[derive(Debug, thiserror::Error)]
#[error("{file}: {reason}")]
pub struct SymbolsError {
    file: PathBuf,
    reason: String,
}

/// A place in the source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The address.
    pub address: u64,
    /// Name of the function, demangled.
    pub function: String,
    /// File and line, as `src/main.rs:41`.
    pub source: Option<String>,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#x} {}", self.address, self.function)?;
        match &self.source {
            Some(source) => write!(f, " at {source}"),
            None => Ok(()),
        }
    }
}

impl Symbols {
    /// Reads a file.
    ///
    /// # Errors
    /// Why it can't be used.
    pub fn open(file: &Path) -> Result<Self, SymbolsError> {
        let failed = |reason: String| SymbolsError {
            file: file.to_owned(),
            reason,
        };
        let bytes = std::fs::read(file).map_err(|error| failed(error.to_string()))?;
        if !bytes.starts_with(b"\x7fELF") {
            return Err(failed(
                "is no ELF file, which alone has the names of functions".to_owned(),
            ));
        }
        let loader = addr2line::Loader::new(file).map_err(|error| failed(error.to_string()))?;
        Ok(Self { loader })
    }

    /// The functions at an address, the innermost first: one that was inlined stands before where it was inlined. None
    /// if the file does not know the address.
    pub fn places(&self, address: u64) -> Vec<Place> {
        let mut places = Vec::new();
        // the symbol is what was not inlined: the outermost
        let symbol = self.loader.find_symbol(address);
        let symbol = symbol.map(|name| addr2line::demangle_auto(name.into(), None).into_owned());
        if let Ok(mut frames) = self.loader.find_frames(address) {
            while let Ok(Some(frame)) = frames.next() {
                let function = frame
                    .function
                    .as_ref()
                    .and_then(|name| name.demangle().ok().map(|name| name.to_string()));
                let source = frame.location.and_then(|at| Some((at.file?, at.line?)));
                let Some(function) = function.or_else(|| symbol.clone()) else {
                    continue;
                };
                places.push(Place {
                    address,
                    function,
                    source: source.map(|(file, line)| format!("{file}:{line}")),
                });
            }
        }
        if let (true, Some(function)) = (places.is_empty(), symbol) {
            places.push(Place {
                address,
                function,
                source: None,
            });
        }
        places
    }

    /// A line for each address that is known.
    pub fn explain(&self, addresses: &[u64]) -> Vec<String> {
        addresses
            .iter()
            .flat_map(|address| self.places(*address))
            .map(|place| place.to_string())
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The test's own executable is an ELF file with line tables.
    #[test]
    fn an_address_leads_to_its_function_and_line() {
        let symbols = Symbols::open(&std::env::current_exe().unwrap()).unwrap();
        let name = std::env::current_exe().unwrap();
        let bytes = std::fs::read(name).unwrap();
        let elf = object::File::parse(bytes.as_slice()).unwrap();
        let symbol = object::Object::symbols(&elf)
            .find(|symbol| {
                use object::ObjectSymbol as _;
                symbol
                    .name()
                    .is_ok_and(|name| name.contains("symbols") && name.contains("landmark"))
                    && symbol.size() > 0
            })
            .unwrap();
        assert_eq!(landmark(1), 2);
        let places = symbols.places(object::ObjectSymbol::address(&symbol));
        let place = places.last().unwrap();
        assert!(place.function.contains("symbols::tests::landmark"), "{place}");
        assert!(
            place.source.as_ref().unwrap().contains("bench/symbols.rs:"),
            "{place}"
        );
    }

    #[inline(never)]
    fn landmark(number: u32) -> u32 {
        std::hint::black_box(number) + 1
    }

    #[test]
    fn what_is_no_elf_file_is_refused() {
        let file = tempfile::NamedTempFile::new().unwrap();
        assert!(
            Symbols::open(file.path())
                .unwrap_err()
                .to_string()
                .contains("is no ELF file")
        );
        assert!(Symbols::open(Path::new("/no/such/file")).is_err());
    }
}
