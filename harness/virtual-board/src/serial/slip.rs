//! SLIP framing (RFC 1055) as Espressif's loaders use it: a frame begins and ends with 0xc0.

const END: u8 = 0xc0;
const ESCAPE: u8 = 0xdb;
const ESCAPED_END: u8 = 0xdc;
const ESCAPED_ESCAPE: u8 = 0xdd;

/// The longest frame that is kept, before it is unescaped. The largest block of any tool is 16 KiB; what is longer
/// is no frame.
pub const MAX_FRAME: usize = 0x1_0000;

/// Takes bytes and gives frames. Bytes outside frames are noise and are dropped.
#[derive(Clone, Debug, Default)]
pub struct Decoder {
    frame: Vec<u8>,
    inside: bool,
    escaped: bool,
}

impl Decoder {
    /// The next frame in `bytes`, which loses what was read; none when there is no whole frame any more.
    pub fn next(&mut self, bytes: &mut &[u8]) -> Option<Vec<u8>> {
        while let Some((&byte, rest)) = bytes.split_first() {
            *bytes = rest;
            if byte == END {
                let frame = std::mem::take(&mut self.frame);
                // The end of one frame is the beginning of the next; nothing lies between two ends.
                self.inside = true;
                let broken = std::mem::take(&mut self.escaped);
                if !frame.is_empty() && !broken {
                    self.inside = false;
                    return Some(frame);
                }
            } else if self.inside {
                self.take(byte);
            }
        }
        None
    }

    fn take(&mut self, byte: u8) {
        let byte = match (std::mem::take(&mut self.escaped), byte) {
            (false, ESCAPE) => {
                self.escaped = true;
                return;
            }
            (false, byte) => Some(byte),
            (true, ESCAPED_END) => Some(END),
            (true, ESCAPED_ESCAPE) => Some(ESCAPE),
            (true, _) => None,
        };
        match byte {
            Some(byte) if self.frame.len() < MAX_FRAME => self.frame.push(byte),
            _ => *self = Decoder::default(),
        }
    }
}

/// A frame with its ends.
pub fn encode(payload: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(payload.len() + 2);
    bytes.push(END);
    for byte in payload {
        match *byte {
            END => bytes.extend([ESCAPE, ESCAPED_END]),
            ESCAPE => bytes.extend([ESCAPE, ESCAPED_ESCAPE]),
            other => bytes.push(other),
        }
    }
    bytes.push(END);
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frames(mut bytes: &[u8]) -> Vec<Vec<u8>> {
        let mut decoder = Decoder::default();
        std::iter::from_fn(|| decoder.next(&mut bytes)).collect()
    }

    #[test]
    fn ends_and_escapes_are_escaped() {
        assert_eq!(encode(b"a\xc0b\xdbc"), b"\xc0a\xdb\xdcb\xdb\xddc\xc0");
        assert_eq!(frames(b"\xc0a\xdb\xdcb\xdb\xddc\xc0"), [b"a\xc0b\xdbc"]);
    }

    #[test]
    fn noise_between_frames_is_dropped() {
        assert_eq!(frames(b"boot\xc0one\xc0\r\n\xc0two\xc0"), [b"one", b"two"]);
        assert_eq!(frames(b"\xc0\xc0\xc0one\xc0"), [b"one"]);
    }

    #[test]
    fn a_broken_escape_loses_its_frame_only() {
        assert_eq!(frames(b"\xc0a\xdbb\xc0\xc0two\xc0"), [b"two"]);
        assert_eq!(frames(b"\xc0a\xdb\xc0two\xc0"), [b"two"]);
    }

    #[test]
    fn a_frame_may_come_byte_by_byte() {
        let mut decoder = Decoder::default();
        let bytes = encode(&[0xdb; 3]);
        let (last, first) = bytes.split_last().unwrap();
        for byte in first {
            assert_eq!(decoder.next(&mut &[*byte][..]), None);
        }
        assert_eq!(decoder.next(&mut &[*last][..]), Some(vec![0xdb; 3]));
    }

    #[test]
    fn an_endless_frame_takes_no_endless_memory() {
        let mut decoder = Decoder::default();
        let endless = vec![b'x'; 3 * MAX_FRAME];
        assert_eq!(decoder.next(&mut &b"\xc0"[..]), None);
        assert_eq!(decoder.next(&mut &endless[..]), None);
        assert!(decoder.frame.len() <= MAX_FRAME);
        assert_eq!(decoder.next(&mut &b"\xc0ok\xc0"[..]), Some(b"ok".to_vec()));
    }
}
