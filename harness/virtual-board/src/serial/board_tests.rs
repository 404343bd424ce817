//! A host at the port of a board. Needs QEMU where a program runs.

use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::time::Instant;

use super::*;
use crate::serial::fault::{Fault, Moment};
use crate::serial::image::tests::image;
use crate::serial::kind::{Emulator, Flavour};
use crate::serial::packet::{self, command};
use crate::serial::partitions::tests::table;
use crate::serial::slip;

#[path = "../../tests/network/guest.rs"]
mod guest;

const MAC: Mac = [0x02, 0x00, 0x00, 0x00, 0x00, 0x01];
const LIMIT: Duration = Duration::from_secs(20);
const APP: u32 = 0x1_0000;
/// The guest's memory, and where its program begins in its ELF file.
const RAM: u32 = 0x8000_0000;
const ELF_HEADERS: usize = 84;

struct Host {
    line: File,
    heard: Vec<u8>,
    slip: slip::Decoder,
}

impl Host {
    fn at(board: &SerialBoard) -> Self {
        let line = OpenOptions::new()
            .read(true)
            .write(true)
            .open(board.link())
            .unwrap();
        rustix::io::ioctl_fionbio(&line, true).unwrap();
        Host {
            line,
            heard: Vec::new(),
            slip: slip::Decoder::default(),
        }
    }

    /// What comes within the time; empty when nothing does.
    fn listen(&mut self, time: Duration) -> Vec<u8> {
        let deadline = Instant::now() + time;
        let mut bytes = vec![0; 8192];
        loop {
            match self.line.read(&mut bytes) {
                Ok(length) => {
                    bytes.truncate(length);
                    return bytes;
                }
                Err(_) if Instant::now() < deadline => thread::sleep(Duration::from_millis(2)),
                Err(_) => return Vec::new(),
            }
        }
    }

    /// All that was said since the last time, up to the text.
    fn until(&mut self, text: &str) -> String {
        let deadline = Instant::now() + LIMIT;
        loop {
            let said = String::from_utf8_lossy(&self.heard).into_owned();
            if let Some(at) = said.find(text) {
                self.heard = said[at + text.len()..].into();
                return said[..at].to_owned();
            }
            assert!(Instant::now() < deadline, "{text:?} was not said, but: {said}");
            let bytes = self.listen(Duration::from_millis(100));
            self.heard.extend(bytes);
        }
    }

    fn send(&mut self, command: u8, payload: &[u8]) {
        let data = payload.get(16..).unwrap_or_default();
        let mut frame = vec![0, command];
        frame.extend((payload.len() as u16).to_le_bytes());
        frame.extend([packet::checksum(data), 0, 0, 0]);
        frame.extend(payload);
        self.line.write_all(&slip::encode(&frame)).unwrap();
    }

    /// The next frame of an answer to the command, after its header; none when there is none in time.
    fn answer(&mut self, command: u8, time: Duration) -> Option<Vec<u8>> {
        let deadline = Instant::now() + time;
        while Instant::now() < deadline {
            let bytes = self.listen(Duration::from_millis(50));
            self.heard.extend(bytes);
            let heard = std::mem::take(&mut self.heard);
            let mut rest = &heard[..];
            while let Some(frame) = self.slip.next(&mut rest) {
                if frame.starts_with(&[1, command]) && frame.len() >= 8 {
                    self.heard = rest.to_vec();
                    return Some(frame[8..].to_vec());
                }
            }
        }
        None
    }

    /// The answer to a command, which must come.
    fn ask(&mut self, command: u8, words: &[u32], data: &[u8]) -> Vec<u8> {
        let mut payload: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        payload.extend(data);
        self.send(command, &payload);
        self.answer(command, LIMIT).expect("an answer")
    }

    /// Writes through the ROM loader; the status of each block.
    fn write(&mut self, offset: u32, data: &[u8]) -> Vec<u8> {
        let blocks = data.chunks(0x400);
        self.ask(command::SPI_ATTACH, &[0, 0], &[]);
        let begun = self.ask(
            command::FLASH_BEGIN,
            &[data.len() as u32, blocks.len() as u32, 0x400, offset, 0],
            &[],
        );
        assert_eq!(begun, [0; 4]);
        let mut statuses = Vec::new();
        for (number, block) in blocks.enumerate() {
            let answer = self.ask(
                command::FLASH_DATA,
                &[block.len() as u32, number as u32, 0, 0],
                block,
            );
            statuses.push(answer[1]);
        }
        statuses
    }

