//! The contract: inputs, deadlines, and the loss of claims, also after a restored store or answers
//! of another cluster.

use alloc::collections::BTreeMap;
use alloc::string::ToString;
use alloc::vec::Vec;
use core::ops::Bound;

use super::state::Etcd;
use crate::contract::{Input, Protocol};
use crate::draw::Draw;
use crate::etcd::calls::Asker;
use crate::etcd::candidate::Candidate;
use crate::etcd::command::{Command, Extra};
use crate::etcd::event::{Event, Ignored, Lost, Objection, OwnEvent};
use crate::etcd::key::{self, LeaseId};
use crate::etcd::message::{Answer, CallId, Header, Message, Reply};
use crate::etcd::observer::Observer;
use crate::etcd::session::{Session, SessionEvent};
use crate::etcd::timer::Timer;
use crate::etcd::words::{Out, Words, emit};
use crate::name::{ElectionName, Value};
use crate::standing::Standing;
use crate::time::{Deadline, Time};

impl Etcd {
    fn on_command(&mut self, election: ElectionName, command: Command, out: &mut Out) {
        match command {
            Command::Campaign { value, .. } => self.campaign(election, value, out),
            Command::Extra(Extra::Proclaim { value }) => {
                self.with_candidate(&election, out, |candidate, context| {
                    candidate.proclaim(value, context);
                });
            }
            Command::Resign => self.with_candidate(&election, out, Candidate::resign),
            Command::Observe { .. } => self.observe(election, out),
            Command::Transfer { .. } => {
                emit(Some(&election), OwnEvent::Ignored(Ignored::Command), out);
            }
            Command::Unobserve => {
                if let Some(mut observer) = self.observers.remove(&election) {
                    observer.stop(&mut self.calls, out);
                    self.observers_due.set(&mut observer.booking, &election, None);
                }
            }
        }
    }

    fn campaign(&mut self, election: ElectionName, value: Value, out: &mut Out) {
        if !self.candidates.contains_key(&election) {
            let nested = nested(&election, &self.candidates).or(nested(&election, &self.observers));
            if let Some(objection) = self.objection(&election, self.candidates.len(), nested) {
                emit(Some(&election), Event::Ended(objection.into()), out);
                return emit(Some(&election), Event::Released, out);
            }
            let candidate = Candidate::new(election.clone(), value.clone());
            self.candidates.insert(election.clone(), candidate);
        }
        self.with_candidate(&election, out, |candidate, context| candidate.contend(value, context));
        self.want(out);
    }

    fn want(&mut self, out: &mut Out) {
        self.choose_probe(None);
        let (session, mut context) = self.context(out);
        session.want(&mut context);
    }

    /// Chooses the next election after this one as the probe, whose keys the session reads to see
    /// etcd's term.
    fn choose_probe(&mut self, after: Option<&ElectionName>) {
        if self.session.probe.is_some() {
            return;
        }
        let from = after.map_or(Bound::Unbounded, Bound::Excluded);
        let rest = self.candidates.range::<ElectionName, _>((from, Bound::Unbounded));
        let mut all = rest.chain(&self.candidates);
        let needing = all.find(|(_, candidate)| candidate.needs_lease());
        self.session.probe = needing
            .map(|(election, _)| (election.clone(), key::prefix(&self.config.namespace, election)));
    }

    /// The reason why this process may not campaign in this election, or observe it: too many
    /// elections, or a nested name (ruling 10, E9).
    fn objection(
        &self,
        election: &ElectionName,
        elections: usize,
        nested: Option<ElectionName>,
    ) -> Option<Objection> {
        if election.as_str().ends_with('/') {
            return Some(Objection::EndsInSlash);
        }
        if elections >= self.config.elections {
            return Some(Objection::Full { elections });
        }
        nested.map(|other| Objection::Nested { other })
    }

    fn observe(&mut self, election: ElectionName, out: &mut Out) {
        if self.observers.contains_key(&election) {
            return self.with_observer(&election, out, Observer::look_anew);
        }
        // Observed elections may be nested: observers make no keys.
        let nested = nested(&election, &self.candidates);
        if let Some(objection) = self.objection(&election, self.observers.len(), nested) {
            let why = objection.to_string().into();
            return emit(Some(&election), Event::NotObserved { why }, out);
        }
        self.observers.insert(election.clone(), Observer::new(election.clone(), self.now));
        self.with_observer(&election, out, Observer::run_due);
    }

