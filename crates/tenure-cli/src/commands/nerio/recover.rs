//! `tenure node recover`: edits the state directory of a stopped member.

use serde_json::json;
use tenure::clock;
use tenure_core::{Fence, NodeName};
use tenure_nerio::state::{Edited, Grantor, Recovery, SurvivorsEpoch};

use crate::exit::Exit;
use crate::failure::{self, Failure, shell_word};
use crate::invocation::nerio::recover::RecoverSettings;
use crate::output;
use crate::protocol::nerio::{CLUSTER_SETTINGS, unrecovered};
use crate::settings::{Context, Spec, table};

/// Edits the directory, and prints the losses, the promises from now on, and the next steps.
pub(in crate::commands) fn run(
    settings: &RecoverSettings,
    context: &Context,
) -> Result<Exit, Failure> {
    if let Some(later) = &settings.later {
        return super::survivors::run(settings, later, context);
    }
    let config = &settings.cluster.config;
    if settings.all_lost() {
        failure::warn(
            "all members are named as lost. If all of them come back, only start them: they found \
             the cluster by themselves. Use this command if a member never comes back",
        );
    }
    let grantor = Grantor { cluster: config.cluster.clone(), node: settings.name.clone() };
    let own = SurvivorsEpoch { of: 0, digest: config.membership().id().digest };
    let recovery = Recovery {
        is_lost: settings.is_lost(),
        whole: config.names().into_iter().filter(|name| !settings.lost.contains(name)).collect(),
        own,
        epoch: settings.epoch,
        delta_max: config.delta_max,
        floor: settings.floor,
    };
    let edited = recovery.carry_out(&settings.state, &grantor);
    let edited = edited.map_err(|error| unrecovered(&error, &context.origins))?;
    if let Some(given) = settings.floor {
        let now = clock::wall().as_nanos() / 1_000_000;
        let low = low(given, now).filter(|_| edited.before.is_none());
        low.or_else(|| high(given, now)).iter().for_each(|warning| failure::warn(warning));
    }
    let others: Vec<_> = config.names().into_iter().filter(|name| *name != settings.name).collect();
    let command = |other| again(other, settings, edited.floor, own, context);
    let others = others.iter().map(|other| (other, command(other)));
    output::print(&if context.json {
        object(settings, &edited, others)
    } else {
        text(settings, &edited, others)
    })?;
    Ok(Exit::Done)
}

/// Warns if the fence floor is more than a day below the clock `now`, in milliseconds since 1970.
/// A cluster that was founded without `--new` takes its first fence from the clock.
pub(super) fn low(floor: Fence, now: u64) -> Option<String> {
    const DAY: u64 = 86_400_000;
    (floor.number().saturating_add(DAY) < now).then(|| {
        format!(
            "the fence floor {floor} is more than a day below this machine's clock, {now} \
             milliseconds since 1970. A cluster that was started without --new takes its first \
             fence from such a clock. If a member may have issued a fence above the floor, start \
             no member yet: run this command again on all members, with that clock as --fence-floor"
        )
    })
}

/// A warning about a floor that no clock reaches in a lifetime.
fn high(floor: Fence, now: u64) -> Option<String> {
    const CENTURY: u64 = 3_155_760_000_000;
    (floor.number() > now.saturating_add(CENTURY)).then(|| {
        format!(
            "the fence floor {floor} is far above this machine's clock, {now} milliseconds since \
             1970. Fences never go back, and {} is the highest one that JSON numbers hold exactly. \
             If the floor is a mistake, delete the state directories that this command has \
             written, before any member starts. Then run this command again with all members in \
             --lost, and with a lower floor that is above all earlier fences",
            (1_u64 << 53) - 1
        )
    })
}

