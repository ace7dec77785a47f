//! Other processes, as their own entries describe them: the roles that they stand for and lead, and
//! the grace period that they need. Decides when a silent process is forgotten.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::time::Duration;

use super::config::{Checked, Mode, Terms};
use super::event::Ignored;
use super::identity::{EntryNumber, Process, Role};
use super::message::{Entry, Lead, RANGES_MAX, RoleRange};
use crate::fence::Fence;
use crate::name::{ClusterName, NodeName, Value};
use crate::time::Time;

/// The other processes of this election, in any group.
#[derive(Clone, PartialEq, Eq, Hash, Default, Debug)]
pub(super) struct Peers {
    members: BTreeMap<Process, Member>,
    /// Processes of this group with other terms, with the latest end of their leaderships.
    unlike: BTreeMap<Process, (Time, Terms)>,
    crowd: Crowd,
    /// The next time at which a process may count as silent.
    check: Option<Time>,
    /// The longest time that a remembered process may lead after its last record was read.
    longest: Duration,
    /// The latest end of a forgotten process's leaderships.
    forgot: Time,
    /// Whether a change has happened since the last [`take_changed`](Self::take_changed).
    changed: bool,
}

/// Processes with other terms for which there is no room, taken together.
#[derive(Clone, PartialEq, Eq, Hash, Default, Debug)]
struct Crowd {
    /// The latest end of their leaderships.
    until: Time,
    /// The longest time that a claimant in the crowd may lead after its last record was read.
    longest: Duration,
    /// The latest end of leaderships of processes in the crowd that make no claims.
    claimless: Time,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Member {
    /// The time at which the last record was read.
    at: Time,
    number: EntryNumber,
    host: NodeName,
    group: ClusterName,
    stands: Vec<RoleRange>,
    leads: Vec<Lead>,
    /// The longest time that the process may lead after its last record was read.
    leads_for: Duration,
    /// Whether the process counts as gone, because it was silent for too long.
    silent: bool,
    /// The number of records of this process that were read, at most 255.
    records: u8,
}

/// A leader, as its own entry describes it, for a table of all roles.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Seen {
    pub role: Role,
    pub who: Process,
    pub host: NodeName,
    pub group: ClusterName,
    pub value: Value,
    pub fence: Option<Fence>,
    pub heard: Time,
    /// Whether the process has been silent for longer than
    /// [`Config::silence`](super::Config::silence). Such a process may still lead.
    pub silent: bool,
}

/// After this many records from another process with this process's name, that process surely runs
/// now: it is no earlier run of this process.
const SURELY_THERE: u8 = 4;

impl Peers {
    /// Takes in a beat. Returns `true` once for a sender that has the name of this process and
    /// surely runs now.
    pub(super) fn hear(
        &mut self,
        entry: &Entry,
        now: Time,
        config: &Checked,
    ) -> Result<bool, Ignored> {
        let Entry { sender, host, group, number, .. } = entry;
        if entry.election != config.election {
            return Ok(false);
        }
        let room = self.members.len() < config.limits.processes;
        if !room && !self.members.contains_key(sender) {
            return Err(Ignored::Full);
        }
        let most = config.limits.roles;
        let member = self.members.entry(sender.clone()).or_insert_with(|| {
            self.changed = true;
            Member {
                at: now,
                number: EntryNumber(0),
                host: host.clone(),
                group: group.clone(),
                stands: Vec::new(),
                leads: Vec::new(),
                leads_for: Duration::ZERO,
                silent: false,
                records: 0,
            }
        });
        if member.number >= *number {
            return Ok(false);
        }
        let (leads, cut) = match entry.leads.get(..most) {
            Some(leads) => (leads, leads.len() < entry.leads.len()),
            None => (&*entry.leads, false),
        };
        if member.silent || member.stands != entry.stands || member.leads != leads {
            self.changed = true;
            member.stands.clone_from(&entry.stands);
            member.leads.clear();
            member.leads.extend_from_slice(leads);
        }
        member.at = now;
        member.number = *number;
        member.silent = false;
        member.leads_for = entry.terms.heard_leads(config).max(config.silence());
        if config.shows(group) {
            self.longest = self.longest.max(member.leads_for);
        }
        member.records = member.records.saturating_add(1);
        let records = member.records;
        self.check_at(now.after(config.silence()));
        if cut {
            return Err(Ignored::Full);
        }
        let same = sender.id == config.id && *group == config.group;
        Ok(same && records == SURELY_THERE)
    }

    /// Takes in the terms of another process of this election and group. Returns whether the terms
    /// differ from this process's terms for the first time.
    pub(super) fn hear_terms(&mut self, entry: &Entry, now: Time, config: &Checked) -> bool {
        let Entry { sender, terms, .. } = entry;
        if *terms == config.terms() {
            self.unlike.remove(sender);
            return false;
        }
        let room = self.unlike.len() < config.limits.processes;
        let leads_for = terms.leads_for(config);
        let until = now.after(leads_for);
        if !room && !self.unlike.contains_key(sender) {
            let crowd = &mut self.crowd;
            let first = crowd.until <= now;
            crowd.until = crowd.until.max(until);
            match terms.mode {
                Mode::AtMostOne => crowd.longest = crowd.longest.max(leads_for),
                Mode::AtLeastOne => crowd.claimless = crowd.claimless.max(until),
            }
            self.check_at(until);
            return first;
        }
        let known = self.unlike.insert(sender.clone(), (until, *terms));
        self.check_at(until);
        known.is_none_or(|(_, known)| known != *terms)
    }

