//! `mcp-hil diff`.

use crate::args::Diff;
use crate::conversation::{Told, because, open_one};
use crate::exit::Exit;
use crate::output;
use crate::playing::choose;
use crate::targets::Open;
use mcp_hil_harness::client::Limits;
use mcp_hil_harness::compare::{Compared, Mutations, compare, mutations};
use mcp_hil_harness::player::Player;
use mcp_hil_harness::replay::known;
use mcp_hil_harness::report::escape_line;

/// Plays the transcripts on both targets, and shows where they answer differently.
pub async fn run(args: Diff) -> Exit {
    try_run(&args).await.unwrap_or_else(|exit| exit)
}

#[derive(Default)]
struct Count {
    alike: usize,
    answers: usize,
    different: usize,
    skipped: usize,
    mutations: Mutations,
}

async fn try_run(args: &Diff) -> Told<Exit> {
    let transcripts =
        choose(&args.files, &args.selection).map_err(|error| Exit::Usage.because(&error.to_string()))?;
    let [left, right] = open_both(args).await?;
    let style = output::style(args.color, false);
    let names = [args.left.as_str(), args.right.as_str()];
    let (mut left_player, mut right_player) = (player(&left, args).await?, player(&right, args).await?);
    let mut count = Count::default();
    for transcript in &transcripts {
        let (left, right) = tokio::join!(left_player.play(transcript), right_player.play(transcript));
        let id = escape_line(&transcript.id());
        match compare(transcript, &left, &right) {
            Compared::Infrastructure(reason) => return Err(Exit::Infrastructure.because(&reason)),
            Compared::Skipped(reason) => {
                count.skipped += 1;
                output::print(
                    false,
                    &format!("{}  {id}: {}\n", style.dim("skip"), escape_line(&reason)),
                );
                continue;
            }
            Compared::Alike(answers) => {
                count.alike += 1;
                count.answers += answers;
            }
            Compared::Different(differences) => {
                count.different += 1;
                output::print(
                    false,
                    &format!(
                        "{}  {id}: {}\n",
                        style.bad("DIFF"),
                        escape_line(&transcript.title)
                    ),
                );
                for difference in differences {
                    let shown = difference.render(names, style);
                    let shown = shown.trim_end().replace('\n', "\n    ");
                    output::print(
                        false,
                        &format!("  step: {}\n    {shown}\n", escape_line(&difference.step)),
                    );
                }
            }
        }
        if args.mutate {
            let Mutations { made, unseen } = mutations(transcript, &left, &right);
            count.mutations.made += made;
            count.mutations.unseen.extend(unseen);
        }
    }
    Ok(conclude(args, &count))
}

/// Virtual boards come first: their network is entered by starting this program again.
async fn open_both(args: &Diff) -> Told<[Open; 2]> {
    let options = args.options.options();
    if args.right.starts_with("virtual") && !args.left.starts_with("virtual") {
        let right = open_one(&args.right, &options).await?;
        return Ok([open_one(&args.left, &options).await?, right]);
    }
    if args.left.starts_with("virtual") && args.right.starts_with("virtual") {
        return Err(Exit::Usage
            .because("two virtual boards are one target, virtual:2; give one of them and another target"));
    }
    let left = open_one(&args.left, &options).await?;
    Ok([left, open_one(&args.right, &options).await?])
}

async fn player(open: &Open, args: &Diff) -> Told<Player> {
    let factor = args.options.deadline_factor;
    let subject = &open.subjects[0];
    let mut known = known(subject, Limits::scaled(factor))
        .await
        .map_err(|probe| because(&probe))?;
    if args.contract.is_some() {
        known.contract.clone_from(&args.contract);
    }
    Ok(Player::new(subject.target.clone(), known, factor).with_console(subject.console.clone()))
}

fn conclude(args: &Diff, count: &Count) -> Exit {
    let Count {
        alike,
        answers,
        different,
        skipped,
        mutations: Mutations { made, unseen },
    } = count;
    let (left, right) = (escape_line(&args.left), escape_line(&args.right));
    output::print(
        false,
        &format!(
            "{left} and {right}: {alike} transcripts alike ({answers} answers), {different} different, {skipped} skipped\n"
        ),
    );
    if args.mutate {
        for what in unseen {
            output::print(false, &format!("not seen: {}\n", escape_line(what)));
        }
        output::print(
            false,
            &format!(
                "mutations of one byte: {made} made, {} seen\n",
                made - unseen.len()
            ),
        );
    }
    if *different > 0 || !unseen.is_empty() {
        Exit::Failed
    } else if *alike == 0 || (args.mutate && *made == 0) {
        Exit::NothingRan.because("nothing was compared")
    } else {
        Exit::Passed
    }
}
