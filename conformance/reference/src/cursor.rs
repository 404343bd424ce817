//! Cursors of `tools/list`: opaque to the client, and only those this server gives out are taken back.

use base64::prelude::{BASE64_URL_SAFE_NO_PAD, Engine};

/// The cursor of the page that begins at this index.
pub(crate) fn encode(start: usize) -> String {
    BASE64_URL_SAFE_NO_PAD.encode(format!("tools/list from {start}"))
}

/// Where the page of a cursor begins, if a list of this length, in pages of this size, has such a page.
pub(crate) fn decode(cursor: &str, length: usize, page_size: usize) -> Option<usize> {
    (page_size..length)
        .step_by(page_size)
        .find(|start| encode(*start) == cursor)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_cursors_of_real_pages_are_taken_back() {
        assert_eq!(decode(&encode(4), 9, 4), Some(4));
        assert_eq!(decode(&encode(8), 9, 4), Some(8));
        for cursor in [
            encode(0),
            encode(3),
            encode(12),
            String::new(),
            "bogus".into(),
            encode(4) + "=",
            encode(4).to_lowercase(),
        ] {
            assert_eq!(decode(&cursor, 9, 4), None, "{cursor}");
        }
        assert_eq!(decode(&encode(8), 8, 4), None);
    }
}
