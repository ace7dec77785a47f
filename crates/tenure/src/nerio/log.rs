//! What a node says by `tracing`: each change of state once, never a line for each datagram.

use tenure_core::Time;
use tenure_core::nerio::Member;

use super::notice::Notice;
use crate::driver::{LOG, Told};

/// Says `notice`, unless that was said already. Whether it was said.
pub(super) fn notice(told: &mut Told, now: Time, notice: &Notice, members: &[Member]) -> bool {
    let text = notice.to_string();
    if let Some((kind, about)) = lasting(notice, members)
        && !told.is_news(now, kind, &about, &text)
    {
        return false;
    }
    match notice {
        Notice::Serving | Notice::DiskMended => tracing::info!(target: LOG, "{text}"),
        Notice::Granted { .. } | Notice::Freed { .. } => tracing::debug!(target: LOG, "{text}"),
        Notice::DiskFailed { .. } => tracing::error!(target: LOG, "{text}"),
        _ => tracing::warn!(target: LOG, "{text}"),
    }
    true
}

/// What comes again with each datagram as long as it lasts, and about what it is.
///
/// What is forged can name any sender. A member's address is one of few, so nothing that comes from
/// others keeps it from being told.
fn lasting(notice: &Notice, members: &[Member]) -> Option<(&'static str, String)> {
    match notice {
        Notice::Mismatch { address, .. } if members.iter().any(|m| m.address == *address) => {
            Some(("mismatch of a member", address.to_string()))
        }
        Notice::Mismatch { address, .. } => Some(("mismatch", address.to_string())),
        Notice::NameContested { name } => Some(("name", name.to_string())),
        Notice::AddressContested { who, .. } => Some(("address", who.to_string())),
        Notice::Obstacle { election, grantor, .. } => {
            Some(("obstacle", format!("{election} {grantor}")))
        }
        Notice::NameShared { election, grantor } => {
            Some(("shared", format!("{election} {grantor}")))
        }
        // Said once each by the core.
        Notice::Serving
        | Notice::DiskFailed { .. }
        | Notice::DiskMended
        | Notice::Quarantined { .. }
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
    use super::*;

    #[test]
    fn forged_senders_do_not_silence_a_member() {
        let address = "10.0.0.1:7101".parse().unwrap();
        let member = Member { name: "a".parse().unwrap(), address };
        let mismatch =
            |address| Notice::Mismatch { peer: "x".parse().unwrap(), address, theirs: 1, ours: 2 };
        let mut told = Told::default();
        let said = |told: &mut Told, address| {
            notice(told, Time::ZERO, &mismatch(address), std::slice::from_ref(&member))
        };
        let forged = (1..1_000).filter(|port| said(&mut told, ([10, 0, 0, 2], *port).into()));
        assert!(forged.count() < 200);
        assert!(said(&mut told, member.address));
        assert!(!said(&mut told, member.address), "once");
    }
}
