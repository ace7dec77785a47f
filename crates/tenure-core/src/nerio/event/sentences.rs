//! The longer sentences of events.

use alloc::vec::Vec;
use core::fmt;
use core::time::Duration;

use super::super::epoch::Hindrance;
use crate::fence::Fence;
use crate::name::NodeName;
use crate::waiting::List;

pub(super) fn removed(
    epoch: u64,
    members: &[NodeName],
    replaced: bool,
    f: &mut fmt::Formatter<'_>,
) -> fmt::Result {
    let (beside, first, change) = match replaced {
        true => (", and another node has this name now", "stop the other node and ", "replace"),
        false => ("", "", "add"),
    };
    write!(
        f,
        "this node is no member any more: epoch {epoch} has the members {}{beside}. Stop this \
         node. To make it a member again, {first}move the state directory of this node away. Then \
         start this node with these members in its list, and run `tenure members {change}`",
        List(members, ", ")
    )
}

/// Writes the sentence of [`super::OwnEvent::Awaited`], `passed` after the event.
pub(super) fn awaited(
    name: &NodeName,
    why: &[(NodeName, Hindrance)],
    passed: Duration,
    f: &mut fmt::Formatter<'_>,
) -> fmt::Result {
    write!(f, "{name} has an empty directory, and waits to be let in")?;
    let mut separator = ": ";
    for (by, why) in why {
        write!(f, "{separator}{by}: {}", why.after(passed))?;
        separator = "; ";
    }
    match why.iter().all(|(_, why)| *why == Hindrance::Manual) {
        true => write!(
            f,
            ". Run `tenure members replace {name}`; if too few members have kept their directories \
             for a quorum, see docs/howto/lost-quorum.md instead"
        ),
        false => Ok(()),
    }
}

pub(super) fn recovery_waits(
    [whole, silent, empty, strange]: [&[NodeName]; 4],
    [deaf, unasked]: [&[NodeName]; 2],
    f: &mut fmt::Formatter<'_>,
) -> fmt::Result {
    f.write_str("has no stored state (lost, or never written), and asks the other members")?;
    if !silent.is_empty() {
        let verb = if silent.len() == 1 { "does" } else { "do" };
        let they = if silent.len() == 1 { "it" } else { "them" };
        let silent = List(silent, ", ");
        write!(f, ": {silent} {verb} not answer: start {they}, or check the network to {they}")?;
    }
    if !empty.is_empty() {
        let separator = if silent.is_empty() { ':' } else { ',' };
        let verb = if empty.len() == 1 { "has" } else { "have" };
        write!(f, "{separator} {} {verb} no stored state either", List(empty, ", "))?;
    }
    if !strange.is_empty() {
        let verb = if strange.len() == 1 { "takes" } else { "take" };
        return write!(
            f,
            ". {} {verb} this node for a stranger: without keys a node recognizes a member by its \
             address in `members`, and this node sends from another address. If this node has \
             moved, change `members` everywhere. If not, correct `members` there or --listen here, \
             or use keys (docs/howto/keys.md)",
            List(strange, ", ")
        );
    }
    if !(deaf.is_empty() && unasked.is_empty()) {
        return apart(empty, deaf, unasked, f);
    }
    if whole.is_empty() {
        f.write_str(". If the cluster is new, it is founded when all members are there")
    } else {
        let (verb, their) = match whole {
            [_] => ("remembers", "its state directory"),
            _ => ("remember", "their state directories"),
        };
        let whole = List(whole, ", ");
        // Name both remedies: a member that an operator started alone with `--new` looks like the
        // last member that kept its directory.
        write!(
            f,
            ". {whole} {verb} the cluster, but a quorum is needed. If the cluster is new, and only \
             {whole} began with --new: stop {whole}, move {their} away, and start {whole} without \
             --new. If directories were lost, see docs/howto/lost-quorum.md"
        )
    }
}

/// Names the members that do not hear each other. All others than this node are in `empty`.
fn apart(
    empty: &[NodeName],
    deaf: &[NodeName],
    unasked: &[NodeName],
    f: &mut fmt::Formatter<'_>,
) -> fmt::Result {
    f.write_str(". The cluster is founded when all members hear each other")?;
    for member in unasked {
        write!(
            f,
            ". {member} has not asked this node: correct the address of this node in `members` on \
             {member}, or mend the network between them"
        )?;
    }
    for member in deaf {
        // The member has asked this node, and so has the answer of this node.
        let unheard: Vec<_> = empty.iter().filter(|other| *other != member).collect();
        match &unheard[..] {
            [] => {}
            [other] => write!(
                f,
                ". {member} has not heard from {other}: correct the address of {other} in \
                 `members` on {member}, or mend the network between them"
            )?,
            others => write!(
                f,
                ". {member} has not heard from all of {}: its log names the silent ones. Correct \
                 their addresses in `members` on {member}, or mend the network to them",
                List(others, ", ")
            )?,
        }
    }
    Ok(())
}

pub(super) fn join_waits(
    epoch: u64,
    silent: &[NodeName],
    f: &mut fmt::Formatter<'_>,
) -> fmt::Result {
    let verb = if silent.len() == 1 { "does" } else { "do" };
    let they = if silent.len() == 1 { "it" } else { "them" };
    let silent = List(silent, ", ");
    write!(
        f,
        "this node waits to enter epoch {epoch} until enough members have reported the leases that \
         may still run; {silent} {verb} not answer: start {they}, or check the network to {they}"
    )
}

/// Writes the order of [`super::OwnEvent::Ordered`].
pub(super) fn ordered(
    fence: Fence,
    next: Option<&NodeName>,
    f: &mut fmt::Formatter<'_>,
) -> fmt::Result {
    match next {
        Some(next) => write!(f, "hand the leadership with fence {fence} over to {next}"),
        None => write!(f, "resign the leadership with fence {fence}"),
    }
}

pub(super) fn old_memory(
    member: &NodeName,
    by: &NodeName,
    f: &mut fmt::Formatter<'_>,
) -> fmt::Result {
    write!(
        f,
        "the grants of {member} do not count: {by} knows a later state directory of {member}. If \
         an old directory was put back: stop {member}, and start {member} with the later \
         directory, or with an empty one if the later is gone. If two processes have the name \
         {member}: stop the process that started first"
    )
}
