//! Detects names that two incarnations use in one election at the same time.

use alloc::collections::BTreeMap;
use core::hash::{Hash, Hasher};
use core::net::SocketAddr;
use core::time::Duration;

use super::super::identity::Inc;
use super::super::message::Sender;
use crate::name::{ElectionName, NodeName};
use crate::time::Time;

/// For each election and name, the last two incarnations that met there. A name that one
/// incarnation alone uses in an election has no entry.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub(super) struct Incarnations(BTreeMap<(ElectionName, NodeName), NameUse>);

#[derive(Clone, PartialEq, Eq, Debug)]
struct NameUse {
    current: (Inc, SocketAddr),
    previous: (Inc, SocketAddr),
    /// Time at which `current` asked again after `previous` had asked; `None` if it has not.
    back_at: Option<Time>,
}

/// Leaves out addresses and times, which decide nothing: the model check in `tenure-sim`, which
/// compares hashes, need not tell them apart.
impl Hash for NameUse {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (self.current.0, self.previous.0).hash(state);
    }
}

/// A request's sender, compared with the known incarnations of its name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Meeting {
    /// No other incarnation uses the name.
    Alone,
    /// Another incarnation, at this address, uses the name.
    Shared { other: SocketAddr, is_back: bool },
}

impl Incarnations {
    /// Notes that `from` asked for `election` at `now`, while `rival`, another incarnation with the
    /// same name, holds the grant or waits. The name counts as shared for the length of a lease
    /// (`lasts`), because a leader sends nothing between renewals.
    pub(super) fn meet(
        &mut self,
        now: Time,
        (election, from): (&ElectionName, &Sender),
        rival: (Inc, SocketAddr),
        lasts: Duration,
        bound: usize,
    ) -> Meeting {
        let this = (from.who.inc, from.address);
        let key = (election.clone(), from.who.name.clone());
        let Some(known) = self.0.get_mut(&key) else {
            if self.0.len() >= bound {
                self.0.pop_first();
            }
            self.0.insert(key, NameUse { current: this, previous: rival, back_at: None });
            return Meeting::Alone;
        };
        let mut is_back = false;
        if known.current.0 == this.0 {
            known.current = this;
        } else {
            is_back = known.previous.0 == this.0;
            known.back_at = is_back.then_some(now);
            known.previous = core::mem::replace(&mut known.current, this);
        }
        match known.back_at {
            Some(at) if now.since(at) <= lasts => {
                Meeting::Shared { other: known.previous.1, is_back }
            }
            _ => Meeting::Alone,
        }
    }
}
