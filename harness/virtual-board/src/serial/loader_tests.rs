//! The host's side and the chip's, in turns.

use super::*;

const MAC: [u8; 6] = [0x02, 0x00, 0x0a, 0x0d, 0x25, 0x0b];
/// In instruction RAM, where tools put their stub.
const IRAM: u32 = 0x4038_0000;

struct Bench {
    loader: Loader,
    flash: Flash,
}

impl Bench {
    fn rom() -> Self {
        Self::with(Defect::None)
    }

    fn with(defect: Defect) -> Self {
        let mut bench = Bench {
            loader: Loader::new(Identity::esp32c3(MAC), defect),
            flash: Flash::erased(),
        };
        bench.flash.program(0x1000, b"old").unwrap();
        bench.run(command::SPI_ATTACH, &[0, 0]);
        bench
    }

    fn stub() -> Self {
        let mut bench = Self::rom();
        bench.run(command::MEM_BEGIN, &[4, 1, 0x1800, IRAM]);
        bench.data(command::MEM_DATA, 0, b"code");
        bench.run(command::MEM_END, &[0, IRAM]);
        assert!(bench.loader.stub);
        bench
    }

    /// Sends a command; what comes back, as frames and other effects.
    fn send(&mut self, command: u8, checksum: u8, payload: &[u8]) -> Vec<Effect> {
        let mut frame = vec![0, command];
        frame.extend((payload.len() as u16).to_le_bytes());
        frame.extend([checksum, 0, 0, 0]);
        frame.extend(payload);
        self.frame(&frame)
    }

    fn frame(&mut self, frame: &[u8]) -> Vec<Effect> {
        self.loader.receive(&slip::encode(frame), &mut self.flash)
    }

    fn run(&mut self, command: u8, parameters: &[u32]) -> Vec<Effect> {
        let payload: Vec<u8> = parameters.iter().flat_map(|word| word.to_le_bytes()).collect();
        self.send(command, 0, &payload)
    }

    fn data(&mut self, command: u8, sequence: u32, data: &[u8]) -> Vec<Effect> {
        let head = [data.len() as u32, sequence, 0, 0];
        let mut payload: Vec<u8> = head.iter().flat_map(|word| word.to_le_bytes()).collect();
        payload.extend(data);
        self.send(command, packet::checksum(data), &payload)
    }
}

/// An answer as the ROM frames it: value, data, and four bytes of status.
fn from_rom(command: u8, value: u32, data: &[u8], status: [u8; 2]) -> Effect {
    framed(command, value, &[data, &status, &[0, 0]].concat())
}

/// An answer as the stub frames it: with two bytes of status.
fn from_stub(command: u8, value: u32, data: &[u8], status: [u8; 2]) -> Effect {
    framed(command, value, &[data, &status].concat())
}

fn framed(command: u8, value: u32, body: &[u8]) -> Effect {
    let mut frame = vec![1, command, body.len() as u8, 0];
    frame.extend(value.to_le_bytes());
    frame.extend(body);
    raw(&frame)
}

fn raw(frame: &[u8]) -> Effect {
    Effect::Send(slip::encode(frame))
}

#[test]
fn a_sync_is_answered_eight_times() {
    let sync: Vec<u8> = [&[0x07, 0x07, 0x12, 0x20][..], &[0x55; 32]].concat();
    let mut rom = Bench::rom();
    assert_eq!(
        rom.send(8, 0, &sync),
        vec![from_rom(8, 0x2012_0707, &[], [0, 0]); 8]
    );
    // A tool that finds a stub by a value of 0 does not load another.
    assert_eq!(
        Bench::stub().send(8, 0, &sync),
        vec![from_stub(8, 0, &[], [0, 0]); 8]
    );
}