    fn on_answer(&mut self, answer: Answer, out: &mut Out) {
        let Answer { call, header, reply } = answer;
        let is_end = !matches!(reply, Reply::Watching | Reply::Changed(_));
        let Some(asked) = self.calls.answered(call, is_end) else {
            return emit(None, OwnEvent::Ignored(Ignored::Unasked), out);
        };
        let mut established = false;
        if let Some(header) = header {
            if *self.cluster.get_or_insert(header.cluster) != header.cluster {
                return self.on_other_cluster(call, asked.asker, out);
            }
            // Only a transaction is linearizable: other answers may have an old revision.
            let linearizable = matches!(reply, Reply::Txn { .. });
            if linearizable && header.revision < asked.floor {
                return self.on_history(header, out);
            }
            self.calls.seen = self.calls.seen.max(header.revision);
            self.calls.learn(&asked, header, linearizable);
            established = linearizable;
        }
        self.hand_over(asked.asker, Answer { call, header, reply }, out);
        if established {
            let (session, mut context) = self.context(out);
            session.on_term(&mut context);
        }
    }

    fn hand_over(&mut self, asker: Asker, answer: Answer, out: &mut Out) {
        match asker {
            Asker::Session => {
                let (session, mut context) = self.context(out);
                let event = session.on_answer(answer, &mut context);
                self.on_session_event(event, out);
            }
            Asker::Candidate(election) => {
                self.with_candidate(&election, out, |candidate, context| {
                    candidate.on_answer(answer, context);
                });
                self.confirm_late(&election, out);
            }
            Asker::Observer(election) => {
                self.with_observer(&election, out, |observer, context| {
                    observer.on_answer(answer, context);
                });
            }
        }
    }

    fn on_session_event(&mut self, event: SessionEvent, out: &mut Out) {
        match event {
            // The moves follow at the end of the step.
            SessionEvent::Nothing | SessionEvent::Moving => {}
            SessionEvent::Opened => {
                self.each_candidate(out, |candidate, context| candidate.wake(context));
            }
            SessionEvent::Answered => {
                let own = self.own_keys();
                let (session, mut context) = self.context(out);
                session.confirm(own, &mut context);
            }
            SessionEvent::Found(found) => self.on_found(found, out),
            SessionEvent::Moved(report) => self.on_moved(report, out),
            SessionEvent::Lost(lost) => self.on_lease_lost(lost, out),
            SessionEvent::Refused(refusal) => {
                if refusal.is_permanent() {
                    self.each_candidate(out, |candidate, context| {
                        candidate.on_lease_refused(refusal.clone(), context);
                    });
                }
            }
            SessionEvent::Unread(election, refusal) => {
                if refusal.is_permanent() && self.candidates.contains_key(&election) {
                    self.with_candidate(&election, out, |candidate, context| {
                        candidate.on_lease_refused(refusal, context);
                    });
                }
                self.choose_probe(Some(&election));
            }
        }
    }

    fn on_lease_lost(&mut self, lost: Lost, out: &mut Out) {
        let (session, mut context) = self.context(out);
        let retired = session.retire(&mut context);
        self.each_candidate(out, |candidate, context| candidate.on_lease_lost(lost, context));
        self.close(retired, Some(lost), out);
        if self.candidates.values().any(Candidate::needs_lease) {
            self.want(out);
        }
    }

    /// Reports the end of a lease and revokes it, once all claims that depend on it are lowered.
    fn close(&mut self, retired: Option<LeaseId>, lost: Option<Lost>, out: &mut Out) {
        if let Some(lease) = retired {
            emit(None, OwnEvent::Closed { lease, lost }, out);
        }
        let (session, mut context) = self.context(out);
        session.run_due(&mut context);
    }

    /// Starts anew, because the store went back: its earlier answers are void (ruling 7, E6).
    fn on_history(&mut self, header: Header, out: &mut Out) {
        let to = header.revision;
        let from = core::mem::replace(&mut self.calls.seen, to);
        self.calls.forget_terms();
        self.on_lease_lost(Lost::History, out);
        emit(None, OwnEvent::WentBack { from, to }, out);
        let elections: Vec<_> = self.observers.keys().cloned().collect();
        for election in elections {
            self.with_observer(&election, out, Observer::on_reset);
        }
    }

    /// Drops an answer from a cluster other than the first one (ruling 8, E7).
    fn on_other_cluster(&mut self, call: CallId, asker: Asker, out: &mut Out) {
        emit(None, OwnEvent::Ignored(Ignored::OtherCluster), out);
        self.calls.unwatch(call, out);
        if self.lease().is_some() {
            self.on_lease_lost(Lost::Cluster, out);
        }
        // For its sender the call has no certain outcome; the sender repeats the call after a
        // pause.
        let reply = Reply::Unknown { why: Lost::Cluster.to_string().into() };
        self.hand_over(asker, Answer { call, header: None, reply }, out);
    }

