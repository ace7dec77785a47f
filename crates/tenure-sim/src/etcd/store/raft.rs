//! Leaders of etcd, its members' beliefs about them, and faults between the members.

use tenure_core::etcd::{Act, LeaseId, Revision, Txn};

use super::note::{Cause, MEDDLED, Note, Trouble};
use super::state::Entry;
use super::{Cluster, Focus, MEMBERS, MS, Out, Task, tell};

/// Salts of draws.
const ELECTION: u64 = 31;
const WHO: u64 = 32;
const BELIEF: u64 = 33;
/// First id of operators' leases.
const OPERATORS: i64 = 0x0e00_0000_0000;
/// Bound on the time in which a deposed leader still believes that it leads.
const BELIEVES: u64 = 2 * ELECTION_TIMEOUT;
/// The shortest election timeout; the longest is twice as long.
const ELECTION_TIMEOUT: u64 = 1_000 * MS;
/// The step of revisions in a bumped restore.
const BUMP: Revision = 1_000;

impl Cluster {
    /// Whether a member takes part in consensus.
    pub(super) fn takes_part(&self, member: usize) -> bool {
        let this = &self.members[member];
        this.cut.max(this.dead).max(this.stuck) <= self.now
    }

    /// The number of members that take part.
    pub(super) fn taking_part(&self) -> usize {
        (0..MEMBERS).filter(|member| self.takes_part(*member)).count()
    }

    /// The leader to which a member forwards keep-alives, if it knows and reaches one.
    pub(super) fn leader_of(&self, member: usize) -> Option<usize> {
        let leader = self.members[member].leader?;
        let reaches = |member: usize| self.members[member].cut <= self.now;
        (leader == member || (reaches(leader) && reaches(member))).then_some(leader)
    }

    /// Updates leadership after a change of the members that take part.
    pub(super) fn settle(&mut self, out: &mut Out) {
        let quorum = self.taking_part() > MEMBERS / 2;
        for member in 0..MEMBERS {
            let up = self.takes_part(member);
            if !up && self.members[member].up {
                self.plan_doubt(member);
            }
            self.members[member].up = up;
        }
        if let Some(leader) = self.leader
            && (!quorum || !self.takes_part(leader))
        {
            self.leader = None;
            tell(Note::Leader(None), out);
            (0..MEMBERS).for_each(|member| self.plan_doubt(member));
            let about = self.draw(BELIEF, self.now) % BELIEVES;
            if self.members[leader].stuck <= self.now {
                let term = self.term;
                self.plan(about, Task::StepDown { member: leader, term });
            }
        }
        if self.leader.is_none() && quorum {
            self.find_leader(out);
        }
        self.follow();
    }

    /// Keeps the leader of this term, or elects another.
    fn find_leader(&mut self, out: &mut Out) {
        let same = |member: &usize| {
            let this = &self.members[*member];
            this.leads && this.term == self.term && self.takes_part(*member)
        };
        if let Some(leader) = (0..MEMBERS).find(same) {
            self.leader = Some(leader);
            tell(Note::Leader(Some(leader)), out);
            self.resume(leader, out);
            self.go_on();
        } else if !self.electing {
            self.electing = true;
            let wait = ELECTION_TIMEOUT + self.span(ELECTION, self.term, ELECTION_TIMEOUT);
            self.plan(wait, Task::Elect);
        }
    }

    /// Members that take part elect one of them; each has the whole log.
    pub(super) fn elect(&mut self, out: &mut Out) {
        let able: Vec<usize> = (0..MEMBERS).filter(|member| self.takes_part(*member)).collect();
        let leader = able[self.draw(WHO, self.term) as usize % able.len()];
        self.term += 1;
        self.leader = Some(leader);
        tell(Note::Leader(Some(leader)), out);
        let this = &mut self.members[leader];
        this.term = self.term;
        this.leads = true;
        this.leader = Some(leader);
        this.lonely = None;
        this.named = self.term;
        this.snapshot = 0;
        self.catch_up(leader, out);
        self.promote(leader, out);
        self.follow();
        self.go_on();
    }

