//! Answers of a grantor to questions for the leader.

use alloc::boxed::Box;

use super::super::body::{Leaving, Query, State};
use super::super::epoch::{Current, DocumentRead};
use super::super::event::{Ignored, OwnEvent};
use super::super::message::Sender;
use super::super::wire;
use super::super::words::{Out, To, emit, send};
use super::Grantor;
use super::election::{ElectionState, Grant};
use crate::name::ElectionName;
use crate::time::Time;

impl Grantor {
    /// Reports the epoch that this grantor has entered, in an envelope of that epoch. From the
    /// digest in that envelope, a node of an earlier version sees that the grantor has other
    /// settings. A removed grantor reports the epoch that does not name it, so that others learn of
    /// that epoch.
    pub(in crate::nerio) fn say_epoch(&self, now: Time, from: &Sender, start: Time, out: &mut Out) {
        let known = self.removed.as_ref().unwrap_or(&self.membership);
        let document = known.document();
        let current = Current {
            asker: from.who.inc,
            start,
            epoch: known.id(),
            founding: known.founding(),
            before: document.before,
            instance: self.instance,
            entered: !self.blank,
            service: self.service(now),
            length: u32::try_from(wire::length(document)).unwrap_or(u32::MAX),
        };
        send(out, To::at(self.membership.id(), from.address), current);
    }

    /// Sends a part of a document that this grantor has, in an envelope of the grantor's epoch.
    pub(super) fn on_document_read(&self, from: &Sender, read: &DocumentRead, out: &mut Out) {
        let known = self.membership_of(read.epoch);
        match known.and_then(|known| known.document().part(read, from.who.inc)) {
            Some(part) => send(out, To::at(self.membership.id(), from.address), part),
            None => emit(out, None, OwnEvent::Ignored(Ignored::OtherEpoch)),
        }
    }

    /// Notes that the holder no longer leads while a promise delays the release. The grantor only
    /// reports this to observers.
    pub(super) fn on_leaving(
        &mut self,
        now: Time,
        from: &Sender,
        leaving: &Leaving,
        out: &mut Out,
    ) {
        let grant =
            self.elections.get_mut(&leaving.election).and_then(|state| state.grant.as_mut());
        let is_its = |grant: &&mut Grant| {
            let record = &grant.record;
            let its = record.holder == from.who && record.address == from.address;
            its && record.start <= leaving.start && grant.is_live(now)
        };
        match grant.filter(is_its) {
            Some(grant) => grant.leaves_at = Some(now.after(leaving.held)),
            None => {
                let event = OwnEvent::Ignored(Ignored::NotTheHolder);
                emit(out, Some(leaving.election.clone()), event);
            }
        }
    }

    /// Section 10.4: reports the grantor's view of the leader.
    pub(super) fn on_query(&self, now: Time, from: &Sender, query: &Query, out: &mut Out) {
        let state = self.state(&query.election);
        let told = state.filter(|_| self.is_told(&query.election));
        let state = State {
            election: query.election.clone(),
            asker: from.who.inc,
            start: query.start,
            service: self.service(now),
            instance: self.instance,
            memories: self.marks(),
            holder: told
                .and_then(|state| state.live(now))
                .map(|grant| Box::new(grant.describe(now))),
            free_for: self.free_for(now, &query.election, state),
            waiting: state.map_or(0, |o| u16::try_from(o.waiting()).unwrap_or(u16::MAX)),
            seen: self.fences.seen(state),
            delta_max: self.config.delta_max,
            raise: self.raise.as_ref().map(|raise| Box::new(raise.describe(now))),
        };
        send(out, from, state);
    }

    /// The span for which certainly no candidate has held the grant. The span begins when the last
    /// grant and all inherited leases have ended, but not before this grantor serves. A forgotten
    /// election was idle for at least a quarantine.
    fn free_for(
        &self,
        now: Time,
        election: &ElectionName,
        state: Option<&ElectionState>,
    ) -> core::time::Duration {
        let grant = state.and_then(|state| state.grant.as_ref());
        let inherited = self.inherited.end(election, grant.is_some());
        let served = now.since(self.serving_since.max(inherited)).min(self.config.quarantine());
        grant.map_or(served, |grant| now.since(grant.record.finish).min(served))
    }
}
