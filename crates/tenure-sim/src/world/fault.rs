//! Named faults, so that a run can be repeated without some of them.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

use crate::rng::mix;

/// The kinds of random events.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[repr(u8)]
pub enum Kind {
    /// A message is lost.
    Loss,
    /// A message arrives twice.
    Repeat,
    /// A message is late by a part of a lease.
    Late,
    /// A message is late by a lease or more.
    VeryLate,
    /// A process stops right after it read its clock.
    Pause,
    /// A process ends between two effects.
    Crash,
    /// A write to the state directory fails.
    Write,
    /// A timer fires too early.
    Early,
    /// A timer fires late.
    Tardy,
    /// An incident: a crash, a restart, a partition, a sleep.
    Incident,
    /// A forged message.
    Forged,
    /// A command of an application.
    Act,
}

impl Kind {
    pub const ALL: [Self; 12] = [
        Self::Loss,
        Self::Repeat,
        Self::Late,
        Self::VeryLate,
        Self::Pause,
        Self::Crash,
        Self::Write,
        Self::Early,
        Self::Tardy,
        Self::Incident,
        Self::Forged,
        Self::Act,
    ];

    /// Name in a replay command and in a trace.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Loss => "loss",
            Self::Repeat => "repeat",
            Self::Late => "late",
            Self::VeryLate => "very-late",
            Self::Pause => "pause",
            Self::Crash => "crash",
            Self::Write => "write",
            Self::Early => "early",
            Self::Tardy => "tardy",
            Self::Incident => "incident",
            Self::Forged => "forged",
            Self::Act => "act",
        }
    }
}

/// A fault: its kind, its place (a node, or a link as from × 64 + to), and its number among the
/// chances of this kind at this place.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Fault {
    pub kind: Kind,
    pub place: u16,
    pub count: u32,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.kind.name(), self.place, self.count)
    }
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NoFault(String);

impl fmt::Display for NoFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} names no fault: expected KIND.PLACE.COUNT, as in loss.3.17", self.0)
    }
}

impl std::error::Error for NoFault {}

impl FromStr for Fault {
    type Err = NoFault;

    fn from_str(text: &str) -> Result<Self, NoFault> {
        let wrong = || NoFault(text.to_owned());
        let mut parts = text.split('.');
        let name = parts.next().ok_or_else(wrong)?;
        let kind = Kind::ALL.into_iter().find(|kind| kind.name() == name).ok_or_else(wrong)?;
        let place = parts.next().and_then(|n| n.parse().ok()).ok_or_else(wrong)?;
        let count = parts.next().and_then(|n| n.parse().ok()).ok_or_else(wrong)?;
        if parts.next().is_some() {
            return Err(wrong());
        }
        Ok(Self { kind, place, count })
    }
}

/// The rate of each kind of fault, in 65,536 chances.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Rates {
    /// [`Kind::Loss`], for each message.
    pub loss: u16,
    /// [`Kind::Repeat`], for each message.
    pub repeat: u16,
    /// [`Kind::Late`], for each message.
    pub late: u16,
    /// [`Kind::VeryLate`], for each message.
    pub very_late: u16,
    /// [`Kind::Pause`], for each input.
    pub pause: u16,
    /// [`Kind::Crash`], for each input that has effects.
    pub crash: u16,
    /// [`Kind::Write`], for each write.
    pub write: u16,
    /// [`Kind::Early`], for each timer.
    pub early: u16,
    /// [`Kind::Tardy`], for each timer.
    pub tardy: u16,
}

impl Rates {
    const fn of(&self, kind: Kind) -> u16 {
        match kind {
            Kind::Loss => self.loss,
            Kind::Repeat => self.repeat,
            Kind::Late => self.late,
            Kind::VeryLate => self.very_late,
            Kind::Pause => self.pause,
            Kind::Crash => self.crash,
            Kind::Write => self.write,
            Kind::Early => self.early,
            Kind::Tardy => self.tardy,
            Kind::Incident | Kind::Forged | Kind::Act => u16::MAX,
        }
    }
}

/// Decides which faults strike. The draw of a chance depends only on the seed, and on the chance's
/// kind, place and number. So a fault that is left out changes no other draw.
#[derive(Clone, Debug)]
pub struct Fate {
    seed: u64,
    rates: Rates,
    /// The only allowed faults; all if `None`.
    only: Option<BTreeSet<Fault>>,
    struck: Vec<(u64, Fault)>,
    counts: [u64; Kind::ALL.len()],
}

impl Fate {
    /// The fate of a world.
    #[must_use]
    pub fn new(seed: u64, rates: Rates, only: Option<BTreeSet<Fault>>) -> Self {
        Self { seed: mix(seed), rates, only, struck: Vec::new(), counts: [0; Kind::ALL.len()] }
    }

    /// Whether chance number `count` of `kind` at `place` strikes, at the true time `at`.
    pub fn strikes(&mut self, kind: Kind, place: usize, count: u32, at: u64) -> bool {
        self.strikes_at(self.rates.of(kind), kind, place, count, at)
    }

    /// Whether a chance with its own rate strikes.
    pub fn strikes_at(&mut self, rate: u16, kind: Kind, place: usize, count: u32, at: u64) -> bool {
        rate != 0 && self.draw(kind, place, count) >> 48 < u64::from(rate) && {
            self.happens(kind, place, count, at)
        }
    }

    /// Whether an incident may happen.
    pub fn happens(&mut self, kind: Kind, place: usize, count: u32, at: u64) -> bool {
        let fault = Fault { kind, place: place as u16, count };
        if self.only.as_ref().is_some_and(|only| !only.contains(&fault)) {
            return false;
        }
        self.counts[kind as usize] += 1;
        self.struck.push((at, fault));
        true
    }

    /// A number that belongs to one chance alone. The upper sixteen bits decide whether the fault
    /// strikes.
    #[must_use]
    pub const fn draw(&self, kind: Kind, place: usize, count: u32) -> u64 {
        mix(self.seed ^ (kind as u64) << 56 ^ (place as u64) << 32 ^ count as u64)
    }

    #[must_use]
    pub fn struck(&self) -> &[(u64, Fault)] {
        &self.struck
    }

    /// The number of struck faults of each kind.
    #[must_use]
    pub const fn counts(&self) -> &[u64; Kind::ALL.len()] {
        &self.counts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults_are_read_as_written() {
        let fault = Fault { kind: Kind::VeryLate, place: 67, count: 1_234 };
        assert_eq!(fault.to_string().parse(), Ok(fault));
        for wrong in ["", "loss", "loss.1", "loss.1.2.3", "flood.1.2", "loss.x.2", "loss.1.-2"] {
            assert!(wrong.parse::<Fault>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn omissions_change_no_other_draw() {
        let rates = Rates { loss: 8_192, pause: 4_096, ..Rates::default() };
        let all = |fate: &mut Fate| {
            for count in 0..2_000 {
                fate.strikes(Kind::Loss, 3, count, 0);
                fate.strikes(Kind::Pause, 1, count, 0);
            }
        };
        let mut fate = Fate::new(7, rates, None);
        all(&mut fate);
        let struck: Vec<Fault> = fate.struck().iter().map(|(_, fault)| *fault).collect();
        assert!(struck.len() > 200 && struck.len() < 700, "{}", struck.len());
        let half: BTreeSet<Fault> = struck.iter().copied().step_by(2).collect();
        let mut again = Fate::new(7, rates, Some(half.clone()));
        all(&mut again);
        assert_eq!(again.struck().iter().map(|(_, fault)| *fault).collect::<BTreeSet<_>>(), half);
    }
}
