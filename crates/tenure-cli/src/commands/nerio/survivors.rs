//! `tenure node recover` in an epoch above 0: the members that are left go on without the lost
//! members.

use serde_json::json;
use tenure::clock;
use tenure_core::NodeName;
use tenure_nerio::state::{Grantor, Survival, Survived};

use super::recover::{again, list, low};
use crate::exit::Exit;
use crate::failure::{self, Failure};
use crate::invocation::nerio::recover::{LaterEpoch, RecoverSettings};
use crate::output;
use crate::protocol::nerio::unrecovered;
use crate::settings::Context;

/// Edits the directory, and prints the losses, the promises from now on, and the next steps.
pub(super) fn run(
    settings: &RecoverSettings,
    later: &LaterEpoch,
    context: &Context,
) -> Result<Exit, Failure> {
    let RecoverSettings { cluster, name, state, lost, floor, epoch, .. } = settings;
    let grantor = Grantor { cluster: cluster.config.cluster.clone(), node: name.clone() };
    let (lost, listed) = (lost.clone(), cluster.config.names());
    let quorums = later.quorums.clone();
    let survival = Survival { lost, listed, quorums, floor: *floor, epoch: *epoch };
    let survived = survival.carry_out(state, &grantor);
    let survived = survived.map_err(|error| unrecovered(&error, &context.origins))?;
    let now = clock::wall().as_nanos() / 1_000_000;
    floor.and_then(|given| low(given, now)).iter().for_each(|warning| failure::warn(warning));
    voted(settings, &survived).iter().for_each(|warning| failure::warn(warning));
    let members = survived.document.names();
    let others = members.iter().filter(|other| *other != name);
    let command = |other| again(other, settings, survived.floor, survived.epoch, context);
    let others: Vec<_> = others.map(|other| (other, command(other))).collect();
    output::print(&if context.json {
        object(settings, &survived, &others)
    } else {
        text(settings, &survived, &others)
    })?;
    Ok(Exit::Done)
}

/// A warning about a successor that the lost members may have decided on.
fn voted(settings: &RecoverSettings, survived: &Survived) -> Option<String> {
    let (name, of) = (&settings.name, survived.epoch.of);
    let next = survived.voted?;
    Some(format!(
        "{name} had voted for epoch {next}, the successor of epoch {of}; the lost members may have \
         decided on it. The members of epoch {of} go on, and the vote is void. If a state \
         directory of epoch {next} or later is left, also run this command for that directory, \
         without --epoch, before any node starts. Then run the commands that it prints: {name} \
         follows that epoch"
    ))
}

fn object(
    settings: &RecoverSettings,
    survived: &Survived,
    others: &[(&NodeName, String)],
) -> String {
    let names = |all: &[NodeName]| all.iter().map(ToString::to_string).collect::<Vec<_>>();
    let other =
        |(node, command): &(&NodeName, String)| json!({"node": node.as_str(), "command": command});
    let line = json!({
        "node": settings.name.as_str(),
        "cluster": settings.cluster.config.cluster.as_str(),
        "state": settings.state.display().to_string(),
        "lost": names(&settings.lost),
        "memory": "kept",
        "fence_floor": survived.floor.number(),
        "fences_before": survived.before.number(),
        "epoch": survived.document.number,
        "recovered_epoch": survived.epoch.of,
        "members": names(&survived.document.names()),
        "others": others.iter().map(other).collect::<Vec<_>>(),
    });
    format!("{line}\n")
}

fn text(settings: &RecoverSettings, survived: &Survived, others: &[(&NodeName, String)]) -> String {
    let Survived { document, epoch, floor, before, .. } = survived;
    let of = epoch.of;
    let RecoverSettings { name, state, lost, .. } = settings;
    let (members, lost) = (list(&document.names(), ", "), list(lost, ", "));
    let (state, number) = (state.display(), document.number);
    let commands: String = others.iter().map(|(_, command)| format!("  {command}\n")).collect();
    let next = if commands.is_empty() {
        String::new()
    } else {
        format!(
            "Now do the same for each other member that is left, before you start any of them (DIR \
             is its state directory):\n{commands}"
        )
    };
    format!(
        "{name}: {state} is now in epoch {number}, which follows epoch {of} and has the members \
         {members}. After its start {name} waits for the longest lease that it ever allowed, and a \
         little more. It then grants with fences above {floor}; its fences were at most {before}\n\
         Lost with {lost}: the leases that they granted, the fences that they issued, and changes \
         of members after epoch {of} that only they knew.\n\
         From now on there is one leader at a time, and fences grow, if your confirmation is true. \
         You confirmed that no old leader and no old process of {lost} is left, and that none of \
         them issued a fence above {floor}. None of them may ever start again with its old state \
         directory. Tenure cannot check that.\n\
         {next}Then put {members} into the members list of every node and candidate, and start \
         them. To bring a lost member back, start it with an empty state directory and itself in \
         its list, and run tenure members add NAME=HOST:PORT.\n"
    )
}
