//! `Etcd`: its parts, and the calls into them.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use crate::deadlines::Deadlines;
use crate::draw::Draw;
use crate::etcd::calls::Calls;
use crate::etcd::candidate::{Candidate, CandidateContext};
use crate::etcd::config::Checked;
use crate::etcd::context::Context;
use crate::etcd::event::{Ignored, OwnEvent};
use crate::etcd::key::LeaseId;
use crate::etcd::observer::Observer;
use crate::etcd::session::Session;
use crate::etcd::words::{Out, emit};
use crate::name::ElectionName;
use crate::time::Time;

/// The state machine of one process in elections on etcd, which the module document describes.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Etcd {
    pub(super) config: Checked,
    pub(super) draw: Draw,
    pub(super) session: Session,
    pub(super) calls: Calls,
    pub(super) candidates: BTreeMap<ElectionName, Candidate>,
    pub(super) observers: BTreeMap<ElectionName, Observer>,
    pub(super) candidates_due: Deadlines,
    pub(super) observers_due: Deadlines,
    pub(super) cluster: Option<u64>,
    pub(super) now: Time,
}

impl Etcd {
    /// A process before its first input.
    #[must_use]
    pub fn new(config: Checked) -> Self {
        Self {
            config,
            draw: Draw::new(0),
            session: Session::default(),
            calls: Calls::default(),
            candidates: BTreeMap::new(),
            observers: BTreeMap::new(),
            candidates_due: Deadlines::default(),
            observers_due: Deadlines::default(),
            cluster: None,
            now: Time::ZERO,
        }
    }

    /// Whether the process has no key, and no lease that must still be revoked.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        self.candidates.is_empty() && self.session.is_idle()
    }

    /// The lease on which this process makes new keys, if there is one.
    #[must_use]
    pub fn lease(&self) -> Option<LeaseId> {
        self.session.lease().map(|lease| lease.id)
    }

    /// The lease in the names of this process's keys: the first lease of its session, or the lease
    /// that was handed in. After a change of etcd's leader another lease carries the keys.
    #[must_use]
    pub const fn names_keys(&self) -> Option<LeaseId> {
        self.session.name()
    }

    /// The cluster that has answered first. Answers of another cluster have no effect.
    #[must_use]
    pub const fn cluster(&self) -> Option<u64> {
        self.cluster
    }

    pub(super) fn context<'a>(&'a mut self, out: &'a mut Out) -> (&'a mut Session, Context<'a>) {
        let Self { config, draw, session, calls, now, .. } = self;
        (session, Context { now: *now, config, draw: *draw, calls, out })
    }

    pub(super) fn with_candidate(
        &mut self,
        election: &ElectionName,
        out: &mut Out,
        act: impl FnOnce(&mut Candidate, &mut CandidateContext<'_>),
    ) {
        let Some(candidate) = self.candidates.get_mut(election) else {
            return emit(Some(election), OwnEvent::Ignored(Ignored::Command), out);
        };
        let Self { config, draw, session, calls, now, .. } = self;
        let draw = *draw;
        act(candidate, &mut CandidateContext { now: *now, config, draw, calls, session, out });
        let due = candidate.due();
        self.candidates_due.set(&mut candidate.booking, election, due);
        if candidate.is_over() {
            self.candidates.remove(election);
        }
    }

    pub(super) fn each_candidate(
        &mut self,
        out: &mut Out,
        act: impl Fn(&mut Candidate, &mut CandidateContext<'_>),
    ) {
        let elections: Vec<_> = self.candidates.keys().cloned().collect();
        for election in elections {
            self.with_candidate(&election, out, &act);
        }
    }

    pub(super) fn with_observer(
        &mut self,
        election: &ElectionName,
        out: &mut Out,
        act: impl FnOnce(&mut Observer, &mut Context<'_>),
    ) {
        let Some(observer) = self.observers.get_mut(election) else { return };
        let Self { config, draw, calls, now, .. } = self;
        act(observer, &mut Context { now: *now, config, draw: *draw, calls, out });
        let due = observer.due();
        self.observers_due.set(&mut observer.booking, election, due);
    }
}
