//! OQwBD, "Obtain Quorum with Bounded Drift" (section 3), and the release of grants (section 6).
//!
//! A candidate p runs an instance whenever it wants to lead or keep leading; q is each grantor:
//!
//! ```text
//!  p  1  Start := C                  Candidate::request
//!     2  chooses δ
//!     3  broadcasts grantRequest
//!  q  4  T := C                      Grantor::sample
//!     5  refuses if A ≠ p and T < F  Grantor::on_request
//!     6  A := p                      Grantor::grant
//!        F := max(F, T + (1 + ρ)δ)
//!        sends ok                    Grantor::answer
//!  p  7  waits for oks of a quorum   Candidate::on_granted
//!     8  E := Start + (1 − ρ)δ       Candidate::try_complete
//!     9  fails if C ≥ E              Candidate::end_lapsed
//!
//!  p     E := C                      Candidate::end
//!        broadcasts release          Candidate::give_up_due
//!  q     F := C                      Grantor::on_release
//!        handles a waiting request   Grantor::handle_waiting
//! ```
//!
//! The [module document](super) numbers the invariants. The helpers in `candidate/` yield, renew
//! and hand over; the helpers in `grantor/` remember grants, and keep grantors from granting early.

use super::body::{Granted, Refusal, Release, Released, Request};
use super::candidate::{Answer, Candidate, Lease, Office, PendingRelease, SentRequest};
use super::context::Context;
use super::event::{Event, Ignored, OwnEvent};
use super::grantor::{ElectionState, Entry, Grant, Grantor, ParkedRequest, Phase};
use super::identity::Stamp;
use super::message::Sender;
use super::quorum::MemberSet;
use super::record::{GrantRecord, Tenancy};
use super::timestamp::QuorumTimestamp;
use super::words::{Effect, Out, To, emit, send};
use crate::event::{End, Loss, TransferFailure};
use crate::name::{ElectionName, NodeName};
use crate::time::Time;

// Steps 1 to 3: a candidate asks.
impl Candidate {
    /// Steps 1 to 3: samples Start, chooses δ, asks every grantor.
    pub(super) fn request(&mut self, now: Time, context: &mut Context, out: &mut Out) {
        let Some(campaign) = &mut self.campaign else { return };
        if context.rates.is_wrong() {
            return self.wait_for_clock(now, context, out);
        }
        if now <= self.last_start {
            campaign.next_at = self.last_start.next();
            return;
        }
        let hopeless = self.leave_if_hopeless(now, context, out);
        self.last_start = now;
        context.asked = Some(now);
        let promised = self.pending.as_ref().is_some_and(|pending| now < pending.not_before());
        debug_assert!(!promised, "I9: no attempt between E := C and the release");
        self.say_reasons(now, context, out);
        let Some(campaign) = &mut self.campaign else { return };
        let leading = campaign.lease.is_some();
        // The first lease is short (succession 3).
        let delta = if leading { context.config.lease } else { context.lease_first() };
        campaign.first.get_or_insert(now);
        if !leading && self.best >= campaign.fence {
            // While this candidate waited, others led: propose a fence above theirs.
            campaign.fence = self.best.next().unwrap_or(self.best);
        }
        let wall = context.wall_start();
        campaign.note_sent(SentRequest { start: now, delta, fence: campaign.fence, wall });
        campaign.answers.held_off.retain(|(_, until)| now < *until);
        let transfer = campaign.transfer.as_ref().map(|transfer| transfer.to.clone());
        let request = Request {
            election: self.election.clone(),
            start: now,
            delta,
            lease: context.config.lease,
            first: campaign.first.unwrap_or(now),
            fence: campaign.fence,
            announced: campaign.announced(),
            priority: campaign.priority,
            leading,
            next: transfer.or_else(|| campaign.successor(now, &context.config).cloned()),
            value: campaign.value.clone(),
            wall,
        };
        for member in context.membership.everyone().iter() {
            if hopeless.is_some_and(|asked| !asked.contains(member)) {
                continue;
            }
            let pending = self.pending.as_ref().is_some_and(|pending| pending.awaits(member));
            if pending || campaign.answers.held_off.contains(member) {
                continue;
            }
            if leading {
                context.silence.members.asked(member, now);
            } else {
                campaign.answers.reach.silence.asked(member, now);
            }
            context.name_supervisor(member, out);
            send(out, context.membership.to(member), request.clone());
        }
        campaign.next_at = match (leading, &campaign.transfer) {
            (false, _) => now.after(context.config.refresh),
            (true, Some(_)) => now.after(context.retry_of_transfer()),
            (true, None) => now.after(context.retry()),
        };
    }
}

