//! Conditions of a world: clocks, network, faults and incidents.

use std::sync::Arc;

use super::clock::Clock;
use super::fault::Rates;
use crate::rng::Rng;

/// Salt of the draws of wall clocks.
const WALL: u64 = 0x7761_6c6c;

/// Conditions of a world without its protocol. Times are true time in nanoseconds from the
/// beginning.
#[derive(Clone, Debug)]
pub struct Conditions {
    /// Seed of every draw.
    pub seed: u64,
    pub sites: Vec<Site>,
    /// Delay of a message between two nodes.
    pub trip: Delay,
    /// Delay of a node's message to itself.
    pub loopback: Delay,
    /// Duration of a flush to a disk.
    pub flush: Delay,
    /// Unit of long spans: late messages, pauses and outages are fractions of this unit.
    pub unit: u64,
    pub rates: Rates,
    /// Incidents, in order of true time.
    pub incidents: Vec<(u64, Incident)>,
    /// Pause between two commands of a node's application.
    pub pace: Delay,
    /// Whether cores that can do without wall clocks nevertheless read them, and wake up when a
    /// wall clock is set.
    pub reads_wall: bool,
    /// Grid of true time for messages and commands, so that many events coincide.
    pub grain: u64,
    /// Whether messages between two nodes arrive in the order in which they were sent.
    pub ordered: bool,
    /// Rate of forged messages after a message, in 65,536.
    pub forges: u16,
    /// Time of the last fault.
    pub storm_ends: u64,
    pub end: u64,
}

impl Conditions {
    /// Conditions without faults.
    #[must_use]
    pub fn new(
        seed: u64,
        sites: Vec<Site>,
        trip: Delay,
        unit: u64,
        storm_ends: u64,
        end: u64,
    ) -> Self {
        Self {
            seed,
            sites,
            trip,
            loopback: Delay::Between(1_000, 50_000),
            flush: Delay::Between(100_000, 15_000_000),
            unit,
            rates: Rates::default(),
            incidents: Vec::new(),
            pace: Delay::Between(unit / 40, unit / 3),
            reads_wall: false,
            grain: 1,
            ordered: false,
            forges: 0,
            storm_ends,
            end,
        }
    }

    /// Draws wall clocks that are off by up to `most`, and are set again during the storm. The
    /// draws are separate, so that they change nothing else in the world.
    pub fn draw_wall_clocks(&mut self, most: u64) {
        let mut rng = Rng::new(self.seed, WALL);
        let mut off = || rng.within(0..2 * most + 1).cast_signed() - most.cast_signed();
        let count = self.sites.len();
        for site in &mut self.sites {
            site.wall = off();
        }
        let steps = (0..2 * count).map(|number| (number % count, off()));
        let steps: Vec<(usize, i64)> = steps.collect();
        for (node, ahead) in steps {
            let at = rng.within(0..2 * self.storm_ends);
            if at < self.storm_ends {
                self.incidents.push((at, Incident::Step { node, ahead }));
            }
        }
    }
}

/// The machine of a node.
#[derive(Clone, Debug)]
pub struct Site {
    pub name: String,
    /// Hardware clock in its first boot.
    pub clock: Clock,
    /// Distance by which the machine's wall clock is ahead of true time at first, in nanoseconds.
    pub wall: i64,
    pub starts: u64,
}

/// A drawn span.
#[derive(Clone, Debug)]
pub enum Delay {
    /// A draw from the first number to just below the second.
    Between(u64, u64),
    /// A drawn element of the quantiles of a distribution.
    Quantiles(Arc<[u64]>),
}

impl Delay {
    /// The span of a draw.
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

    /// A delay that may be longer by up to `by`.
    #[must_use]
    pub fn longer(self, by: u64) -> Self {
        match self {
            Self::Between(from, to) if by > 1 => Self::Between(from, to + by),
            other => other,
        }
    }

    /// The longest span.
    #[must_use]
    pub fn longest(&self) -> u64 {
        match self {
            Self::Between(_, to) => *to,
            Self::Quantiles(quantiles) => quantiles.iter().copied().max().unwrap_or(0),
        }
    }
}

/// A planned fault.
#[derive(Clone, Debug)]
pub enum Incident {
    /// A process ends, and is started again.
    Crash {
        node: usize,
        /// Downtime.
        down: u64,
        /// Origin of the new clock, if the machine restarts, too.
        reboot: Option<u64>,
        disk: DiskFate,
    },
    /// A machine ends and never comes back, in spite of any plan.
    Gone { node: usize },
    /// Messages from one node to another are lost until `until`.
    Cut { from: usize, to: usize, until: u64 },
    /// A node and some others (a bit each) do not reach each other until `until`.
    Apart { node: usize, from: u64, until: u64 },
    /// The nodes of one side (a bit each) and the rest do not reach each other until `until`.
    Split { side: u64, until: u64 },
    /// An operator sets a wall clock this many nanoseconds ahead of true time.
    Step { node: usize, ahead: i64 },
    /// A process is stopped until `until`, or its machine sleeps; the clock goes on.
    Stop { node: usize, until: u64 },
}

impl Incident {
    /// A process ends, and its machine runs on.
    #[must_use]
    pub const fn crash(node: usize, down: u64, disk: DiskFate) -> Self {
        Self::Crash { node, down, reboot: None, disk }
    }
}

/// The fate of a state directory while its process is down.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DiskFate {
    /// The directory keeps all its writes.
    Kept,
    /// The last write did not reach the directory completely.
    Torn,
    /// The directory is lost.
    Lost,
    /// A node starts once with an empty directory, as if its disk were not mounted. Its next start
    /// finds the disk unchanged.
    Absent,
    /// An operator mounts the directory of this other node.
    Foreign(usize),
}
