//! Supervised release. A member watches the process of a candidate, and reports the end of that
//! process. The report ends all grants of that incarnation at once.
//!
//! A report is no release. The process is over, so the highest Start granted does not matter, and
//! later messages of that incarnation are ignored. Nothing here is written down: a grantor that
//! restarts takes no report before the next request names the supervisor, and its grants run out.

use alloc::vec::Vec;
use core::net::SocketAddr;

use super::super::event::{Ignored, OwnEvent};
use super::super::gone::{Gone, Supervisor};
use super::super::identity::Who;
use super::super::message::Sender;
use super::super::words::{Out, emit};
use super::{Grantor, Phase};
use crate::name::{ElectionName, NodeName};
use crate::time::Time;

/// Maximum number of watched incarnations. The next request of a forgotten incarnation makes it
/// known again.
const WATCHED_MAX: usize = 1_024;
/// Maximum number of ended incarnations. A late request of a forgotten incarnation takes a grant in
/// vain, for the length of a lease.
const GONE_MAX: usize = 256;

#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub(super) struct Supervision {
    /// The candidates that are watched, the longest known first.
    watched: Vec<Watched>,
    /// The incarnations whose processes have ended, the oldest first. An entry holds for its
    /// address only: a process at another address may use the same name.
    gone: Vec<(Who, SocketAddr)>,
}

/// A candidate and its supervisor. Both stay as they were first heard, so that no other process can
/// name itself the supervisor. If the network has given the candidate another address since, a
/// report ends nothing, and the lease runs out.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Watched {
    who: Who,
    address: SocketAddr,
    by: NodeName,
}

impl Supervision {
    pub(super) fn is_gone(&self, from: &Sender) -> bool {
        self.gone.iter().any(|(who, address)| *who == from.who && *address == from.address)
    }

    fn watch(&mut self, who: &Who, address: SocketAddr, by: NodeName) {
        if self.watched.iter().any(|known| known.who == *who) {
            return;
        }
        if self.watched.len() >= WATCHED_MAX {
            self.watched.remove(0);
        }
        self.watched.push(Watched { who: who.clone(), address, by });
    }

    /// Takes the report of `by` that `who` has ended, and returns the address of the incarnation;
    /// `None` if `by` does not watch `who`.
    fn bury(&mut self, who: &Who, by: &NodeName) -> Option<SocketAddr> {
        let at = self.watched.iter().position(|known| known.who == *who && known.by == *by)?;
        let address = self.watched.remove(at).address;
        if self.gone.len() >= GONE_MAX {
            self.gone.remove(0);
        }
        self.gone.push((who.clone(), address));
        Some(address)
    }
}

impl Grantor {
    pub(super) fn on_supervisor(&mut self, from: &Sender, supervisor: Supervisor) {
        if !self.supervision.is_gone(from) {
            self.supervision.watch(&from.who, from.address, supervisor.name);
        }
    }

    /// Ends the grants of the incarnation, and drops its waiting requests (supervised release 4). A
    /// grantor that does not serve takes no grant back: another memory of this member may have
    /// given more grants.
    pub(super) fn on_gone(&mut self, now: Time, from: &Sender, gone: &Gone, out: &mut Out) {
        let is_member = from.proved && self.membership.position(&from.who.name).is_some();
        if !is_member {
            return emit(out, None, OwnEvent::Ignored(Ignored::NotAMember));
        }
        let Some(address) = self.supervision.bury(&gone.who, &from.who.name) else {
            let repeated = self.supervision.gone.iter().any(|(who, _)| *who == gone.who);
            let why = if repeated { Ignored::Duplicate } else { Ignored::NotTheSupervisor };
            return emit(out, None, OwnEvent::Ignored(why));
        };
        let (who, by) = (gone.who.clone(), from.who.name.clone());
        emit(out, None, OwnEvent::Gone { who, by });
        let serves = self.phase == Phase::Serving;
        let at = self.sample(now).clock;
        let mut touched: Vec<(ElectionName, bool)> = Vec::new();
        for (election, state) in &mut self.elections {
            let unparked = state.unpark_from(&gone.who, address);
            let ended = serves && state.end_grant(at, &gone.who, address);
            if ended || unparked {
                touched.push((election.clone(), ended));
            }
        }
        for (election, ended) in touched {
            if ended {
                let by = gone.who.clone();
                emit(out, Some(election.clone()), OwnEvent::Freed { by });
                self.handle_waiting(now, &election, out);
            }
            self.schedule(&election);
        }
    }
}
