//! `mcp-hil record`.

use crate::args::Record;
use crate::conversation::{Told, because, failed, open_one};
use crate::exit::Exit;
use crate::output::{self, Sink};
use mcp_hil_harness::client::Limits;
use mcp_hil_harness::fault::Fault;
use mcp_hil_harness::record::{RecordError, Recording, Script, record};
use mcp_hil_harness::replay::known;
use mcp_hil_harness::report::escape_line;
use std::path::Path;

/// Plays a script and writes the transcript.
pub async fn run(args: Record) -> Exit {
    try_run(&args).await.err().unwrap_or(Exit::Passed)
}

async fn try_run(args: &Record) -> Told<()> {
    let file = args.script.display().to_string();
    let text = std::fs::read_to_string(&args.script)
        .map_err(|error| Exit::Usage.because(&format!("{file}: {error}")))?;
    let script = Script::parse(&file, &text).map_err(|error| Exit::Usage.because(&error.to_string()))?;
    let open = open_one(&args.target, &args.options.options()).await?;
    let factor = args.options.deadline_factor;
    let subject = &open.subjects[0];
    let known = known(subject, Limits::scaled(factor))
        .await
        .map_err(|probe| because(&probe))?;
    let recording = record(&subject.target, &known, &script, factor)
        .await
        .map_err(|error| reason(&error))?;
    let out = args.out.as_deref().unwrap_or(Path::new("-"));
    let written = Sink::open(out)
        .map_err(|reason| Exit::Usage.because(&reason))?
        .write(&recording.text);
    written.map_err(|error| {
        Exit::Infrastructure.because(&format!("the transcript could not be written: {error}"))
    })?;
    output::print(true, &told(&recording));
    Ok(())
}

fn told(recording: &Recording) -> String {
    let Recording {
        steps,
        plays,
        varying,
        redacted,
        ..
    } = recording;
    let mut text = String::new();
    for place in varying {
        text.push_str(&format!("varies    {}\n", escape_line(place)));
    }
    for place in redacted {
        text.push_str(&format!("redacted  {}\n", escape_line(place)));
    }
    text.push_str(&format!(
        "recorded {steps} steps from {plays} plays: {} values vary, {} redacted; replayed: pass\n",
        varying.len(),
        redacted.len()
    ));
    text
}

fn reason(error: &RecordError) -> Exit {
    match error {
        RecordError::Client(error) => failed(error),
        RecordError::Script(_) | RecordError::SecretSent(_) => Exit::Usage.because(&error.to_string()),
        RecordError::Needs(_) => Exit::NothingRan.because(&error.to_string()),
        RecordError::Fault {
            fault: Fault::Unreachable { .. },
            ..
        } => Exit::Infrastructure.because(&error.to_string()),
        _ => Exit::Failed.because(&error.to_string()),
    }
}
