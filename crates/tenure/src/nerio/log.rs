//! What a node says by `tracing`: each change of state once, never a line for each datagram.

use std::net::SocketAddr;

use tenure_core::Time;
use tenure_core::nerio::Checked;

use super::notice::Notice;
use crate::driver::{LOG, Repeats};

/// Says `notice`, unless that was said already. Whether it was said.
/// `shown` is the same with the addresses at which members are now.
pub(super) fn notice(
    repeats: &mut Repeats,
    now: Time,
    (notice, shown): (&Notice, &Notice),
    config: &Checked,
) -> bool {
    let text = shown.to_string();
    // All grantors say it of the same two in turn: which one says so is no news.
    let compared = if matches!(notice, Notice::NameShared { .. }) { "" } else { &text };
    if let Some((kind, about)) = lasting(notice, config)
        && !repeats.is_new(now, kind, &about, compared)
    {
        return false;
    }
    match notice {
        Notice::Serving | Notice::Raised { .. } | Notice::DiskMended | Notice::Resolved { .. } => {
            tracing::info!(target: LOG, "{text}")
        }
        Notice::Granted { .. } | Notice::Freed { .. } => tracing::debug!(target: LOG, "{text}"),
        Notice::DiskFailed { .. } | Notice::DiskHangs { .. } => {
            tracing::error!(target: LOG, "{text}")
        }
        _ => tracing::warn!(target: LOG, "{text}"),
    }
    true
}

const OF_A_MEMBER: &str = "mismatch of a member";

/// The member at `address` has this configuration again: when it differs once more, that is news.
pub(super) fn mismatch_is_over(repeats: &mut Repeats, address: SocketAddr) {
    repeats.forget(OF_A_MEMBER, &address.to_string());
}

/// What comes again with each datagram as long as it lasts, and about what it is.
///
/// What is forged can name any sender. A member's address is one of few, so nothing that comes from
/// others keeps it from being told.
fn lasting(notice: &Notice, config: &Checked) -> Option<(&'static str, String)> {
    match notice {
        Notice::Mismatch { address, .. } if config.position_at(*address).is_some() => {
            Some((OF_A_MEMBER, address.to_string()))
        }
        Notice::Mismatch { address, .. } => Some(("mismatch", address.to_string())),
        Notice::Key { address, .. } if config.position_at(*address).is_some() => {
            Some(("key of a member", address.to_string()))
        }
        Notice::Key { address, .. } => Some(("key", address.to_string())),
        Notice::NameContested { name, .. } => Some(("name", name.to_string())),
        Notice::AddressContested { who, .. } => Some(("address", who.to_string())),
        Notice::Obstacle { election, grantor, .. } => {
            Some(("obstacle", format!("{election} {grantor}")))
        }
        Notice::NameShared { election, other, .. } => {
            Some(("shared", format!("{election} {other}")))
        }
        Notice::Unresolved { member, .. } | Notice::Resolved { member, .. } => {
            Some(("name of a host", member.to_string()))
        }
        // Said once each by the core.
        Notice::Serving
        | Notice::RaiseWaits { .. }
        | Notice::Raised { .. }
        | Notice::DiskFailed { .. }
        | Notice::DiskHangs { .. }
        | Notice::DiskMended
        | Notice::ListensElsewhere { .. }
        | Notice::Quarantined { .. }
        | Notice::GrantsDamaged { .. }
        | Notice::Recovering
        | Notice::Granted { .. }
        | Notice::NoQuorumAgrees { .. }
        | Notice::QuorumMayAgree
        | Notice::Founding { .. }
        | Notice::RecoveryWaits { .. }
        | Notice::NotFounded { .. }
        | Notice::Freed { .. } => None,
    }
}

#[cfg(test)]
mod tests {
    use tenure_core::NodeName;
    use tenure_core::nerio::{Config, Member};

    use super::*;

    const MEMBER: &str = "10.0.0.1:7101";

    fn config() -> Checked {
        let member = Member { name: "a".parse().unwrap(), address: MEMBER.parse().unwrap() };
        Config::new("x".parse().unwrap(), vec![member]).check().unwrap()
    }

    fn said(repeats: &mut Repeats, seconds: u64, address: SocketAddr) -> bool {
        let peer: NodeName = "x".parse().unwrap();
        let mismatch = Notice::Mismatch { peer, address, theirs: 1, ours: 2 };
        let now = Time::from_nanos(seconds * 1_000_000_000);
        notice(repeats, now, (&mismatch, &mismatch), &config())
    }

    /// Three grantors answer each request of one whose name another process uses.
    #[test]
    fn a_name_used_twice_is_told_once_whichever_grantor_says_so() {
        let mut repeats = Repeats::default();
        let says = |repeats: &mut Repeats, seconds: u64, grantor: &str, other: &str| {
            let shared = Notice::NameShared {
                election: "x".parse().unwrap(),
                grantor: grantor.parse().unwrap(),
                other: other.parse().unwrap(),
            };
            let now = Time::from_nanos(seconds * 1_000_000_000);
            notice(repeats, now, (&shared, &shared), &config())
        };
        let lines = (0..600).flat_map(|seconds| ["a", "b", "c"].map(|grantor| (seconds, grantor)));
        let lines = lines.filter(|(seconds, by)| says(&mut repeats, *seconds, by, "10.0.0.7:1"));
        assert_eq!(lines.collect::<Vec<_>>(), [(0, "a")]);
        assert!(says(&mut repeats, 599, "a", "10.0.0.8:1"), "a third one");
        assert!(says(&mut repeats, 600, "b", "10.0.0.7:1"), "it lasts");
    }

    /// However many addresses send something of another configuration.
    #[test]
    fn a_flood_is_told_of_now_and_then_and_does_not_silence_a_member() {
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
        mismatch_is_over(&mut repeats, member);
        assert!(said(&mut repeats, 601, member), "it agreed, and does so no more");
    }
}
