//! Events of the core about its node, as notices for an operator.

use tenure_core::nerio::OwnEvent;

use crate::notice::Notice;

/// The notice of an event to which this side has nothing to add; else the event.
pub(crate) fn of_core(event: OwnEvent) -> Result<Notice, OwnEvent> {
    Ok(match event {
        OwnEvent::Serving => Notice::Serving,
        OwnEvent::RaiseWaits { before, delta_max, until } => {
            Notice::RaiseWaits { before, delta_max, until }
        }
        OwnEvent::Raised { delta_max } => Notice::Raised { delta_max },
        OwnEvent::Recovering => Notice::Recovering,
        OwnEvent::RecoveryWaits { whole, silent, empty, strange } => {
            Notice::RecoveryWaits { whole, silent, empty, strange }
        }
        OwnEvent::Founded => Notice::Founded,
        OwnEvent::Replaced => Notice::Replaced,
        OwnEvent::OldMemory { member, by } => Notice::OldMemory { member, by },
        OwnEvent::NameContested { name, addresses } => Notice::NameContested { name, addresses },
        OwnEvent::AddressContested { who, holder, other } => {
            Notice::AddressContested { who, holder, other }
        }
        event => return Err(event),
    })
}