// Steps 4 to 6: a grantor grants or refuses. The grantor alone carries the safety argument.
impl Grantor {
    /// Step 4: a sample that is strictly greater than every earlier sample.
    pub(super) fn sample(&mut self, now: Time) -> Stamp {
        let stamp = Stamp { boot: self.boot, clock: now, counter: 0 };
        let stamp = match self.last_stamp {
            last if last.boot < self.boot || last.clock < now => stamp,
            last => match last.counter.checked_add(1) {
                Some(counter) => Stamp { counter, ..last },
                None => Stamp { clock: last.clock.next(), counter: 0, ..last },
            },
        };
        debug_assert!(stamp > self.last_stamp || now == Time::MAX, "I3: samples increase");
        self.last_stamp = stamp;
        stamp
    }

    /// Steps 4 and 5: samples T, and refuses while another incarnation holds the grant. A refused
    /// request waits here.
    pub(super) fn on_request(&mut self, now: Time, from: &Sender, request: Request, out: &mut Out) {
        let election = &request.election;
        let released = |o: &ElectionState| o.is_released(&from.who, from.address, request.start);
        // Look the election up only once: a search among thousands of elections is slow.
        let state = self.state(election);
        let rival = state.and_then(|state| state.namesake(&from.who, now));
        let is_released = state.is_some_and(released);
        let others_wait = state.is_some_and(|state| state.waiting() > 0);
        let refusal = self.inadmissible(now, &request, state);
        let shared = rival.and_then(|rival| self.meet(now, from, &request, rival, out));
        if request.leading {
            self.hear_of_leader(now, request.lease.max(request.delta));
        }
        if request.delta.is_zero() {
            return emit(out, Some(election.clone()), OwnEvent::Ignored(Ignored::Empty));
        }
        if is_released {
            return emit(out, Some(election.clone()), OwnEvent::Ignored(Ignored::Released));
        }
        if let Some(refusal) = refusal {
            return self.refuse(from, (election, request.start), refusal, shared, out);
        }
        // Handle waiting candidates first, even if their timer is late: requests arrive in another
        // order at each grantor.
        if others_wait && self.handle_waiting(now, election, out) {
            self.schedule(election);
            // The grant to a waiting request may just have replaced this candidate's own lease.
            if self.state(election).is_some_and(released) {
                return emit(out, Some(election.clone()), OwnEvent::Ignored(Ignored::Released));
            }
        }
        let stamp = self.sample(now);
        let at = stamp.clock;
        let state = self.state(election);
        match state.and_then(|state| state.grant.as_ref()) {
            Some(grant) if grant.is_held_by(&from.who) => {
                let record = &grant.record;
                if grant.is_live(at) && record.address != from.address {
                    let holder = record.address;
                    let (who, other) = (from.who.clone(), from.address);
                    let event = OwnEvent::AddressContested { who, holder, other };
                    emit(out, Some(election.clone()), event);
                    let refusal = Refusal::OtherAddress { holder };
                    return self.refuse(from, (election, request.start), refusal, shared, out);
                }
                // An older duplicate never lowers `gs` (parked requests 3).
                if request.start < record.start {
                    return emit(out, Some(election.clone()), OwnEvent::Ignored(Ignored::Stale));
                }
                if request.start == record.start {
                    return self.repeat(at, election, out);
                }
            }
            Some(grant) if grant.is_live(at) && !self.is_told(election) => {
                return self.refuse(from, (election, request.start), Refusal::Disk, shared, out);
            }
            Some(grant) if grant.is_live(at) => {
                let refusal = grant.refusal(at);
                return self.park(at, from, request, refusal, shared, out);
            }
            Some(_) | None => {}
        }
        // The holder of a lease of an earlier epoch keeps other candidates out (10.6).
        if let Some(refusal) = self.kept_out(at, election, &from.who) {
            return self.park(at, from, request, refusal, shared, out);
        }
        let asked = ParkedRequest::new(from, self.term(at, &request), request, &self.config);
        self.grant(stamp, asked, None, out);
    }

