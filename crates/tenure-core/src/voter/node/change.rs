//! Changes of the electorate: by the leader, one voter at a time (V9).

use super::state::Voter;
use crate::voter::config::Admission;
use crate::voter::electorate::{Change, Electorate, MEMBERS_MAX, Member};
use crate::voter::event::OwnEvent;
use crate::voter::known::Neighbour;
use crate::voter::message::{Answer, Refusal, Unchanged};
use crate::voter::words::Out;

impl Voter {
    /// Changes the electorate for an operator. The change takes effect at once for this leader,
    /// before any other member has stored it. Until a quorum has stored the change, further changes
    /// are refused with [`Refusal::ChangeRuns`].
    pub(super) fn on_change(&mut self, change: &Change, out: &mut Out) -> Result<Answer, Refusal> {
        let next = self.changed(change)?;
        if let Change::Add(id) = change
            && !self.known.get(id).is_some_and(Neighbour::is_there)
        {
            // The known voter may be an earlier run with another directory.
            return Err(Refusal::UnknownVoter);
        }
        if let Change::Remove(id) = change
            && let Some(known) = self.known.get_mut(id)
        {
            // The voter must answer again before it can be added: it may have another directory
            // now.
            known.answers = false;
        }
        self.change_to(next, out);
        Ok(Answer::Done)
    }

    /// Returns the next document, if the leader may write it now.
    fn changed(&self, change: &Change) -> Result<Electorate, Refusal> {
        let next = self.next_document(change)?;
        // Refuse: a failing write would stop the heartbeats.
        if !self.can_write() {
            return Err(Refusal::NotWritten);
        }
        // Refuse if too few members could store the next document: with the present document the
        // leader can go on.
        let (able, needed) = (self.able(&next), next.quorum());
        if able < needed { Err(Refusal::TooFewAble { able, needed }) } else { Ok(next) }
    }

    fn next_document(&self, change: &Change) -> Result<Electorate, Refusal> {
        let lease = self.candidacy.lease();
        let leads = lease.is_some_and(|lease| !lease.gives_way) && self.leads();
        let Some(electorate) =
            self.memory.electorate.as_ref().filter(|_| self.is_majority() && leads)
        else {
            return Err(Refusal::NotLeading { leader: self.leader_dto().map(Into::into) });
        };
        // Quorums of this document and of the next one overlap; quorums of this document and of
        // later ones may not (V9).
        if !self.is_stored(electorate) {
            return Err(Refusal::ChangeRuns { electorate: electorate.id });
        }
        match change {
            Change::Add(id) => {
                // A leader is not among the voters that it knows.
                if electorate.member(id).is_some() || *id == self.me.id {
                    return Err(Unchanged::HasVote.into());
                }
                let known = self.known.get(id).filter(|known| known.dropped.is_none());
                let known = known.ok_or(Refusal::UnknownVoter)?;
                let who = known.who();
                if electorate.members.len() >= MEMBERS_MAX {
                    return Err(Refusal::Full);
                }
                let ours = electorate.founding;
                if known.header.founding.is_some_and(|(of, _)| of != ours) {
                    return Err(Refusal::OtherFounding { ours });
                }
                Ok(electorate.with(Member::of(who)))
            }
            Change::Remove(id) if *id == self.me.id => Err(Unchanged::Leads.into()),
            Change::Remove(id) => match electorate.member(id) {
                None if self.known.get(id).is_some() => Err(Unchanged::HasNone.into()),
                None => Err(Refusal::UnknownVoter),
                Some(member) if self.returns(member) => Err(Unchanged::Returns.into()),
                Some(_) => Ok(electorate.without(id)),
            },
        }
    }

    /// Whether a quorum has stored the current document, and no write of it is open.
    fn is_stored(&self, electorate: &Electorate) -> bool {
        // A leader without other members must also have finished its own write.
        let written = !self.writes.is_open();
        written && self.candidacy.lease().is_some_and(|lease| lease.is_stored(electorate))
    }

    /// Adapts the lease to a changed document: only promises of its members count.
    pub(super) fn document_changed(&mut self) {
        let others = self.others();
        if let Some(lease) = self.candidacy.lease_mut() {
            lease.change_document(&self.me.id, &others);
        }
    }

    fn change_to(&mut self, next: Electorate, out: &mut Out) {
        let electorate = next.clone();
        self.remember(out, |memory| memory.electorate = Some(next));
        self.document_changed();
        self.tell_own(OwnEvent::Electorate(electorate), out);
        let others = self.others();
        self.send_heartbeats(&others, out);
    }

    /// Whether a quorum of the larger electorate would answer even if the newcomer failed again. A
    /// leader without other members passes: otherwise it could never add a voter.
    fn can_spare(&self, electorate: &Electorate) -> bool {
        let all = electorate.members.len();
        all == 1 || self.able(electorate) > all.div_ceil(2)
    }

    /// The number of members that answer and can store another document.
    fn able(&self, electorate: &Electorate) -> usize {
        let is_able = |known: &Neighbour| known.is_there() && !known.condition.failing;
        let able = |member: &&Member| {
            let known = self.known.get(&member.id);
            member.id == self.me.id || known.is_some_and(is_able)
        };
        electorate.members.iter().filter(able).count()
    }

    /// Whether this member answers with its accepted identity, so that this leader would give its
    /// vote back at once.
    fn returns(&self, member: &Member) -> bool {
        let known = self.known.get(&member.id);
        let same = known.is_some_and(|it| it.is_there() && it.who().identity == member.identity);
        same && self.config.admission == Admission::Auto
    }

    /// Gives a vote to a known voter, if the settings allow that.
    pub(super) fn admit_known(&mut self, out: &mut Out) {
        if self.config.admission != Admission::Auto || !self.leads() {
            return;
        }
        let Some(electorate) = &self.memory.electorate else { return };
        if !self.can_spare(electorate) {
            return;
        }
        let healthy = self.known.shown().filter(|known| {
            let ours = known.header.founding.is_none_or(|(of, _)| of == electorate.founding);
            known.is_there() && ours
        });
        let mut ids = healthy.map(|known| known.who().id.clone());
        let next = ids.find(|id| electorate.member(id).is_none());
        drop(ids);
        if let Some(Ok(next)) = next.map(|id| self.changed(&Change::Add(id))) {
            self.change_to(next, out);
        }
    }
}
