//! Changes of members, for which an operator asks the members over the network.
//!
//! A single member carries a change out, and reports its state each time it is asked. This module
//! asks another member only if the first member falls silent or has no vote. The first member may
//! still carry the change out. So a refusal by another member is final only if the latest members
//! do not show the change. A silent member may have begun a change: only the latest members show
//! whether it has.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tenure::{SystemError, clock};
use tenure_core::nerio::{
    self, ChangeError, ChangePhase, ChangeState, Checked, EpochId, HostPort, Member, MemberSet,
    Membership, Message, SeatChange, ToAsker,
};
use tenure_core::{NodeName, Text, Time};
use tokio::task::JoinSet;

use crate::asker::{Asker, Outcome};
use crate::keys::{Grant, Keys, Right};
pub use crate::latest_epoch::OldList;
use crate::latest_epoch::{self, FoundMembers};
use crate::orders::is_loopback;

/// Pause between two questions.
const LOOK: Duration = Duration::from_millis(100);

/// A change of members, with a random number by which members recognize repeated questions.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Change {
    what: SeatChange,
    quorums: Option<Text>,
    number: u64,
}

/// The end of a change.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Done {
    /// The change is made: a quorum of these members serves.
    Changed {
        members: Arc<Membership>,
        /// Number of the epoch with the change; `None` if members made other changes since, and the
        /// member that carried this change out has not named the epoch.
        epoch: Option<u64>,
    },
    /// The member `by` has cancelled its change.
    Cancelled { by: NodeName },
}

/// The reason why no member is asked.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Refusal {
    #[error(
        "the cluster has no keys, and {} is at {}, which other machines can reach: without keys \
         the members can change only if all of them, old and new, are on loopback",
        .member.name, .member.address
    )]
    Unsealed { member: Member },
    #[error("the key of application {grant} does not allow changes of members")]
    NoRight { grant: Grant },
    #[error("the change does not fit into a datagram of {max} bytes")]
    TooLong { max: usize },
}

/// The reason why a change failed, or why its outcome is unknown.
#[derive(Debug, thiserror::Error)]
pub enum ChangeFailure {
    #[error(transparent)]
    Refused(#[from] Refusal),
    #[error(transparent)]
    Io(#[from] io::Error),
    #[error("{why}")]
    Denied { by: NodeName, why: ChangeError },
    /// The operator of another command has ended the change.
    #[error("{by} has cancelled the change, as another command ordered")]
    Cancelled { by: NodeName },
    #[error(
        "another change was decided instead: epoch {} has the members {}",
        .members.id().number,
        list(.members.names())
    )]
    Superseded { members: Arc<Membership> },
    /// Members answer other questions, but not this one: they run an older version, or long
    /// datagrams are lost.
    #[error("{} answered other questions, but not this one", list(.members))]
    ElseOnly { members: Vec<NodeName> },
    #[error("these members run with another configuration: {}", list(.members))]
    Differ { members: Vec<NodeName> },
    /// The process asked no member for the change.
    #[error(transparent)]
    OldList(#[from] OldList),
    /// The process asked no member for the change, because no member answered a first question.
    #[error("these members did not answer a first question, so this process did not ask them for \
             the change: {}", list(.members))]
    Unheard { members: Vec<NodeName> },
    #[error("the time for the change is over, and its outcome is unknown")]
    Unknown(Box<Unfinished>),
}

/// All that is known of a change whose time is over. The change may still be carried out.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Unfinished {
    pub worker: Option<Worker>,
    /// The new members, if they are decided: a quorum of them has not served yet.
    pub decided: Option<Arc<Membership>>,
    /// Members that were silent. Each may have begun the change.
    pub silent: Vec<NodeName>,
    /// A member that does not carry the change out, and why.
    pub denied: Option<(NodeName, ChangeError)>,
}

/// The member that carries a change out, as far as it has said.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Worker {
    pub name: NodeName,
    pub phase: ChangePhase,
    /// Members that have not answered this member.
    pub waits_for: Vec<NodeName>,
}

impl Change {
    /// A change of one seat, with the quorum system of the new members in the form of
    /// [documents](nerio::Document::quorums). Fails when the system gives no random numbers.
    pub fn new(what: SeatChange, quorums: Option<Text>) -> Result<Self, SystemError> {
        let bytes = tenure::driver::random()?.to_le_bytes();
        let number = bytes.first_chunk().map_or(0, |first| u64::from_le_bytes(*first));
        Ok(Self { what, quorums, number })
    }