    /// Step 6: grants the lease. `taken`, the sample at which the lease was free, goes into the
    /// quorum timestamp. The lease is measured from the arrival of the request, later than Start.
    fn grant(&mut self, taken: Stamp, asked: ParkedRequest, waited: Option<bool>, out: &mut Out) {
        let ParkedRequest { who, address, request, mut term, .. } = asked;
        self.early.remove(&request.election);
        let floor = self.fences.floor();
        let state = ElectionState::of(&request.election, &mut self.elections, floor);
        let before = state.grant.take();
        let entry = if before.is_none() { Entry::New } else { Entry::Renewed };
        let same = before.as_ref().filter(|grant| grant.record.holder == who);
        // The grant also covers the holder's lease of an earlier epoch (10.6).
        term.finish = term.finish.max(self.inherited.granted(&request.election, &who));
        if let Some(before) = &before {
            // F never goes back while granted (section 3, step 6.1).
            term.cover(before);
            let ended = same.is_some() || !before.is_live(taken.clock);
            debug_assert!(ended, "I1: A changes only when the grant has ended");
            let grows = same.is_none_or(|grant| grant.record.start < request.start);
            debug_assert!(grows, "I4: gs grows with each grant to one holder");
        }
        let finish = term.close(self.config.clock_bound(), self.clocks.as_ref());
        self.last_finish = self.last_finish.max(finish);
        let was_next = waited == Some(true) || same.is_some_and(|grant| grant.was_next);
        let changed = same.is_none();
        if let Some(before) = before.filter(|_| changed) {
            // The earlier holder's Start has lapsed: never grant that Start again (parked requests
            // 5).
            let (other, start) = (before.record.holder, before.record.start);
            let (from, bound) = ((&other, before.record.address), self.config.limits.watermarks);
            state.raise_watermark(taken.clock, from, start, bound);
        }
        let (seen_before, highest) = (state.fence_seen, state.fence_seen.max(request.fence));
        let tenancy = Tenancy { who: who.clone(), first: request.first };
        let accepted = self.fences.propose(state, request.fence, &tenancy);
        state.unpark(&who);
        state.held_until = Time::ZERO;
        let record = GrantRecord {
            election: request.election.clone(),
            holder: who.clone(),
            address,
            value: request.value,
            start: request.start,
            finish,
            stamp: taken,
            priority: request.priority,
            leading: request.leading,
            announced: request.announced,
            accepted,
            fence_seen: state.fence_seen,
            fence_owner: state.fence_owner.clone(),
        };
        let (waited, next) = (waited.is_some(), request.next);
        let grant = Grant::new(record, request.lease, seen_before, waited);
        state.grant = Some(Grant { next, was_next, wall: term.wall, ..grant });
        state.book(&request.election, &self.config, &mut self.deadlines);
        self.answer(taken.clock, &request.election, entry, out);
        if changed {
            // Emit the event last, because the candidate waits for the ok.
            emit(out, Some(request.election.clone()), OwnEvent::Granted { to: who });
        }
        self.reserve_if_short(taken.clock, highest, out);
    }

    /// Writes the grant down, then sends its ok. Every ok leaves here, a repeated ok too, so that
    /// each ok follows its record. The record is not flushed: it survives a crash of the process,
    /// but not of the machine. After the next boot of the machine the grantor waits for all leases
    /// to end (`record.rs`).
    pub(super) fn answer(
        &mut self,
        at: Time,
        election: &ElectionName,
        entry: Entry,
        out: &mut Out,
    ) {
        self.writes.put(election, entry);
        let Some(state) = self.state(election) else { return };
        let Some(grant) = &state.grant else { return };
        let record = &grant.record;
        let next_waits = grant.next.as_ref().is_some_and(|next| state.waits(next, at));
        let granted = Granted {
            election: election.clone(),
            asker: record.holder.inc,
            start: record.start,
            instance: self.instance,
            memories: self.marks(),
            stamp: record.stamp,
            accepted: record.accepted,
            seen: grant.seen_before,
            waited: grant.waited,
            next_waits,
            waiting: state.first_waiting(at, &self.config).cloned(),
            wall: grant.told(self.config.clock_skew_max),
        };
        out.push(Effect::Persist(record.clone().into()));
        send(out, To::at(self.membership.id(), record.address), granted);
    }
}

