//! DNS messages as bytes (RFC 1035, 4): a writer that can also write what no library would, and a reader that keeps what
//! the checks must see. Pure.

/// Types of records.
pub const A: u16 = 1;
/// See [`A`].
pub const PTR: u16 = 12;
/// See [`A`].
pub const TXT: u16 = 16;
/// See [`A`].
pub const AAAA: u16 = 28;
/// See [`A`].
pub const SRV: u16 = 33;
/// See [`A`].
pub const NSEC: u16 = 47;
/// All types.
pub const ANY: u16 = 255;
/// The Internet.
pub const IN: u16 = 1;
/// Top bit of a question's class: a unicast answer will do (RFC 6762, 5.4). Of a record's: it replaces what is known (10.2).
pub const TOP: u16 = 0x8000;

/// Longest name in bytes.
const MAX_NAME: usize = 255;

/// A name as its labels.
pub type Name = Vec<Vec<u8>>;

/// A name written with dots, none of them in a label.
pub fn name(text: &str) -> Name {
    text.split('.')
        .filter(|label| !label.is_empty())
        .map(|label| label.as_bytes().to_vec())
        .collect()
}

/// Whether two names are the same, in whatever letters (RFC 6762, 16).
pub fn same(one: &Name, other: &Name) -> bool {
    one.len() == other.len()
        && one
            .iter()
            .zip(other)
            .all(|(one, other)| one.eq_ignore_ascii_case(other))
}

/// A name for people.
pub fn shown(name: &Name) -> String {
    name.iter()
        .map(|label| String::from_utf8_lossy(label).into_owned())
        .collect::<Vec<_>>()
        .join(".")
}

/// A name in other letters.
pub fn swapped(name: &Name) -> Name {
    let swap = |byte: &u8| {
        if byte.is_ascii_lowercase() {
            byte.to_ascii_uppercase()
        } else {
            byte.to_ascii_lowercase()
        }
    };
    name.iter()
        .map(|label| label.iter().map(swap).collect())
        .collect()
}

/// A question.
#[derive(Clone, Debug)]
pub struct Question {
    /// Name asked for.
    pub name: Name,
    /// Type, or [`ANY`].
    pub kind: u16,
    /// Class with the top bit.
    pub class: u16,
}

/// A record as it came.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// Owner.
    pub name: Name,
    /// Type.
    pub kind: u16,
    /// Class with the top bit.
    pub class: u16,
    /// Time to live, seconds.
    pub ttl: u32,
    /// The data; a name in PTR and SRV is written out.
    pub data: Vec<u8>,
}

impl Record {
    /// Whether it replaces what is known.
    pub const fn flushes(&self) -> bool {
        self.class & TOP != 0
    }

    /// The name that a PTR record leads to.
    pub fn pointer(&self) -> Option<Name> {
        (self.kind == PTR)
            .then(|| read_name(&self.data, 0).ok().map(|(name, _)| name))
            .flatten()
    }

    /// Priority, weight, port and host of an SRV record.
    pub fn service(&self) -> Option<(u16, u16, u16, Name)> {
        let (name, _) = read_name(&self.data, 6).ok().filter(|_| self.kind == SRV)?;
        let number = |at| u16::from_be_bytes([self.data[at], self.data[at + 1]]);
        Some((number(0), number(2), number(4), name))
    }

    /// The strings of a TXT record; none if their lengths don't add up.
    pub fn strings(&self) -> Option<Vec<Vec<u8>>> {
        let mut rest = self.data.as_slice();
        let mut strings = Vec::new();
        while let Some((length, after)) = rest.split_first() {
            let length = usize::from(*length);
            strings.push(after.get(..length)?.to_vec());
            rest = &after[length..];
        }
        Some(strings)
    }
}

/// A message that was read.
#[derive(Clone, Debug, Default)]
pub struct Message {
    /// ID.
    pub id: u16,
    /// The second and third field: QR, opcode, AA, TC, RD, RA, Z, AD, CD, rcode.
    pub flags: u16,
    /// Questions.
    pub questions: Vec<Question>,
    /// Answers.
    pub answers: Vec<Record>,
    /// Authorities; in a probe the records that are claimed.
    pub authorities: Vec<Record>,
    /// Additional records.
    pub additional: Vec<Record>,
}

impl Message {
    /// Whether it is a response.
    pub const fn is_response(&self) -> bool {
        self.flags & 0x8000 != 0
    }

    /// Answers and additional records.
    pub fn records(&self) -> impl Iterator<Item = &Record> {
        self.answers.iter().chain(&self.additional)
    }
}

fn read_name(bytes: &[u8], mut at: usize) -> Result<(Name, usize), &'static str> {
    let mut name = Name::new();
    let (mut end, mut length) = (None, 0);
    loop {
        let head = usize::from(*bytes.get(at).ok_or("a name is cut off")?);
        match head >> 6 {
            0 if head == 0 => return Ok((name, end.unwrap_or(at + 1))),
            0 => {
                name.push(
                    bytes
                        .get(at + 1..at + 1 + head)
                        .ok_or("a label is cut off")?
                        .to_vec(),
                );
                length += head + 1;
                if length > MAX_NAME {
                    return Err("a name is too long");
                }
                at += 1 + head;
            }
            3 => {
                let low = usize::from(*bytes.get(at + 1).ok_or("a pointer is cut off")?);
                let target = (head & 0x3f) << 8 | low;
                end.get_or_insert(at + 2);
                if target >= at {
                    return Err("a pointer does not lead back");
                }
                at = target;
            }
            _ => return Err("a label has an unknown kind"),
        }
    }
}

