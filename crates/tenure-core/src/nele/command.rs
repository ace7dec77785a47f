//! Requests of an application to its process.

use core::fmt;

/// A request of the application, about one role: the election `NAME/j`. The owner of a partition
/// leads its roles: the core ignores priorities, and hands no role over to a named process. Others
/// report changes by themselves: the core ignores intervals of questions.
///
/// - The first [`Campaign`](crate::Command::Campaign) joins the group, and every further campaign
///   stands for one more role.
/// - [`Resign`](crate::Command::Resign) ends that campaign or leadership at once. The partition
///   cannot be given back alone: while the process stands for other roles it still owns the
///   partition, and this role has no leader ([`Unfilled`](super::OwnEvent::Unfilled)). So the
///   command `tenure` refuses such a resignation to an operator, while a dropped handle cannot be
///   refused. The last resignation leaves the group.
pub type Command = crate::Command<Extra>;

/// A request that only this protocol offers, under the election of any role.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Extra {
    /// Leave the group, and give all partitions back. A second request changes nothing.
    Leave {
        /// Whether this process leads on until others can have taken over, V + T, so that no role
        /// is without a leader. Only in `at_least_one`; in `at_most_one` all leaderships end before
        /// the group is left (ruling 11).
        lead_on: bool,
        /// Whether the process joins again after it has left, as long as it stands for a role: its
        /// leaderships end, and campaigns that have not won go on. Otherwise campaigns end, too.
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