// Steps 7 to 9: oks of a quorum make a leader.
impl Candidate {
    /// Step 7: an ok counts if it answers a request that was sent and is not aborted.
    pub(super) fn on_granted(
        &mut self,
        now: Time,
        member: usize,
        granted: Granted,
        context: &mut Context,
        out: &mut Out,
    ) {
        context.silence.members.answered(member, granted.start);
        self.hear_fence(granted.seen);
        self.run_due(now, context, out);
        let Some(campaign) = &mut self.campaign else {
            return self.emit(OwnEvent::Ignored(Ignored::Unasked), out);
        };
        let counts = !context.faster().contains(member);
        campaign.answers.reach.answered(member, granted.start, counts);
        campaign.answers.reach.heard(member, granted.start);
        campaign.answers.hindrances.granted(member, counts);
        campaign.answers.too_long = campaign.answers.too_long.minus(MemberSet::EMPTY.with(member));
        if let Some(name) = &granted.waiting {
            campaign.waiting = Some((name.clone(), now));
        }
        if let Some(to) = self.hand_over_to(member, &granted, context, out) {
            return self.end(now, End::Lost(Loss::Transferred), Some(to), context, out);
        }
        let Some(campaign) = &mut self.campaign else { return };
        let sent = campaign.sent.iter().find(|sent| sent.start == granted.start).copied();
        let fresh = granted.start > campaign.answers.floors[member];
        let Some(sent) = sent.filter(|_| fresh) else {
            return self.emit(OwnEvent::Ignored(Ignored::Unasked), out);
        };
        if granted.waited {
            campaign.on_left(now, member);
        } else {
            campaign.observe_trip(now, member, sent.start, context);
        }
        // A grantor counts once, however often its ok arrives.
        if campaign.answers.oks.get(member).is_some_and(|known| known.start >= granted.start) {
            return self.emit(OwnEvent::Ignored(Ignored::Duplicate), out);
        }
        if !counts && campaign.lease.is_none() {
            self.give_back_useless(now, member, context, out);
            return self.yield_if_hopeless(now, context, out);
        }
        let end = match context.claim_of(&sent, &granted) {
            Ok(end) => end,
            Err(fault) => return self.on_wrong_clock(now, member, (&granted, fault), context, out),
        };
        campaign.answers.oks.insert(member, Answer::of(now, granted, &sent, end));
        let replaced = campaign.replaced(now);
        if let Some((_, (member, by))) = replaced {
            let name = |at: usize| context.membership.name(at).clone();
            self.emit(OwnEvent::OldMemory { member: name(member), by: name(by) }, out);
        }
        let replaced = replaced.map_or(MemberSet::EMPTY, |(members, _)| members);
        // A member with a faster clock may end its grant before the claim by that grant ends.
        let left_out = replaced.or(context.faster());
        self.try_complete(now, left_out, context, out);
        self.yield_if_hopeless(now, context, out);
        self.run_due(now, context, out);
    }