    /// Flashes a program that says the text, waits for a line and switches off.
    fn flash(&mut self, text: &str) {
        let program = guest::elf(text);
        let app = image(RAM, 5, &[(RAM, &program[ELF_HEADERS..])]);
        let bootloader = image(0x403c_c710, 5, &[(0x3fcd_5820, b"boot")]);
        let rows = [
            ("config", 1, 6, 0x9000, 0x1000),
            ("factory", 0, 0, APP, 0x10_0000),
        ];
        for (offset, data) in [(0, bootloader), (0x8000, table(&rows)), (APP, app)] {
            assert!(self.write(offset, &data).iter().all(|status| *status == 0));
        }
    }
}

struct Bench {
    board: SerialBoard,
    host: Host,
    _folder: tempfile::TempDir,
}

fn bench(fault: Option<Planned>) -> Bench {
    let folder = tempfile::tempdir().unwrap();
    let options = Options {
        fault,
        ..Options::new(folder.path())
    };
    let board = SerialBoard::alone(MAC, &options).unwrap();
    let host = Host::at(&board);
    Bench {
        board,
        host,
        _folder: folder,
    }
}

/// A board in download mode with that fault.
fn downloading(fault: impl Into<Planned>) -> Bench {
    let bench = bench(Some(fault.into()));
    bench.board.reset(Mode::Download).unwrap();
    bench
}

/// A board that was flashed with a program that says "hello".
fn flashed() -> Bench {
    let mut bench = bench(None);
    bench.board.reset(Mode::Download).unwrap();
    bench.host.flash("hello\n");
    bench
}

#[test]
fn what_was_flashed_runs_with_the_port_as_its_console() {
    let Bench {
        board,
        mut host,
        _folder,
    } = flashed();
    board.reset(Mode::Run).unwrap();
    host.until("rst:0x1 (POWERON),boot:0xc (SPI_FAST_FLASH_BOOT)\r\n");
    host.until("boot: Loaded app from partition at offset 0x10000\r\n");
    host.until("hello");
    host.line.write_all(b"go\n").unwrap();
    thread::sleep(Duration::from_millis(300));
    host.listen(Duration::ZERO);
    assert_eq!(
        host.listen(Duration::from_millis(500)),
        b"",
        "it has switched off"
    );
    assert_eq!(board.trouble(), None);

    // The flash is the same when the board is plugged in again.
    drop(board);
    let board = SerialBoard::alone(MAC, &Options::new(_folder.path())).unwrap();
    let mut host = Host::at(&board);
    board.reset(Mode::Run).unwrap();
    host.until("hello");
}

#[test]
fn without_power_it_says_nothing() {
    let Bench {
        board,
        mut host,
        _folder,
    } = flashed();
    board.power_off().unwrap();
    while !host.listen(Duration::from_millis(50)).is_empty() {}
    host.send(command::SYNC, &[0x55; 36]);
    assert_eq!(host.answer(command::SYNC, Duration::from_millis(300)), None);
    board.reset(Mode::Run).unwrap();
    host.until("hello");
}

#[test]
fn erased_flash_resets_again_and_again() {
    let Bench {
        board,
        mut host,
        _folder,
    } = bench(None);
    board.reset(Mode::Run).unwrap();
    host.until("rst:0x1 (POWERON)");
    host.until("invalid header: 0xffffffff\r\n");
    host.until("rst:0x7 (TG0WDT_SYS_RST),boot:0xc (SPI_FAST_FLASH_BOOT)\r\nSaved PC:0x");
    host.until("rst:0x7 (TG0WDT_SYS_RST)");
}

