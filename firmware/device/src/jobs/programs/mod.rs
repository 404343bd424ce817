//! The programs that jobs run, each a state machine in a file of its own. A new one is its file, one line in the list
//! below, and its entry in the contract.
//!
//! A program knows no time: it is stepped at an even pace, and says after each step whether it is to go on.

use alloc::boxed::Box;
use core::fmt;

use super::Outside;
use crate::Led;
use crate::log::Log;

/// What a step led to.
pub(super) enum Step {
    /// There is more to do.
    More,
    /// All of so many steps are done.
    Done(u16),
    /// It failed, for this reason.
    Failed(Box<str>),
}

/// A program.
trait Run {
    /// Names of the arguments that it takes.
    const TAKES: &'static [&'static str];
    /// From one step to the next, milliseconds, where that is not for the arguments to say.
    const PACE: Option<u32> = None;

    fn new(args: &Args) -> Self;

    fn step(&mut self, outside: &mut Outside<'_>, log: &mut Log) -> Step;

    /// Is told to stop; whether it needs more steps to wind down. Then the last of them is [`Step::Done`].
    fn stop(&mut self) -> bool {
        false
    }

    /// Leaves the LED as it was found, at any end.
    fn leave(&mut self, _: &mut Led) {}
}

/// Arguments of all programs, each within the bounds of the contract.
pub(crate) struct Args {
    /// Steps to do.
    pub steps: u16,
    /// From one step to the next, milliseconds.
    pub step_ms: u32,
    /// Why to fail.
    pub reason: Option<Box<str>>,
}

/// A program that can be started.
pub(crate) struct Entry {
    /// As in the contract.
    pub name: &'static str,
    /// Names of the arguments that it takes.
    pub takes: &'static [&'static str],
    pace: Option<u32>,
    load: fn(&Args) -> Program,
}

impl Entry {
    /// A program at its beginning, and its pace in milliseconds.
    pub(super) fn load(&self, args: &Args) -> (Program, u32) {
        ((self.load)(args), self.pace.unwrap_or(args.step_ms))
    }
}

impl fmt::Debug for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

macro_rules! programs {
    ($($name:literal => $module:ident::$program:ident,)*) => {
        $(mod $module;)*

        /// The programs that can be started.
        pub(crate) static PROGRAMS: &[Entry] = &[$(Entry {
            name: $name,
            takes: $module::$program::TAKES,
            pace: $module::$program::PACE,
            load: |args| Program::$program($module::$program::new(args)),
        }),*];

        /// A program that runs.
        pub(super) enum Program {
            $($program($module::$program)),*
        }

        impl Program {
            pub fn step(&mut self, outside: &mut Outside<'_>, log: &mut Log) -> Step {
                match self {
                    $(Self::$program(program) => program.step(outside, log)),*
                }
            }

            pub fn stop(&mut self) -> bool {
                match self {
                    $(Self::$program(program) => program.stop()),*
                }
            }

            pub fn leave(&mut self, led: &mut Led) {
                match self {
                    $(Self::$program(program) => program.leave(led)),*
                }
            }
        }
    };
}

programs! {
    "count" => count::Count,
    "blink" => blink::Blink,
    "sweep" => sweep::Sweep,
    "fail" => fail::Fail,
    "spin" => spin::Spin,
}
