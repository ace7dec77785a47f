//! Which incarnations use each name: a name that two use at the same time is reported.

use core::hash::{Hash, Hasher};

use super::super::identity::Inc;
use super::*;

/// The two last incarnations that used each name.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub(super) struct Incarnations(BTreeMap<NodeName, Known>);

#[derive(Clone, PartialEq, Eq, Debug)]
struct Known {
    current: (Inc, SocketAddr),
    previous: Option<(Inc, SocketAddr)>,
    /// When the one before the current one last came back.
    back_at: Option<Time>,
}

/// Where they are and when one came back decides nothing: a search through all states, which tells
/// them apart by their hash, need not tell these apart.
impl Hash for Known {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (self.current.0, self.previous.map(|(inc, _)| inc)).hash(state);
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
    /// `from` asked at `now`. That another incarnation shares its name is said for as long as a
    /// lease `lasts`: one that leads is heard no more often than it renews.
    pub(super) fn meet(
        &mut self,
        now: Time,
        from: &Sender,
        lasts: core::time::Duration,
        bound: usize,
    ) -> Met {
        let this = (from.who.inc, from.address);
        let Some(known) = self.0.get_mut(&from.who.name) else {
            if self.0.len() >= bound {
                self.0.pop_first();
            }
            let known = Known { current: this, previous: None, back_at: None };
            self.0.insert(from.who.name.clone(), known);
            return Met::Alone;
        };
        let mut is_back = false;
        if known.current.0 == this.0 {
            known.current = this;
        } else {
            is_back = known.previous.is_some_and(|(inc, _)| inc == this.0);
            known.back_at = is_back.then_some(now);
            known.previous = Some(core::mem::replace(&mut known.current, this));
        }
        match (known.previous, known.back_at) {
            (Some((_, other)), Some(at)) if now.since(at) <= lasts => {
                Met::Shared { other, is_back }
            }
            _ => Met::Alone,
        }
    }
}

impl Grantor {
    /// Remembers which incarnations use a name; says where another one is that does so at the same
    /// time.
    pub(super) fn meet(
        &mut self,
        now: Time,
        from: &Sender,
        request: &Request,
        out: &mut Out,
    ) -> Option<SocketAddr> {
        let lasts = request.lease.max(self.config.parked_for());
        match self.incarnations.meet(now, from, lasts, self.config.limits.names) {
            Met::Alone => None,
            Met::Shared { other, is_back } => {
                if is_back {
                    let mut addresses = [from.address, other];
                    addresses.sort_unstable();
                    let name = from.who.name.clone();
                    emit(out, None, OwnEvent::NameContested { name, addresses });
                }
                Some(other)
            }
        }
    }
}
