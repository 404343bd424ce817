//! Ids nobody can guess, and a code that shows who made a text.

use std::hash::{BuildHasher, RandomState};

/// 128 bits in hex. The keys of `RandomState` come from the operating system, and its hash hides them.
pub(crate) fn id() -> String {
    let half = || RandomState::new().hash_one("id");
    format!("{:016x}{:016x}", half(), half())
}

/// Makes and checks codes of texts, with a key of its own.
#[derive(Clone, Debug, Default)]
pub(crate) struct Seal(RandomState, RandomState);

impl Seal {
    /// The code of a text: 128 bits in hex.
    pub(crate) fn code(&self, text: &str) -> String {
        format!("{:016x}{:016x}", self.0.hash_one(text), self.1.hash_one(text))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn no_id_comes_twice() {
        let ids: HashSet<_> = (0..1000).map(|_| id()).collect();
        assert_eq!(ids.len(), 1000);
        assert!(ids.iter().all(|id| id.len() == 32));
    }

    #[test]
    fn a_code_is_of_one_text_and_one_seal() {
        let seal = Seal::default();
        assert_eq!(seal.code("a"), seal.code("a"));
        assert_ne!(seal.code("a"), seal.code("b"));
        assert_ne!(seal.code("a"), Seal::default().code("a"));
    }
}