#[test]
fn a_sync_puts_it_into_download_mode_if_it_shall() {
    let folder = tempfile::tempdir().unwrap();
    let mut options = Options::new(folder.path());
    let sync = [&[7, 7, 0x12, 0x20][..], &[0x55; 32]].concat();
    let answered = |options: &Options| {
        let board = SerialBoard::alone(MAC, options).unwrap();
        let mut host = Host::at(&board);
        host.send(command::SYNC, &sync);
        host.answer(command::SYNC, Duration::from_secs(1)).is_some()
    };
    assert!(!answered(&options));
    options.auto_download = true;
    assert!(answered(&options));
}

#[test]
fn a_restart_leads_where_the_last_reset_led() {
    let Bench {
        board: _board,
        mut host,
        _folder,
    } = downloading_sound();
    host.ask(command::SPI_ATTACH, &[0, 0], &[]);
    host.ask(command::FLASH_BEGIN, &[0, 0, 0x400, 0, 0], &[]);
    host.ask(command::FLASH_END, &[0], &[]);
    host.until("rst:0x3 (RTC_SW_SYS_RST),boot:0x4 (DOWNLOAD(USB/UART0/1))");
    host.ask(command::SPI_ATTACH, &[0, 0], &[]);
    host.ask(command::FLASH_BEGIN, &[0, 0, 0x400, 0, 0], &[]);
    host.ask(command::FLASH_END, &[1], &[]);
    host.until("boot:0xc (SPI_FAST_FLASH_BOOT)");
}

fn downloading_sound() -> Bench {
    let bench = bench(None);
    bench.board.reset(Mode::Download).unwrap();
    bench
}

#[test]
fn the_switch_can_be_thrown_by_a_shell() {
    let Bench {
        board,
        mut host,
        _folder,
    } = bench(None);
    let throw = |line: &str| {
        let mut fifo = OpenOptions::new().write(true).open(board.switch()).unwrap();
        writeln!(fifo, "{line}").unwrap();
    };
    throw("download");
    host.until("waiting for download");
    throw("run");
    host.until("invalid header");
    throw("stop");
    let deadline = Instant::now() + LIMIT;
    let trouble = loop {
        match board.trouble() {
            Some(trouble) => break trouble,
            None if Instant::now() < deadline => thread::sleep(Duration::from_millis(5)),
            None => panic!("no trouble"),
        }
    };
    assert!(
        trouble.starts_with("the switch was told \"stop\"; it knows: run, download"),
        "{trouble}"
    );
}

#[test]
fn faults_of_the_line() {
    let mut silent = downloading(Fault::NoSync);
    silent.host.send(command::SYNC, &[0x55; 36]);
    assert_eq!(
        silent.host.answer(command::SYNC, Duration::from_millis(300)),
        None
    );

    let mut trickle = downloading(Fault::Trickle);
    trickle.host.until("waiting for download\r\n");
    trickle.host.until("\n\n\n\n");

    let mut noise = downloading(Fault::LineNoise);
    noise.host.until("waiting for download\r\n");
    let mut heard = 0;
    while heard < 1000 {
        heard += noise.host.listen(LIMIT).len();
    }

    let mut slow = downloading(Fault::SlowLine);
    assert_eq!(
        slow.host.ask(command::CHANGE_BAUDRATE, &[460_800, 0], &[]),
        [0; 4]
    );
    assert_eq!(
        slow.host.ask(command::CHANGE_BAUDRATE, &[921_600, 0], &[]),
        [0; 4]
    );
    slow.host.send(command::READ_REG, &[0; 4]);
    assert_eq!(
        slow.host.answer(command::READ_REG, Duration::from_millis(300)),
        None
    );
}

#[test]
fn faults_of_identity() {
    let chip = |host: &mut Host| host.ask(command::GET_SECURITY_INFO, &[], &[])[12];
    let mac = |host: &mut Host| {
        host.send(command::READ_REG, &0x6000_8844u32.to_le_bytes());
        let answer = host.listen(LIMIT);
        answer[5..9].to_vec()
    };
    let mut sound = downloading_sound();
    sound.host.until("waiting for download\r\n");
    assert_eq!(
        (chip(&mut sound.host), mac(&mut sound.host)),
        (5, vec![1, 0, 0, 0])
    );
    assert_eq!(chip(&mut downloading(Fault::WrongChip).host), 13);
    let mut wrong = downloading(Fault::WrongBoard);
    wrong.host.until("waiting for download\r\n");
    assert_eq!(mac(&mut wrong.host), [0x81, 0, 0, 0]);
}

