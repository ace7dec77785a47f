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
        Notice::Serving => {
            told.forget(DISK, "");
            tracing::info!(target: LOG, "{text}");
        }
        Notice::Granted { .. } | Notice::Freed { .. } => {
            // It could be written.
            told.forget(DISK, "");
            tracing::debug!(target: LOG, "{text}");
        }
        Notice::DiskFailed => tracing::error!(target: LOG, "{text}"),
        _ => tracing::warn!(target: LOG, "{text}"),
    }
    true
}

const DISK: &str = "disk";

/// What comes again with each datagram as long as it lasts, and about what it is.
fn lasting(notice: &Notice) -> Option<(&'static str, String)> {
    match notice {
        Notice::Mismatch { address, .. } => Some(("mismatch", address.to_string())),
        Notice::DiskFailed => Some((DISK, String::new())),
        Notice::NameContested { name } => Some(("name", name.to_string())),
        Notice::AddressContested { who, .. } => Some(("address", who.to_string())),
        Notice::Obstacle { election, grantor, .. } => {
            Some(("obstacle", format!("{election} {grantor}")))
        }
        Notice::NameShared { election, grantor } => {
            Some(("shared", format!("{election} {grantor}")))
        }
        Notice::Serving
        | Notice::Quarantined { .. }
        | Notice::Recovering
        | Notice::Granted { .. }
        | Notice::NoQuorumAgrees { .. }
        | Notice::QuorumMayAgree
        | Notice::RecoveryWaits { .. }
        | Notice::NotFounded { .. }
        | Notice::Freed { .. } => None,
    }
}