#[test]
fn it_says_which_chip_it_is() {
    let info = [&[0; 12][..], &[5, 0, 0, 0, 3, 0, 0, 0]].concat();
    assert_eq!(Bench::rom().run(0x14, &[]), [from_rom(0x14, 0, &info, [0, 0])]);
    assert_eq!(Bench::stub().run(0x14, &[]), [from_stub(0x14, 0, &info, [0, 0])]);
    assert_eq!(
        Bench::rom().run(0x0a, &[0x4000_1000]),
        [from_rom(0x0a, 0x1b31_506f, &[], [0, 0])]
    );
    assert_eq!(
        Bench::rom().run(0x0a, &[0x6000_8844]),
        [from_rom(0x0a, 0x0a0d_250b, &[], [0, 0])]
    );
}

#[test]
fn plain_data_is_written_and_its_digest_told() {
    let mut rom = Bench::rom();
    assert_eq!(
        rom.run(0x02, &[0x1000, 2, 8, 0x1000, 0]),
        [from_rom(2, 0, &[], [0, 0])]
    );
    assert_eq!(rom.data(0x03, 0, b"12345678"), [from_rom(3, 0, &[], [0, 0])]);
    assert_eq!(
        rom.data(0x03, 1, b"9\xff\xff\xff\xff\xff\xff\xff"),
        [from_rom(3, 0, &[], [0, 0])]
    );
    assert_eq!(rom.flash.read(0x1000, 10), Ok(&b"123456789\xff"[..]));
    // RFC 1321 has no such text; this is what md5sum says.
    let digest = b"25f9e794323b453885f5181f1b624d0b";
    assert_eq!(
        rom.run(0x13, &[0x1000, 9, 0, 0]),
        [from_rom(0x13, 0, digest, [0, 0])]
    );
}

#[test]
fn the_stub_tells_a_digest_in_bytes() {
    let mut stub = Bench::stub();
    stub.flash.program(0x2000, b"abc").unwrap();
    // RFC 1321, A.5
    let digest = [
        0x90, 0x01, 0x50, 0x98, 0x3c, 0xd2, 0x4f, 0xb0, 0xd6, 0x96, 0x3f, 0x7d, 0x28, 0xe1, 0x7f, 0x72,
    ];
    assert_eq!(
        stub.run(0x13, &[0x2000, 3, 0, 0]),
        [from_stub(0x13, 0, &digest, [0, 0])]
    );
}

#[test]
fn a_block_with_a_wrong_checksum_is_refused_and_may_come_again() {
    let mut rom = Bench::rom();
    rom.run(0x02, &[0x1000, 1, 4, 0x1000, 0]);
    let payload = [&[4, 0, 0, 0][..], &[0; 12], b"data"].concat();
    let right = packet::checksum(b"data");
    assert_eq!(rom.send(0x03, right ^ 1, &payload), [from_rom(3, 0, &[], [1, 7])]);
    assert_eq!(rom.flash.read(0x1000, 4), Ok(&[0xff; 4][..]));
    assert_eq!(rom.send(0x03, right, &payload), [from_rom(3, 0, &[], [0, 0])]);
    assert_eq!(rom.flash.read(0x1000, 4), Ok(&b"data"[..]));
}

#[test]
fn the_rom_and_the_stub_number_their_errors_differently() {
    let outside = [0x1000, 1, 0x400, 0x40_0000, 0];
    assert_eq!(Bench::rom().run(0x02, &outside), [from_rom(2, 0, &[], [1, 6])]);
    assert_eq!(
        Bench::stub().run(0x02, &outside),
        [from_stub(2, 0, &[], [1, 0xc4])]
    );
    assert_eq!(Bench::rom().run(0x0a, &[]), [from_rom(0x0a, 0, &[], [1, 5])]);
    assert_eq!(Bench::stub().run(0x0a, &[]), [from_stub(0x0a, 0, &[], [1, 0xc0])]);
    assert_eq!(Bench::rom().data(0x03, 0, b"data"), [from_rom(3, 0, &[], [1, 6])]);
    assert_eq!(
        Bench::stub().data(0x03, 0, b"data"),
        [from_stub(3, 0, &[], [1, 0xc6])]
    );
    assert_eq!(
        Bench::rom().run(0xd0, &[]),
        [from_rom(0xd0, 0, &[], [1, 5])],
        "the ROM can't erase"
    );
    assert_eq!(Bench::stub().run(0x77, &[]), [from_stub(0x77, 0, &[], [1, 0xff])]);
    assert_eq!(
        Bench::stub().run(0x0e, &[0, 64]),
        [from_stub(0x0e, 0, &[], [1, 0xff])]
    );
}

