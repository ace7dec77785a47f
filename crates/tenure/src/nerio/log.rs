//! What a node says by `tracing`: each change of state once, never a line for each datagram.

use tenure_core::Time;

use super::notice::Notice;
use crate::driver::{LOG, Told};

/// Says `notice`, unless that was said already. Whether it was said.
pub(super) fn notice(told: &mut Told, now: Time, notice: &Notice) -> bool {
    let text = notice.to_string();
    if let Some((kind, about)) = lasting(notice)
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
fn lasting(notice: &Notice) -> Option<(&'static str, String)> {
    match notice {
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
