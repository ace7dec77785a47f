//! Trouble on which a world of etcd concentrates: several rare things in a row happen only where
//! each is likely. The focus is drawn apart from everything else, so that other draws do not depend
//! on it.

use crate::rng::mix;

/// Salt of this draw.
const FOCUS: u64 = 0x6265_6e74;

/// Trouble on which a world concentrates.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Focus {
    /// Nothing: a little of everything.
    Broad,
    /// How leases begin: many grants are carried out and not answered. All else is calm.
    Grants,
    /// Terms: etcd's leader changes at every turn, also while a grant is under way.
    Terms,
    /// Backups are restored with revisions far above all that was there before, as
    /// `etcdutl snapshot restore --bump-revision` does: nobody can notice. They are made when a key
    /// is about to go, and restored when one is about to come.
    Bumped,
    /// A stranger deletes the keys of an election and puts all of them back in one transaction,
    /// while creates of ours get no answer.
    Twins,
    /// The history is forgotten with every revision.
    Compacted,
}

/// How often each is there beside broad worlds, in sixteen.
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
    /// Draws the focus of the world of `seed`.
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