/// The command line for another member, with the same confirmation, floor and epoch.
pub(super) fn again(
    other: &NodeName,
    settings: &RecoverSettings,
    floor: Fence,
    epoch: SurvivorsEpoch,
    context: &Context,
) -> String {
    let mut line = format!("tenure node recover --name {other} --state DIR");
    let alike = |spec: &&&Spec| spec.name != table::LISTEN.spec.name;
    for spec in [&table::CONFIG.spec].iter().chain(CLUSTER_SETTINGS).filter(alike) {
        let Some(value) = context.origins.by_flag(spec.name) else { continue };
        line += &if spec.is_switch() {
            format!(" --{}", spec.name)
        } else {
            format!(" --{} {}", spec.name, shell_word(value))
        };
    }
    let lost = list(&settings.lost, ",");
    line + &format!(" --lost {lost} --all-leaders-stopped --fence-floor {floor} --epoch {epoch}")
}

pub(super) fn list(names: &[NodeName], between: &str) -> String {
    let names: Vec<_> = names.iter().map(NodeName::as_str).collect();
    names.join(between)
}

fn object<'a>(
    settings: &RecoverSettings,
    edited: &Edited,
    others: impl Iterator<Item = (&'a NodeName, String)>,
) -> String {
    let others = others.map(|(node, command)| json!({"node": node.as_str(), "command": command}));
    let line = json!({
        "node": settings.name.as_str(),
        "cluster": settings.cluster.config.cluster.as_str(),
        "state": settings.state.display().to_string(),
        "lost": settings.lost.iter().map(NodeName::as_str).collect::<Vec<_>>(),
        "memory": if edited.before.is_none() { "begun" } else { "kept" },
        "fence_floor": edited.floor.number(),
        "fences_before": edited.before.map(|before| before.number()),
        "others": others.collect::<Vec<_>>(),
    });
    format!("{line}\n")
}

fn text<'a>(
    settings: &RecoverSettings,
    edited: &Edited,
    others: impl Iterator<Item = (&'a NodeName, String)>,
) -> String {
    let name = &settings.name;
    let floor = edited.floor;
    let lost = list(&settings.lost, ", ");
    let state = settings.state.display();
    let done = match edited.before {
        None => format!(
            "{name}: {state} is made anew. After its start {name} waits for the longest lease, \
             {:?}, and a little more. It then grants with fences above {floor}",
            settings.cluster.config.delta_max,
        ),
        Some(before) => format!(
            "{name}: {state} keeps its content; its fences go on above {floor}, and were at most \
             {before}"
        ),
    };
    let commands: String = others.map(|(_, command)| format!("  {command}\n")).collect();
    let next = if commands.is_empty() {
        format!("Now start {name} with its usual command line.\n")
    } else {
        format!(
            "Now do the same for each other member that still exists, before you start any of them \
             (DIR is its state directory):\n{commands}Then start all of them with their usual \
             command lines.\n"
        )
    };
    format!(
        "{done}\n\
         Lost with {lost}: the leases that they granted, and the fences that they issued.\n\
         From now on there is one leader at a time, and fences grow, if your confirmation is true. \
         You confirmed that no old leader and no old process of {lost} is left, and that none of \
         them issued a fence above {floor}. Tenure cannot check that.\n\
         {next}"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A floor may be some time old: the operator gives each member the floor of the first member.
    #[test]
    fn old_floor_is_warned_about() {
        let now = 2_000_000_000_000;
        for told in [1, 1_999_900_000_000] {
            let warning = low(Fence::new(told), now).unwrap();
            assert!(warning.starts_with(&format!("the fence floor {told} is more")), "{warning}");
            assert!(warning.contains(", 2000000000000 milliseconds since 1970. "), "{warning}");
        }
        for fine in [1_999_920_000_000, 2_000_000_000_000, (1 << 53) - 1] {
            assert_eq!(low(Fence::new(fine), now), None);
        }
        assert_eq!(high(Fence::new(2_000_000_000_000), now), None);
        assert!(high(Fence::new(1 << 52), now).unwrap().contains(" 4503599627370496 is far above"));
    }
}
