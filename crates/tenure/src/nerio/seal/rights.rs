//! What the holder of a key may say.

use std::sync::Arc;

use tenure_core::ElectionName;
use tenure_core::nerio::Message;

use crate::nerio::keys::Grant;

/// By which key a sender has shown who it is.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Authority {
    /// The cluster's: it may say everything that members and candidates say.
    Cluster,
    /// An application's.
    Application(Arc<Grant>),
}

impl Authority {
    /// Whether it may send `message`. An application contends and asks, in its elections; what
    /// only grantors say, and what is about all elections, it may not.
    pub(in crate::nerio) fn may_say(&self, message: &Message) -> bool {
        let Self::Application(grant) = self else { return true };
        match asked_of(message) {
            Some(election) => grant.elections.cover(election),
            None => matches!(message, Message::List(_)) && grant.elections.cover_all(),
        }
    }
}

/// Which election a message of a candidate or an asker is about; `None` of others.
fn asked_of(message: &Message) -> Option<&ElectionName> {
    match message {
        Message::Request(m) => Some(&m.election),
        Message::Release(m) => Some(&m.election),
        Message::Leaving(m) => Some(&m.election),
        Message::Query(m) => Some(&m.election),
        Message::Verify(m) => Some(&m.election),
        Message::Remainder(m) => Some(&m.election),
        Message::Granted(_)
        | Message::Refused(_)
        | Message::Released(_)
        | Message::State(_)
        | Message::List(_)
        | Message::Listed(_)
        | Message::FenceRead(_)
        | Message::FenceSeen(_) => None,
    }
}
