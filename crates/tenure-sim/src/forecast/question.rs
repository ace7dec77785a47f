//! A question about a cluster.

use std::net::SocketAddr;
use std::time::Duration;

use tenure_core::nerio::{Checked, Member};
use tenure_core::{NameError, NodeName};

use super::trips::RoundTrips;

/// A cluster, its network and its faults.
#[derive(Clone, Debug)]
pub struct Question {
    /// The settings, with as many nodes as members; see [`Question::members`].
    pub config: Checked,
    pub trips: RoundTrips,
    /// Share of lost datagrams, one way: 0 to [`Question::LOSS_MAX`].
    pub loss: f64,
    /// Mean time between two crashes of one process.
    pub crash_every: Option<Duration>,
    /// Downtime of a crashed or restarted process.
    pub down: Duration,
    /// Mean time between two restarts of one machine; each takes [`Question::REBOOT`].
    pub reboot_every: Option<Duration>,
    /// Mean time between two restarts on purpose of one process, which resigns first.
    pub restart_every: Option<Duration>,
    /// Mean time between two pauses of one process.
    pub pause_every: Option<Duration>,
    /// Mean length of a pause; exponentially distributed.
    pub pause: Duration,
    /// Simulated hours.
    pub hours: u32,
    /// Number of drills of each kind.
    pub drills: u32,
    /// Seed of every draw.
    pub seed: u64,
    /// Acceptable number of needless changes in 30 days.
    pub target: f64,
    /// Whether waiting candidates never sleep: slow, to confirm that sleep changes nothing.
    pub awake: bool,
}

/// The reason why a question has no answer.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
pub enum Unanswerable {
    /// A loss outside the bounds: more loss than elections are meant for, or less than none.
    #[error("a loss of {loss} is not between 0 and {max}")]
    Loss { loss: f64, max: f64 },
    /// A number of hours outside the bounds.
    #[error("{hours} hours are not between 1 and {max}")]
    Hours { hours: u32, max: u32 },
    /// More time than a user would wait.
    #[error(
        "{hours} hours with a lease of {lease:?} are about {events} million events, which take \
         too long; at most {enough} hours are run"
    )]
    TooMuch {
        hours: u32,
        lease: Duration,
        /// Number in millions.
        events: u64,
        /// The largest number of hours that is feasible.
        enough: u32,
    },
    /// An event that is too frequent for any leader.
    #[error(
        "{what} every {every:?} is too often for any node to lead; the shortest interval is \
         {least:?}"
    )]
    TooOften { what: &'static str, every: Duration, least: Duration },
    /// No candidate can win with these settings in this network.
    #[error(
        "no candidate was elected within {waited:?}: round trips of up to {longest:?} and a loss \
         of {loss} are too much for a lease of {lease:?}"
    )]
    NobodyElected {
        /// Simulated span without an election.
        waited: Duration,
        longest: Duration,
        loss: f64,
        lease: Duration,
    },
}

/// The address of the node at this place of the list.
pub(super) fn address(at: u8) -> SocketAddr {
    SocketAddr::from(([10, 0, 0, 1_u8.saturating_add(at)], 7_101))
}

impl Question {
    /// The largest loss: half of all datagrams.
    pub const LOSS_MAX: f64 = 0.5;
    /// The maximum number of hours: about eleven years.
    pub const HOURS_MAX: u32 = 100_000;
    /// The maximum number of events, by a rough estimate: some tens of minutes of work.
    const EVENTS_MAX: f64 = 5e9;
    /// Downtime of a restarted machine.
    pub const REBOOT: Duration = Duration::from_secs(60);
    pub const NODES_MAX: usize = 9;

    /// The members of a made-up cluster of so many nodes, up to 26.
    pub fn members(nodes: usize) -> Result<Vec<Member>, NameError> {
        let member = |at: u8| {
            let name = NodeName::new(&char::from(b'a' + at).to_string())?;
            Ok(Member::at(name, address(at)))
        };
        (0..u8::try_from(nodes).unwrap_or(26).min(26)).map(member).collect()
    }

    #[must_use]
    pub fn nodes(&self) -> usize {
        self.config.members.len()
    }

    /// The loss in the world's unit.
    #[must_use]
    pub fn loss_rate(&self) -> u16 {
        (self.loss * 65_536.0).round() as u16
    }

    /// A rough number of events in an hour: a renewal every 0.29 leases, and some requests of
    /// waiting candidates. A renewal has a timer and two messages for each node.
    fn events_per_hour(&self) -> f64 {
        let renewal = 2.0 * self.nodes() as f64 + 1.0;
        3_600.0 / self.config.lease.as_secs_f64() * (renewal / 0.29 + self.nodes() as f64)
    }

    /// Refuses unanswerable questions.
    pub fn check(&self) -> Result<(), Unanswerable> {
        if !(0.0..=Self::LOSS_MAX).contains(&self.loss) {
            return Err(Unanswerable::Loss { loss: self.loss, max: Self::LOSS_MAX });
        }
        if !(1..=Self::HOURS_MAX).contains(&self.hours) {
            return Err(Unanswerable::Hours { hours: self.hours, max: Self::HOURS_MAX });
        }
        let events = self.events_per_hour() * f64::from(self.hours);
        if events > Self::EVENTS_MAX {
            return Err(Unanswerable::TooMuch {
                hours: self.hours,
                lease: self.config.lease,
                events: (events / 1e6) as u64,
                enough: (Self::EVENTS_MAX / self.events_per_hour()) as u32,
            });
        }
        let all = [
            ("a crash", self.crash_every, self.down + self.config.lease * 2),
            ("a reboot", self.reboot_every, Self::REBOOT + self.config.quarantine()),
            ("a restart", self.restart_every, self.down + self.config.lease * 2),
            ("a pause", self.pause_every, self.pause),
        ];
        for (what, every, least) in all {
            if let Some(every) = every.filter(|every| *every < least) {
                return Err(Unanswerable::TooOften { what, every, least });
            }
        }
        Ok(())
    }
}
