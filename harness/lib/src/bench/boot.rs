//! Judges by its console whether a board that was just reset has come up: pure, but for [`watch`].

use super::capture::{Capture, Content};
use super::failure::{Failure, Kind};
use super::symbols::Symbols;
use crate::board::console::{Boot, Console};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A backtrace is printed in this time after a panic.
const BACKTRACE: Duration = Duration::from_millis(800);
/// A port that is gone for longer does not come back by itself.
const GONE: Duration = Duration::from_secs(5);
/// What can't be started stays so.
const NO_START: Duration = Duration::from_secs(2);
/// Lines of the console that go with a failure.
const TAIL: usize = 30;

/// How long a board may take.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Until our firmware serves.
    pub serving: Duration,
    /// A firmware that prints no boot lines is taken for good when nothing bad has come for so long.
    pub settle: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            serving: Duration::from_secs(60),
            settle: Duration::from_secs(5),
        }
    }
}

/// A board that is up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Up {
    /// Our firmware serves.
    Serving(Boot),
    /// Another firmware, which does not say when it is up: nothing bad came.
    Running,
}

/// Waits until a board is known to be up, or known not to come up. `build` is the build id of what was flashed; `symbols` explain a
/// panic.
///
/// # Errors
/// [`Kind::BootPanic`], [`Kind::BootLoop`], [`Kind::NoNetwork`], [`Kind::OldFirmware`], [`Kind::Hung`], [`Kind::PortLost`].
pub fn watch(
    board: &str,
    capture: &Capture,
    limits: Limits,
    build: Option<&str>,
    symbols: Option<&Symbols>,
) -> Result<Up, Failure> {
    let start = Instant::now();
    let judged = capture.wait(limits.serving + limits.settle, |content| {
        judge(content, limits, build, start, Instant::now())
    });
    let judged = judged.unwrap_or_else(|| Err((Kind::Hung, "it is not known whether it is up".to_owned())));
    judged.map_err(|(kind, cause)| {
        let evidence = capture.look(|content| evidence(content, kind, symbols));
        Failure::new(kind, board, cause).with_output(evidence)
    })
}

/// What stands on the console of a failure.
fn evidence(content: &Content, kind: Kind, symbols: Option<&Symbols>) -> Vec<String> {
    let crash = content.signs.crash().filter(|_| kind == Kind::BootPanic);
    let Some(crash) = crash else {
        return content.tail(TAIL);
    };
    let mut output = content.around(&crash.text);
    if let Some(symbols) = symbols {
        let places = symbols.explain(&crash.addresses);
        output.extend(places.into_iter().map(|place| format!("at {place}")));
    }
    output
}

/// A console that judges its board, for as long as the board runs.
#[derive(Debug)]
pub struct Watched {
    capture: Capture,
    console: Arc<dyn Console>,
    board: String,
    build: Option<String>,
    /// The file by which a panic is explained.
    file: PathBuf,
    start: Instant,
}

impl Watched {
    /// That of a board that was just reset; `build` is the build id of what was flashed, `file` its ELF file.
    pub fn new(capture: Capture, board: &str, build: Option<String>, file: &Path) -> Self {
        Self {
            console: capture.console(),
            capture,
            board: board.to_owned(),
            build,
            file: file.to_owned(),
            start: Instant::now(),
        }
    }
}

impl Console for Watched {
    fn since(&self, start: Instant) -> Vec<String> {
        self.console.since(start)
    }

    fn failure(&self) -> Option<Failure> {
        // when a board has to be up is not for the console to say
        let limits = Limits {
            serving: Duration::MAX,
            settle: Duration::MAX,
        };
        let judge =
            |content: &Content| judge(content, limits, self.build.as_deref(), self.start, Instant::now());
        let (kind, cause) = self.capture.look(judge)?.err()?;
        let symbols = (kind == Kind::BootPanic)
            .then(|| Symbols::open(&self.file).ok())
            .flatten();
        let evidence = self
            .capture
            .look(|content| evidence(content, kind, symbols.as_ref()));
        Some(Failure::new(kind, &self.board, cause).with_output(evidence))
    }
}

