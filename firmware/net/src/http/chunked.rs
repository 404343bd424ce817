//! Decoder of the chunked transfer coding (RFC 9112, 7.1), fed with bytes split anywhere. Extensions and trailers are
//! checked for form and length, and dropped.

use super::fault::Fault;
use super::{BODY_MAX, CHUNK_LINE_MAX, TRAILERS_MAX};

/// Where the decoder stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    #[default]
    Size,
    Space,
    Extension,
    SizeLf,
    Data,
    DataCr,
    DataLf,
    TrailerStart,
    TrailerName,
    TrailerValue,
    TrailerLf,
    EndLf,
    Done,
}

/// Decoder of one body.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Chunked {
    state: State,
    /// Bytes of the present chunk still to come, or its size while that is being read.
    left: usize,
    /// Bytes of the present line, or of all trailers.
    line: usize,
    digits: bool,
    /// Data bytes announced so far.
    total: usize,
}

/// What a call of [`Chunked::decode`] found: `framing` bytes to drop, then `data` bytes of the body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Decoded {
    pub framing: usize,
    pub data: usize,
}

impl Chunked {
    /// Whether the whole body has been seen.
    pub fn is_done(&self) -> bool {
        self.state == State::Done
    }

    /// Looks at the front of `input`. Call again with the rest until neither number is above zero.
    pub fn decode(&mut self, input: &[u8]) -> Result<Decoded, Fault> {
        let mut framing = 0;
        for byte in input {
            match self.state {
                State::Data => {
                    let data = self.left.min(input.len() - framing);
                    self.left -= data;
                    if self.left == 0 {
                        self.state = State::DataCr;
                    }
                    return Ok(Decoded { framing, data });
                }
                State::Done => break,
                _ => self.control(*byte)?,
            }
            framing += 1;
        }
        Ok(Decoded { framing, data: 0 })
    }

    /// Takes one byte that is not data.
    fn control(&mut self, byte: u8) -> Result<(), Fault> {
        self.state = match (self.state, byte) {
            (State::Size, _) if byte.is_ascii_hexdigit() => {
                let digit = (byte as char).to_digit(16).ok_or(Fault::Chunk)?;
                self.count_line()?;
                self.digits = true;
                self.left = self.left * 16 + digit as usize;
                // Judged here and not at the line's end, so that a long row of digits can't overflow.
                if self.total + self.left > BODY_MAX {
                    return Err(Fault::BodyTooLong);
                }
                State::Size
            }
            (State::Size, b'\r') if self.digits => State::SizeLf,
            (State::Space | State::Extension, b'\r') => State::SizeLf,
            (State::Size, b' ' | b'\t') if self.digits => {
                self.count_line()?;
                State::Space
            }
            (State::Space, b' ' | b'\t') => {
                self.count_line()?;
                State::Space
            }
            (State::Size, b';') if self.digits => {
                self.count_line()?;
                State::Extension
            }
            (State::Space, b';') => {
                self.count_line()?;
                State::Extension
            }
            (State::Extension, b'\t' | b' '..=b'~' | 0x80..) => {
                self.count_line()?;
                State::Extension
            }
            (State::SizeLf, b'\n') => {
                self.digits = false;
                self.line = 0;
                self.total += self.left;
                if self.left == 0 {
                    State::TrailerStart
                } else {
                    State::Data
                }
            }
            (State::DataCr, b'\r') => State::DataLf,
            (State::DataLf, b'\n') => State::Size,
            (State::TrailerStart, b'\r') => State::EndLf,
            (State::TrailerStart | State::TrailerName, _) if is_token(byte) => {
                self.count_trailer()?;
                State::TrailerName
            }
            (State::TrailerName, b':') | (State::TrailerValue, b'\t' | b' '..=b'~' | 0x80..) => {
                self.count_trailer()?;
                State::TrailerValue
            }
            (State::TrailerValue, b'\r') => State::TrailerLf,
            (State::TrailerLf, b'\n') => State::TrailerStart,
            (State::EndLf, b'\n') => State::Done,
            (
                State::TrailerStart
                | State::TrailerName
                | State::TrailerValue
                | State::TrailerLf
                | State::EndLf,
                _,
            ) => {
                return Err(Fault::Trailer);
            }
            _ => return Err(Fault::Chunk),
        };
        Ok(())
    }

    fn count_line(&mut self) -> Result<(), Fault> {
        self.line += 1;
        if self.line > CHUNK_LINE_MAX {
            Err(Fault::ChunkLineTooLong)
        } else {
            Ok(())
        }
    }

    fn count_trailer(&mut self) -> Result<(), Fault> {
        self.line += 1;
        if self.line > TRAILERS_MAX {
            Err(Fault::TrailersTooLong)
        } else {
            Ok(())
        }
    }
}

/// Whether `byte` may stand in a token (RFC 9110, 5.6.2).
fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}
