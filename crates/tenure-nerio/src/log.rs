//! Log lines of a node: each change of state once, never a line for each datagram.

use tenure::driver::{NOTICES, Repeats};
use tenure_core::nerio::{FoundingTrouble, Hindrance, OwnEvent};
use tenure_core::{ElectionName, NodeName, Time};

use crate::notice::Notice;

/// Logs `notice` unless it was logged already; true if it was logged now.
pub(crate) fn notice(repeats: &mut Repeats, now: Time, notice: &Notice) -> bool {
    // Another wording of these two notices is no news. For a shared name, all grantors report the
    // same two processes one after the other. A silent name server fails in several ways.
    let same = matches!(
        notice,
        Notice::Protocol { event: OwnEvent::NameShared { .. }, .. } | Notice::Unresolved { .. }
    );
    if let Notice::Resolved { member, .. } = notice {
        repeats.forget(UNRESOLVED, member.as_str());
    }
    if let Some((kind, about)) = lasting(notice) {
        let compared = match notice {
            _ if same => String::new(),
            Notice::Protocol { event: OwnEvent::Awaited { why, .. }, .. } => reasons(why),
            _ => notice.to_string(),
        };
        if !repeats.is_new(now, kind, &about, &compared) {
            return false;
        }
    }
    // Each grant has a notice, but few logs print it. So let the macros format a notice only if its
    // level is enabled.
    match notice {
        Notice::Protocol {
            event:
                OwnEvent::Serving
                | OwnEvent::Raised { .. }
                | OwnEvent::DiskMended
                | OwnEvent::SpareAgain
                | OwnEvent::LeaseSuffices { .. }
                | OwnEvent::BreachCleared
                | OwnEvent::LeaseFollows(_)
                | OwnEvent::Changing { .. }
                | OwnEvent::AwaitedNoMore { .. }
                | OwnEvent::Replacing { .. }
                | OwnEvent::Wedged { .. }
                | OwnEvent::Decided { .. }
                | OwnEvent::Entered { .. }
                | OwnEvent::WeakLeader(_),
            ..
        }
        | Notice::Resolved { .. } => tracing::info!(target: NOTICES, "{notice}"),
        Notice::Protocol { event: OwnEvent::Granted { .. } | OwnEvent::Freed { .. }, .. } => {
            tracing::debug!(target: NOTICES, "{notice}")
        }
        Notice::DiskFailed { .. }
        | Notice::DiskHangs { .. }
        | Notice::Protocol { event: OwnEvent::WrongClock { .. }, .. } => {
            tracing::error!(target: NOTICES, "{notice}")
        }
        _ => tracing::warn!(target: NOTICES, "{notice}"),
    }
    true
}

/// The reasons without their numbers, which change each time.
fn reasons(why: &[(NodeName, Hindrance)]) -> String {
    let digits = |text: String| text.replace(|letter: char| letter.is_ascii_digit(), "");
    why.iter().map(|(by, why)| format!("{by}: {};", digits(why.to_string()))).collect()
}

const UNRESOLVED: &str = "unresolved";
const OF_A_MEMBER: &str = "mismatch of a member";

/// Notes that this member has the same configuration again, so that the next difference is logged.
pub(crate) fn mismatch_is_over(repeats: &mut Repeats, member: &NodeName) {
    repeats.forget(OF_A_MEMBER, member.as_str());
}

/// Kind and subject of a notice that every datagram may cause again. Forged datagrams can name any
/// sender. Notices about members have a kind of their own, so a flood of other datagrams does not
/// suppress them.
fn lasting(notice: &Notice) -> Option<(&'static str, String)> {
    match notice {
        Notice::Mismatch { peer, is_member: true, .. } => Some((OF_A_MEMBER, peer.to_string())),
        Notice::Mismatch { address, .. } => Some(("mismatch", address.to_string())),
        Notice::Key { address, is_member: true, .. } => {
            Some(("key of a member", address.to_string()))
        }
        Notice::Unresolved { member, .. } => Some((UNRESOLVED, member.to_string())),
        Notice::AtOneAddress { members: [one, other], .. } => {
            Some(("at one address", format!("{one} {other}")))
        }
        Notice::Exchanged { member, .. } => Some(("exchanged", member.to_string())),
        Notice::ForAnother { member, .. } => Some(("for another", member.to_string())),
        Notice::Moved { member, .. } => Some(("moved", member.to_string())),
        Notice::MemberTwice { member, .. } => Some(("member twice", member.to_string())),
        Notice::Key { address, .. } => Some(("key", address.to_string())),
        Notice::Protocol { election, event } => lasting_event(election.as_ref(), event),
        // The driver emits each of these once.
        Notice::DiskFailed { .. }
        | Notice::DiskHangs { .. }
        | Notice::ListensElsewhere { .. }
        | Notice::OtherLine { .. }
        | Notice::Resolved { .. }
        | Notice::LedBefore { .. }
        | Notice::Quarantined { .. }
        | Notice::GrantsDamaged { .. }
        | Notice::Unwatched { .. }
        | Notice::Watched { .. }
        | Notice::NoQuorumAgrees { .. }
        | Notice::QuorumMayAgree => None,
    }
}