    /// Step 8: completes if oks of a quorum are at hand and still good. Oks of `left_out` members
    /// are ignored.
    fn try_complete(
        &mut self,
        now: Time,
        left_out: MemberSet,
        context: &mut Context,
        out: &mut Out,
    ) {
        let Some(campaign) = &mut self.campaign else { return };
        let announced = campaign.lease.as_ref().is_some_and(|lease| lease.office.is_some());
        let quorums = context.membership.quorums();
        let quorum = |accepted| campaign.best_quorum(now, accepted, left_out, quorums);
        let with_fence = if announced { None } else { quorum(true) };
        let completed = match with_fence {
            Some(found) => Some((found, true)),
            None => quorum(false).map(|found| (found, announced)),
        };
        let Some(((members, until), has_fence)) = completed else { return };
        // A renewal needs no timestamp.
        let begins = (has_fence && !announced).then(|| campaign.timestamp_of(members));
        debug_assert!(quorums.is_quorum(members), "I6: a quorum completes");
        debug_assert!(now < until, "I6: in time");
        let wall_until = campaign.wall_until(members);
        campaign.abort(self.last_start);
        let renewed = campaign.lease.is_some();
        let begun = Lease { until, wall_until, shown: Time::ZERO, office: None, settled: false };
        let lease = campaign.lease.get_or_insert(begun);
        lease.until = lease.until.max(until);
        lease.wall_until = lease.wall_until.max(wall_until);
        let settles = renewed && has_fence && !lease.settled;
        lease.settled |= settles;
        if lease.settled {
            campaign.reported.renewed();
        }
        if has_fence {
            self.claim(begins, context, out);
        }
        if settles {
            self.emit(Event::Settled, out);
        }
        self.after_completion(now, has_fence, announced, context, out);
    }

    /// Raises the claim, and reports the start of a leadership with this timestamp.
    fn claim(&mut self, begins: Option<QuorumTimestamp>, context: &Context, out: &mut Out) {
        let Some(campaign) = &mut self.campaign else { return };
        let Some(lease) = &mut campaign.lease else { return };
        let epoch = context.membership.id().number;
        if let Some(timestamp) = &begins {
            let (fence, timestamp) = (campaign.fence, timestamp.clone());
            lease.office = Some(Office { fence, timestamp, epoch });
        }
        let (until, bound) = (lease.until, lease.bound(&self.election));
        lease.shown = lease.shown.max(until);
        let Some(fence) = campaign.announced() else { return };
        let election = self.election.clone();
        self.best = self.best.max(fence);
        out.extend(bound);
        out.push(Effect::Raise { election, until, fence: Some(fence) });
        if let Some(timestamp) = begins {
            self.emit(OwnEvent::Stamped { fence, timestamp, epoch }, out);
            let id = context.who.name.clone().into();
            self.emit(Event::Elected { id, fence: Some(fence) }, out);
        }
    }

    /// Step 9: a lease that ran out is over for ever. A renewal that completes later belongs to
    /// another leadership with another fence, even if no other process led in between.
    pub(super) fn end_lapsed(&mut self, now: Time, context: &mut Context, out: &mut Out) {
        let Some(campaign) = &mut self.campaign else { return };
        let Some(lease) = &campaign.lease else { return };
        if now < lease.until {
            return;
        }
        campaign.observe_silence(now, lease.until, context);
        if lease.office.is_some() {
            self.wait_for_claim(now);
            self.end(now, End::Lost(Loss::Expired), None, context, out);
        } else {
            campaign.begin_anew(self.last_start, now);
        }
    }
}

// Section 6: a candidate gives its grants back.
impl Candidate {
    /// Section 6: first the claim is lowered, then the release is sent, never the other way.
    pub(super) fn end(
        &mut self,
        now: Time,
        end: End,
        next: Option<NodeName>,
        context: &mut Context,
        out: &mut Out,
    ) {
        let Some(campaign) = self.campaign.take() else { return };
        if campaign.lease.is_some_and(|lease| lease.office.is_some()) {
            out.push(Effect::Lower { election: self.election.clone() });
        }
        let mut held = None;
        if campaign.first.is_some() {
            // The release waits for the end of the promise (erratum 2).
            let hold = self.promise;
            let (start, next) = (self.last_start, (next, end != End::Lost(Loss::Expired)));
            self.pending = Some(PendingRelease::new(now, hold, start, next, context).into());
            held = Some(hold).filter(|hold| now < *hold);
            self.give_up_due(now, context, out);
            if held.is_some() {
                self.say_that_it_leaves(now, context, out);
            }
        }
        if let Some(transfer) = campaign.transfer
            && end != End::Lost(Loss::Transferred)
        {
            let (to, why) = (transfer.to, TransferFailure::NotLeading);
            self.emit(Event::TransferFailed { to, why }, out);
        }
        if let Some(until) = held {
            self.emit(OwnEvent::Held { until }, out);
        }
        self.emit(Event::Ended(end), out);
        if campaign.first.is_none() && self.pending.is_none() {
            // The candidate has asked no grantor, so there is nothing to give up.
            self.emit(Event::Released, out);
        }
    }

