//! MAC addresses, by which boards are told apart: pure.

use std::fmt;
use std::str::FromStr;

/// A MAC address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Mac([u8; 6]);

/// The text is no MAC address.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is no MAC address; write it as 60:55:f9:00:00:01")]
pub struct MacError(String);

impl Mac {
    /// Its bytes, the first first.
    pub const fn bytes(self) -> [u8; 6] {
        self.0
    }
}

impl FromStr for Mac {
    type Err = MacError;

    fn from_str(text: &str) -> Result<Self, MacError> {
        let error = || MacError(text.to_owned());
        let mut bytes = [0; 6];
        let mut digits = text.split([':', '-']);
        for byte in &mut bytes {
            let pair = digits
                .next()
                .filter(|pair| pair.len() == 2 && pair.bytes().all(|b| b.is_ascii_hexdigit()));
            *byte = u8::from_str_radix(pair.ok_or_else(error)?, 16).map_err(|_| error())?;
        }
        match digits.next() {
            None => Ok(Self(bytes)),
            Some(_) => Err(error()),
        }
    }
}

impl fmt::Display for Mac {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, byte) in self.0.iter().enumerate() {
            let colon = if at == 0 { "" } else { ":" };
            write!(f, "{colon}{byte:02x}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_usual_spelling_is_one_address() {
        let mac: Mac = "60:55:F9:00:00:01".parse().unwrap();
        assert_eq!(mac.to_string(), "60:55:f9:00:00:01");
        assert_eq!("60-55-f9-00-00-01".parse(), Ok(mac));
        for wrong in [
            "",
            "60:55:f9:00:00",
            "60:55:f9:00:00:01:02",
            "6:55:f9:00:00:01",
            "60:55:f9:00:00:+1",
        ] {
            assert!(wrong.parse::<Mac>().is_err(), "{wrong}");
        }
    }
}
