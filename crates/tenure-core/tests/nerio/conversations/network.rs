//! The network between the nodes: every link has its delay, some are cut, and what is to happen
//! to one message can be said beforehand.

use std::collections::BTreeMap;
use std::str::FromStr;

use tenure_core::nerio::{Message, Sender};

use super::cast::kind;

/// The two ends.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Link {
    Both(String, String),
    OneWay(String, String),
    /// Between this node and everybody.
    All(String),
}

impl Link {
    fn covers(&self, from: &str, to: &str) -> bool {
        match self {
            Self::Both(a, b) => (a == from && b == to) || (a == to && b == from),
            Self::OneWay(a, b) => a == from && b == to,
            Self::All(a) => a == from || a == to,
        }
    }

    pub(super) fn ends(&self) -> Vec<&str> {
        match self {
            Self::Both(a, b) | Self::OneWay(a, b) => vec![a, b],
            Self::All(a) => vec![a],
        }
    }
}

impl FromStr for Link {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, &'static str> {
        let ends: Vec<&str> = text.split(['-', '>']).collect();
        match ends[..] {
            [a] if !a.is_empty() => Ok(Self::All(a.into())),
            [a, b] if !a.is_empty() && !b.is_empty() && a != b => {
                let make = if text.contains('>') { Self::OneWay } else { Self::Both };
                Ok(make(a.into(), b.into()))
            }
            _ => Err("a link is a-b for both ways, a>b for one, a for all of a's"),
        }
    }
}

/// Fate of a message other than to arrive in time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Mishap {
    Lost,
    /// The message arrives when the script says so.
    Held,
    Twice,
}

/// Fate of the next message of a kind.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Trap {
    pub(super) mishap: Mishap,
    pub(super) kind: String,
    pub(super) from: String,
    pub(super) to: String,
}

/// A message and its way.
#[derive(Clone)]
pub(super) struct Letter {
    pub(super) sender: Sender,
    pub(super) from: String,
    pub(super) to: String,
    pub(super) message: Message,
}

pub(super) struct Network {
    delay: u64,
    delays: Vec<(Link, u64)>,
    cuts: Vec<Link>,
    traps: Vec<Trap>,
    /// By the true time of arrival, then in the order of sending.
    on_the_way: BTreeMap<(u64, u64), Letter>,
    held: Vec<Letter>,
    sent: u64,
}

impl Network {
    pub(super) fn new(delay: u64) -> Self {
        Self {
            delay,
            delays: Vec::new(),
            cuts: Vec::new(),
            traps: Vec::new(),
            on_the_way: BTreeMap::new(),
            held: Vec::new(),
            sent: 0,
        }
    }

    pub(super) fn slow_down(&mut self, link: Link, delay: u64) {
        self.delays.push((link, delay));
    }

    pub(super) fn cut(&mut self, link: Link) {
        self.cuts.push(link);
    }

    pub(super) fn heal(&mut self) {
        self.cuts.clear();
    }

    pub(super) fn set(&mut self, trap: Trap) {
        self.traps.push(trap);
    }

    /// Takes a letter, and says in a word what is unusual about its way.
    pub(super) fn send(&mut self, now: u64, letter: Letter) -> Option<&'static str> {
        let from = letter.from.as_str();
        let to = letter.to.as_str();
        let of_delay = |(link, _): &&(Link, u64)| link.covers(from, to);
        let delay = self.delays.iter().rev().find(of_delay).map_or(self.delay, |(_, delay)| *delay);
        let arrival = now + delay;
        let kind = kind(&letter.message);
        let meant = |trap: &Trap| trap.kind == kind && trap.from == from && trap.to == to;
        let trap = self.traps.iter().position(meant).map(|at| self.traps.remove(at).mishap);
        if self.cuts.iter().any(|link| link.covers(from, to)) {
            return Some("cut");
        }
        match trap {
            None => self.put(arrival, letter),
            Some(Mishap::Lost) => return Some("lost"),
            Some(Mishap::Held) => {
                self.held.push(letter);
                return Some("held");
            }
            Some(Mishap::Twice) => {
                self.put(arrival, letter.clone());
                self.put(arrival, letter);
                return Some("twice");
            }
        }
        None
    }

    fn put(&mut self, arrival: u64, letter: Letter) {
        self.sent += 1;
        self.on_the_way.insert((arrival, self.sent), letter);
    }

    /// Everything that was held arrives now.
    pub(super) fn let_go(&mut self, now: u64) -> usize {
        let held = std::mem::take(&mut self.held);
        let count = held.len();
        held.into_iter().for_each(|letter| self.put(now, letter));
        count
    }

    /// When the next letter arrives.
    pub(super) fn next(&self) -> Option<u64> {
        self.on_the_way.keys().next().map(|(at, _)| *at)
    }

    /// When the last of the letters that are on their way arrives.
    pub(super) fn last(&self) -> Option<u64> {
        self.on_the_way.keys().next_back().map(|(at, _)| *at)
    }

    pub(super) fn take(&mut self) -> Option<Letter> {
        self.on_the_way.pop_first().map(|(_, letter)| letter)
    }

    /// An announced fate that never happened.
    pub(super) fn unfulfilled(&self) -> Option<String> {
        let held = self.held.first().map(|letter| format!("held for ever: {}", letter.message));
        let trap = self.traps.first();
        let trap = trap.map(|t| format!("no {} went from {} to {}", t.kind, t.from, t.to));
        held.or(trap)
    }
}
