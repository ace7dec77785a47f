//! What is different with `available`: a leader has no lease, and of two that hear each other the
//! greater one goes on and lets all draw.

use super::Voter;
use super::view::Followed;
use crate::event::Loss;
use crate::name::NodeName;
use crate::voter::identity::Leadership;
use crate::voter::message::{Header, LeaseDto, Refusal};
use crate::voter::words::Out;

/// Of two leaderships the greater goes on.
fn greatness(leadership: &Leadership) -> (u64, &NodeName) {
    (leadership.counter(), &leadership.leader.id)
}

impl Voter {
    /// Another one leads.
    pub(super) fn hear_leader(
        &mut self,
        header: &Header,
        lease: &LeaseDto,
        out: &mut Out,
    ) -> Result<(), Refusal> {
        self.hear_counter(lease.leadership.counter());
        // Said before it was released, and heard after.
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
        let known = self.followed.as_ref().filter(|_| alive);
        let greater =
            known.is_none_or(|known| greatness(&known.leadership) <= greatness(&lease.leadership));
        if greater {
            self.leave_lesser_round(&lease.leadership, out);
            let url = &header.url;
            self.followed = Some(Followed::of(lease, url, self.now, self.followed.take()));
            self.suspect_later();
        }
        Ok(())
    }

    /// One that was asked leads, and says so: by that, one that others cannot call learns that it
    /// is the lesser of two.
    pub(super) fn hear_greater(&mut self, leadership: &Leadership, out: &mut Out) {
        let own = self.own_leader_dto().filter(|_| !self.is_majority());
        let lesser = own.is_some_and(|own| greatness(&own.leadership) < greatness(leadership));
        let released = self.promise.is_released(leadership);
        if lesser && !released {
            self.hear_counter(leadership.counter());
            self.end(Loss::Superseded, out);
        }
    }

    /// Another one leads: it has won a ballot of this counter, and so will nobody else.
    pub(super) fn leave_lesser_round(&mut self, leadership: &Leadership, out: &mut Out) {
        let counter = leadership.counter();
        let lesser = self.round.as_ref().is_some_and(|round| round.ballot.counter <= counter);
        if lesser && !self.is_majority() {
            self.leave_round(out);
        }
    }

    /// Whether this is said by one that is there, and takes part in another ballot: it may ask for
    /// a number in its own.
    pub(super) fn draws_elsewhere(&self, refusal: &Refusal) -> bool {
        !self.is_majority() && matches!(refusal, Refusal::Left | Refusal::Endorsed { .. })
    }

    fn let_all_draw(&mut self) {
        if !self.starter.forced && self.round.is_none() && self.starter.poll.is_none() {
            (self.starter.forced, self.starter.at) = (true, Some(self.now));
            self.wait_a_little();
        }
    }
}
