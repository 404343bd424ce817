//! Commands and answers of the serial protocol, apart from what they do.
//!
//! Source: "Serial Protocol" in the documentation of esptool, ESP32-C3.

/// A command, from the host to the chip.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// What is to be done.
    pub command: u8,
    /// Checksum of the data, where there is one.
    pub checksum: u32,
    /// Parameters and data.
    pub payload: Vec<u8>,
}

/// Numbers of the commands.
#[expect(missing_docs, reason = "the protocol's own names")]
pub mod command {
    pub const FLASH_BEGIN: u8 = 0x02;
    pub const FLASH_DATA: u8 = 0x03;
    pub const FLASH_END: u8 = 0x04;
    pub const MEM_BEGIN: u8 = 0x05;
    pub const MEM_END: u8 = 0x06;
    pub const MEM_DATA: u8 = 0x07;
    pub const SYNC: u8 = 0x08;
    pub const WRITE_REG: u8 = 0x09;
    pub const READ_REG: u8 = 0x0a;
    pub const SPI_SET_PARAMS: u8 = 0x0b;
    pub const SPI_ATTACH: u8 = 0x0d;
    pub const READ_FLASH_SLOW: u8 = 0x0e;
    pub const CHANGE_BAUDRATE: u8 = 0x0f;
    pub const FLASH_DEFL_BEGIN: u8 = 0x10;
    pub const FLASH_DEFL_DATA: u8 = 0x11;
    pub const FLASH_DEFL_END: u8 = 0x12;
    pub const SPI_FLASH_MD5: u8 = 0x13;
    pub const GET_SECURITY_INFO: u8 = 0x14;
    // Of the flasher stub alone.
    pub const ERASE_FLASH: u8 = 0xd0;
    pub const ERASE_REGION: u8 = 0xd1;
    pub const READ_FLASH: u8 = 0xd2;
    pub const RUN_USER_CODE: u8 = 0xd3;
}

/// Why a command failed. The ROM loader and the flasher stub have different numbers for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    /// The frame is no command, or the command is unknown.
    Invalid,
    /// Parameters or data have the wrong length.
    Length,
    /// The checksum over the data is wrong.
    Checksum,
    /// Flash or memory could not be read or written there.
    Act,
    /// Data came without a beginning.
    NotBegun,
    /// What was written does not read back.
    Write,
    /// The compressed data is broken.
    Inflate,
    /// The end came too early.
    NotEnough,
    /// More data than announced.
    TooMuch,
}

impl Failure {
    fn rom(self) -> u8 {
        match self {
            Failure::Invalid | Failure::Length => 0x05,
            Failure::Act | Failure::NotBegun | Failure::NotEnough | Failure::TooMuch => 0x06,
            Failure::Checksum => 0x07,
            Failure::Write => 0x08,
            Failure::Inflate => 0x0b,
        }
    }

    fn stub(self) -> u8 {
        match self {
            Failure::Length => 0xc0,
            Failure::Checksum => 0xc1,
            Failure::Invalid => 0xff,
            Failure::Act | Failure::Write => 0xc4,
            Failure::NotBegun => 0xc6,
            Failure::Inflate => 0xc7,
            Failure::NotEnough => 0xc8,
            Failure::TooMuch => 0xc9,
        }
    }
}

/// What a command answers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Answer {
    /// The word that READ_REG asks for.
    pub value: u32,
    /// What else is answered.
    pub data: Vec<u8>,
}

/// Reads a frame; none when it is no command.
pub fn parse(frame: &[u8]) -> Option<Request> {
    let (head, payload) = frame.split_first_chunk::<8>()?;
    let [0, command, low, high, checksum @ ..] = *head else {
        return None;
    };
    if usize::from(u16::from_le_bytes([low, high])) != payload.len() {
        return None;
    }
    Some(Request {
        command,
        checksum: u32::from_le_bytes(checksum),
        payload: payload.to_vec(),
    })
}

/// The frame of an answer. The status has two bytes from the stub and four from the ROM.
pub fn answer(command: u8, answer: &Result<Answer, Failure>, stub: bool) -> Vec<u8> {
    let nothing = Answer::default();
    let (content, status) = match answer {
        Ok(content) => (content, [0, 0]),
        Err(failure) => (&nothing, [1, if stub { failure.stub() } else { failure.rom() }]),
    };
    let mut body = content.data.clone();
    body.extend(status);
    if !stub {
        body.extend([0, 0]);
    }
    let mut frame = vec![1, command];
    frame.extend((body.len() as u16).to_le_bytes());
    frame.extend(content.value.to_le_bytes());
    frame.extend(body);
    frame
}

/// The checksum over data: all bytes and 0xef, exclusively or-ed.
pub fn checksum(data: &[u8]) -> u8 {
    data.iter().fold(0xef, |sum, byte| sum ^ byte)
}

/// The little-endian words at the beginning of a payload; none when it has fewer.
pub fn words<const N: usize>(payload: &[u8]) -> Option<[u32; N]> {
    let mut words = [0; N];
    for (word, bytes) in words
        .iter_mut()
        .zip(payload.chunks(4).map(Some).chain(std::iter::repeat(None)))
    {
        *word = u32::from_le_bytes(bytes?.try_into().ok()?);
    }
    Some(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sync_is_a_command() {
        let mut frame = vec![0, 8, 36, 0, 0, 0, 0, 0, 7, 7, 0x12, 0x20];
        frame.extend([0x55; 32]);
        let request = parse(&frame).unwrap();
        assert_eq!((request.command, request.payload.len()), (command::SYNC, 36));
        frame.pop();
        assert_eq!(parse(&frame), None, "the length is wrong");
        frame[0] = 1;
        assert_eq!(parse(&frame), None, "an answer is no command");
        assert_eq!(parse(b"short"), None);
    }

    #[test]
    fn the_status_has_two_bytes_from_the_stub_and_four_from_the_rom() {
        let read = Ok(Answer {
            value: 0x1b31_506f,
            data: vec![],
        });
        assert_eq!(
            answer(0x0a, &read, false),
            [1, 0x0a, 4, 0, 0x6f, 0x50, 0x31, 0x1b, 0, 0, 0, 0]
        );
        assert_eq!(
            answer(0x0a, &read, true),
            [1, 0x0a, 2, 0, 0x6f, 0x50, 0x31, 0x1b, 0, 0]
        );
        let failed = Err(Failure::Checksum);
        assert_eq!(answer(0x03, &failed, false), [1, 3, 4, 0, 0, 0, 0, 0, 1, 7, 0, 0]);
        assert_eq!(answer(0x03, &failed, true), [1, 3, 2, 0, 0, 0, 0, 0, 1, 0xc1]);
    }

    #[test]
    fn words_are_little_endian_and_must_all_be_there() {
        assert_eq!(words(&[1, 0, 0, 0, 2, 0, 0, 0]), Some([1, 2]));
        assert_eq!(words::<2>(&[1, 0, 0, 0, 2, 0, 0]), None);
        assert_eq!(words::<2>(&[1, 0, 0, 0]), None);
    }

    #[test]
    fn the_checksum_starts_with_0xef() {
        assert_eq!(checksum(&[]), 0xef);
        assert_eq!(checksum(&[0xef, 1]), 1);
    }
}
