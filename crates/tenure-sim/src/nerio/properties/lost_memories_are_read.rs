use std::collections::BTreeMap;

use tenure_core::nerio::{Instance, MemberSet, Roster};
use tenure_core::{Fence, NodeName, Time};

use super::{Check, Disk, Fact, Own, Plan, Property, QuorumLeases};

/// The distance of a new bound on fences above all seen fences.
const ROOM: u64 = 1_024;

/// A new memory counts only when enough others have written it down. The grantor takes over the
/// others' knowledge of each other's memories, and trusts only their latest memories. Every quorum
/// contains one of these memories, unless the new memory took part in the founding.
#[derive(Debug, Default)]
pub(super) struct LostMemoriesAreRead {
    lives: Vec<Life>,
}

/// The state of one grantor in its present life.
#[derive(Clone, Debug, Default)]
struct Life {
    /// The new memory, until its bound on fences is written.
    begins: Option<Instance>,
    /// Last answer of each member to the latest request.
    answers: BTreeMap<usize, Answer>,
    /// Start of the latest request.
    asked: Time,
    /// The arriving answer.
    hears: Option<(usize, Answer)>,
    /// The last handled answer, which the grantor may still ignore.
    handled: Option<(usize, Answer)>,
    /// Latest memory of each member that an answer named.
    latest: BTreeMap<usize, Instance>,
}

#[derive(Clone, Debug)]
struct Answer {
    start: Time,
    whole: bool,
    seen: Fence,
    roster: Roster,
}

impl Property<QuorumLeases> for LostMemoriesAreRead {
    const NAME: &'static str = "A memory that begins is written down, and reads the latest ones";
    const SOURCE: &'static str = "names: instances; founding";
    const NEEDS_BOUND: bool = false;

    fn begin(&mut self, plan: &Plan) {
        self.lives = vec![Life::default(); plan.nodes.len()];
    }

    #[inline(always)]
    fn see(&mut self, check: &Check<'_>, fact: Fact<'_>) -> Result<(), String> {
        if check.plan.own.focus.changes() {
            return Ok(());
        }
        match fact {
            Fact::Crashed { node } => self.lives[node] = Life::default(),
            Fact::Own(Own::Opens { grantor, knows_fences, instance, .. }) => {
                let life = &mut self.lives[grantor];
                life.begins = (!knows_fences).then_some(instance);
                life.answers = BTreeMap::new();
                life.asked = Time::ZERO;
            }
            Fact::Own(Own::Recalls { grantor, from, seen }) => {
                let named = check.plan.membership().position(&from.who.name);
                if let (life @ Life { begins: Some(_), .. }, Some(member)) =
                    (&mut self.lives[grantor], named.filter(|_| from.proved))
                {
                    let answer = Answer {
                        start: seen.start,
                        whole: seen.whole,
                        seen: seen.seen,
                        roster: seen.roster.clone(),
                    };
                    life.hears = Some((member, answer));
                }
            }
            Fact::Handled { node, .. } => {
                let life = &mut self.lives[node];
                life.hear(check);
                life.handled = life.hears.take();
            }
            Fact::Own(Own::Unread { grantor }) => self.lives[grantor].handled = None,
            Fact::Own(Own::Reserves { grantor, high, disk, .. }) => {
                let life = &mut self.lives[grantor];
                life.hear(check);
                if let Some(memory) = life.begins.take() {
                    return life.judge(check, grantor, memory, high, disk);
                }
            }
            _ => {}
        }
        Ok(())
    }
}

impl Life {
    fn hear(&mut self, check: &Check<'_>) {
        let Some((member, answer)) = self.handled.take() else { return };
        let membership = check.plan.membership();
        // A member without memory asks the others to write its new memory down. So its answer does
        // not count for that memory.
        let of_others = |other: &usize| answer.whole || *other != member;
        for other in membership.everyone().iter().filter(of_others) {
            if let Some(entry) = answer.roster.at(other) {
                let latest = self.latest.entry(other).or_insert(entry.instance);
                *latest = entry.instance.max(*latest);
            }
        }
        // Forget the answers to an earlier request: their senders may have lost their memories
        // since.
        if answer.start > self.asked {
            self.answers = BTreeMap::new();
            self.asked = answer.start;
        }
        if answer.start == self.asked {
            self.answers.insert(member, answer);
        }
    }

    fn judge(
        &self,
        check: &Check<'_>,
        grantor: usize,
        memory: Instance,
        high: Fence,
        disk: &Disk,
    ) -> Result<(), String> {
        let membership = check.plan.membership();
        let own = check.plan.place(grantor);
        let name = check.name(grantor);
        let everyone = membership.everyone();
        let kept = |member: usize| -> Option<Instance> {
            let named = |(known, _): &&(NodeName, _)| known == membership.name(member);
            Some(disk.kept.durable().roster.iter().find(named)?.1.instance)
        };
        for (member, latest) in self.latest.iter().filter(|(member, _)| **member != own) {
            if kept(*member) < Some(*latest) {
                let of = membership.name(*member);
                return Err(format!(
                    "{name} has heard of memory {latest} of {of}, and has not written it down"
                ));
            }
        }
        let counts = |(member, answer): &(&usize, &Answer)| {
            let theirs = answer.roster.at(**member).map(|entry| entry.instance);
            let names_this = answer.roster.at(own).map(|entry| entry.instance);
            theirs >= kept(**member) && names_this == Some(memory)
        };
        let written = || self.answers.iter().filter(counts);
        let names = membership.names();
        let recorded: MemberSet = written().map(|(member, _)| *member).collect();
        let others = everyone.minus(MemberSet::EMPTY.with(own));
        if !others.minus(recorded).is_empty() && membership.quorums().is_possible(recorded) {
            return Err(format!(
                "{name} serves with a memory that only {} have written down",
                recorded.named(names)
            ));
        }
        let whole: MemberSet =
            written().filter(|(_, answer)| answer.whole).map(|(member, _)| *member).collect();
        let founder = (check.plan.nodes[grantor].name.clone(), memory);
        if membership.quorums().is_possible(whole) && !check.own.founders.contains(&founder) {
            return Err(format!(
                "{name} was not there at the founding, and serves on the word of {} alone",
                whole.named(names)
            ));
        }
        let seen = written().filter(|(_, answer)| answer.whole).map(|(_, answer)| answer.seen);
        match seen.max().filter(|seen| high.number() < seen.number() + ROOM) {
            Some(seen) => Err(format!("{name} reserves fences up to {high}, and heard of {seen}")),
            None => Ok(()),
        }
    }
}
