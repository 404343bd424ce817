//! Colour, or none.

use anstyle::AnsiColor;

/// Whether text is coloured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Style {
    colour: bool,
}

impl Style {
    /// No colour.
    pub const PLAIN: Self = Self { colour: false };
    /// ANSI colours.
    pub const COLOUR: Self = Self { colour: true };

    fn paint(self, colour: AnsiColor, text: &str) -> String {
        if !self.colour {
            return text.to_owned();
        }
        let style = anstyle::Style::new().fg_color(Some(colour.into()));
        format!("{style}{text}{style:#}")
    }

    /// What is wrong.
    pub fn bad(self, text: &str) -> String {
        self.paint(AnsiColor::Red, text)
    }

    /// What is right.
    pub fn good(self, text: &str) -> String {
        self.paint(AnsiColor::Green, text)
    }

    /// What was left out.
    pub fn dim(self, text: &str) -> String {
        self.paint(AnsiColor::Yellow, text)
    }
}
