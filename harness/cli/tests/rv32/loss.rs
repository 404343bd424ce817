//! A network that loses every tenth frame and takes 20 ms each way. One stated factor stretches the time limits on both
//! sides, and no request is sent twice.

use crate::lab::{LOSS, Ready, Tested, runtime};
use mcp_hil::targets::stretch;
use mcp_hil_harness::client::{Client, Limits};
use mcp_hil_harness::message::RequestId;
use mcp_hil_harness::player::{Known, Player};
use mcp_hil_harness::replay::CONTRACT;
use mcp_hil_harness::report::{self, Case, Verdict, style::Style};
use mcp_hil_harness::revision::Revision;
use mcp_hil_harness::target::Target;
use mcp_hil_harness::transcript::{self, Transcript};
use serde_json::json;
use std::sync::Mutex;

const IMPAIRMENT: &str = "loss=10%,delay=20ms";
/// So that a frame or its acknowledgement may be lost six times in a row: TCP sends it again after 1, 3, 7, 15, 31 and 63 s,
/// and the shortest limit is 13 times 5 s. With 7, for five times in a row, one run in a hundred fails.
const DEADLINE_FACTOR: u32 = 13;

/// Every transcript whose point is not a deadline, dealt out to twelve boards, which wait most of the time.
pub fn every_transcript(ready: &Ready) -> Result<(), String> {
    let mut transcripts = transcript::embedded().map_err(|error| error.to_string())?;
    transcripts.retain(|transcript| !transcript.tests_deadline);
    transcripts.retain(|transcript| transcript.needs.transport.is_none_or(|needed| needed == "http"));
    // tools/list for `needs.tools` is no exchange of a transcript and would spoil the count
    transcripts.retain(|transcript| transcript.needs.tools.is_empty());
    let total = transcripts.len();
    let queue = Mutex::new(transcripts);
    let next = || queue.lock().ok()?.pop();
    let impairment = IMPAIRMENT.parse().map_err(|_| "no impairment")?;
    let played = std::thread::scope(|scope| {
        let boards: Vec<_> = LOSS
            .map(|place| {
                scope.spawn(move || {
                    let mut tested = ready.start(place)?;
                    stretch(&mut tested.board, DEADLINE_FACTOR).map_err(|error| error.to_string())?;
                    let before = requests(&tested)?;
                    ready
                        .network
                        .impair(place, impairment)
                        .map_err(|error| error.to_string())?;
                    let played = play(&tested, &next)?;
                    ready
                        .network
                        .impair(place, Default::default())
                        .map_err(|error| error.to_string())?;
                    is_sent_once(&tested, before, &played)?;
                    Ok(played.len())
                })
            })
            .into();
        let join = |board: std::thread::ScopedJoinHandle<'_, Result<usize, String>>| {
            board
                .join()
                .unwrap_or_else(|_| Err("the trial panicked".to_owned()))
        };
        boards.into_iter().map(join).sum::<Result<usize, String>>()
    })?;
    if played != total {
        return Err(format!("{played} of {total} transcripts were played"));
    }
    Ok(())
}

fn play(tested: &Tested, next: &impl Fn() -> Option<Transcript>) -> Result<Vec<Case>, String> {
    let known = Known {
        contract: Some(CONTRACT.to_owned()),
        revisions: Revision::ALL.to_vec(),
    };
    let factor = f64::from(DEADLINE_FACTOR);
    let mut player = Player::new(Target::Http(tested.endpoint.clone()), known, factor)
        .with_console(Some(tested.board.shared_console() as _));
    let runtime = runtime()?;
    let mut results = Vec::new();
    while let Some(transcript) = next() {
        let played = runtime.block_on(player.play(&transcript));
        if !matches!(played.verdict, Verdict::Pass) {
            return Err(report::line(&played, Style::PLAIN, report::Detail::Full));
        }
        results.push(played);
    }
    Ok(results)
}

/// How many requests the board has answered so far (`device_stats` of the contract), the asking one not counted.
fn requests(tested: &Tested) -> Result<u64, String> {
    let target = Target::Http(tested.endpoint.clone());
    runtime()?.block_on(async {
        let mut client = Client::open(&target, Revision::R2026_07_28, Limits::default())
            .map_err(|fault| fault.to_string())?;
        let call = json!({"name": "device_stats", "arguments": {}});
        let result = client
            .request("tools/call", call)
            .await
            .map_err(|error| error.to_string())?;
        let requests = result["structuredContent"]["requests"].as_u64();
        requests.ok_or_else(|| format!("device_stats has no requests: {result}"))
    })
}

/// The board answered as many requests as answers with an id came.
fn is_sent_once(tested: &Tested, before: u64, played: &[Case]) -> Result<(), String> {
    let answers = played
        .iter()
        .flat_map(|played| &played.exchanges)
        .flat_map(|(_, exchange)| &exchange.replies)
        .filter_map(|reply| RequestId::of_message(reply.message.as_ref()?))
        .count();
    // the first count was a request itself
    let counted = requests(tested)? - before - 1;
    match u64::try_from(answers) == Ok(counted) {
        true => Ok(()),
        false => Err(format!(
            "the board answered {counted} requests, {answers} were sent"
        )),
    }
}