    fn question(&self, start: Time) -> nerio::Change {
        let Self { what, quorums, number } = self.clone();
        nerio::Change { start, number, what, quorums }
    }

    /// Whether `now` has the change, and `before` does not have it.
    fn is_seen(&self, before: &Membership, now: &Membership) -> bool {
        if now.id().number <= before.id().number {
            return false;
        }
        let instance = |one: &Membership, name| one.seat(name).map(|seat| seat.instance);
        match &self.what {
            SeatChange::Add { name, .. } => now.position(name).is_some(),
            SeatChange::Remove { name } => now.position(name).is_none(),
            // The change may give another host to a node that is a member already.
            SeatChange::Replace { name, instance: None, .. } => {
                now.position(name).is_some() && now.seat(name) != before.seat(name)
            }
            SeatChange::Replace { name, instance: wanted, .. } => {
                instance(now, name) == Some(*wanted)
            }
            SeatChange::Cancel => false,
        }
    }
}

/// Whether all hosts that the change names are loopback addresses.
pub(crate) fn has_near_hosts(what: &SeatChange) -> bool {
    far_host(what).is_none()
}

/// The first host of the change that other machines may reach.
fn far_host(what: &SeatChange) -> Option<&HostPort> {
    match what {
        SeatChange::Add { hosts, .. } | SeatChange::Replace { hosts, .. } => {
            hosts.iter().find(|host| !is_loopback(host))
        }
        SeatChange::Remove { .. } | SeatChange::Cancel => None,
    }
}

/// Checks whether a node with these keys may send the change. Without keys, all addresses in the
/// settings and in the change must be on loopback. [`change`] demands the same of the latest
/// members.
pub fn check(config: &Checked, keys: Option<&Keys>, what: &SeatChange) -> Result<(), Refusal> {
    let Some(keys) = keys else {
        let far = config.members.iter().find(|member| !is_loopback(&member.address)).cloned();
        let new = match (what, far_host(what)) {
            (SeatChange::Add { name, .. } | SeatChange::Replace { name, .. }, Some(address)) => {
                Some(Member { name: name.clone(), address: address.clone() })
            }
            _ => None,
        };
        return far.or(new).map_or(Ok(()), |member| Err(Refusal::Unsealed { member }));
    };
    match keys.application() {
        Some(grant) if !grant.rights.allow(Right::Members) => {
            Err(Refusal::NoRight { grant: grant.clone() })
        }
        _ => Ok(()),
    }
}

/// Asks a member to carry `change` out, from new sockets on `from`, and waits until a quorum of the
/// new members serves, for at most `limit`. Calls `silence` with the members once, if none of them
/// answers the first questions. If the future is dropped, the outcome is unknown.
pub async fn change(
    config: &Checked,
    keys: Option<&Keys>,
    from: SocketAddr,
    change: &Change,
    limit: Duration,
    silence: &(dyn Fn(&[NodeName]) + Sync),
) -> Result<Done, ChangeFailure> {
    check(config, keys, &change.what)?;
    if !change.question(Time::MAX).fits() {
        return Err(Refusal::TooLong { max: nerio::Change::BYTES_MAX }.into());
    }
    let until = clock::now().after(limit);
    let mut course = Course {
        config,
        keys,
        from,
        change,
        until,
        silence,
        latest: Arc::clone(config.membership()),
        before: None,
        known: Unfinished::default(),
        decided_in: None,
        has_begun: false,
    };
    match change.what {
        SeatChange::Cancel => course.cancel().await,
        _ => course.carry_out().await,
    }
}

struct Course<'a> {
    config: &'a Checked,
    keys: Option<&'a Keys>,
    from: SocketAddr,
    change: &'a Change,
    until: Time,
    silence: &'a (dyn Fn(&[NodeName]) + Sync),
    /// The latest membership that was found; at first that of the settings.
    latest: Arc<Membership>,
    /// The latest membership when this command began.
    before: Option<Arc<Membership>>,
    known: Unfinished,
    /// Number of the epoch with the change, once a member has named it.
    decided_in: Option<u64>,
    /// Whether a member may have begun the change, and has not reported its end.
    has_begun: bool,
}

