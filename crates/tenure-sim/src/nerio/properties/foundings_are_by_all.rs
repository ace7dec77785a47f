use tenure_core::nerio::{Entry, Instance, Request};
use tenure_core::{NodeName, Ticket, Time};

use super::{Check, Fact, Own, Plan, Property, QuorumLeases};

/// Founding: a member that lost its memory founds the cluster with the memories of all members. The
/// member does so only if no member remembers, and if the leases of all leaders that it has heard
/// are over.
#[derive(Debug, Default)]
pub(super) struct FoundingsAreByAll {
    lives: Vec<Life>,
    /// Whether each member remembers, by position.
    remembering: Vec<bool>,
    /// Start or loss of the last memory of each member.
    born: Vec<Birth>,
}

/// The start of an empty memory.
#[derive(Clone, Debug)]
struct Birth {
    instance: Option<Instance>,
    /// Whether each member has remembered without interruption since this start, by position.
    beside: Vec<bool>,
}

/// The state of one grantor in its present life.
#[derive(Clone, Debug, Default)]
struct Life {
    /// Whether the grantor has lost its memory, and reads the others' memories.
    reads: bool,
    /// Latest end of the leaderships that the grantor has heard, on its clock.
    led_until: Time,
    /// Flush of the roster that has not succeeded: the grantor may have decided long before the
    /// write.
    owes: Option<Ticket>,
    /// Memories that began while the grantor's flush was under way. A founding names them without
    /// the mark of founders, because the members had earlier memories when it was decided.
    later: Vec<Instance>,
}

impl Property<QuorumLeases> for FoundingsAreByAll {
    const NAME: &'static str = "A cluster is founded by all, and when nobody leads or remembers";
    const SOURCE: &'static str = "founding";
    const NEEDS_BOUND: bool = false;

    fn begin(&mut self, plan: &Plan) {
        self.lives = vec![Life::default(); plan.nodes.len()];
        self.remembering = vec![false; plan.members()];
        let born = Birth { instance: None, beside: self.remembering.clone() };
        self.born = vec![born; plan.members()];
    }

    #[inline(always)]
    fn see(&mut self, check: &Check<'_>, fact: Fact<'_>) -> Result<(), String> {
        if check.plan.own.focus.changes() {
            return Ok(());
        }
        match fact {
            Fact::Crashed { node } => self.lives[node] = Life::default(),
            Fact::Own(Own::Opens { grantor, knows_fences, instance, .. }) => {
                self.lives[grantor].reads = !knows_fences;
                if !knows_fences {
                    let member = check.plan.place(grantor);
                    self.remembering[member] = false;
                    self.born.iter_mut().for_each(|born| born.beside[member] = false);
                    if self.born[member].instance != Some(instance) {
                        let owing = self.lives.iter_mut().filter(|life| life.owes.is_some());
                        owing.for_each(|life| life.later.push(instance));
                        let instance = Some(instance);
                        let beside = self.remembering.clone();
                        self.born[member] = Birth { instance, beside };
                    }
                }
            }
            Fact::Own(Own::Serves { grantor }) => {
                self.lives[grantor].reads = false;
                self.remembering[check.plan.place(grantor)] = true;
            }
            Fact::Own(Own::Asks { grantor, request, local, .. }) if request.leading => {
                self.lives[grantor].hear_leader(check, grantor, request, local);
            }
            Fact::Own(Own::Settled { grantor, ticket, written }) => {
                let owes = &mut self.lives[grantor].owes;
                owes.take_if(|owed| *owed == ticket && written);
            }
            Fact::Own(Own::Notes { grantor, members, ticket, local }) => {
                let is_new = |(name, entry): &(NodeName, Entry)| {
                    let founder = (name.clone(), entry.instance);
                    entry.founder && !check.own.founders.contains(&founder)
                };
                let life = &mut self.lives[grantor];
                let at_once = life.owes.replace(ticket).is_none();
                if at_once {
                    life.later.clear();
                }
                if members.iter().any(is_new) {
                    return self.judge(check, grantor, members, at_once.then_some(local));
                }
            }
            _ => {}
        }
        Ok(())
    }
}

impl Life {
    fn hear_leader(&mut self, check: &Check<'_>, grantor: usize, request: &Request, local: Time) {
        let longest = request.lease.max(request.delta);
        let config = &check.plan.nodes[grantor].config;
        let skew = config.clock_skew_max.unwrap_or_default();
        let outlasts = config.drift.stretch(longest + 2 * skew);
        self.led_until = self.led_until.max(local.after(outlasts));
    }
}

impl FoundingsAreByAll {
    /// Checks the founders that `grantor` names; `at` is the time of its decision, if that is
    /// known.
    fn judge(
        &self,
        check: &Check<'_>,
        grantor: usize,
        members: &[(NodeName, Entry)],
        at: Option<Time>,
    ) -> Result<(), String> {
        let by = check.name(grantor);
        let life = &self.lives[grantor];
        if !life.reads {
            return Err(format!("{by} names new founders, and remembers"));
        }
        let all = check.plan.membership().names().iter();
        for ((name, remembers), born) in all.zip(&self.remembering).zip(&self.born) {
            let entry = members.iter().find(|(known, _)| known == name).map(|(_, entry)| entry);
            let instance = match entry {
                Some(entry) if entry.founder => &entry.instance,
                Some(entry) if at.is_none() && life.later.contains(&entry.instance) => continue,
                _ => return Err(format!("{by} founds the cluster without {name}")),
            };
            let is_new = !check.own.founders.contains(&(name.clone(), *instance));
            if is_new
                && born.instance == Some(*instance)
                && let Some(one) = born.beside.iter().position(|remembers| *remembers)
            {
                let one = check.plan.membership().name(one);
                return Err(format!(
                    "{by} founds the cluster with {name}, and {one} remembered before it began"
                ));
            }
            if *remembers && is_new {
                return Err(format!("{by} founds the cluster, and {name} remembers"));
            }
        }
        match at.filter(|at| *at < life.led_until) {
            Some(at) => Err(format!(
                "{by} founds the cluster at {at}, and has heard a leader that may lead until {}",
                life.led_until
            )),
            None => Ok(()),
        }
    }
}
