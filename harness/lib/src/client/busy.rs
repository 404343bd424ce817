//! Servers that are busy, and say when they can be asked again (RFC 9110, 10.2.3).

use super::Exchange;
use std::time::Duration;
use tokio::time::sleep;

/// How often a busy server is asked again.
const TRIES: usize = 5;

/// How often a server is still asked again.
#[derive(Debug)]
pub struct Patience {
    left: usize,
    longest: Duration,
}

impl Patience {
    /// For a request whose answer may take this long.
    pub const fn new(longest: Duration) -> Self {
        Self { left: TRIES, longest }
    }

    /// Waits for as long as a busy server wants, and says that it is to be asked again; false where its answer is the last.
    pub async fn wait(&mut self, answer: &Exchange) -> bool {
        let Some(left) = self.left.checked_sub(1) else {
            return false;
        };
        let Some(pause) = pause(answer, self.longest) else {
            return false;
        };
        self.left = left;
        sleep(pause).await;
        true
    }
}

/// How long the server wants to be left alone, if this is all that it answers; at most `longest` is waited.
fn pause(exchange: &Exchange, longest: Duration) -> Option<Duration> {
    let reply = exchange.reply()?;
    let is_busy = matches!(reply.status, Some(429 | 503));
    let has_result = reply
        .message
        .as_ref()
        .is_some_and(|message| message.get("result").is_some());
    if !is_busy || has_result {
        return None;
    }
    // a date is for those who wait for hours
    let seconds = reply.header("retry-after")?.trim().parse().ok()?;
    let wait = Duration::from_secs(seconds);
    (wait <= longest).then_some(wait)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::Reply;

    fn answer(status: u16, retry_after: Option<&str>) -> Exchange {
        let headers = retry_after.map(|value| ("retry-after".to_owned(), value.to_owned()));
        Exchange {
            replies: vec![Reply {
                status: Some(status),
                headers: headers.into_iter().collect(),
                ..Reply::default()
            }],
            ..Exchange::default()
        }
    }

    #[test]
    fn only_a_busy_server_that_says_how_long_is_asked_again() {
        let longest = Duration::from_secs(10);
        assert_eq!(
            pause(&answer(503, Some("1")), longest),
            Some(Duration::from_secs(1))
        );
        assert_eq!(pause(&answer(429, Some("0")), longest), Some(Duration::ZERO));
        for other in [
            answer(503, None),
            answer(503, Some("99999999")),
            answer(503, Some("Wed, 21 Oct 2026 07:28:00 GMT")),
            answer(500, Some("1")),
            answer(200, Some("1")),
        ] {
            assert_eq!(pause(&other, longest), None);
        }
    }
}
