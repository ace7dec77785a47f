//! etcd as a model: three members, each with a prefix of one log applied; leases that the leader
//! times on its own clock; watches; and the faults of all that.
//!
//! A single node of the world houses all members, and its clock shows true time. The model has no
//! consensus messages: an entry is in the log at the instant at which a leader with a quorum takes
//! it. Clients see the effects of real consensus: members that lag, leaders that do not know that
//! they are deposed, requests that hang, and requests that are carried out without an answer.

mod late;
mod lessor;
pub mod note;
mod raft;
mod rare;
mod serve;
pub mod state;
mod streams;

use std::collections::{BTreeMap, VecDeque};

use tenure_core::etcd::{Answer, Bytes, CallId, Change, Header, LeaseId, Reply, Request, Revision};
use tenure_core::{Effect, Input, Time};

use self::note::{Cause, Note};
use self::state::{Entry, State};
use self::streams::{Stream, StreamId};
use super::focus::Focus;
use super::packet::{Order, Packet, Place, Report};
use super::words::{Out, Words};
use crate::rng::mix;

/// The number of members.
pub const MEMBERS: usize = 3;
/// The id of the cluster.
const CLUSTER: u64 = 0xc1;
/// A millisecond, in nanoseconds.
const MS: u64 = 1_000_000;
/// The interval at which open streams send signs of life.
pub(super) const BEAT: u64 = 500 * MS;

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Setting {
    pub seed: u64,
    /// Clock rate of each member, in units of [`crate::world::clock::TRUE_RATE`].
    pub rates: [u64; MEMBERS],
    /// The longest delay of a lease's revocation.
    pub late: u64,
    /// Whether many foreign leases end together, so that a cut-off leader has not proposed all
    /// revocations when it is deposed.
    pub crowded: bool,
    /// Whether a renewal during a revocation is answered as if the renewal counted (before 3.5.23).
    pub racing: bool,
    /// Whether a leader that was stuck revokes nothing when it goes on (after etcd#16822).
    pub fixed: bool,
    /// Leases from the beginning, with their seconds.
    pub given: Vec<(LeaseId, u32)>,
    /// The longest delay of any step within etcd.
    pub latency: u64,
    /// The largest number of operations in a transaction.
    pub operations: usize,
    /// Revision of the empty store.
    pub revision: Revision,
    /// Whether a member that missed an election and many entries gets a snapshot.
    pub snapshots: bool,
    pub focus: Focus,
    /// End of all faults, in true time.
    pub mended: u64,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
struct Member {
    state: State,
    /// Number of applied log entries.
    applied: u64,
    term: u64,
    /// Term in the member's answers: the term of its last applied entry. A snapshot does not change
    /// this term.
    named: u64,
    /// Length of the log that the member gets as a snapshot.
    snapshot: u64,
    /// The member that this member believes to lead.
    leader: Option<usize>,
    /// Whether the member believes that it leads.
    leads: bool,
    /// End of each lease, according to this member as leader.
    expiry: BTreeMap<LeaseId, u64>,
    /// End of each fault: cut off, down, stuck on its disk, slow.
    cut: u64,
    dead: u64,
    stuck: u64,
    slow: u64,
    /// End of the suspension of the member's process.
    stopped: u64,
    /// Number of starts of the member.
    start: u64,
    /// Whether the member took part when this was last checked.
    up: bool,
    /// Time since which the member knows no leader.
    lonely: Option<u64>,
}

/// A request in service.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Ask {
    node: usize,
    life: u64,
    member: usize,
    arrived: u64,
    /// Whether the client still waits for the answer.
    awaited: bool,
    request: Request,
}

/// A request that is answered once its member has applied the log up to `index`.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct PendingReply {
    ask: Ask,
    index: u64,
    /// The answer to a write; `None` for a read, which is answered from the member's state.
    reply: Option<(Reply, Revision)>,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
