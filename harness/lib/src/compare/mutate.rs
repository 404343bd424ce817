//! Shows that a comparison sees what it should: one byte of each answer is changed, outside of what is left out.

use super::{Answered, answers, comparable, comparable_pair, with};
use crate::client::Reply;
use crate::report::Case;
use crate::transcript::Transcript;
use crate::transcript::pattern::escape;
use serde_json::Value;

/// How many changes were made, and which were not seen.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Mutations {
    /// Changes made: one for each answer that has a byte to change.
    pub made: usize,
    /// What was changed and not seen.
    pub unseen: Vec<String>,
}

/// A string that stands in no answer by chance.
const MARK: &str = "mcp-hil-mark-5f1d";

/// Changes a byte of each of the second target's answers, and compares with the first's.
pub fn mutations(transcript: &Transcript, left: &Case, right: &Case) -> Mutations {
    let mut found = Mutations::default();
    let (lefts, rights) = (answers(transcript, left), answers(transcript, right));
    for (index, (left, right)) in lefts.iter().zip(&rights).enumerate() {
        // another place in each answer, and the same ones in every run
        let seed = transcript
            .id()
            .bytes()
            .fold(index, |sum, byte| sum.wrapping_mul(31).wrapping_add(byte.into()));
        let http = left.reply.status.is_some();
        let Some((reply, what)) = mutated(right, seed, http) else {
            continue;
        };
        found.made += 1;
        let [left, changed] = comparable_pair(left, &with(right, &reply));
        if left == changed {
            found
                .unseen
                .push(format!("{}, step {:?}: {what}", transcript.id(), right.step));
        }
    }
    found
}

fn mutated(answered: &Answered<'_>, seed: usize, http: bool) -> Option<(Reply, String)> {
    let mut reply = answered.reply.clone();
    let shown = comparable(answered);
    if let (Some(message), Some(shown)) = (&reply.message, shown.get("message")) {
        let mut places = Vec::new();
        leaves(message, shown, String::new(), &mut places);
        if let Some(place) = places.get(seed % places.len().max(1)) {
            let (text, at) = change(message, place, seed)?;
            match serde_json::from_slice(&text) {
                Ok(changed) => reply.message = Some(changed),
                Err(error) => {
                    reply.message = None;
                    reply.unreadable = Some(error.to_string());
                }
            }
            reply.body = text;
            return Some((reply, format!("{place}, byte {at}")));
        }
    }
    // nothing in the message is compared: the last digit of the status
    let status = shown.get("status").filter(|_| http)?.as_u64()?;
    let changed = u16::try_from(if status % 10 == 9 { status - 1 } else { status + 1 }).ok()?;
    reply.status = Some(changed);
    Some((reply, format!("HTTP status {status} to {changed}")))
}

/// Pointers of the values that stand in the comparison as they came.
fn leaves(value: &Value, shown: &Value, pointer: String, places: &mut Vec<String>) {
    match (value, shown) {
        (Value::Object(members), Value::Object(shown)) => {
            for (name, value) in members {
                if let Some(shown) = shown.get(name) {
                    leaves(value, shown, format!("{pointer}/{}", escape(name)), places);
                }
            }
        }
        (Value::Array(items), Value::Array(shown)) => {
            for (index, (value, shown)) in items.iter().zip(shown).enumerate() {
                leaves(value, shown, format!("{pointer}/{index}"), places);
            }
        }
        (value, shown) if value == shown => places.push(pointer),
        _ => {}
    }
}

/// The message as text with one byte of a value changed, and the place of that byte.
fn change(message: &Value, pointer: &str, seed: usize) -> Option<(Vec<u8>, usize)> {
    let leaf = message.pointer(pointer)?.to_string();
    let mut marked = message.clone();
    *marked.pointer_mut(pointer)? = MARK.into();
    let start = marked.to_string().find(&format!("\"{MARK}\""))?;
    // inside the quotes of a string, unless it is empty
    let inner = if leaf.starts_with('"') && leaf.len() > 2 {
        1..leaf.len() - 1
    } else {
        0..leaf.len()
    };
    let at = start + inner.start + (seed / 7) % inner.len();
    let mut text = message.to_string().into_bytes();
    let byte = text.get_mut(at)?;
    *byte = match *byte {
        digit @ b'0'..=b'8' => digit + 1,
        b'9' => b'8',
        b'z' => b'y',
        b'Z' => b'Y',
        letter if letter.is_ascii_alphabetic() => letter + 1,
        _ => b'x',
    };
    Some((text, at))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn one_byte_of_the_chosen_value_changes() {
        let message = json!({"id": 7, "result": {"text": "ab", "more": [true, 1.5]}});
        let before = message.to_string();
        for pointer in ["/id", "/result/text", "/result/more/0", "/result/more/1"] {
            for seed in 0..40 {
                let (after, at) = change(&message, pointer, seed).unwrap();
                let differing: Vec<_> = (0..before.len())
                    .filter(|&i| before.as_bytes()[i] != after[i])
                    .collect();
                assert_eq!(differing, [at], "{pointer}");
                // no other value has changed
                if let Ok(mut changed) = serde_json::from_slice::<Value>(&after) {
                    assert_ne!(changed, message);
                    *changed.pointer_mut(pointer).unwrap() = message.pointer(pointer).unwrap().clone();
                    assert_eq!(changed, message);
                }
            }
        }
    }
}