enum Said {
    State(ChangeState),
    Silent,
    ElseOnly,
    Differs,
}

/// The result of questions to one member after the other.
enum Round {
    /// An epoch was decided, by this change or by another change.
    Decided(EpochId),
    Cancelled(NodeName),
    Denied(NodeName, ChangeError),
    /// No member that answers carries the change out.
    Nobody {
        else_only: Vec<NodeName>,
        differing: Vec<NodeName>,
    },
    Over,
}

impl Course<'_> {
    async fn carry_out(&mut self) -> Result<Done, ChangeFailure> {
        let mut found = self.meet().await?;
        loop {
            let now = Arc::clone(&found.membership);
            let before = Arc::clone(self.before.get_or_insert_with(|| Arc::clone(&now)));
            if self.change.is_seen(&before, &now) {
                return self.await_service(found).await;
            }
            match self.ask_all(found).await {
                Round::Decided(epoch) => return self.await_epoch(epoch).await,
                Round::Cancelled(by) => return Err(ChangeFailure::Cancelled { by }),
                Round::Denied(by, why) if !self.may_be_ours(&why) => {
                    return self.denied(by, why).await;
                }
                Round::Denied(..) => {}
                Round::Nobody { else_only, differing } => self.nobody(else_only, differing)?,
                Round::Over => return Err(self.unknown()),
            }
            tokio::time::sleep(LOOK).await;
            let Some(next) = self.find().await? else { return Err(self.unknown()) };
            found = next;
        }
    }

    /// The members of the latest epoch, once a member of the list has answered. Until then this
    /// process asks no member for the change, so the change cannot begin.
    async fn meet(&mut self) -> Result<FoundMembers, ChangeFailure> {
        let members = self.latest.names().to_vec();
        let mut is_told = false;
        loop {
            let Some(found) = self.find().await? else {
                return Err(ChangeFailure::Unheard { members });
            };
            match found.old_list {
                Some(old_list) => return Err(old_list.into()),
                None if found.is_heard => return Ok(found),
                None if is_told => {}
                None => (self.silence)(&members),
            }
            is_told = true;
            tokio::time::sleep(LOOK).await;
        }
    }

    /// Whether a member may refuse only because another member has begun this very change.
    fn may_be_ours(&self, why: &ChangeError) -> bool {
        let before = self.before.as_ref();
        let was_member =
            |name: &NodeName| before.is_some_and(|before| before.position(name).is_some());
        self.has_begun
            && match why {
                ChangeError::Deciding { .. } => true,
                ChangeError::Member { name } => !was_member(name),
                ChangeError::NotMember { name } => was_member(name),
                _ => false,
            }
    }

    /// The failure after a refusal, unless the latest members show the change.
    async fn denied(&mut self, by: NodeName, why: ChangeError) -> Result<Done, ChangeFailure> {
        if self.has_begun
            && let Some(found) = self.find().await?
            && let Some(before) = &self.before
            && self.change.is_seen(before, &found.membership)
        {
            return self.await_service(found).await;
        }
        Err(ChangeFailure::Denied { by, why })
    }

    /// The failure if each member has said that it does not carry the change out.
    fn nobody(
        &self,
        else_only: Vec<NodeName>,
        differing: Vec<NodeName>,
    ) -> Result<(), ChangeFailure> {
        if self.has_begun || !self.known.silent.is_empty() {
            return Ok(());
        }
        match self.known.denied.clone() {
            Some((by, why)) => Err(ChangeFailure::Denied { by, why }),
            None if else_only.is_empty() => Err(ChangeFailure::Differ { members: differing }),
            None => Err(ChangeFailure::ElseOnly { members: else_only }),
        }
    }

    /// Asks one member after the other, beginning with the member that carries the change out.
    async fn ask_all(&mut self, found: FoundMembers) -> Round {
        let FoundMembers { membership, mut seats, .. } = found;
        let epoch = membership.id().number;
        let worker = self.known.worker.as_ref().map(|worker| worker.name.clone());
        seats.sort_by_key(|(member, _)| Some(&member.name) != worker.as_ref());
        let (mut else_only, mut differing) = (Vec::new(), Vec::new());
        let (mut silent, mut denied) = (Vec::new(), None);
        for (member, mut asker) in seats {
            let begun = self.has_begun;
            let Some(said) = self.ask(&mut asker, &member).await else {
                // Keep the answers of an earlier round, which had more time.
                if self.known.silent.is_empty() {
                    self.known.silent = silent;
                }
                return Round::Over;
            };
            let by = member.name;
            match said {
                Said::State(ChangeState::Done { epoch }) => {
                    self.decided_in = Some(epoch.number);
                    return Round::Decided(epoch);
                }
                Said::State(ChangeState::Superseded { epoch }) => return Round::Decided(epoch),
                Said::State(ChangeState::Cancelled) => return Round::Cancelled(by),
                Said::State(ChangeState::Refused(why)) if asks_another(&why, epoch) => {
                    // This member may have begun the change, and has reported the end.
                    self.has_begun = begun;
                    denied.get_or_insert((by, why));
                }
                Said::State(ChangeState::Refused(why)) => return Round::Denied(by, why),
                Said::State(ChangeState::Working { .. }) => {}
                Said::Silent => {
                    self.has_begun = true;
                    silent.push(by);
                }
                Said::ElseOnly => else_only.push(by),
                Said::Differs => differing.push(by),
            }
        }
        (self.known.silent, self.known.denied) = (silent, denied);
        Round::Nobody { else_only, differing }
    }

    /// Asks a member again and again while it carries the change out; `None` when the time is over.
    async fn ask(&mut self, asker: &mut Asker, member: &Member) -> Option<Said> {
        // A member of another cluster would carry the change out in its cluster.
        self.in_time(asker.whereabouts(member)).await?;
        if asker.differs(&member.name) {
            return Some(Said::Differs);
        }
        loop {
            let said = self.in_time(one(asker, member, self.change)).await?;
            let Said::State(ChangeState::Working { phase, waits_for }) = said else {
                return Some(said);
            };
            self.has_begun = true;
            let name = member.name.clone();
            self.known.worker = Some(Worker { name, phase, waits_for });
            tokio::time::sleep(LOOK).await;
        }
    }

    /// Waits until the members name this epoch or a later epoch. If that epoch has the change,
    /// waits until a quorum of its members serves.
    async fn await_epoch(&mut self, epoch: EpochId) -> Result<Done, ChangeFailure> {
        loop {
            let Some(found) = self.find().await? else { return Err(self.unknown()) };
            let now = &found.membership;
            if now.id().number >= epoch.number {
                let is_seen = |before: &Arc<Membership>| self.change.is_seen(before, now);
                if self.before.as_ref().is_some_and(is_seen) {
                    return self.await_service(found).await;
                }
                let members = Arc::clone(now);
                return Err(ChangeFailure::Superseded { members });
            }
            tokio::time::sleep(LOOK).await;
        }
    }

    /// The number of `latest`, if that epoch directly follows the epoch in which this command
    /// began: then no other change was made meanwhile.
    fn next_epoch(&self, latest: &Membership) -> Option<u64> {
        let number = latest.id().number;
        self.before.as_ref().filter(|before| before.id().number + 1 == number).map(|_| number)
    }

    /// Waits until a quorum of the new members serves.
    async fn await_service(&mut self, mut found: FoundMembers) -> Result<Done, ChangeFailure> {
        loop {
            let membership = Arc::clone(&found.membership);
            self.known.decided = Some(Arc::clone(&membership));
            let serving = self.in_time(serving(found)).await.transpose()?;
            let Some(serving) = serving else { return Err(self.unknown()) };
            if membership.quorums().is_quorum(serving) {
                let epoch = self.decided_in.or_else(|| self.next_epoch(&membership));
                return Ok(Done::Changed { members: membership, epoch });
            }
            tokio::time::sleep(LOOK).await;
            let Some(next) = self.find().await? else { return Err(self.unknown()) };
            found = next;
        }
    }

    /// Asks each member to cancel the change that it carries out.
    async fn cancel(&mut self) -> Result<Done, ChangeFailure> {
        let found = self.meet().await?;
        let (mut ended, mut refused) = (None, None);
        let (mut else_only, mut differing) = (Vec::new(), Vec::new());
        for (member, mut asker) in found.seats {
            let Some(said) = self.ask(&mut asker, &member).await else {
                self.known.silent.push(member.name);
                break;
            };
            let by = member.name;
            match said {
                Said::State(ChangeState::Cancelled) => ended = Some(by),
                Said::State(ChangeState::Refused(ChangeError::NothingRuns)) => {
                    self.known.denied.get_or_insert((by, ChangeError::NothingRuns));
                }
                Said::State(ChangeState::Refused(why)) => refused = Some((by, why)),
                Said::State(_) => {}
                Said::Silent => self.known.silent.push(by),
                Said::ElseOnly => else_only.push(by),
                Said::Differs => differing.push(by),
            }
        }
        match (ended, refused) {
            (Some(by), _) => Ok(Done::Cancelled { by }),
            (None, Some((by, why))) if !asks_another(&why, 0) => {
                Err(ChangeFailure::Denied { by, why })
            }
            (None, refused) => {
                self.known.denied = self.known.denied.take().or(refused);
                self.nobody(else_only, differing)?;
                Err(self.unknown())
            }
        }
    }

    /// The members of the latest epoch; `None` when the time is over.
    async fn find(&mut self) -> Result<Option<FoundMembers>, ChangeFailure> {
        let found = latest_epoch::find_after(self.config, &self.latest, self.keys, self.from);
        let Some(found) = self.in_time(found).await.transpose()? else { return Ok(None) };
        self.latest = Arc::clone(&found.membership);
        let far = found.seats.iter().find(|(member, _)| !is_loopback(&member.address));
        match (self.keys, far) {
            (None, Some((member, _))) => {
                let member = member.clone();
                Err(Refusal::Unsealed { member }.into())
            }
            _ => Ok(Some(found)),
        }
    }

    async fn in_time<T>(&self, asked: impl Future<Output = T>) -> Option<T> {
        let left = self.until.since(clock::now());
        tokio::time::timeout(left, asked).await.ok()
    }

    fn unknown(&self) -> ChangeFailure {
        ChangeFailure::Unknown(Box::new(self.known.clone()))
    }
}