    /// Ends leases that have run out, before any other input at this time (ruling 3, E2).
    fn expire(&mut self, out: &mut Out) {
        if self.session.has_run_out(self.now) {
            self.on_lease_lost(Lost::Expired, out);
        } else if self.session.has_old_run_out(self.now) {
            self.each_candidate(out, Candidate::on_old_run_out);
        }
    }

    fn on_timeout(&mut self, out: &mut Out) {
        while let Some((call, asker)) = self.calls.overdue(self.now, out) {
            let reply = Reply::Unknown { why: "no answer in time".into() };
            self.hand_over(asker, Answer { call, header: None, reply }, out);
        }
        let (session, mut context) = self.context(out);
        session.run_due(&mut context);
        for election in self.candidates_due.take_due(self.now) {
            self.with_candidate(&election, out, Candidate::run_due);
        }
        for election in self.observers_due.take_due(self.now) {
            self.with_observer(&election, out, Observer::run_due);
        }
    }

    /// Retires a lease that no candidate needs. A key that may still appear on the lease goes with
    /// it.
    fn tidy(&mut self, out: &mut Out) {
        let needed = self.candidates.values().any(Candidate::needs_lease);
        if needed {
            return;
        }
        let (session, mut context) = self.context(out);
        let retired = session.retire(&mut context);
        if retired.is_some() {
            self.each_candidate(out, |candidate, context| {
                candidate.on_lease_lost(Lost::LeaseGone, context);
            });
            self.close(retired, None, out);
            // A campaign may have waited for the end of the retired lease.
            if self.candidates.values().any(Candidate::needs_lease) {
                self.want(out);
            }
        }
    }
}

impl Protocol for Etcd {
    type Words = Words;
    type Now = Time;

    fn handle(&mut self, now: Time, input: Input<Words>, out: &mut Out) {
        if matches!(input, Input::Timeout) && self.is_early(now) {
            return;
        }
        self.now = self.now.max(now);
        self.expire(out);
        match input {
            Input::Start(start) => {
                self.draw = Draw::new(start.seed);
                self.session = Session::new(start.lease);
            }
            Input::Message { message: Message::Answer(answer), .. } => self.on_answer(answer, out),
            Input::Message { message: Message::Request(_), .. } => {
                emit(None, OwnEvent::Ignored(Ignored::NotAnAnswer), out);
            }
            Input::Timeout => self.on_timeout(out),
            Input::Command { election, command } => self.on_command(election, command, out),
            // The core never persists or flushes a record.
            Input::Flushed(_) | Input::Failed(_) => {}
        }
        self.tidy(out);
        self.shift(out);
    }

    fn deadline(&self) -> Option<Deadline> {
        let candidate = self.candidates_due.next().map(|(at, election)| {
            let timer = self.candidates.get(election).map(Candidate::timer);
            timer.unwrap_or(Timer::Look).at(at)
        });
        let answer = self.calls.due().map(|at| Timer::Answer.at(at));
        let observer = self.observers_due.first().map(|at| Timer::Observe.at(at));
        let all = [self.session.due(), answer, candidate, observer];
        // A deadline at the end of time never comes.
        all.into_iter().fold(None, Deadline::first).filter(|deadline| deadline.at < Time::MAX)
    }

    fn standing(&self, election: &ElectionName, now: Time) -> Standing {
        let candidate = self.candidates.get(election);
        let fence = candidate.and_then(Candidate::fence);
        match (fence, self.session.until(candidate.and_then(Candidate::home), now)) {
            (Some(fence), Some(until)) => Standing::Leading { until, fence: Some(fence) },
            _ => Standing::NotLeading,
        }
    }
}

/// Returns another election that is nested with this one: one name and a slash are a prefix of the
/// other name.
fn nested<T>(election: &ElectionName, others: &BTreeMap<ElectionName, T>) -> Option<ElectionName> {
    let name = election.as_str();
    let slashes = name.match_indices('/').map(|(at, _)| &name[..at]);
    let above = slashes.filter_map(|above| ElectionName::new(above).ok());
    let mut above = above.filter(|above| others.contains_key(above));
    // No election can be below a name of the maximum length.
    let below = ElectionName::new(&(name.to_string() + "/")).ok();
    let next = below.as_ref().and_then(|below| others.range(below..).next());
    let is_below = |next: &&ElectionName| {
        below.as_ref().is_some_and(|below| next.as_str().starts_with(below.as_str()))
    };
    above.next().or_else(|| next.map(|(next, _)| next).filter(is_below).cloned())
}
