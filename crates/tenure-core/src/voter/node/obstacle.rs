//! The reason why a campaign waits, and the obstacles that only an operator can remove.

use alloc::format;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

use super::state::Voter;
use crate::name::NodeName;
use crate::voter::accepted_set::{OtherFounder, first_voters};
use crate::voter::config::Founding;
use crate::voter::electorate::{Electorate, Member};
use crate::voter::known::Neighbour;
use crate::voter::message::FirstVoters;
use crate::waiting::{Obstacle, Waiting};

impl Voter {
    /// The reason why the campaign waits, while this voter does not lead.
    pub(super) fn waits(&self) -> Option<Waiting> {
        let campaign = self.candidacy.campaign.as_ref()?;
        if campaign.lease.is_some() {
            return None;
        }
        if let Some(obstacle) = self.obstacle() {
            return Some(Waiting::Refused { obstacles: [obstacle].into(), missing: Vec::new() });
        }
        if self.promise.is_quarantined(self.now) {
            let at = [self.me.id.clone().into()].into();
            return Some(Waiting::OldLeases {
                at,
                until: self.promise.quarantine,
                missing: Vec::new(),
            });
        }
        if self.is_unfounded() {
            let obstacles = self.founded_otherwise();
            if !obstacles.is_empty() {
                return Some(Waiting::Refused { obstacles, missing: Vec::new() });
            }
        }
        if let Some(followed) = &self.watch.followed {
            let who = followed.leadership.leader.id.clone().into();
            return Some(Waiting::Behind { who, leading: true });
        }
        if self.is_unfounded() {
            return Some(self.waits_for_founding());
        }
        Some(match self.memory.electorate.as_ref().filter(|_| self.is_majority()) {
            Some(electorate) => self.waits_for_quorum(electorate),
            None if self.known.shown().next().is_none() => {
                Waiting::Connecting { obstacles: Vec::new() }
            }
            None => Waiting::Drawing,
        })
    }