/// The verdict at a moment; none if it is too early.
fn judge(
    content: &Content,
    limits: Limits,
    build: Option<&str>,
    start: Instant,
    now: Instant,
) -> Option<Result<Up, (Kind, String)>> {
    let bad = |kind, cause: String| Some(Err((kind, cause)));
    let boot = &content.boot;
    let elapsed = now.saturating_duration_since(start);
    let since_sign = content
        .last_sign
        .as_ref()
        .map(|(at, _)| now.saturating_duration_since(*at));
    if content
        .lost
        .is_some_and(|lost| now.saturating_duration_since(lost) > GONE)
    {
        return bad(
            Kind::PortLost,
            format!("the port went away, and was not back after {} s", GONE.as_secs()),
        );
    }
    if let Some(crash) = content.signs.crash()
        && (since_sign.is_some_and(|since| since > BACKTRACE) || content.signs.resets().0 > 1)
    {
        return bad(Kind::BootPanic, crash.text.clone());
    }
    if content.signs.is_loop() {
        let (resets, _) = content.signs.resets();
        let why = content
            .signs
            .bad_image()
            .map_or_else(|| content.signs.reasons(), str::to_owned);
        return bad(
            Kind::BootLoop,
            format!(
                "it started {resets} times in {:.1} s and was never up: {why}",
                elapsed.as_secs_f64()
            ),
        );
    }
    if let Some(image) = content.signs.bad_image()
        && since_sign.is_some_and(|since| since > NO_START)
    {
        return bad(
            Kind::BootLoop,
            format!("what is in flash can't be started: {image}"),
        );
    }
    if let (Some(wanted), Some(running)) = (build, &boot.build_id)
        && wanted != running
    {
        return bad(
            Kind::OldFirmware,
            format!("it runs build {running}, {wanted} was flashed"),
        );
    }
    if let (Some(state), Some(reason)) = (&boot.configuration, &boot.waits) {
        return bad(
            Kind::NoNetwork,
            format!("its configuration is {state}, so it waits: {reason}"),
        );
    }
    if boot.url.is_some() {
        return Some(Ok(Up::Serving(boot.clone())));
    }
    let ours = boot.stage.is_some();
    if !ours && elapsed > limits.settle {
        return match content.heard {
            Some(_) => Some(Ok(Up::Running)),
            None => bad(
                Kind::Hung,
                format!(
                    "nothing came on its console in the {} s after the reset",
                    limits.settle.as_secs_f64()
                ),
            ),
        };
    }
    if elapsed > limits.serving {
        let stage = boot.stage.as_deref().unwrap_or_default();
        let within = limits.serving.as_secs_f64();
        return match (stage, &boot.address) {
            ("mac" | "configuration", None) => bad(
                Kind::NoNetwork,
                format!("it did not get into its network within {within} s"),
            ),
            ("joined", None) => bad(
                Kind::NoNetwork,
                format!("it joined its network, and got no address within {within} s"),
            ),
            _ => bad(
                Kind::Hung,
                format!("it did not serve within {within} s; the last it told was the boot stage {stage}"),
            ),
        };
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: Limits = Limits {
        serving: Duration::from_secs(60),
        settle: Duration::from_secs(5),
    };

    fn after(text: &str, seconds: u64) -> Option<Result<Up, (Kind, String)>> {
        let mut content = Content::default();
        content.take_text(text);
        let start = Instant::now();
        judge(
            &content,
            LIMITS,
            Some("17f4"),
            start,
            start + Duration::from_secs(seconds),
        )
    }

    fn kind(text: &str, seconds: u64) -> Kind {
        after(text, seconds).expect("a verdict").expect_err("a failure").0
    }

    const RESET: &str = "mcp-device boot stage=reset reason=power-on\nmcp-device boot stage=build id=17f4\nmcp-device boot stage=mac mac=60:55:f9:00:00:01\n";

    #[test]
    fn a_board_that_serves_is_up_at_once() {
        let text = format!("{RESET}mcp-device boot stage=serving url=http://192.168.4.2/mcp\n");
        let Some(Ok(Up::Serving(boot))) = after(&text, 0) else {
            panic!("not up");
        };
        assert_eq!(boot.url.as_deref(), Some("http://192.168.4.2/mcp"));
    }

    #[test]
    fn a_firmware_that_tells_no_stages_is_up_when_nothing_bad_came() {
        assert_eq!(after("hello\n", 1), None);
        assert_eq!(after("hello\n", 6), Some(Ok(Up::Running)));
        assert_eq!(kind("", 6), Kind::Hung);
    }

    #[test]
    fn what_keeps_a_board_from_coming_up_has_a_name() {
        assert_eq!(after(RESET, 30), None);
        assert_eq!(kind(RESET, 61), Kind::NoNetwork);
        let missing = format!("{RESET}mcp-device boot stage=configuration state=missing\n");
        assert_eq!(after(&missing, 1), None);
        let waits = missing + "mcp-device warning: configuration: no network is named\n";
        assert_eq!(kind(&waits, 0), Kind::NoNetwork);
        let address = format!("{RESET}mcp-device boot stage=address ip=192.168.4.2\n");
        assert_eq!(kind(&address, 61), Kind::Hung);
        assert_eq!(kind(&RESET.replace("17f4", "0bad"), 0), Kind::OldFirmware);
        assert_eq!(kind("invalid header: 0xffffffff\n", 3), Kind::BootLoop);
        let panic = format!("{RESET}mcp-device panic at src/main.rs:1:1: no\n");
        assert_eq!(after(&panic, 0), None);
        assert_eq!(kind(&panic, 1), Kind::BootPanic);
        assert_eq!(
            kind(&RESET.replace("power-on", "watchdog").repeat(4), 0),
            Kind::BootLoop
        );
    }
}