#[test]
fn faults_of_writing() {
    let mut failing = downloading(Fault::WriteFailed);
    assert_eq!(failing.host.write(APP, &[0x55; 0x800]), [0, 8]);

    let mut flipping = downloading(Fault::VerifyFailed);
    assert_eq!(flipping.host.write(APP, &[0x55; 0x400]), [0]);
    let flash = fs::read(flipping.board.flash()).unwrap();
    assert_eq!(flash[APP as usize..][..2], [0x54, 0x55]);

    let mut forgetting = flashed();
    forgetting
        .board
        .set_fault(Some(Fault::OldFirmware.into()))
        .unwrap();
    forgetting.board.reset(Mode::Download).unwrap();
    forgetting.host.flash("new\n");
    let digest = |host: &mut Host| host.ask(command::SPI_FLASH_MD5, &[APP, 0x100, 0, 0], &[]);
    let told = digest(&mut forgetting.host);
    forgetting.board.set_fault(None).unwrap();
    forgetting.board.reset(Mode::Download).unwrap();
    forgetting.host.ask(command::SPI_ATTACH, &[0, 0], &[]);
    assert_ne!(
        digest(&mut forgetting.host),
        told,
        "the digest was that of the new firmware"
    );
    forgetting.board.reset(Mode::Run).unwrap();
    forgetting.host.until("hello");
}

#[test]
fn faults_of_the_port() {
    let lost = Planned {
        fault: Fault::PortLost,
        at: Moment::Blocks(1),
    };
    let Bench {
        board,
        mut host,
        _folder,
    } = downloading(lost);
    let path = board.port().unwrap();
    host.ask(command::SPI_ATTACH, &[0, 0], &[]);
    host.ask(command::FLASH_BEGIN, &[0x800, 2, 0x400, APP, 0], &[]);
    host.send(
        command::FLASH_DATA,
        &[&[4, 0, 0, 0][..], &[0; 12], b"data"].concat(),
    );
    let deadline = Instant::now() + LIMIT;
    while board.port().is_some() {
        assert!(Instant::now() < deadline);
        thread::sleep(Duration::from_millis(2));
    }
    assert!(!path.exists() && !board.link().exists());
    assert!(matches!(host.line.read(&mut [0; 16]), Ok(0) | Err(_)));
    // Somebody plugs it in again.
    board.set_fault(None).unwrap();
    assert!(board.link().exists());

    let _other = crate::serial::port::Port::open().unwrap();
    board
        .set_fault(Some("port-moved@start".parse().unwrap()))
        .unwrap();
    assert_eq!(board.port(), None);
    let deadline = Instant::now() + LIMIT;
    while board.port().is_none() {
        assert!(Instant::now() < deadline);
        thread::sleep(Duration::from_millis(2));
    }
    let mut host = Host::at(&board);
    board.reset(Mode::Run).unwrap();
    host.until("rst:0x1 (POWERON)");
}

#[test]
fn faults_of_the_firmware() {
    let Bench {
        board,
        mut host,
        _folder,
    } = flashed();
    board.set_fault(Some(Fault::BootLoop.into())).unwrap();
    board.reset(Mode::Run).unwrap();
    for _ in 0..3 {
        host.until("E (60) esp_image: ");
        host.until("rst:0x3 (RTC_SW_SYS_RST)");
    }
    board
        .set_fault(Some("rebooted@console=hello".parse().unwrap()))
        .unwrap();
    board.reset(Mode::Run).unwrap();
    host.until("hello");
    host.until("rst:0x7 (TG0WDT_SYS_RST)");
    host.until("hello");
    board
        .set_fault(Some("hung@console=hello".parse().unwrap()))
        .unwrap();
    board.reset(Mode::Run).unwrap();
    host.until("hello");
    // The fault is gone, and the next run is sound.
    board.set_fault(None).unwrap();
    board.reset(Mode::Run).unwrap();
    host.until("rst:0x1 (POWERON)");
    host.until("hello");
}

