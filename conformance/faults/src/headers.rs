//! Header fields, in order and as they were written.

/// Fields of a request or an answer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Headers(pub(crate) Vec<(String, Vec<u8>)>);

impl Headers {
    /// The first value under this name, if it is UTF-8.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        let found = self.0.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
        found
            .and_then(|(_, value)| str::from_utf8(value).ok())
            .map(str::trim)
    }

    /// Puts one value in the place of all under this name.
    pub(crate) fn set(&mut self, name: &str, value: impl AsRef<[u8]>) {
        let mut fields = self.0.iter_mut();
        match fields.find(|(known, _)| known.eq_ignore_ascii_case(name)) {
            Some((_, old)) => value.as_ref().clone_into(old),
            None => self.0.push((name.to_owned(), value.as_ref().to_owned())),
        }
    }

    pub(crate) fn remove(&mut self, name: &str) {
        self.0.retain(|(known, _)| !known.eq_ignore_ascii_case(name));
    }

    /// Whether this comma-separated element is among the values under this name.
    pub(crate) fn has(&self, name: &str, element: &str) -> bool {
        let value = self.get(name).unwrap_or_default();
        value
            .split(',')
            .any(|part| part.trim().eq_ignore_ascii_case(element))
    }

    /// The media type of `Content-Type` without parameters, in lowercase.
    pub(crate) fn media_type(&self) -> String {
        let value = self.get("content-type").unwrap_or_default();
        value
            .split(';')
            .next()
            .unwrap_or_default()
            .trim()
            .to_ascii_lowercase()
    }

    pub(crate) fn read(fields: &[httparse::Header]) -> Self {
        let own = |field: &httparse::Header| (field.name.to_owned(), field.value.to_owned());
        Self(fields.iter().map(own).collect())
    }

    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        for (name, value) in &self.0 {
            out.extend_from_slice(name.as_bytes());
            out.extend_from_slice(b": ");
            out.extend_from_slice(value);
            out.extend_from_slice(b"\r\n");
        }
    }
}
