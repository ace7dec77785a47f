//! What a world is like before anybody lives in it: clocks, network, what goes wrong and when.

use std::sync::Arc;

use super::clock::Clock;
use super::fault::Rates;

/// Everything of a world that does not depend on the protocol. Times are true time in
/// nanoseconds from the beginning.
#[derive(Clone, Debug)]
pub struct Conditions {
    /// From where every draw comes.
    pub seed: u64,
    /// The nodes.
    pub sites: Vec<Site>,
    /// How long a message is on its way between two nodes.
    pub trip: Delay,
    /// How long a message of a node to itself is on its way.
    pub loopback: Delay,
    /// How long a flush to a disk takes.
    pub flush: Delay,
    /// The measure of what is long: late messages, pauses and outages are parts of it.
    pub unit: u64,
    /// What goes wrong at random.
    pub rates: Rates,
    /// What goes wrong by plan, in order of time.
    pub incidents: Vec<(u64, Incident)>,
    /// How long the application of a node waits between two wishes.
    pub pace: Delay,
    /// Duties that the machines of this world leave undone on purpose.
    pub undone: Undone,
    /// From then on nothing goes wrong.
    pub storm_ends: u64,
    /// The world ends.
    pub end: u64,
}

/// Duties of machines and drivers that can be left undone, to see who notices.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Undone {
    /// A clock goes on while its machine sleeps; undone, it stands still.
    pub clock_counts_sleep: bool,
    /// What follows a write that failed is dropped; undone, it is carried out.
    pub drop_after_failure: bool,
}

/// Where a node lives.
#[derive(Clone, Debug)]
pub struct Site {
    /// Its name, for people.
    pub name: String,
    /// Its hardware clock in its first boot.
    pub clock: Clock,
    /// When its process starts.
    pub starts: u64,
}

/// A span that is drawn.
#[derive(Clone, Debug)]
pub enum Delay {
    /// Anything from the first to just below the second.
    Between(u64, u64),
    /// One of these, each as likely: the quantiles of a distribution.
    Quantiles(Arc<[u64]>),
}

impl Delay {
    /// The span that belongs to a draw.
    #[must_use]
    pub fn of(&self, draw: u64) -> u64 {
        match self {
            Self::Between(from, to) => {
                from + ((u128::from(draw) * u128::from(to - from)) >> 64) as u64
            }
            Self::Quantiles(quantiles) => {
                let at = (u128::from(draw) * quantiles.len() as u128) >> 64;
                quantiles[at as usize]
            }
        }
    }

    /// The same, and up to so much more.
    #[must_use]
    pub fn longer(self, by: u64) -> Self {
        match self {
            Self::Between(from, to) if by > 1 => Self::Between(from, to + by),
            other => other,
        }
    }

    /// The longest that can be drawn.
    #[must_use]
    pub fn longest(&self) -> u64 {
        match self {
            Self::Between(_, to) => *to,
            Self::Quantiles(quantiles) => quantiles.iter().copied().max().unwrap_or(0),
        }
    }
}

/// Something that goes wrong by plan.
#[derive(Clone, Debug)]
pub enum Incident {
    /// A process ends, and is started again.
    Crash {
        /// Whose.
        node: usize,
        /// For how long it is gone.
        down: u64,
        /// Whether its whole machine starts anew: the origin of the new clock.
        reboot: Option<u64>,
        /// What becomes of its state directory.
        disk: DiskFate,
    },
    /// A machine ends and never comes back, whatever was planned for it.
    Gone {
        /// Which.
        node: usize,
    },
    /// Messages from one node to another are lost until then.
    Cut {
        /// The sender.
        from: usize,
        /// The receiver.
        to: usize,
        /// When it is over.
        until: u64,
    },
    /// A node and some others (a bit each) do not reach each other until then.
    Apart {
        /// The node.
        node: usize,
        /// The others.
        from: u64,
        /// When it is over.
        until: u64,
    },
    /// The nodes of one side (a bit each) and the rest do not reach each other until then.
    Split {
        /// One side.
        side: u64,
        /// When it is over.
        until: u64,
    },
    /// A process is stopped until then, or its machine sleeps; its clock goes on.
    Stop {
        /// Whose.
        node: usize,
        /// When it is over.
        until: u64,
    },
}

/// What becomes of a state directory while its process is down.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DiskFate {
    /// It is as it was written.
    Kept,
    /// The last write did not reach it whole.
    Torn,
    /// It is lost.
    Lost,
    /// Somebody mounts the directory of this other node.
    Foreign(usize),
}
