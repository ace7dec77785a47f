//! Requests to other voters without an answer yet.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;
use core::time::Duration;

use super::identity::{Ballot, Leadership, VoterUrl};
use super::message::Call;
use super::words::Peer;
use crate::name::NodeName;
use crate::time::Time;

/// The maximum number of requests without an answer. Each ends with the request timeout.
pub(super) const OPEN_MAX: usize = 4_096;
/// The maximum number of voters that wait for one probe of a suspect.
pub(super) const WAITERS_MAX: usize = 8;

/// A request of another voter that is answered later: its sender and its call.
pub(super) type Exchange = (Peer, Call);

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) enum Purpose {
    Register,
    /// A heartbeat. A leader's heartbeat also asks for an acknowledgement.
    Heartbeat {
        seq: u64,
        leadership: Option<Leadership>,
    },
    /// Asks whether an unknown voter is there.
    Probe {
        id: NodeName,
        named_by: Option<VoterUrl>,
    },
    /// Asks a suspect whether it is there, on behalf of the voters that wait for the answer.
    Suspect {
        id: NodeName,
        waiters: Vec<Exchange>,
    },
    /// Asks whether a ballot may be started.
    Poll,
    Cast(Ballot),
    Result(Leadership),
    /// Reports that a leadership is over.
    Release(Leadership),
    Tell,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Open {
    pub(super) to: VoterUrl,
    /// The voter that is known at the address of the request.
    pub(super) who: Option<NodeName>,
    pub(super) sent: Time,
    pub(super) due: Time,
    pub(super) purpose: Purpose,
}

#[derive(Clone, PartialEq, Eq, Hash, Default, Debug)]
pub(super) struct Calls {
    last: u64,
    open: BTreeMap<Call, Open>,
    due: BTreeSet<(Time, Call)>,
}

impl Calls {
    /// Opens a request; `None` if too many are open.
    pub(super) fn open(
        &mut self,
        to: VoterUrl,
        who: Option<NodeName>,
        purpose: Purpose,
        sent: Time,
        within: Duration,
    ) -> Option<Call> {
        if self.open.len() >= OPEN_MAX {
            return None;
        }
        self.last += 1;
        let (call, due) = (Call(self.last), sent.after(within));
        self.due.insert((due, call));
        self.open.insert(call, Open { to, who, sent, due, purpose });
        Some(call)
    }

    pub(super) fn get(&self, call: Call) -> Option<&Open> {
        self.open.get(&call)
    }

    pub(super) fn close(&mut self, call: Call) -> Option<Open> {
        let open = self.open.remove(&call)?;
        self.due.remove(&(open.due, call));
        Some(open)
    }

    pub(super) fn overdue(&mut self, now: Time) -> Option<Open> {
        let (_, call) = *self.due.first().filter(|(due, _)| *due <= now)?;
        self.close(call)
    }

    pub(super) fn due(&self) -> Option<Time> {
        self.due.first().map(|(due, _)| *due)
    }

    pub(super) fn any(&self, like: impl Fn(&Open) -> bool) -> bool {
        self.open.values().any(like)
    }

    /// Adds a voter that waits for the answer of a suspect. Returns `false` if the suspect is not
    /// being asked, or too many voters wait already.
    pub(super) fn wait(&mut self, suspect: &NodeName, waiter: &Exchange) -> bool {
        let mut all = self.open.values_mut();
        let waiters = all.find_map(|open| match &mut open.purpose {
            Purpose::Suspect { id, waiters } if id == suspect => Some(waiters),
            _ => None,
        });
        match waiters {
            Some(waiters) if waiters.len() < WAITERS_MAX => {
                waiters.push(waiter.clone());
                true
            }
            _ => false,
        }
    }
}
