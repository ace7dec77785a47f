//! The mode `available`: leaders have no lease. When two leaders hear each other, the greater goes
//! on, and the other gives up.

use super::state::Voter;
use crate::event::Loss;
use crate::name::NodeName;
use crate::time::Time;
use crate::voter::identity::Leadership;
use crate::voter::message::{Header, LeaderDto, LeaseDto, Refusal};
use crate::voter::words::Out;

/// The order of two leaderships: the greater goes on.
fn greatness(leadership: &Leadership) -> (u64, &NodeName) {
    (leadership.counter(), &leadership.leader.id)
}

impl Voter {
    pub(super) fn hear_leader(
        &mut self,
        header: &Header,
        lease: &LeaseDto,
        out: &mut Out,
    ) -> Result<(), Refusal> {
        self.ballots.hear_counter(lease.leadership.counter());
        // A released leader's message has come late, after its release.
        if self.promise.is_released(&lease.leadership) {
            return Err(Refusal::Released);
        }
        if let Some(own) = self.own_leader_dto() {
            if greatness(&own.leadership) > greatness(&lease.leadership) {
                self.let_all_draw();
                return Err(Refusal::Leads(own.into()));
            }
            self.end(Loss::Superseded, out);
        }
        let alive = self.following_until().is_some();
        let known = self.watch.followed.as_ref().filter(|_| alive);
        let greater =
            known.is_none_or(|known| greatness(&known.leadership) <= greatness(&lease.leadership));
        if greater {
            self.leave_lesser_round(&lease.leadership, out);
            self.watch.hear(lease, &header.url, self.now);
            self.suspect_later();
        }
        Ok(())
    }

    /// Ends this voter's leadership if another voter's answer names a greater leadership. In this
    /// way even a leader that others cannot call learns of a greater leader.
    pub(super) fn hear_greater(&mut self, leadership: &Leadership, out: &mut Out) {
        let own = self.own_leader_dto().filter(|_| !self.is_majority());
        let lesser = own.is_some_and(|own| greatness(&own.leadership) < greatness(leadership));
        let released = self.promise.is_released(leadership);
        if lesser && !released {
            self.ballots.hear_counter(leadership.counter());
            self.end(Loss::Superseded, out);
        }
    }

    /// Follows a leader that has answered; the rest of its lease is measured from a time before the
    /// question.
    pub(super) fn follow_answer(&mut self, leader: &LeaderDto, sent: Time, out: &mut Out) {
        if self.leads() || self.promise.is_released(&leader.leadership) {
            return;
        }
        self.leave_lesser_round(&leader.leadership, out);
        let left = leader.remaining.map(|left| left.min(self.config.lease()));
        let certain = left.map(|left| sent.after(self.config.counted(left)));
        self.watch.hear_answer(leader, certain, self.now);
    }

    /// Leaves a ballot that another leader's counter has decided: no other candidate can win it.
    fn leave_lesser_round(&mut self, leadership: &Leadership, out: &mut Out) {
        let counter = leadership.counter();
        let lesser =
            self.ballots.round.as_ref().is_some_and(|round| round.ballot.counter <= counter);
        if lesser && !self.is_majority() {
            self.leave_round(out);
        }
    }

    /// Whether a refusal shows that its sender takes part in another ballot: such a voter is alive,
    /// and may ask for a vote there.
    pub(super) fn draws_elsewhere(&self, refusal: &Refusal) -> bool {
        !self.is_majority() && matches!(refusal, Refusal::Left | Refusal::Endorsed { .. })
    }

    fn let_all_draw(&mut self) {
        if !self.starter.forced && self.ballots.round.is_none() && self.starter.poll.is_none() {
            (self.starter.forced, self.starter.at) = (true, Some(self.now));
            self.wait_a_little();
        }
    }
}