/// Kind and subject of a core event that every datagram may cause again.
fn lasting_event(
    election: Option<&ElectionName>,
    event: &OwnEvent,
) -> Option<(&'static str, String)> {
    match event {
        OwnEvent::NameContested { name, .. } => Some(("name", name.to_string())),
        OwnEvent::AddressContested { who, .. } => Some(("address", who.name.to_string())),
        OwnEvent::Obstacle { grantor, .. } => {
            Some(("obstacle", format!("{} {grantor}", election?)))
        }
        OwnEvent::NameShared { other, .. } => Some(("shared", format!("{} {other}", election?))),
        OwnEvent::OldMemory { member, by } => Some(("old memory", format!("{member} {by}"))),
        OwnEvent::ClocksApart { who, .. } => Some(("clocks", who.to_string())),
        OwnEvent::OtherDocument { by, .. } => Some(("other document", by.to_string())),
        OwnEvent::Founding(FoundingTrouble::Apart { member, .. }) => {
            Some(("clocks apart", member.to_string()))
        }
        OwnEvent::Founding(FoundingTrouble::Ahead { .. }) => Some(("clock ahead", String::new())),
        OwnEvent::UnreadableDocument { by, .. } => Some(("unreadable document", by.to_string())),
        OwnEvent::Awaited { name, .. } => Some(("awaited", name.to_string())),
        OwnEvent::ReplacementFailed { name, .. } => Some(("replacement", name.to_string())),
        // The core emits each of these once.
        OwnEvent::Stamped { .. }
        | OwnEvent::Held { .. }
        | OwnEvent::NoSpare { .. }
        | OwnEvent::SpareAgain
        | OwnEvent::LeaseOutgrown { .. }
        | OwnEvent::LeaseSuffices { .. }
        | OwnEvent::LeaseFollows(_)
        | OwnEvent::ClockApart(_)
        | OwnEvent::WrongClock { .. }
        | OwnEvent::BreachCleared
        | OwnEvent::Verified { .. }
        | OwnEvent::NotVerified { .. }
        | OwnEvent::Ordered { .. }
        | OwnEvent::Granted { .. }
        | OwnEvent::Freed { .. }
        | OwnEvent::Gone { .. }
        | OwnEvent::Serving
        | OwnEvent::RaiseWaits { .. }
        | OwnEvent::Raised { .. }
        | OwnEvent::Quarantined { .. }
        | OwnEvent::Recovering
        | OwnEvent::RecoveryWaits { .. }
        | OwnEvent::Founded
        | OwnEvent::Founding(FoundingTrouble::Waits { .. })
        | OwnEvent::Replaced
        | OwnEvent::DiskFailed
        | OwnEvent::DiskHangs { .. }
        | OwnEvent::DiskMended
        | OwnEvent::Epochs(_)
        | OwnEvent::Changing { .. }
        | OwnEvent::AwaitedNoMore { .. }
        | OwnEvent::Replacing { .. }
        | OwnEvent::Wedged { .. }
        | OwnEvent::Decided { .. }
        | OwnEvent::JoinWaits { .. }
        | OwnEvent::Entered { .. }
        | OwnEvent::Removed { .. }
        | OwnEvent::WeakLeader(_)
        | OwnEvent::Ignored(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use std::net::SocketAddr;

    use tenure_core::nerio::{Inc, Refusal, Who};

    use super::*;

    const MEMBER: &str = "10.0.0.1:7101";

    fn said(repeats: &mut Repeats, seconds: u64, address: SocketAddr) -> bool {
        let is_member = address == MEMBER.parse().unwrap();
        let peer: NodeName = if is_member { "a" } else { "x" }.parse().unwrap();
        let (theirs, ours, why) = (1, 2, None);
        let apart = false;
        let mismatch = Notice::Mismatch { peer, address, is_member, theirs, ours, apart, why };
        notice(repeats, Time::from_nanos(seconds * 1_000_000_000), &mismatch)
    }

    /// Three grantors report the other process for each request.
    #[test]
    fn shared_name_is_logged_once() {
        let mut repeats = Repeats::default();
        let says = |repeats: &mut Repeats, seconds: u64, grantor: &str, other: &str| {
            let event = OwnEvent::NameShared {
                grantor: grantor.parse().unwrap(),
                other: other.parse().unwrap(),
            };
            let shared = Notice::Protocol { election: Some("x".parse().unwrap()), event };
            notice(repeats, Time::from_nanos(seconds * 1_000_000_000), &shared)
        };
        let lines = (0..600).flat_map(|seconds| ["a", "b", "c"].map(|grantor| (seconds, grantor)));
        let lines = lines.filter(|(seconds, by)| says(&mut repeats, *seconds, by, "10.0.0.7:1"));
        assert_eq!(lines.collect::<Vec<_>>(), [(0, "a")]);
        assert!(says(&mut repeats, 599, "a", "10.0.0.8:1"), "a third one");
        assert!(says(&mut repeats, 600, "b", "10.0.0.7:1"), "it lasts");
    }

    /// Any number of addresses send datagrams of another configuration.
    #[test]
    fn flood_silences_no_member() {
        let mut repeats = Repeats::default();
        let flood = |repeats: &mut Repeats, seconds| -> usize {
            let forged = (0..100_000u32).filter(|n| {
                let port = u16::try_from(n % 5_000).unwrap();
                said(repeats, seconds, ([10, 0, 0, 2], port).into())
            });
            forged.count()
        };
        let first = flood(&mut repeats, 0);
        assert!((1..=128).contains(&first), "{first}");
        assert_eq!(flood(&mut repeats, 599), 0, "once in ten minutes");
        let member = MEMBER.parse().unwrap();
        assert!(said(&mut repeats, 599, member), "a member has its own place");
        assert!(!said(&mut repeats, 600, member), "once");
        mismatch_is_over(&mut repeats, &"a".parse().unwrap());
        assert!(said(&mut repeats, 601, member), "it agreed, and does so no more");
    }

    /// Each datagram has another name, another address and another text.
    #[test]
    fn changing_flood_is_bounded() {
        let at = |n: u32, add: u16| -> SocketAddr {
            ([10, 0, 0, 3], u16::try_from(n % 30_000).unwrap() + add).into()
        };
        let name = |n: u32| -> NodeName { format!("n{n}").parse().unwrap() };
        let notices = |n: u32| {
            let address = at(n, 0);
            let addresses = [at(n, 0), at(n, 1)];
            let of_node = |event| Notice::Protocol { election: None, event };
            let of_election =
                |event| Notice::Protocol { election: Some("x".parse().unwrap()), event };
            let a = name(0);
            let host = "b:1".to_owned();
            let who = Who { name: a.clone(), inc: Inc(n.into()) };
            let grantor = name(n);
            let other = address;
            [
                mismatch(a.clone(), at(0, 0), n.into()),
                mismatch(name(n), address, n.into()),
                of_node(OwnEvent::NameContested { name: a.clone(), addresses }),
                of_node(OwnEvent::NameContested { name: name(n), addresses }),
                of_election(OwnEvent::AddressContested { who, holder: at(0, 0), other }),
                Notice::MemberTwice { member: a.clone(), addresses },
                Notice::Moved { member: a.clone(), host: host.clone(), address },
                Notice::Exchanged { member: a.clone(), host: host.clone(), address, of: name(1) },
                Notice::ForAnother {
                    peer: name(n),
                    address,
                    member: a.clone(),
                    host,
                    own: name(1),
                },
                of_election(OwnEvent::OldMemory { member: a, by: name(n) }),
                of_election(OwnEvent::Obstacle {
                    grantor: grantor.clone(),
                    refusal: Refusal::Disk,
                }),
                of_election(OwnEvent::NameShared { grantor, other }),
            ]
        };
        let mut repeats = Repeats::default();
        let mut told = |seconds: u64, n: u32| {
            let now = Time::from_nanos(seconds * 1_000_000_000);
            notices(n).map(|one| u32::from(notice(&mut repeats, now, &one)))
        };
        let mut lines = [0; 12];
        for n in 0..6_000 {
            lines.iter_mut().zip(told(u64::from(n / 10), n)).for_each(|(sum, more)| *sum += more);
        }
        assert_eq!(lines.map(|count| count > 0), [true; 12], "{lines:?}");
        assert_eq!(lines.map(|count| count <= 4 * 128), [true; 12], "{lines:?}");
        let moved = Notice::Moved { member: name(7), host: "c:1".into(), address: at(0, 0) };
        let now = Time::from_nanos(599 * 1_000_000_000);
        assert!(notice(&mut repeats, now, &moved), "another member has its own room");
    }

    fn mismatch(peer: NodeName, address: SocketAddr, theirs: u64) -> Notice {
        let (is_member, apart, ours) = (false, false, 2);
        Notice::Mismatch { peer, address, is_member, theirs, ours, apart, why: None }
    }
}