    /// Sends the release, if due, to members that have not confirmed it.
    pub(super) fn give_up_due(&mut self, now: Time, context: &mut Context, out: &mut Out) {
        let Some(pending) = &mut self.pending else { return };
        if now >= pending.until {
            let told = pending.told;
            self.pending = None;
            if !told {
                self.emit(Event::Released, out);
            }
            return;
        }
        if now < pending.again {
            return;
        }
        debug_assert!(now >= pending.hold, "I9: a release waits for what was promised");
        pending.again = now.after(pending.pause);
        pending.pause = pending.pause.saturating_mul(2);
        if let Some(waiting) = pending.hinders(now, context) {
            self.say(now, waiting, context, out);
        }
        let Some(pending) = &self.pending else { return };
        for target in &pending.targets {
            self.release_to(target.missing(), pending.start, &target.membership, out);
        }
    }
}

// Section 6: a grantor takes its grant back, and handles the first of the waiting candidates.
impl Grantor {
    /// Section 6, with erratum 4: a release ends the instances that it names and nothing else.
    pub(super) fn on_release(
        &mut self,
        now: Time,
        from: &Sender,
        release: &Release,
        out: &mut Out,
    ) {
        let election = release.election.clone();
        let (asker, start) = (from.who.inc, release.start);
        let released = Released { election: election.clone(), asker, start };
        self.released_before((&from.who, from.address), release);
        if self.state(&election).is_none() && !self.remember_early(&election) {
            // No grant ends by this release. The grantor does not remember the release: a later
            // request of the same Start takes a grant for one lease, in vain.
            emit(out, Some(election), OwnEvent::Ignored(Ignored::Full));
            return send(out, from, released);
        }
        let at = self.sample(now).clock;
        let state = ElectionState::of(&election, &mut self.elections, self.fences.floor());
        let holds = state.live(at).filter(|grant| grant.is_held_by(&from.who));
        if let Some(grant) = holds
            && grant.record.address != from.address
        {
            let (who, holder) = (from.who.clone(), grant.record.address);
            let event = OwnEvent::AddressContested { who, holder, other: from.address };
            return emit(out, Some(election), event);
        }
        let ends = holds.is_some_and(|grant| release.start >= grant.record.start);
        let (by, bound) = ((&from.who, from.address), self.config.limits.watermarks);
        let unparked = state.raise_watermark(at, by, release.start, bound);
        if ends && self.phase != Phase::Serving {
            // A grantor that does not serve carries out no release (restart 3). The sender repeats
            // the release until the grantor confirms it.
            self.schedule(&election);
            return emit(out, Some(election), OwnEvent::Ignored(Ignored::NotServing));
        }
        if ends {
            if let Some(grant) = &mut state.grant {
                (grant.record.finish, grant.wall) = (at, None);
                grant.next = release.next.clone().or(grant.next.take());
            }
            emit(out, Some(election.clone()), OwnEvent::Freed { by: from.who.clone() });
        }
        // The release may have ended a lease of an earlier epoch, too.
        if ends || self.inherits() {
            self.handle_waiting(now, &election, out);
        } else if !unparked {
            emit(out, Some(election.clone()), OwnEvent::Ignored(Ignored::NotTheHolder));
        }
        send(out, from, released);
        self.schedule(&election);
    }

    /// When the grant has ended, handles one waiting request, with all checks and a fresh sample.
    /// True if the grant or the queue has changed.
    pub(super) fn handle_waiting(
        &mut self,
        now: Time,
        election: &ElectionName,
        out: &mut Out,
    ) -> bool {
        let taken = self.sample(now);
        let Some(state) = self.elections.get_mut(election) else { return false };
        let mut changed = state.drop_expired(taken.clock);
        if state.live(taken.clock).is_some() {
            return changed;
        }
        while self.state(election).is_some_and(|state| state.live(taken.clock).is_none())
            && let Some((parked, was_next)) = self.take_free(taken.clock, election)
        {
            changed = true;
            if self.refuses_parked(now, &parked) {
                continue;
            }
            self.grant(taken, parked, Some(was_next), out);
            break;
        }
        changed
    }
}