    /// Makes members that take part follow the leader.
    fn follow(&mut self) {
        let Some(leader) = self.leader else { return };
        for member in (0..MEMBERS).filter(|member| *member != leader) {
            if !self.takes_part(member) {
                continue;
            }
            let term = self.term;
            let index = self.index();
            let snapshots = self.setting.snapshots;
            let this = &mut self.members[member];
            if this.term != term {
                // The snapshot has the first entry of the term, too.
                if snapshots && this.applied < index {
                    this.snapshot = index;
                } else {
                    this.named = term;
                }
            }
            if this.leader != Some(leader) || this.term != term {
                this.term = term;
                this.leads = false;
                this.leader = Some(leader);
                this.expiry.clear();
            }
            this.lonely = None;
            if this.applied < self.index() {
                self.plan(self.setting.latency, Task::Apply { member });
            }
        }
    }

    /// Plans the time at which a member that hears no leader forgets its leader.
    fn plan_doubt(&mut self, member: usize) {
        let wait = ELECTION_TIMEOUT + self.span(BELIEF ^ self.now, member as u64, ELECTION_TIMEOUT);
        self.plan(wait, Task::Doubt { member });
    }

    pub(super) fn doubt(&mut self, member: usize) {
        let hears = self.leader.is_some() && self.takes_part(member);
        let now = self.now;
        let this = &mut self.members[member];
        if !hears && !this.leads {
            this.leader = None;
            this.lonely.get_or_insert(now);
        }
    }

    /// Lets a leader without a quorum give up.
    pub(super) fn step_down(&mut self, member: usize, term: u64) {
        let now = self.now;
        let leads = self.leader == Some(member);
        let this = &mut self.members[member];
        if !leads && this.leads && this.term == term && this.stuck <= now {
            this.leads = false;
            this.leader = None;
            this.expiry.clear();
            this.lonely.get_or_insert(now);
        }
    }

    pub(super) fn trouble(&mut self, trouble: Trouble, out: &mut Out) {
        let until = |span: u64| (self.now + span).min(self.setting.mended.max(self.now));
        match trouble {
            Trouble::Cut { member, span } => {
                self.members[member].cut = until(span);
                self.settle_after(span, out);
            }
            Trouble::Split { span } => {
                let until = until(span);
                self.members.iter_mut().for_each(|member| member.cut = until);
                self.settle_after(span, out);
            }
            Trouble::Kill { member, span } => {
                self.members[member].dead = until(span);
                self.kill(member, out);
                self.settle_after(span, out);
            }
            Trouble::Stick { span } => {
                let Some(member) = self.leader else { return };
                let until = until(span);
                self.members[member].stuck = until;
                self.plan(until - self.now, Task::Unstick { member });
                self.settle(out);
            }
            Trouble::Stop { span } => {
                let Some(member) = self.leader else { return };
                let until = until(span);
                self.members[member].stuck = until;
                self.members[member].stopped = until;
                self.plan(until - self.now, Task::Unstick { member });
                self.settle(out);
            }
            Trouble::MoveLeader if self.leader.is_some() => self.elect(out),
            Trouble::MoveLeader => {}
            Trouble::Slow { member, span } => self.members[member].slow = until(span),
            Trouble::Break { member } => self.end_streams(member, "connection reset", out),
            Trouble::Full { span } if self.leader.is_some() => {
                let until = until(span);
                self.commit(&Entry::Full(true), Cause::Meddled, out);
                self.plan(until - self.now, Task::NotFull);
            }
            Trouble::Deny { node, span } => {
                let until = until(span);
                self.denied.insert(node, until);
            }
            Trouble::Argue { span } => {
                self.argued = until(span);
                self.plan(0, Task::Argue);
            }
            Trouble::Backup => self.backup = Some((self.truth.clone(), self.term)),
            Trouble::Restore { span } => {
                let until = until(span);
                self.restore(until, out);
                self.settle_after(span, out);
            }
            Trouble::Compact { .. }
            | Trouble::Full { .. }
            | Trouble::DeleteKey { .. }
            | Trouble::Overwrite { .. }
            | Trouble::RevokeLease { .. } => self.meddle(trouble, out),
        }
    }

