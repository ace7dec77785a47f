//! Requests of an application to its process.

use core::fmt;

/// A request of the application, about one role: the election `NAME/j`.
///
/// The core ignores priorities, and hands no role over to a named process: the owner of a partition
/// leads its roles. The core also ignores intervals between queries: the ledger reports changes.
///
/// - The first [`Campaign`](crate::Command::Campaign) joins the group; each further campaign stands
///   for one more role.
/// - [`Resign`](crate::Command::Resign) ends that campaign or leadership at once. No process can
///   give back one partition alone. While this process stands for other roles, it keeps the
///   partition, and the resigned role has no leader ([`Unfilled`](super::OwnEvent::Unfilled)). The
///   command `tenure` therefore refuses such a resignation; a dropped handle cannot be refused. The
///   last resignation leaves the group.
pub type Command = crate::Command<Extra>;

/// A request that only this protocol offers, under the election of any role.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Extra {
    /// Leave the group, and give all partitions back. A second request changes nothing.
    Leave {
        /// Whether this process goes on leading until V + T, so that each role keeps a leader while
        /// others take over. Only in `at_least_one`; in `at_most_one` all leaderships end before
        /// the process leaves the group (ruling 11).
        lead_on: bool,
        /// Whether the process joins the group again once it has left. If so, campaigns that have
        /// not won go on; if not, they end. Leaderships end in both cases.
        again: bool,
    },
}

impl fmt::Display for Extra {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self::Leave { lead_on, again } = self;
        f.write_str("leave the group")?;
        f.write_str(if *lead_on { ", lead on" } else { "" })?;
        f.write_str(if *again { ", join again" } else { "" })
    }
}