enum Task {
    Serve(Ask),
    GiveUp {
        node: usize,
        life: u64,
        call: CallId,
    },
    Renew {
        ask: Ask,
        header: Header,
        leader: usize,
        lease: LeaseId,
    },
    Expire {
        member: usize,
        lease: LeaseId,
    },
    /// A member's pending revocation.
    Propose {
        member: usize,
        start: u64,
        lease: LeaseId,
        until: u64,
    },
    Revoke {
        lease: LeaseId,
        term: u64,
    },
    Apply {
        member: usize,
    },
    Elect,
    StepDown {
        member: usize,
        term: u64,
    },
    Doubt {
        member: usize,
    },
    Unstick {
        member: usize,
    },
    Settle,
    NotFull,
    /// The stranger writes its own value into keys.
    Argue,
    /// The stranger makes all keys with this prefix anew.
    PutBack(Bytes),
    Beat,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Cluster {
    setting: Setting,
    now: u64,
    truth: State,
    /// Log entries that some member has not applied. All members have applied the first `base`
    /// entries.
    log: VecDeque<Entry>,
    base: u64,
    members: [Member; MEMBERS],
    term: u64,
    /// Leader with a quorum.
    leader: Option<usize>,
    electing: bool,
    agenda: BTreeMap<(u64, u64), Task>,
    numbered: u64,
    hung: Vec<Ask>,
    /// Number of each node's grants in a row that etcd did not answer.
    unanswered: BTreeMap<usize, u32>,
    waiting: Vec<PendingReply>,
    streams: BTreeMap<StreamId, Stream>,
    /// Ended leases, each with whether its revocation is under way.
    doomed: BTreeMap<LeaseId, bool>,
    denied: BTreeMap<usize, u64>,
    /// End of the time in which a stranger writes values.
    argued: u64,
    backup: Option<(State, u64)>,
}

impl Cluster {
    #[must_use]
    pub fn new(setting: Setting) -> Self {
        let mut truth = State::default();
        truth.revision = setting.revision;
        let member = Member { state: truth.clone(), ..Member::default() };
        Self {
            setting,
            now: 0,
            truth,
            log: VecDeque::new(),
            base: 0,
            members: std::array::from_fn(|_| member.clone()),
            term: 1,
            leader: None,
            electing: false,
            agenda: BTreeMap::new(),
            numbered: 0,
            hung: Vec::new(),
            unanswered: BTreeMap::new(),
            waiting: Vec::new(),
            streams: BTreeMap::new(),
            doomed: BTreeMap::new(),
            denied: BTreeMap::new(),
            argued: 0,
            backup: None,
        }
    }

    /// The time of the next task.
    pub(super) fn due(&self) -> Option<Time> {
        self.agenda.first_key_value().map(|((at, _), _)| Time::from_nanos(*at))
    }

    pub(super) fn handle(&mut self, now: Time, input: Input<Words>, out: &mut Out) {
        self.now = self.now.max(now.as_nanos());
        match input {
            Input::Start(_) => self.start(out),
            Input::Message { from, message: Packet::Ask { life, member, request } } => {
                let arrived = self.now;
                let awaited = true;
                let ask = Ask { node: from.0, life, member, arrived, awaited, request };
                self.receive(ask, out);
            }
            Input::Command { command: Order::Trouble(trouble), .. } => self.trouble(trouble, out),
            Input::Timeout => {
                while let Some(entry) = self.agenda.first_entry()
                    && entry.key().0 <= self.now
                {
                    let task = entry.remove();
                    self.work(task, out);
                }
            }
            _ => {}
        }
    }

    fn start(&mut self, out: &mut Out) {
        self.settle(out);
        self.elect(out);
        for (lease, ttl) in self.setting.given.clone() {
            self.commit(&Entry::Grant(lease, ttl), Cause::Meddled, out);
        }
        self.plan(0, Task::Beat);
    }

    fn work(&mut self, task: Task, out: &mut Out) {
        match task {
            Task::Serve(ask) => self.serve(ask, out),
            Task::GiveUp { node, life, call } => self.give_up(node, life, call, out),
            Task::Renew { ask, header, leader, lease } => {
                self.renew(&ask, header, leader, lease, out);
            }
            Task::Expire { member, lease } => self.expire(member, lease),
            Task::Propose { member, start, lease, until } => {
                self.propose(member, start, lease, until, out);
            }
            Task::Revoke { lease, term } => self.revoke_expired(lease, term, out),
            Task::Apply { member } => self.catch_up(member, out),
            Task::Elect => {
                self.electing = false;
                if self.leader.is_none() && self.taking_part() > MEMBERS / 2 {
                    self.elect(out);
                }
            }
            Task::StepDown { member, term } => self.step_down(member, term),
            Task::Doubt { member } => self.doubt(member),
            Task::Unstick { member } => self.unstick(member, out),
            Task::Settle => self.settle(out),
            Task::NotFull if self.leader.is_none() => self.plan(BEAT, Task::NotFull),
            Task::NotFull => {
                self.commit(&Entry::Full(false), Cause::Meddled, out);
            }
            Task::Argue => self.argue(out),
            Task::PutBack(prefix) => self.put_back(&prefix, out),
            Task::Beat => {
                self.beat(out);
                self.plan(BEAT, Task::Beat);
            }
        }
    }