    /// Ends a fault after a span, or when the storm ends.
    pub(super) fn settle_after(&mut self, span: u64, out: &mut Out) {
        let mended = self.setting.mended.saturating_sub(self.now);
        self.plan(span.min(mended), Task::Settle);
        self.settle(out);
    }

    /// Ends the process of a member.
    fn kill(&mut self, member: usize, out: &mut Out) {
        self.end_streams(member, "connection reset", out);
        let this = &mut self.members[member];
        this.leads = false;
        this.leader = None;
        this.start += 1;
        this.expiry.clear();
        self.hung.retain(|ask| ask.member != member);
        self.waiting.retain(|waiting| waiting.ask.member != member);
    }

    /// Changes the store like an operator.
    fn meddle(&mut self, trouble: Trouble, out: &mut Out) {
        if self.leader.is_none() {
            return;
        }
        let entry = match trouble {
            Trouble::Compact { keep } => {
                Some(Entry::Compact(self.truth.revision.saturating_sub(keep)))
            }
            Trouble::DeleteKey { nth } => {
                let nth = nth % self.truth.keys.len().max(1);
                let key = self.truth.keys.keys().nth(nth).cloned();
                key.map(|key| {
                    let then = vec![Act::Delete { key }];
                    Entry::Txn(Txn { when: Vec::new(), then, otherwise: Vec::new() })
                })
            }
            // From this write on, the key is on an operator's lease, which is never renewed.
            Trouble::Overwrite { nth } => {
                let nth = nth % self.truth.keys.len().max(1);
                self.truth.keys.keys().nth(nth).cloned().map(|key| {
                    let lease = LeaseId(OPERATORS + self.numbered.cast_signed());
                    self.commit(&Entry::Grant(lease, 2), Cause::Meddled, out);
                    let then = vec![Act::Put { key, value: MEDDLED.into(), lease }];
                    Entry::Txn(Txn { when: Vec::new(), then, otherwise: Vec::new() })
                })
            }
            Trouble::RevokeLease { nth } => {
                let nth = nth % self.truth.leases.len().max(1);
                self.truth.leases.keys().nth(nth).copied().map(Entry::Revoke)
            }
            _ => None,
        };
        if let Some(entry) = entry {
            self.commit(&entry, Cause::Meddled, out);
        }
    }

    /// Stops all members, gives them the last backup as their data, and starts them again. The
    /// cluster and the term stay, and the revision is older (ruling 8, E7).
    pub(super) fn restore(&mut self, until: u64, out: &mut Out) {
        let Some((state, term)) = self.backup.clone() else { return };
        for member in 0..MEMBERS {
            self.kill(member, out);
        }
        let reached = self.truth.revision;
        self.truth = state;
        if self.setting.focus == Focus::Bumped {
            self.truth.bump(reached + BUMP);
        }
        self.truth.full = false;
        self.base = self.index();
        self.log.clear();
        self.term = term.saturating_sub(1);
        self.leader = None;
        self.doomed.clear();
        self.streams.clear();
        for member in &mut self.members {
            member.state = self.truth.clone();
            member.applied = self.base;
            member.dead = member.dead.max(until);
            member.up = false;
            member.snapshot = 0;
        }
        let keys = self.truth.keys.values().cloned().collect();
        let leases = self.truth.leases.keys().copied().collect();
        tell(Note::Restored { keys, leases }, out);
    }
}
