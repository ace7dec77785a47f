//! How much has happened.

use std::fmt::Debug;

/// Counts that only one protocol has.
pub trait Tally: Clone + Copy + PartialEq + Eq + Debug + Default + Send {
    /// Adds what happened elsewhere.
    fn add(&mut self, other: &Self);
}

impl Tally for () {
    fn add(&mut self, (): &Self) {}
}

/// Declares numbers that are counted, and adds each to its like.
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

/// How much has happened in one world or in many.
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
        /// Leaderships.
        elected,
        /// Leaderships that began beside another one, where that may be.
        beside,
        /// Leaderships and campaigns that were lost.
        lost,
        /// Leaderships handed over to a named candidate.
        transferred,
        /// Leaderships and campaigns given up.
        resigned,
        /// Changes seen by observers.
        views,
        /// Gaps in what observers saw.
        gaps,
        /// Processes that ended.
        crashes,
        cuts,
    }
}

impl<Own: Tally> Counts<Own> {
    /// Adds what happened elsewhere.
    pub fn add(&mut self, other: &Self) {
        self.common.add(&other.common);
        self.own.add(&other.own);
    }
}