/// Whether to ask another member after this refusal: this member has no vote, has not entered the
/// epoch with this number yet, or does not find the new node at the host that its list names.
const fn asks_another(why: &ChangeError, epoch: u64) -> bool {
    match why {
        ChangeError::Outside | ChangeError::NoVote { .. } | ChangeError::Elsewhere { .. } => true,
        ChangeError::Deciding { next, .. } => *next <= epoch,
        _ => false,
    }
}

async fn one(asker: &mut Asker, member: &Member, change: &Change) -> Said {
    let start = clock::now();
    let (inc, number) = (asker.inc(), change.number);
    let question = Message::from(change.question(start));
    let read = |message| match message {
        Message::Asker(ToAsker::Changed(changed))
            if (changed.asker, changed.start, changed.number) == (inc, start, number) =>
        {
            Some(changed.state)
        }
        _ => None,
    };
    // If the system cannot send to a member, treat the member as silent.
    match asker.ask_new(member, &question, None, read).await {
        Ok(Outcome::Answer(_, state)) => Said::State(state),
        Ok(Outcome::ElseOnly) => Said::ElseOnly,
        Ok(Outcome::Nothing) | Err(_) if asker.differs(&member.name) => Said::Differs,
        Ok(Outcome::Nothing) | Err(_) => Said::Silent,
    }
}

/// The members that serve in the epoch that was found.
async fn serving(found: FoundMembers) -> io::Result<MemberSet> {
    let FoundMembers { membership, seats, .. } = found;
    let epoch = membership.id();
    let mut asked = JoinSet::new();
    for (member, mut asker) in seats {
        asked.spawn(async move {
            let at = asker.whereabouts(&member).await;
            at.is_some_and(|at| at.serves && at.epoch == epoch).then_some(member.name)
        });
    }
    let mut serving = MemberSet::EMPTY;
    while let Some(name) = asked.join_next().await {
        let name = name.map_err(io::Error::other)?;
        let seat = name.and_then(|name| membership.position(&name));
        serving = serving.or(seat.into_iter().collect());
    }
    Ok(serving)
}

fn list(names: &[NodeName]) -> String {
    let names: Vec<_> = names.iter().map(NodeName::as_str).collect();
    names.join(", ")
}

#[cfg(test)]
mod tests;