    /// The silent voters among these.
    fn missing<'a>(&self, ids: impl Iterator<Item = &'a NodeName>) -> Vec<Arc<str>> {
        let on_line = |id: &NodeName| {
            let known = self.known.get(id);
            *id == self.me.id || known.is_some_and(|known| known.misses == 0)
        };
        ids.filter(|id| !on_line(id)).map(|id| id.clone().into()).collect()
    }

    /// The reason to wait: too few members answer with their accepted identities and can write, or
    /// else the voters draw.
    fn waits_for_quorum(&self, electorate: &Electorate) -> Waiting {
        let others = electorate.members.iter().filter(|member| member.id != self.me.id);
        let obstacles: Vec<_> = others.filter_map(|member| self.cannot_vote(&member.id)).collect();
        let able = |id: &&NodeName| obstacles.iter().all(|known| *known.by != *id.as_str());
        let ids = electorate.members.iter().map(|member| &member.id);
        let missing = self.missing(ids.filter(able));
        let there = electorate.members.len() - missing.len() - obstacles.len();
        match (there < electorate.quorum(), obstacles.is_empty()) {
            (true, true) => Waiting::NoQuorum { missing },
            (true, false) => Waiting::Refused { obstacles, missing },
            (false, _) => Waiting::Drawing,
        }
    }

    /// The reason why a member that answers cannot vote.
    fn cannot_vote(&self, id: &NodeName) -> Option<Obstacle> {
        let (known, silence) = (self.known.get(id), self.config.silence());
        let (label, why) = if self.is_stranger(id) {
            let why = "it answers with another identity: its state directory was lost, or another \
                       process has its id";
            ("other-identity", why.into())
        } else if known.is_some_and(|known| known.misses == 0 && known.condition.failing) {
            ("failing", "it cannot write its state directory".into())
        } else if known.is_some_and(|known| known.misses == 0 && !known.calls(self.now, silence)) {
            let url = &self.config.url;
            let why = format!(
                "it answers, but has not called this voter for {silence:?}: it cannot reach {url}, \
                 or the certificate there has another name, or this voter refuses its requests \
                 (see the log)"
            );
            ("unreached", why)
        } else {
            return None;
        };
        Some(Obstacle::new(id.clone(), label, why))
    }

    /// Whether the member was recently heard with another identity only. If the member answers with
    /// its accepted identity as well, the other identity belongs to another process with this id.
    fn is_stranger(&self, id: &NodeName) -> bool {
        let heard = self.founding.is_stranger(id, self.now, self.config.silence());
        heard && !self.answers_as_accepted(id)
    }

    fn answers_as_accepted(&self, id: &NodeName) -> bool {
        let Some(electorate) = self.accepted() else { return false };
        let known = self.known.get(id).filter(|known| known.is_on_line(self.config.tolerance));
        known.is_some_and(|known| electorate.has(known.who()))
    }

    /// The reason to wait until all first voters answer, can write, and accept each other.
    fn waits_for_founding(&self) -> Waiting {
        let founding = |by: &NodeName, why: &str| Obstacle::new(by.clone(), "founding", why);
        let ids: Vec<_> = match (&self.memory.electorate, &self.config.founding) {
            (Some(electorate), _) => electorate.members.iter().map(|one| &one.id).collect(),
            (None, Founding::List(listed)) => listed.iter().map(|one| &one.id).collect(),
            (None, Founding::Expected(expected)) => {
                let there = self.known.shown().count() + 1;
                let are = if there == 1 { "voter is" } else { "voters are" };
                let why = format!("{there} {are} known, and the founding needs exactly {expected}");
                let obstacle = founding(&self.me.id, &why);
                return Waiting::Connecting { obstacles: [obstacle].into() };
            }
            (None, Founding::Anybody) => Vec::new(),
        };
        let obstacles: Vec<_> = ids.iter().filter_map(|id| self.cannot_vote(id)).collect();
        let able = |id: &&NodeName| obstacles.iter().all(|known| *known.by != *id.as_str());
        let missing = self.missing(ids.iter().copied().filter(able));
        if !obstacles.is_empty() {
            return Waiting::Refused { obstacles, missing };
        }
        if !missing.is_empty() {
            return Waiting::NoQuorum { missing };
        }
        let open =
            |known: &&Neighbour| known.header.founding.is_none() && ids.contains(&&known.who().id);
        let by = |known: &Neighbour| {
            let why = "it has not accepted the first voters yet: it waits for all of them";
            founding(&known.who().id, why)
        };
        Waiting::Connecting { obstacles: self.known.shown().filter(open).map(by).collect() }
    }

    /// The voters with other first voters, and those that were founded without this voter.
    fn founded_otherwise(&self) -> Vec<Obstacle> {
        let Some(ours) = first_voters(&self.config) else { return Vec::new() };
        let (me, apart) = (&self.me.id, self.accepted_others(&ours));
        let begins = |known: &Neighbour| {
            let why = match (&known.condition.first, known.header.founding) {
                (_, Some((_, true))) if self.accepted().is_none() => format!(
                    "its network was founded without {me}: add {me} to the members; or, if {0} \
                     should have waited for {me}, end {0}, remove its state directory, and start \
                     it again",
                    known.who().id
                ),
                (Some(theirs), _) if !ours.agrees(theirs) => format!(
                    "it begins with {theirs}, and {me} with {ours}: give all voters the same \
                     list, or number, of first voters"
                ),
                _ => return None,
            };
            let by: Arc<str> = known.who().id.clone().into();
            let is_listed = apart.iter().any(|obstacle| obstacle.by == by);
            (!is_listed).then(|| Obstacle::new(by, "first-voters", why))
        };
        let begins = self.known.shown().filter_map(begins).collect();
        [apart.clone(), begins].concat()
    }

    /// The members of the accepted set that have accepted another set, for ever.
    fn accepted_others(&self, ours: &FirstVoters) -> Vec<Obstacle> {
        let apart = self.founding.apart(self.now, self.config.silence());
        let apart = apart.filter(|_| !self.memory.founded);
        let begin_anew = "then end all of them, remove their state directories, and start them \
                          again: no voter accepts a second set";
        let why = |theirs: &Option<FirstVoters>| match theirs {
            Some(theirs) if !ours.agrees(theirs) => format!(
                "it has accepted other first voters: it begins with {theirs}, and {} with {ours}: \
                 give all voters the same list, or number, {begin_anew}",
                self.me.id
            ),
            _ => format!(
                "it has accepted other first voters than {}, which begins with {ours}: start no \
                 more voters than expected, and give all the same list, or number, {begin_anew}",
                self.me.id
            ),
        };
        let obstacle = |(id, apart): (&NodeName, &OtherFounder)| {
            Obstacle::new(id.clone(), "first-voters", why(&apart.begins))
        };
        apart.map(obstacle).collect()
    }

    /// The obstacle at this voter itself, as a whole sentence: no voter refuses the campaign.
    fn obstacle(&self) -> Option<Obstacle> {
        let by = &self.me.id;
        let (label, why) = if !self.can_write() {
            ("failing", format!("{by} cannot write its state directory"))
        } else {
            self.of_its_id().or_else(|| self.of_its_url()).or_else(|| self.of_its_vote())?
        };
        Some(Obstacle::sentence(by.clone(), label, why))
    }

    /// The obstacle of another process with this voter's id.
    fn of_its_id(&self) -> Option<(&'static str, String)> {
        let (by, at) = (&self.me.id, self.namesake_at()?);
        let why = if self.founding.lost && !self.is_member() {
            format!(
                "another process, at {at}, has the id {by} and its vote: give this process another \
                 id, or end one of the two"
            )
        } else {
            format!(
                "another process, at {at}, also has the id {by}, or a copy of its state directory: \
                 end one of the two"
            )
        };
        Some(("name-in-use", why))
    }

    /// The obstacle of another voter with this voter's URL. Each request to this URL reaches either
    /// of the two, and answers of the wrong voter are ignored.
    fn of_its_url(&self) -> Option<(&'static str, String)> {
        let (by, url) = (&self.me.id, &self.config.url);
        let lately = self.config.silence().saturating_mul(2);
        let same = |known: &&Neighbour| known.url() == url && self.now.since(known.heard) <= lately;
        let other = &self.known.shown().find(same)?.who().id;
        let why = format!(
            "{by} and {other} both give {url} as their voter-url: give each voter a URL that leads \
             to this voter alone; several voters may share the address of a seed host"
        );
        Some(("shared-url", why))
    }

    fn of_its_vote(&self) -> Option<(&'static str, String)> {
        let by = &self.me.id;
        let unfounded = self.is_unfounded();
        // Without a leader members cannot be removed or added.
        let begin_anew = "before the network was founded. End all voters, remove the state \
                          directories of all of them, and start them again";
        let other = self.founding.strangers().find(|id| self.is_stranger(id));
        if let Some(other) = other.filter(|_| unfounded) {
            let why = format!(
                "{by} has accepted {other} with another identity than {other} has now, {begin_anew}"
            );
            return Some(("other-identity", why));
        }
        if self.founding.lost && unfounded && !self.known.all().any(Neighbour::is_founded) {
            let why = format!(
                "the others have accepted {by} with another identity: its state directory was \
                 lost, {begin_anew}"
            );
            return Some(("lost-directory", why));
        }
        if let Some((lost, all)) = self.lost_for_good() {
            let why = format!(
                "{lost} of the {all} voters have lost their state directories, and without a \
                 majority no voter can be removed or added. Put the directories back. If you \
                 cannot, end all voters, remove all state directories, and begin again with \
                 another election, because fences begin again, too"
            );
            return Some(("lost-directory", why));
        }
        if self.founding.lost && !self.is_member() {
            let why = format!(
                "the electorate lists {by} with another identity: its state directory was lost, or \
                 another process has its id. If no other process has the id, run `tenure members \
                 remove {by}`, then `tenure members add {by}`: a majority of the voters must still \
                 have its state directories"
            );
            return Some(("lost-directory", why));
        }
        let electorate = self.memory.electorate.as_ref().filter(|_| self.memory.founded)?;
        if electorate.has(&self.me) {
            return None;
        }
        let why =
            format!("{by} has no vote in electorate {electorate}: run `tenure members add {by}`");
        Some(("not-a-member", why))
    }

    /// The number of members that have lost their directories, and of all members; `None` if a
    /// majority has kept its directories. Also `None` while a voter leads, because the leader can
    /// still remove and add such members.
    fn lost_for_good(&self) -> Option<(usize, usize)> {
        if self.watch.followed.is_some() {
            return None;
        }
        let electorate = self.memory.electorate.as_ref().filter(|_| self.memory.founded)?;
        let is_lost = |member: &&Member| self.is_stranger(&member.id);
        let (lost, all) =
            (electorate.members.iter().filter(is_lost).count(), electorate.members.len());
        (all - lost < electorate.quorum()).then_some((lost, all))
    }
}
