//! Event streams (WHATWG HTML, "Server-sent events"): bytes in, events out.

/// One event that has been dispatched.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Event {
    /// Value of the `event` field, `message` if there was none.
    pub kind: String,
    /// The `data` lines, joined by a line feed.
    pub data: String,
}

/// Reads a stream piece by piece; a piece may end anywhere, also inside a character.
#[derive(Debug, Default)]
pub struct Parser {
    line: Vec<u8>,
    after_cr: bool,
    started: bool,
    kind: String,
    data: Option<String>,
    id: String,
    /// The id of the last event that had one; what a stream is resumed by.
    pub last_event_id: String,
    /// For how long to wait before the stream is asked for again, in milliseconds.
    pub retry: Option<u64>,
}

impl Parser {
    /// Takes the next bytes and gives the events that they complete.
    pub fn feed(&mut self, bytes: &[u8]) -> Vec<Event> {
        let mut events = Vec::new();
        for &byte in bytes {
            let second_half_of_crlf = byte == b'\n' && self.after_cr;
            self.after_cr = byte == b'\r';
            match byte {
                b'\n' if second_half_of_crlf => {}
                b'\n' | b'\r' => events.extend(self.end_line()),
                _ => self.line.push(byte),
            }
        }
        events
    }

    fn end_line(&mut self) -> Option<Event> {
        let bytes = std::mem::take(&mut self.line);
        let text = String::from_utf8_lossy(&bytes);
        let line = if self.started {
            &text
        } else {
            text.strip_prefix('\u{feff}').unwrap_or(&text)
        };
        self.started = true;
        if line.is_empty() {
            self.last_event_id.clone_from(&self.id);
            let kind = std::mem::take(&mut self.kind);
            let kind = if kind.is_empty() {
                "message".to_owned()
            } else {
                kind
            };
            return self.data.take().map(|data| Event { kind, data });
        }
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "event" => value.clone_into(&mut self.kind),
            "data" => match &mut self.data {
                Some(data) => {
                    data.push('\n');
                    data.push_str(value);
                }
                None => self.data = Some(value.to_owned()),
            },
            "id" if !value.contains('\0') => value.clone_into(&mut self.id),
            "retry" if value.bytes().all(|byte| byte.is_ascii_digit()) => {
                self.retry = value.parse().ok().or(self.retry);
            }
            // an empty field name is a comment
            _ => {}
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(stream: &str) -> Vec<Event> {
        Parser::default().feed(stream.as_bytes())
    }

    fn message(data: &str) -> Event {
        Event {
            kind: "message".into(),
            data: data.into(),
        }
    }

    #[test]
    fn data_lines_are_joined_and_one_leading_space_is_dropped() {
        assert_eq!(parse("data: a\ndata:  b\ndata\n\n"), [message("a\n b\n")]);
    }

    #[test]
    fn comments_ids_and_unknown_fields_carry_nothing() {
        assert_eq!(
            parse(": keep-alive\nid: 7\nretry: 10\nfoo: bar\n\ndata: x\n\n"),
            [message("x")]
        );
    }

    #[test]
    fn every_line_ending_of_the_format_ends_a_line() {
        assert_eq!(
            parse("\u{feff}data: a\r\n\r\ndata: b\r\rdata: c\n\n"),
            [message("a"), message("b"), message("c")]
        );
    }

    #[test]
    fn an_event_may_be_split_anywhere() {
        let stream = "event: endpoint\r\ndata: /\u{00fc}\r\n\r\n".as_bytes();
        for cut in 0..=stream.len() {
            let mut parser = Parser::default();
            let mut events = parser.feed(&stream[..cut]);
            events.extend(parser.feed(&stream[cut..]));
            assert_eq!(
                events,
                [Event {
                    kind: "endpoint".into(),
                    data: "/\u{00fc}".into()
                }],
                "cut at {cut}"
            );
        }
    }

    #[test]
    fn what_a_stream_is_resumed_by_is_kept() {
        let mut parser = Parser::default();
        parser.feed(b"id: 7\nretry: 10\n\nid: 8\nretry: soon\ndata: x\n");
        assert_eq!((parser.last_event_id.as_str(), parser.retry), ("7", Some(10)));
        parser.feed(b"\nid: a\0b\n\n");
        assert_eq!(parser.last_event_id, "8");
    }

    #[test]
    fn an_event_without_its_empty_line_is_not_dispatched() {
        assert_eq!(parse("data: a\n"), []);
    }
}
