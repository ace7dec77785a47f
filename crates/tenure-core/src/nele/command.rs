//! What an application may ask of its process.

use core::fmt;

/// A request of the application, about one role: the election `NAME/j`. Who leads is decided by who
/// owns a partition: priorities are not looked at, and nothing is handed over to somebody by name.
/// Others tell of changes by themselves: how often to ask is not looked at either.
///
/// - The first [`Campaign`](crate::Command::Campaign) joins the group, and every further one stands
///   for one role more.
/// - [`Resign`](crate::Command::Resign) ends that campaign or leadership at once. Its partition
///   cannot be given back alone: while the process stands for other roles it owns the partition
///   still, and this role has no leader ([`Unfilled`](super::OwnEvent::Unfilled)). So an operator
///   who asks for that is refused by the command, and a handle that is dropped is not. The last one
///   leaves the group.
pub type Command = crate::Command<Extra>;

/// What only this protocol offers. The election is that of any role.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Extra {
    /// Leave the group, and give all partitions back. Asked twice, it is done once.
    Leave {
        /// Whether what this process leads is led on until others can have taken over, V + T: no
        /// role is without a leader meanwhile. Only in `at_least_one`; in `at_most_one` all
        /// leaderships end before the group is left (ruling 11).
        lead_on: bool,
        /// Whether the process joins again once it has left, as long as it stands for a role: what
        /// it leads is given up, what has not been won yet goes on. Otherwise campaigns end.
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
