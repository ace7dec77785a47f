//! Promises and records of voters, in true time.

use std::collections::{BTreeMap, BTreeSet};

use tenure_core::voter::{AckDto, Answer, Ask, Identity, Leadership, Memory, Participant};

#[derive(Clone, Debug)]
pub struct Promise {
    pub to: Leadership,
    /// End of the promise, until which the voter endorses and acknowledges no other leadership.
    pub until: u64,
}

/// Promises and records of voters.
#[derive(Clone, Debug, Default)]
pub struct Account {
    /// Promises that may still run, by the memory that gave them.
    pub promises: BTreeMap<Identity, Vec<Promise>>,
    /// Leaderships that their leaders have ended or given up.
    pub released: BTreeSet<Leadership>,
    /// Last record of each node.
    pub written: Vec<Option<Memory>>,
}

/// The promise in a message: its leadership and its length.
#[must_use]
pub fn promised<'a>(asks: Option<&'a Ask>, answer: Option<&'a Answer>) -> Option<Pledge> {
    if let Some(Ask::Result(result)) = asks {
        let leader = result.new_leader.clone();
        let ballot = result.ballot.clone();
        let span = result.promise?.span;
        return Some(Pledge { to: Leadership { leader, ballot }, span });
    }
    let Some(Answer::Heartbeat(beaten)) = answer else { return None };
    let AckDto { leadership, promise, .. } = beaten.promise.as_ref()?;
    Some(Pledge { to: leadership.clone(), span: promise.span })
}

/// The promise in a message.
#[derive(Clone, Debug)]
pub struct Pledge {
    pub to: Leadership,
    /// Length of the promise by the voter's clock.
    pub span: std::time::Duration,
}

/// Whether both belong to one run and one counter.
#[must_use]
pub fn same(one: &Leadership, other: &Leadership) -> bool {
    one.leader == other.leader && one.counter() == other.counter()
}

impl Account {
    #[must_use]
    pub fn new(nodes: usize) -> Self {
        Self { written: vec![None; nodes], ..Self::default() }
    }

    /// The end of a voter's promise to a leadership of this counter.
    #[must_use]
    pub fn promised_to(&self, by: Identity, leader: &Participant, counter: u64) -> Option<u64> {
        let all = self.promises.get(&by)?.iter();
        let to = all.filter(|one| one.to.leader == *leader && one.to.counter() == counter);
        to.map(|one| one.until).max()
    }

    pub(super) fn promise(&mut self, by: Identity, to: &Leadership, until: u64, now: u64) {
        let all = self.promises.entry(by).or_default();
        all.retain(|one| one.until > now || one.to == *to);
        match all.iter_mut().find(|one| one.to == *to) {
            Some(one) => one.until = one.until.max(until),
            None => all.push(Promise { to: to.clone(), until }),
        }
    }
}