    /// Returns how long a process that claimed at `since` must wait for members with other terms. A
    /// member that makes claims may lead for its own T after `since`. A member that makes no claims
    /// may lead for its own T after its last record.
    pub(super) fn grace(&self, since: Time, config: &Checked) -> Duration {
        let spans = self.unlike.values().map(|(until, terms)| match terms.mode {
            Mode::AtMostOne => terms.leads_for(config),
            Mode::AtLeastOne => until.since(since),
        });
        let crowd = self.crowd.longest.max(self.crowd.claimless.since(since));
        spans.max().unwrap_or_default().max(crowd)
    }

    /// Returns a process of the group that makes no claims. Claimants wait as long as its records
    /// come.
    pub(super) fn without_claims(&self) -> Option<(&Process, &Terms)> {
        let mut unlike = self.unlike.iter().map(|(who, (_, terms))| (who, terms));
        unlike.find(|(_, terms)| terms.mode == Mode::AtLeastOne)
    }

    fn check_at(&mut self, due: Time) {
        self.check = Some(self.check.map_or(due, |check| check.min(due)));
    }

    pub(super) fn due(&self) -> Option<Time> {
        self.check
    }

    /// Marks silent processes, and forgets processes that no longer lead by any clock.
    pub(super) fn run_due(&mut self, now: Time, config: &Checked) {
        if self.check.is_none_or(|check| check > now) {
            return;
        }
        let silence = config.silence();
        let gone = |member: &Member| now.since(member.at) >= member.leads_for;
        let shown = |member: &&Member| config.shows(&member.group);
        let led = |member: &&Member| !member.leads.is_empty() && gone(member);
        let until = |member: &Member| member.at.after(member.leads_for);
        let forgot = self.members.values().filter(shown).filter(led).map(until).max();
        self.forgot = self.forgot.max(forgot.unwrap_or_default());
        let before = self.members.len();
        self.members.retain(|_, member| !gone(member));
        self.changed |= self.members.len() != before;
        self.unlike.retain(|_, (until, _)| *until > now);
        if self.crowd.until <= now {
            self.crowd = Crowd::default();
        }
        for member in self.members.values_mut() {
            if !member.silent && now.since(member.at) >= silence {
                member.silent = true;
                self.changed = true;
            }
        }
        let next = |member: &Member| if member.silent { member.leads_for } else { silence };
        let of_members = self.members.values().map(|member| member.at.after(next(member)));
        let of_unlike = self.unlike.values().map(|(until, _)| *until);
        let dues = of_members.chain(of_unlike).chain([self.crowd.until]);
        self.check = dues.filter(|due| *due > now).min();
        let shown = self.members.values().filter(shown);
        self.longest = shown.map(|one| one.leads_for).max().unwrap_or_default();
    }

    /// Whether a process that has listened from `since` to `until` knows every process that may
    /// lead.
    pub(super) fn is_whole(&self, since: Time, until: Time, config: &Checked) -> bool {
        let longest = self.longest.max(config.heard_leads());
        until.since(since) >= longest && until >= self.forgot
    }

    pub(super) fn take_changed(&mut self) -> bool {
        core::mem::take(&mut self.changed)
    }

    /// Returns the leaders of a role in the groups that `of` picks: those that are heard now, or
    /// else those that may still lead.
    pub(super) fn leaders(&self, role: Role, of: impl Fn(&ClusterName) -> bool) -> Vec<Seen> {
        let members = self.members.iter().filter(|(_, member)| of(&member.group));
        let all = members.filter_map(|(who, member)| {
            let at = member.leads.binary_search_by_key(&role, |lead| lead.role).ok()?;
            Some(member.seen(who, member.leads.get(at)?))
        });
        let mut seen: Vec<_> = all.collect();
        if seen.iter().any(|seen| !seen.silent) {
            seen.retain(|seen| !seen.silent);
        }
        seen
    }

    pub(super) fn all(&self) -> impl Iterator<Item = Seen> {
        self.members
            .iter()
            .flat_map(|(who, member)| member.leads.iter().map(|lead| member.seen(who, lead)))
    }

    /// Whether a process in any group stands for this role by its latest entry. A process that has
    /// not left counts for as long as it could lead, because it may publish less often than this
    /// process. A needless wait costs less than a gap.
    pub(super) fn is_wanted(&self, role: Role, now: Time) -> bool {
        self.members.values().any(|member| {
            let stands = &member.stands;
            // A process with more ranges than an entry can hold may stand for any later role.
            let more = stands.len() >= RANGES_MAX && stands.last().is_some_and(|to| to.last < role);
            let names = stands.iter().any(|range| range.contains(role));
            now.since(member.at) < member.leads_for && (more || names)
        })
    }

    /// The number of running processes of a group that stand for a role.
    pub(super) fn running(&self, group: &ClusterName) -> usize {
        let runs = |one: &&Member| !one.silent && one.group == *group && !one.stands.is_empty();
        self.members.values().filter(runs).count()
    }

    pub(super) fn stands(&self, group: &ClusterName) -> impl Iterator<Item = RoleRange> {
        let there = self.members.values().filter(move |one| !one.silent && one.group == *group);
        there.flat_map(|member| member.stands.iter().copied())
    }
}

impl Member {
    fn seen(&self, who: &Process, lead: &Lead) -> Seen {
        Seen {
            role: lead.role,
            who: who.clone(),
            host: self.host.clone(),
            group: self.group.clone(),
            value: lead.value.clone(),
            fence: lead.fence,
            heard: self.at,
            silent: self.silent,
        }
    }
}
