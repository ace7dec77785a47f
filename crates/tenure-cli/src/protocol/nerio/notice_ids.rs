//! The ids of notices, for `tenure explain`.

use tenure_nerio::{Notice, OwnEvent};

use crate::explain::{
    CLOCK, DISK, KEY, LEASE_OUTGROWN, MEMBER_TWICE, NO_SPARE, OTHER_CONFIGURATION, OTHER_LINE,
    REMOVED, REPLACED, UNRESOLVED, WRONG_ADDRESS, tagged,
};
use crate::failure;

/// The id of the section about this notice, if the page has such a section.
const fn id(notice: &Notice) -> Option<&'static str> {
    Some(match notice {
        Notice::Mismatch { .. } | Notice::NoQuorumAgrees { .. } => OTHER_CONFIGURATION,
        Notice::Key { .. } => KEY,
        Notice::Unresolved { .. } => UNRESOLVED,
        Notice::ListensElsewhere { .. }
        | Notice::AtOneAddress { .. }
        | Notice::Exchanged { .. }
        | Notice::ForAnother { .. }
        | Notice::Moved { .. } => WRONG_ADDRESS,
        Notice::OtherLine { .. } => OTHER_LINE,
        Notice::MemberTwice { .. } | Notice::LedBefore { .. } => MEMBER_TWICE,
        Notice::DiskFailed { .. } | Notice::DiskHangs { .. } | Notice::GrantsDamaged { .. } => DISK,
        Notice::Protocol { event, .. } => return of_event(event),
        _ => return None,
    })
}

const fn of_event(event: &OwnEvent) -> Option<&'static str> {
    Some(match event {
        OwnEvent::NoSpare { .. } => NO_SPARE,
        OwnEvent::LeaseOutgrown { .. } => LEASE_OUTGROWN,
        OwnEvent::ClockApart(_) | OwnEvent::WrongClock { .. } | OwnEvent::ClocksApart { .. } => {
            CLOCK
        }
        OwnEvent::NameShared { .. } | OwnEvent::NameContested { .. } => "name-in-use",
        OwnEvent::AddressContested { .. } => WRONG_ADDRESS,
        OwnEvent::OldMemory { .. } => MEMBER_TWICE,
        OwnEvent::Replaced => REPLACED,
        OwnEvent::Removed { .. } => REMOVED,
        _ => return None,
    })
}

/// The text of a notice with its id; `more` ends the text.
pub(super) fn told(notice: &Notice, more: &str) -> String {
    let text = format!("{notice}{more}");
    match id(notice) {
        Some(id) => tagged(&text, id),
        None => text,
    }
}

/// Warns of a notice; `more` ends the text.
pub(super) fn warn(notice: &Notice, more: &str) {
    failure::warn(&told(notice, more));
}