#[test]
fn flash_that_is_not_attached_can_not_be_used() {
    let mut rom = Bench::rom();
    rom.loader = Loader::new(Identity::esp32c3(MAC), Defect::None);
    assert_eq!(rom.run(0x13, &[0, 16, 0, 0]), [from_rom(0x13, 0, &[], [1, 6])]);
}

#[test]
fn the_size_that_the_host_sets_bounds_the_flash() {
    let mut rom = Bench::rom();
    rom.run(0x0b, &[0, 0x20_0000, 0x1_0000, 0x1000, 0x100, 0xffff]);
    assert_eq!(rom.run(0x0e, &[0x20_0000, 64]), [from_rom(0x0e, 0, &[], [1, 6])]);
}

#[test]
fn a_slow_read_is_always_64_bytes() {
    let mut rom = Bench::rom();
    let data = [&b"old"[..], &[0; 61]].concat();
    assert_eq!(rom.run(0x0e, &[0x1000, 3]), [from_rom(0x0e, 0, &data, [0, 0])]);
    assert_eq!(rom.run(0x0e, &[0x1000, 65]), [from_rom(0x0e, 0, &[], [1, 6])]);
}

#[test]
fn a_loaded_stub_says_ohai() {
    let mut rom = Bench::rom();
    rom.run(0x05, &[4, 1, 0x1800, IRAM]);
    rom.data(0x07, 0, b"code");
    assert_eq!(
        rom.run(0x06, &[0, IRAM]),
        [from_rom(6, 0, &[], [0, 0]), raw(b"OHAI")]
    );
}

#[test]
fn ram_is_loaded_where_there_is_ram_and_entered_where_something_was_loaded() {
    let mut rom = Bench::rom();
    assert_eq!(
        rom.run(0x05, &[4, 1, 0x1800, 0x2000_0000]),
        [from_rom(5, 0, &[], [1, 6])]
    );
    assert_eq!(rom.run(0x06, &[0, IRAM]), [from_rom(6, 0, &[], [1, 6])]);
    rom.run(0x05, &[4, 1, 0x1800, IRAM]);
    assert_eq!(rom.data(0x07, 0, b"more than 4"), [from_rom(7, 0, &[], [1, 6])]);
    rom.data(0x07, 0, b"code");
    assert_eq!(
        rom.run(0x06, &[1, 0]),
        [from_rom(6, 0, &[], [0, 0])],
        "stays in the loader"
    );
    assert!(!rom.loader.stub);
}

#[test]
fn the_stub_sends_as_much_as_its_window_allows_and_a_digest_at_the_end() {
    let mut stub = Bench::stub();
    stub.flash.program(0x2000, b"abcdefg").unwrap();
    let (begun, block) = (from_stub(0xd2, 0, &[], [0, 0]), |bytes: &[u8]| raw(bytes));
    assert_eq!(
        stub.run(0xd2, &[0x2000, 7, 3, 4]),
        [begun, block(b"abc"), block(b"def")]
    );
    assert_eq!(stub.frame(&[3, 0, 0, 0]), [block(b"g")]);
    assert_eq!(stub.frame(&[6, 0, 0, 0]), []);
    let digest = Md5::digest(b"abcdefg");
    assert_eq!(stub.frame(&[7, 0, 0, 0]), [block(&digest)]);
    assert_eq!(stub.run(0x0a, &[0]).len(), 1, "commands again");
}

