//! Reads what a board prints for signs of trouble: resets, panics, exceptions, watchdogs, and starts that turn in circles. Pure.
//!
//! Knows the lines of the ROM (`rst:0x…`), of the second-stage bootloader, of ESP-IDF's and esp-hal's panic handlers, and
//! of this project's own firmware.

use crate::board::console;

/// A board that has started so often without being up is in a loop.
const TURNS: usize = 3;

/// A sign of trouble, or of a start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Sign {
    /// The chip was reset; the ROM, or our firmware, says why.
    Reset {
        /// The reason, as it was printed.
        reason: String,
        /// What kind of reason that is.
        cause: Cause,
    },
    /// The ROM waits for a flashing tool.
    Download,
    /// What is in flash can't be started.
    BadImage(String),
    /// The firmware panicked, or aborted, or hit an exception; with what it said.
    Panic(String),
    /// A watchdog is about to reset it.
    Watchdog(String),
    /// The supply fell too low.
    BrownOut(String),
}

/// Why a chip was reset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// Power came, or the reset pin was pulled.
    Power,
    /// Software asked for it, as a panic handler does.
    Software,
    /// A watchdog.
    Watchdog,
    /// The supply.
    BrownOut,
    /// Anything else.
    Other,
}

/// What was printed since the harness itself reset the board.
#[derive(Clone, Debug, Default)]
pub struct Recogniser {
    resets: Vec<(String, Cause)>,
    rom_spoke: bool,
    panic: Option<Crash>,
    in_panic: bool,
    bad_image: Option<String>,
    brown_out: bool,
    serving: bool,
}

/// A panic, with the addresses that were printed after it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Crash {
    /// What it said.
    pub text: String,
    /// Addresses of code: where it happened, then its callers.
    pub addresses: Vec<u64>,
}

impl Recogniser {
    /// Takes a line, and gives what it is a sign of.
    pub fn line(&mut self, line: &str) -> Option<Sign> {
        self.addresses(line);
        let sign = sign(line)?;
        match &sign {
            Sign::Reset { reason, cause } => self.reset(line, reason, *cause),
            Sign::Panic(text) => {
                self.in_panic = true;
                match &mut self.panic {
                    // of `PANIC` and `panicked at` after it the second says more
                    Some(crash) if crash.addresses.is_empty() && crash.text.starts_with("====") => {
                        crash.text.clone_from(text);
                    }
                    Some(crash) if !crash.addresses.is_empty() || crash.text == *text => {}
                    Some(crash) => crash.text = format!("{} {text}", crash.text),
                    None => {
                        self.panic = Some(Crash {
                            text: text.clone(),
                            addresses: Vec::new(),
                        });
                        self.addresses(line);
                    }
                }
            }
            Sign::BadImage(text) => self.bad_image = Some(text.clone()),
            Sign::BrownOut(_) => self.brown_out = true,
            Sign::Download | Sign::Watchdog(_) => {}
        }
        Some(sign)
    }

    /// A start is told twice: by the ROM, and by our firmware. It counts once.
    fn reset(&mut self, line: &str, reason: &str, cause: Cause) {
        let rom = line.contains("rst:0x");
        let told = self.rom_spoke && !rom;
        self.rom_spoke = rom;
        self.in_panic = false;
        self.serving = false;
        if !told {
            self.resets.push((reason.to_owned(), cause));
        }
        self.brown_out |= cause == Cause::BrownOut;
    }

    fn addresses(&mut self, line: &str) {
        if let (true, Some(crash)) = (self.in_panic, &mut self.panic) {
            for address in code_addresses(line) {
                if crash.addresses.len() < 64 && !crash.addresses.contains(&address) {
                    crash.addresses.push(address);
                }
            }
        }
    }

    /// Tells that the board is up: what restarts after that is no loop of starts.
    pub const fn serves(&mut self) {
        self.serving = true;
    }

    /// How often it was reset, and why the last time.
    pub fn resets(&self) -> (usize, Option<&str>) {
        (
            self.resets.len(),
            self.resets.last().map(|(reason, _)| reason.as_str()),
        )
    }

    /// The first panic.
    pub const fn crash(&self) -> Option<&Crash> {
        self.panic.as_ref()
    }

    /// Whether the supply fell too low.
    pub const fn brown_out(&self) -> bool {
        self.brown_out
    }

    /// Why what is in flash can't be started.
    pub fn bad_image(&self) -> Option<&str> {
        self.bad_image.as_deref()
    }

    /// Whether it starts again and again: the third turn without being up.
    pub fn is_loop(&self) -> bool {
        // the first reset is the harness's own
        !self.serving && self.resets.len() > TURNS
    }

    /// The reasons of all resets but the first, each once.
    pub fn reasons(&self) -> String {
        let mut reasons: Vec<&str> = Vec::new();
        for (reason, _) in self.resets.iter().skip(1) {
            if !reasons.contains(&reason.as_str()) {
                reasons.push(reason);
            }
        }
        reasons.join(", ")
    }
}

