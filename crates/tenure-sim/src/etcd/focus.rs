//! The fault on which a world of etcd concentrates: several rare events in a row happen only where
//! each is likely. The focus has its own draw, so that other draws do not depend on it.

use crate::rng::mix;

/// Salt of this draw.
const FOCUS: u64 = 0x6265_6e74;

/// The fault on which a world concentrates.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Focus {
    /// A little of every fault.
    Broad,
    /// The beginning of leases: many grants are carried out and not answered. No other fault is
    /// frequent.
    Grants,
    /// Terms: etcd's leader changes all the time, also while a grant is under way.
    Terms,
    /// Restores of backups with revisions far above all earlier ones, as by `etcdutl snapshot
    /// restore --bump-revision`: no client can notice. A backup is made when a key is about to go,
    /// and restored when a key is about to come.
    Bumped,
    /// A stranger deletes the keys of an election and puts all of them back in one transaction,
    /// while our creates get no answer.
    Twins,
    /// Every revision compacts the history.
    Compacted,
}

/// Each focus has a sixteenth of the worlds; the other worlds are broad.
const FOCUSES: [Focus; 7] = [
    Focus::Terms,
    Focus::Terms,
    Focus::Terms,
    Focus::Bumped,
    Focus::Bumped,
    Focus::Twins,
    Focus::Compacted,
];

impl Focus {
    pub(super) fn draw(seed: u64, calm: bool) -> Self {
        let drawn = mix(seed ^ FOCUS) as usize % 16;
        if !calm {
            FOCUSES.get(drawn).copied().unwrap_or(Self::Broad)
        } else if drawn < 4 {
            Self::Grants
        } else {
            Self::Broad
        }
    }
}