/// Reads a message.
///
/// # Errors
/// Where it is no DNS.
pub fn read(bytes: &[u8]) -> Result<Message, &'static str> {
    let word = |at: usize| {
        bytes
            .get(at..at + 2)
            .map(|two| u16::from_be_bytes([two[0], two[1]]))
            .ok_or("it is cut off")
    };
    let mut message = Message {
        id: word(0)?,
        flags: word(2)?,
        ..Message::default()
    };
    let mut at = 12;
    for _ in 0..word(4)? {
        let (name, end) = read_name(bytes, at)?;
        message.questions.push(Question {
            name,
            kind: word(end)?,
            class: word(end + 2)?,
        });
        at = end + 4;
    }
    for (count, section) in [(word(6)?, 0), (word(8)?, 1), (word(10)?, 2)] {
        for _ in 0..count {
            let (name, end) = read_name(bytes, at)?;
            let (kind, class) = (word(end)?, word(end + 2)?);
            let ttl = u32::from(word(end + 4)?) << 16 | u32::from(word(end + 6)?);
            let (from, length) = (end + 10, usize::from(word(end + 8)?));
            let data = bytes.get(from..from + length).ok_or("a record is cut off")?;
            let data = match kind {
                PTR => write_name(&read_name(bytes, from)?.0),
                SRV if length > 6 => [&data[..6], &write_name(&read_name(bytes, from + 6)?.0)].concat(),
                _ => data.to_vec(),
            };
            let record = Record {
                name,
                kind,
                class,
                ttl,
                data,
            };
            [
                &mut message.answers,
                &mut message.authorities,
                &mut message.additional,
            ][section]
                .push(record);
            at = from + length;
        }
    }
    Ok(message)
}

/// The bytes of a name.
pub fn write_name(name: &Name) -> Vec<u8> {
    let mut bytes = Vec::new();
    for label in name {
        bytes.push(u8::try_from(label.len()).unwrap_or(63).min(63));
        bytes.extend(label.iter().take(63));
    }
    bytes.push(0);
    bytes
}

fn write_record(bytes: &mut Vec<u8>, record: &Record) {
    bytes.extend(write_name(&record.name));
    bytes.extend(record.kind.to_be_bytes());
    bytes.extend(record.class.to_be_bytes());
    bytes.extend(record.ttl.to_be_bytes());
    bytes.extend(u16::try_from(record.data.len()).unwrap_or(0).to_be_bytes());
    bytes.extend(&record.data);
}

/// The bytes of a message.
pub fn write(message: &Message) -> Vec<u8> {
    let count = |length: usize| u16::try_from(length).unwrap_or(0).to_be_bytes();
    let mut bytes = Vec::new();
    bytes.extend(message.id.to_be_bytes());
    bytes.extend(message.flags.to_be_bytes());
    for length in [
        message.questions.len(),
        message.answers.len(),
        message.authorities.len(),
        message.additional.len(),
    ] {
        bytes.extend(count(length));
    }
    for question in &message.questions {
        bytes.extend(write_name(&question.name));
        bytes.extend(question.kind.to_be_bytes());
        bytes.extend(question.class.to_be_bytes());
    }
    for record in message
        .answers
        .iter()
        .chain(&message.authorities)
        .chain(&message.additional)
    {
        write_record(&mut bytes, record);
    }
    bytes
}

/// A query with these questions, for multicast answers.
pub fn query(questions: &[(&Name, u16)]) -> Message {
    let questions = questions.iter().map(|(name, kind)| Question {
        name: (*name).clone(),
        kind: *kind,
        class: IN,
    });
    Message {
        questions: questions.collect(),
        ..Message::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let owner = name("board._mcp._tcp.local");
        let mut message = query(&[(&owner, SRV)]);
        message.answers.push(Record {
            name: owner.clone(),
            kind: SRV,
            class: IN | TOP,
            ttl: 120,
            data: [&[0, 0, 0, 0, 0x49, 0x67][..], &write_name(&name("board.local"))].concat(),
        });
        let read = read(&write(&message)).unwrap();
        assert_eq!(read.answers, message.answers);
        assert_eq!(
            read.answers[0].service(),
            Some((0, 0, 18791, name("board.local")))
        );
        assert!(read.answers[0].flushes());
    }

    #[test]
    fn a_pointer_leads_back_and_never_round() {
        let mut bytes = write(&query(&[(&name("a.local"), PTR)]));
        bytes[5] = 2;
        bytes.extend([0xc0, 12, 0, 12, 0, 1]);
        let message = read(&bytes).unwrap();
        assert!(same(&message.questions[0].name, &message.questions[1].name));
        let at = bytes.len() - 6;
        bytes[at + 1] = u8::try_from(at).unwrap();
        assert!(read(&bytes).is_err());
    }

    #[test]
    fn strings_must_add_up() {
        let record = |data: &[u8]| Record {
            name: Name::new(),
            kind: TXT,
            class: IN,
            ttl: 0,
            data: data.to_vec(),
        };
        assert_eq!(
            record(b"\x03a=b\x00").strings().unwrap(),
            [b"a=b".to_vec(), Vec::new()]
        );
        assert_eq!(record(b"\x09a=b").strings(), None);
    }
}