fn sign(line: &str) -> Option<Sign> {
    let line = line.trim();
    if let Some((stage, values)) = console::parse(line) {
        let reason = values
            .iter()
            .find(|(key, _)| *key == "reason")
            .map_or("unknown", |(_, value)| value);
        return (stage == "reset").then(|| Sign::Reset {
            reason: reason.to_owned(),
            cause: our_cause(reason),
        });
    }
    let text = || line.to_owned();
    if let Some(at) = line.find("rst:0x") {
        let reason = rom_reason(&line[at..]);
        let cause = rom_cause(&reason);
        return Some(Sign::Reset { reason, cause });
    }
    if line.starts_with("waiting for download") {
        return Some(Sign::Download);
    }
    let has = |part: &str| line.contains(part);
    if line.starts_with("invalid header:")
        || line.starts_with("ets_main.c")
        || has("No bootable app partitions")
        || has("Image hash failed")
        || has("Checksum failed")
        || has("partition table") && has("invalid")
    {
        return Some(Sign::BadImage(text()));
    }
    if has("Brownout detector was triggered") {
        return Some(Sign::BrownOut(text()));
    }
    let panic = has("Guru Meditation Error")
        || has("= PANIC =")
        || line.starts_with("abort() was called")
        || line.starts_with("assert failed:")
        || has("panicked at")
        || line.starts_with("mcp-device panic ")
        || line.starts_with("Exception '")
        || line.starts_with("Exception occurred")
        || has("stack overflow in task")
        || has("Stack smashing protect failure")
        || has("Stack overflow detected");
    if panic {
        return Some(Sign::Panic(text()));
    }
    let watchdog = has("Task watchdog got triggered") || has("Interrupt wdt timeout");
    watchdog.then(|| Sign::Watchdog(text()))
}

/// `TG0WDT_SYS_RST` of `rst:0x7 (TG0WDT_SYS_RST),boot:0xc …`; the number, if there is no name.
fn rom_reason(text: &str) -> String {
    let end = text.find([',', '\t']).unwrap_or(text.len());
    let (number, name) = text[..end].split_once(" (").unwrap_or((&text[..end], ""));
    match name.trim_end_matches(')') {
        "" => number.trim().to_owned(),
        name => name.to_owned(),
    }
}

fn rom_cause(reason: &str) -> Cause {
    if reason.contains("WDT") {
        Cause::Watchdog
    } else if reason.contains("BROWN") {
        Cause::BrownOut
    } else if reason.contains("POWERON") || reason.contains("EXT") {
        Cause::Power
    } else if reason.contains("SW") {
        Cause::Software
    } else {
        Cause::Other
    }
}

fn our_cause(reason: &str) -> Cause {
    match reason {
        "power-on" => Cause::Power,
        "software" => Cause::Software,
        "watchdog" => Cause::Watchdog,
        "brown-out" => Cause::BrownOut,
        _ => Cause::Other,
    }
}

/// Hexadecimal numbers of a line of a panic that may be addresses of code: in registers that hold such, in backtraces.
fn code_addresses(line: &str) -> Vec<u64> {
    let line = line.trim();
    let words: Vec<&str> = line
        .split([' ', '\t', ',', '=', '\'', '(', ')'])
        .filter(|word| !word.is_empty())
        .collect();
    let number = |word: &str| {
        // a backtrace of ESP-IDF has pairs, PC:SP
        let word = word.split(':').next().unwrap_or(word);
        u64::from_str_radix(word.strip_prefix("0x")?, 16).ok()
    };
    let register = |at: usize| {
        let name = words[..at].iter().rev().find(|word| **word != ":");
        name.map(|name| name.trim_end_matches(':').to_ascii_lowercase())
    };
    let is_trace = line.starts_with("Backtrace")
        || line.starts_with("mcp-device backtrace")
        || line.starts_with("abort() was called")
        || words.len() == 1
        || words.get(1) == Some(&"-");
    (0..words.len())
        .filter_map(|at| Some((at, number(words[at])?)))
        .filter(|(at, _)| {
            let pc = register(*at).is_some_and(|name| matches!(name.as_str(), "mepc" | "pc" | "ra" | "a0"));
            is_trace || pc
        })
        .map(|(_, address)| address)
        .filter(|address| is_code(*address))
        .collect()
}

/// Code of the chips and of QEMU's machine: ROM and RAM (0x4000_0000 up), flash (0x4200_0000 up), RAM of `virt` (0x8000_0000 up).
const fn is_code(address: u64) -> bool {
    matches!(address, 0x4000_0000..=0x4fff_ffff | 0x8000_0000..=0x87ff_ffff)
}

#[cfg(test)]
#[path = "recognise_tests.rs"]
mod tests;