#[test]
fn firmware_of_another_board_is_refused_in_words() {
    let Bench {
        board,
        mut host,
        _folder,
    } = flashed();
    let app = image(
        0x4200_0020,
        5,
        &[(0x3c00_0020, b"constants!!!"), (0x4200_0020, b"code")],
    );
    board.reset(Mode::Download).unwrap();
    host.write(APP, &app);
    board.reset(Mode::Run).unwrap();
    host.until("boot: segment at 0x3c000020 is not in this board's memory, 0x80000000 to 0x80800000");
}

/// A program in the place of an emulator.
fn emulator(folder: &Path, script: &str) -> PathBuf {
    use std::os::unix::fs::PermissionsExt;
    let path = folder.join("emulator");
    fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    path
}

fn chip(flavour: Flavour, folder: &Path, script: &str) -> Result<SerialBoard, Error> {
    let program = emulator(folder, script);
    let kind = Choice::Chip(Emulator {
        flavour,
        program,
        arguments: vec!["--more".to_owned()],
    });
    SerialBoard::alone(
        MAC,
        &Options {
            kind,
            ..Options::new(folder)
        },
    )
}

#[test]
fn an_emulator_of_the_chip_has_the_line_and_is_restarted_with_its_strap() {
    let folder = tempfile::tempdir().unwrap();
    let board = chip(Flavour::Qemu, folder.path(), r#"echo "run with $*"; exec cat"#).unwrap();
    let mut host = Host::at(&board);
    board.reset(Mode::Run).unwrap();
    let line = host.until("\n");
    assert!(
        !line.contains("strap_mode") && line.trim_end().ends_with("--more"),
        "{line}"
    );
    host.line.write_all(b"ping\n").unwrap();
    host.until("ping\n");
    board.reset(Mode::Download).unwrap();
    host.until("strap_mode,value=0x02");
    assert_eq!(fs::metadata(board.flash()).unwrap().len(), 4 << 20);
}

#[test]
fn an_emulator_may_have_its_uart_on_tcp() {
    let folder = tempfile::tempdir().unwrap();
    let arguments = folder.path().join("arguments");
    let script = format!(
        "echo \"$*\" >'{}.new'; mv '{0}.new' '{0}'; exec sleep 60",
        arguments.display()
    );
    let server = thread::spawn(move || {
        let deadline = Instant::now() + LIMIT;
        let line = loop {
            match fs::read_to_string(&arguments) {
                Ok(line) => break line,
                Err(_) => assert!(Instant::now() < deadline, "the emulator did not start"),
            }
            thread::sleep(Duration::from_millis(5));
        };
        let address = line
            .split_whitespace()
            .skip_while(|word| *word != "--uart-tcp")
            .nth(1)
            .unwrap();
        let listener = std::net::TcpListener::bind(address).unwrap();
        listener.accept().unwrap().0
    });
    let board = chip(Flavour::EspEmu, folder.path(), &script).unwrap();
    let mut uart = server.join().unwrap();
    let mut host = Host::at(&board);
    uart.write_all(b"from the chip").unwrap();
    host.until("from the chip");
    host.line.write_all(b"to").unwrap();
    let mut read = [0; 2];
    uart.read_exact(&mut read).unwrap();
    assert_eq!(&read, b"to");
    assert!(board.endpoint().is_some_and(|at| at.ip().is_loopback()));
}

#[test]
fn an_emulator_that_is_not_there_or_ends_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let kind = Choice::Chip("qemu=/no/such/program".parse().unwrap());
    let options = Options {
        kind,
        ..Options::new(folder.path())
    };
    let error = SerialBoard::alone(MAC, &options).err().unwrap().to_string();
    assert!(error.starts_with("/no/such/program "), "{error}");
    let error = chip(Flavour::EspEmu, folder.path(), "echo no such option >&2; exit 3")
        .err()
        .unwrap()
        .to_string();
    assert!(
        error.contains("reach the UART") && error.ends_with("exit status: 3, and says: no such option"),
        "{error}"
    );
}
