//! Which incarnations use each name: a name that two use in one election at the same time is
//! reported.

use alloc::collections::BTreeMap;
use core::hash::{Hash, Hasher};
use core::net::SocketAddr;
use core::time::Duration;

use super::super::identity::Inc;
use super::super::message::Sender;
use crate::name::{ElectionName, NodeName};
use crate::time::Time;

/// The two last incarnations of a name that met in one election. A name that one incarnation alone
/// uses there has no entry.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub(super) struct Incarnations(BTreeMap<(ElectionName, NodeName), Known>);

#[derive(Clone, PartialEq, Eq, Debug)]
struct Known {
    current: (Inc, SocketAddr),
    previous: (Inc, SocketAddr),
    /// When the one before the current one last came back.
    back_at: Option<Time>,
}

/// Where they are and when one came back decides nothing: a search through all states, which tells
/// them apart by their hash, need not tell these apart.
impl Hash for Known {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (self.current.0, self.previous.0).hash(state);
    }
}

/// What a request shows of its sender's name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Met {
    /// Nobody else uses it.
    Alone,
    /// Another incarnation does, at this address.
    Shared { other: SocketAddr, is_back: bool },
}

impl Incarnations {
    /// `from` asked for `election` at `now`, where `rival`, another incarnation of its name, holds
    /// the grant or waits. That they share the name is said for as long as a lease `lasts`: a
    /// leader is heard no more often than it renews.
    pub(super) fn meet(
        &mut self,
        now: Time,
        (election, from): (&ElectionName, &Sender),
        rival: (Inc, SocketAddr),
        lasts: Duration,
        bound: usize,
    ) -> Met {
        let this = (from.who.inc, from.address);
        let key = (election.clone(), from.who.name.clone());
        let Some(known) = self.0.get_mut(&key) else {
            if self.0.len() >= bound {
                self.0.pop_first();
            }
            self.0.insert(key, Known { current: this, previous: rival, back_at: None });
            return Met::Alone;
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
            Some(at) if now.since(at) <= lasts => Met::Shared { other: known.previous.1, is_back },
            _ => Met::Alone,
        }
    }
}
