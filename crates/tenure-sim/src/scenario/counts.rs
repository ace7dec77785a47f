//! Event counts.

use std::fmt::Debug;

/// Counts of one protocol alone.
pub trait Tally: Clone + Copy + PartialEq + Eq + Debug + Default + Send {
    /// Adds the counts of another world.
    fn add(&mut self, other: &Self);
}

impl Tally for () {
    fn add(&mut self, (): &Self) {}
}

/// Declares counts, and adds them by name.
#[macro_export]
macro_rules! tally {
    ($(#[$of:meta])* $name:ident { $($(#[$doc:meta])* $count:ident),+ $(,)? }) => {
        $(#[$of])*
        #[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
        pub struct $name { $($(#[$doc])* pub $count: u64),+ }

        impl $crate::scenario::Tally for $name {
            fn add(&mut self, other: &Self) {
                $(self.$count += other.$count;)+
            }
        }
    };
}

/// Event counts of one world or of many.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counts<Own> {
    pub common: Common,
    pub own: Own,
}

tally! {
    /// Counts of every protocol.
    Common {
        /// Messages sent by processes.
        messages,
        /// Claims raised, renewals included.
        claims,
        elected,
        /// Leaderships that began while another leadership lasted, if allowed.
        beside,
        /// Lost leaderships and campaigns.
        lost,
        /// Leaderships handed over to a named candidate.
        transferred,
        /// Leaderships and campaigns given up.
        resigned,
        /// Changes seen by observers.
        views,
        /// Gaps in observers' views.
        gaps,
        /// Processes that ended.
        crashes,
        cuts,
    }
}

impl<Own: Tally> Counts<Own> {
    /// Adds the counts of another world.
    pub fn add(&mut self, other: &Self) {
        self.common.add(&other.common);
        self.own.add(&other.own);
    }
}