    fn plan(&mut self, after: u64, task: Task) {
        self.numbered += 1;
        self.agenda.insert((self.now + after, self.numbered), task);
    }

    /// A random number for one purpose.
    const fn draw(&self, purpose: u64, about: u64) -> u64 {
        mix(self.setting.seed ^ mix(purpose ^ mix(about)))
    }

    /// A random span below `bound` for one purpose.
    const fn span(&self, purpose: u64, about: u64, bound: u64) -> u64 {
        if bound == 0 { 0 } else { self.draw(purpose, about) % bound }
    }

    /// Appends an entry by a leader with a quorum, and applies it at once.
    fn commit(&mut self, entry: &Entry, cause: Cause, out: &mut Out) -> (Reply, Revision) {
        let before = self.truth.revision;
        let reply = self.truth.apply(entry);
        self.log.push_back(entry.clone());
        for (_, changes) in self.truth.since(before + 1) {
            for change in changes {
                let note = match change {
                    Change::Put(kv) => Note::Put(kv.clone()),
                    Change::Deleted { key, .. } => Note::Gone { key: key.clone(), cause },
                    // Only a client makes this change, from an event above its limit.
                    Change::TooLarge { .. } => continue,
                };
                tell(note, out);
            }
        }
        match (entry.deed(), &reply) {
            (Entry::Grant(lease, ttl), Reply::Granted { .. }) => self.begin(*lease, *ttl, out),
            (Entry::Revoke(lease), Reply::Revoked) => {
                self.doomed.remove(lease);
                tell(Note::LeaseOver { lease: *lease, cause }, out);
            }
            _ => {}
        }
        let revision = self.truth.revision;
        self.spread(out);
        self.forget_history(revision > before, out);
        (reply, revision)
    }

    /// The length of the log.
    fn index(&self) -> u64 {
        self.base + self.log.len() as u64
    }

    /// Lets the leader apply all entries; the others follow.
    fn spread(&mut self, out: &mut Out) {
        let index = self.index();
        for member in 0..MEMBERS {
            if self.leader == Some(member) {
                self.catch_up(member, out);
            } else if self.takes_part(member) {
                let slow = self.members[member].slow > self.now;
                let bound = if slow { 2_000 * MS } else { self.setting.latency };
                let lag = self.span(1 + member as u64, index, bound);
                self.plan(lag, Task::Apply { member });
            }
        }
    }

    /// Lets a member apply the available entries, if it can; answers and events follow.
    fn catch_up(&mut self, member: usize, out: &mut Out) {
        if self.leader.is_none() || !self.takes_part(member) {
            return;
        }
        let index = self.index();
        while self.members[member].applied < index {
            let this = &mut self.members[member];
            let entry = &self.log[(this.applied - self.base) as usize];
            let before = this.state.revision;
            this.state.apply(entry);
            this.applied += 1;
            if this.applied > this.snapshot {
                this.named = this.term;
            }
            if this.state.revision > before {
                self.pour(member, before + 1, out);
            }
        }
        let least = self.members.iter().map(|member| member.applied).min().unwrap_or(0);
        while self.base < least {
            self.log.pop_front();
            self.base += 1;
        }
        self.answer_waiting(member, out);
    }

    /// The header of a member's answers.
    fn header(&self, member: usize) -> Header {
        let this = &self.members[member];
        let revision = this.state.revision;
        let term = this.named;
        Header { cluster: CLUSTER, member: member as u64 + 1, revision, term }
    }
}

/// Sends a note to the checks.
fn tell(note: Note, out: &mut Out) {
    out.push(Effect::Emit { election: None, event: Report::Store(note) });
}

fn answer(ask: &Ask, header: Option<Header>, reply: Reply, out: &mut Out) {
    if ask.awaited {
        let answer = Answer { call: ask.request.call, header, reply };
        let message = Packet::Tell { life: ask.life, answer, nth: None };
        out.push(Effect::Send { to: Place(ask.node), message });
    }
}

/// An error with an uncertain outcome.
fn unknown(why: &str) -> Reply {
    Reply::Unknown { why: why.into() }
}