#[test]
fn the_stub_erases() {
    let mut stub = Bench::stub();
    stub.flash.program(0x2000, &[0; 0x2000]).unwrap();
    assert_eq!(
        stub.run(0xd1, &[0x2000, 0x1000]),
        [from_stub(0xd1, 0, &[], [0, 0])]
    );
    assert_eq!(stub.flash.read(0x2fff, 2), Ok(&[0xff, 0][..]));
    assert_eq!(stub.run(0xd0, &[]), [from_stub(0xd0, 0, &[], [0, 0])]);
    assert!(stub.flash.bytes().iter().all(|byte| *byte == 0xff));
}

#[test]
fn the_line_changes_its_speed_after_the_answer() {
    let effects = Bench::rom().run(0x0f, &[921_600, 0]);
    assert_eq!(effects, [from_rom(0x0f, 0, &[], [0, 0]), Effect::Baud(921_600)]);
}

#[test]
fn an_end_restarts_or_boots() {
    let end = |mut bench: Bench, flag| {
        bench.run(0x02, &[0, 0, 0x400, 0, 0]);
        bench.run(0x04, &[flag]).split_off(1)
    };
    assert_eq!(end(Bench::rom(), 0), [Effect::Restart]);
    assert_eq!(end(Bench::stub(), 0), [Effect::Restart]);
    assert_eq!(end(Bench::rom(), 1), [Effect::Boot]);
    assert_eq!(end(Bench::stub(), 1), [], "the stub only ends the download");
    assert_eq!(Bench::stub().run(0xd3, &[])[1..], [Effect::Boot]);
}

#[test]
fn the_watchdog_ends_the_loader() {
    let mut rom = Bench::rom();
    rom.run(0x09, &[0x6000_80a8, 0x50d8_3aa1, u32::MAX, 0]);
    let effects = rom.run(0x09, &[0x6000_8090, 1 << 31, u32::MAX, 0]);
    assert_eq!(effects[1..], [Effect::Watchdog]);
}

#[test]
fn what_is_no_command_is_told_by_the_rom() {
    assert_eq!(
        Bench::rom().frame(b"\x00\x08\x24\x00short"),
        [from_rom(8, 0, &[], [1, 5])]
    );
}

#[test]
fn defects_do_what_they_say() {
    assert_eq!(Bench::with(Defect::Silent).run(0x0a, &[0]), []);

    let mut failing = Bench::with(Defect::WriteFails { after: 1 });
    failing.run(0x02, &[0x1000, 2, 4, 0x1000, 0]);
    assert_eq!(failing.data(0x03, 0, b"data"), [from_rom(3, 0, &[], [0, 0])]);
    assert_eq!(failing.data(0x03, 1, b"data"), [from_rom(3, 0, &[], [1, 8])]);

    let mut flipping = Bench::with(Defect::FlipsBit);
    flipping.run(0x02, &[0x1000, 1, 4, 0x1000, 0]);
    assert_eq!(flipping.data(0x03, 0, b"data"), [from_rom(3, 0, &[], [0, 0])]);
    let written = flipping.flash.read(0x1000, 4).unwrap();
    let flipped: u32 = written
        .iter()
        .zip(b"data")
        .map(|(a, b)| (a ^ b).count_ones())
        .sum();
    assert_eq!(flipped, 1);
}

proptest::proptest! {
    #[test]
    fn no_frame_makes_it_panic(frames: Vec<Vec<u8>>, command: u8, payload: Vec<u8>, stub: bool) {
        let mut bench = if stub { Bench::stub() } else { Bench::rom() };
        for frame in frames {
            bench.frame(&frame);
        }
        bench.send(command, packet::checksum(payload.get(16..).unwrap_or_default()), &payload);
    }

    #[test]
    fn no_parameters_make_it_panic(command in 0u8..=0x14, of_stub in 0xd0u8..=0xd3, words: [u32; 6], stub: bool) {
        let mut bench = if stub { Bench::stub() } else { Bench::rom() };
        bench.run(command, &words);
        bench.run(of_stub, &words);
        bench.frame(&words[0].to_le_bytes());
        bench.data(command, words[1], &[0x55; 64]);
    }
}
