//! A core, and an etcd that answers as the story wants.

use std::time::Duration;

use tenure_core::etcd::{
    Act, Answer, Bytes, CallId, Change, Command, Compare, Config, Etcd, Extra, Header, KeyValue,
    Keys, LeaseId, Message, Op, Read, Refusal, Reply, Request, Revision, Start, Store, Txn,
};
use tenure_core::{Effect, Input, Protocol, Standing, Time, Value};

pub(crate) use tenure_testkit::stage::{ms, name};

/// etcd reports changes by itself, so an observer needs no interval.
pub(crate) const OBSERVE: Command = Command::Observe { every: Duration::ZERO };

/// A core, and the requests for which it waits.
#[derive(Clone)]
pub(crate) struct Stage {
    pub(crate) core: Etcd,
    pub(crate) now: Time,
    /// Requests without an answer, the latest last.
    pub(crate) open: Vec<Request>,
    /// All effects since the story last took them.
    pub(crate) done: Vec<Effect<tenure_core::etcd::Words>>,
    /// The header of the next answer.
    pub(crate) header: Header,
}

fn value(value: &str) -> Value {
    value.parse().unwrap()
}

/// Leases of ten seconds, and clocks that drift by a thousandth.
pub(crate) fn config() -> Config {
    Config::default()
}

impl Stage {
    pub(crate) fn new() -> Self {
        Self::with(config(), None)
    }

    pub(crate) fn with(config: Config, lease: Option<LeaseId>) -> Self {
        Self::begin(config, Start { seed: 7, lease })
    }

    pub(crate) fn seeded(seed: u64) -> Self {
        Self::begin(config(), Start { seed, lease: None })
    }

    fn begin(config: Config, start: Start) -> Self {
        let core = Etcd::new(config.check().unwrap());
        let header = Header { cluster: 1, member: 1, revision: 10, term: 2 };
        let now = Time::from_nanos(1_000_000_000_000);
        let mut stage = Self { core, now, open: Vec::new(), done: Vec::new(), header };
        stage.hand(Input::Start(start));
        stage
    }

    /// A stage whose core leads the election, and the revision of its key.
    pub(crate) fn led(election: &str) -> (Self, Revision) {
        let mut stage = Self::new();
        let created = stage.elect(election);
        (stage, created)
    }

    /// A stage whose core waits for another candidate of the election, the revision of the core's
    /// key, and the other candidate's key.
    pub(crate) fn queued(election: &str) -> (Self, Revision, KeyValue) {
        let mut stage = Self::new();
        let (created, other) = stage.queue(election);
        (stage, created, other)
    }

    fn hand(&mut self, input: Input<tenure_core::etcd::Words>) {
        let mut effects = Vec::new();
        self.core.handle(self.now, input, &mut effects);
        for effect in &effects {
            if let Effect::Send { message: Message::Request(request), .. } = effect {
                if let Op::Unwatch { watch } = request.op {
                    self.open.retain(|open| open.call != watch);
                } else {
                    self.open.push(request.clone());
                }
            }
        }
        self.done.extend(effects);
    }

    pub(crate) fn command(&mut self, election: &str, command: Command) {
        self.hand(Input::Command { election: name(election), command });
    }

    pub(crate) fn campaign(&mut self, election: &str) {
        self.command(election, Command::Campaign { value: value("v"), priority: 0 });
        self.establish();
    }

    /// Answers each read that shows the term of etcd.
    pub(crate) fn establish(&mut self) {
        let is_probe = |request: &&Request| {
            let text = text(request);
            text.starts_with("read ") && text.ends_with('/')
        };
        while let Some(probe) = self.open.iter().find(is_probe) {
            let call = probe.call;
            self.say(call, so(vec![None]));
        }
    }

    pub(crate) fn proclaim(&mut self, election: &str, text: &str) {
        self.command(election, Command::Extra(Extra::Proclaim { value: value(text) }));
    }

    /// Time passes, and timers go off when they are due.
    pub(crate) fn pass(&mut self, span: Duration) {
        let until = self.now.after(span);
        for _ in 0..10_000 {
            let Some(deadline) = self.core.deadline().filter(|due| due.at <= until) else {
                self.now = until;
                return;
            };
            self.now = self.now.max(deadline.at);
            self.hand(Input::Timeout);
        }
        panic!("a deadline stays in the past: {:?}", self.core.deadline());
    }

    /// Time passes without timers: the process is stopped.
    pub(crate) fn sleep(&mut self, span: Duration) {
        self.now = self.now.after(span);
    }

    /// The latest request that begins like this.
    pub(crate) fn asked(&self, like: &str) -> Request {
        let found = self.open.iter().rev().find(|request| text(request).starts_with(like));
        found.unwrap_or_else(|| panic!("no request {like:?} in {:#?}", self.requests())).clone()
    }

    pub(crate) fn requests(&self) -> Vec<String> {
        self.open.iter().map(text).collect()
    }

    /// Whether a request that begins like this has no answer yet.
    pub(crate) fn asks(&self, like: &str) -> bool {
        self.requests().iter().any(|request| request.starts_with(like))
    }

    /// Answers the latest request that begins like this.
    pub(crate) fn answer(&mut self, like: &str, reply: Reply) {
        let call = self.asked(like).call;
        self.say(call, reply);
    }

    /// Answers a call. A watch stays open until its end.
    pub(crate) fn say(&mut self, call: CallId, reply: Reply) {
        let reply = self.branch(call, reply);
        if !matches!(reply, Reply::Watching | Reply::Changed(_)) {
            self.open.retain(|open| open.call != call);
        }
        let header = match &reply {
            Reply::Unknown { .. } | Reply::Refused(_) => None,
            _ => Some(self.header),
        };
        let message = Message::Answer(Answer { call, header, reply });
        self.hand(Input::Message { from: Store, message });
    }

    /// Decides which branch an answered transaction took. Stories give only the reads. For a
    /// confirmation these are the reads of its keys; for a query of the queue, the first key with
    /// its lease, and the key before the candidate's.
    fn branch(&self, call: CallId, reply: Reply) -> Reply {
        let asked = self.open.iter().find(|open| open.call == call);
        let witness = asked.and_then(|asked| witness(&asked.op));
        let looks = asked.and_then(|asked| looks(&asked.op));
        match (reply, witness) {
            (Reply::Txn { succeeded: true, found }, None)
                if looks.is_some() && found.len() == 2 =>
            {
                let own = |kv: &&KeyValue| looks.is_some_and(|(key, _)| kv.key == *key);
                let own = found[0].as_ref().filter(own).cloned();
                match own.filter(|own| looks.is_some_and(|(_, lease)| own.lease != Some(lease))) {
                    Some(own) => Reply::Txn { succeeded: false, found: vec![Some(own)] },
                    None => Reply::Txn { succeeded: true, found },
                }
            }
            (Reply::Txn { mut found, .. }, Some(nth)) => {
                let succeeded = found[nth].is_none();
                if succeeded {
                    found.remove(nth);
                }
                Reply::Txn { succeeded, found }
            }
            (reply, _) => reply,
        }
    }

    /// The latest watch of this key reports changes.
    pub(crate) fn changed(&mut self, watch: &str, changes: Vec<Change>) {
        self.answer(&format!("watch {watch}"), Reply::Changed(changes));
    }

    /// A call has no certain outcome.
    pub(crate) fn lose(&mut self, like: &str) {
        self.answer(like, Reply::Unknown { why: "connection reset".into() });
    }

    /// Answers a transaction that has written, and returns its revision.
    pub(crate) fn write(&mut self, like: &str) -> Revision {
        self.header.revision += 1;
        self.answer(like, so(vec![]));
        self.header.revision
    }

    /// A campaign begins, with a lease if it needs one, and makes its key.
    pub(crate) fn create(&mut self, election: &str) -> Revision {
        self.campaign(election);
        if self.asks("grant") {
            self.answer("grant", Reply::Granted { ttl: 10 });
        }
        self.write(&format!("if create({election}/"))
    }

    /// A query of the queue finds the candidate's key, and no key before it.
    pub(crate) fn is_first(&mut self, election: &str, created: Revision) {
        let own = self.own(election, created);
        self.answer(&format!("if create({election}/"), so(vec![Some(own), None]));
    }

    /// The lease is granted, the key made, and the candidate is the first.
    pub(crate) fn elect(&mut self, election: &str) -> Revision {
        let created = self.create(election);
        self.lead(election, created)
    }

    /// Makes a candidate the first in this number of elections, as [`elect`](Self::elect) does.
    pub(crate) fn elect_all(&mut self, elections: usize) -> Vec<Revision> {
        (0..elections).map(|nth| self.elect(&nth_name(nth))).collect()
    }

    /// A campaign that has begun gets a lease and its key, and is the first.
    pub(crate) fn elect_again(&mut self, election: &str) -> Revision {
        self.establish();
        self.answer("grant", Reply::Granted { ttl: 10 });
        self.elect_next(election)
    }

    /// A campaign makes its key, and is the first.
    pub(crate) fn elect_next(&mut self, election: &str) -> Revision {
        let created = self.write(&format!("if create({election}/"));
        self.lead(election, created)
    }

    fn lead(&mut self, election: &str, created: Revision) -> Revision {
        self.is_first(election, created);
        assert!(self.leads(election), "{:#?}", self.told());
        self.done.clear();
        created
    }

    pub(crate) fn queue(&mut self, election: &str) -> (Revision, KeyValue) {
        let created = self.create(election);
        let other = self.other(election, created - 1);
        let both = vec![Some(other.clone()), Some(other.clone())];
        self.answer(&format!("if create({election}/"), so(both));
        self.done.clear();
        (created, other)
    }

    pub(crate) fn open_watches(&mut self) {
        let is_watch = |request: &&Request| matches!(request.op, Op::Watch { .. });
        let watches: Vec<_> = self.open.iter().filter(is_watch).map(|watch| watch.call).collect();
        watches.into_iter().for_each(|watch| self.say(watch, Reply::Watching));
    }

    /// A candidate whose create had no certain outcome leaves, and finds no key of its own.
    pub(crate) fn leave_in_doubt(&mut self, election: &str) {
        let about_its_key = format!("if create({election}/");
        self.campaign(election);
        self.lose(&about_its_key);
        self.command(election, Command::Resign);
        self.answer(&about_its_key, so(vec![None]));
    }

    /// An observer that has read the leader, and watches.
    pub(crate) fn observe(&mut self, election: &str, leader: Option<&KeyValue>) {
        self.command(election, OBSERVE);
        self.answer(&format!("read {election}/*"), so(vec![leader.cloned()]));
        self.answer(&format!("watch {election}/*"), Reply::Watching);
    }

    /// A third of the lease passes, and its keep-alive is answered.
    pub(crate) fn keep_alive(&mut self) {
        self.pass(ms(3_400));
        self.answer("keep", Reply::Alive { ttl: Some(10) });
    }

    /// The confirmation finds the candidate's key.
    pub(crate) fn confirm(&mut self, election: &str, created: Revision) {
        let own = self.own(election, created);
        self.answer(&format!("read {election}/"), so(vec![Some(own)]));
    }

    /// A keep-alive and its confirmation succeed.
    pub(crate) fn renew(&mut self, election: &str, created: Revision) {
        self.answer("keep", Reply::Alive { ttl: Some(10) });
        self.confirm(election, created);
    }

    /// As [`renew`](Self::renew), if a keep-alive is under way.
    pub(crate) fn renew_if_due(&mut self, election: &str, created: Revision) {
        if self.asks("keep") {
            self.renew(election, created);
        }
    }

    pub(crate) fn lease(&self) -> LeaseId {
        self.core.lease().unwrap()
    }

    /// The candidate's key in an election.
    pub(crate) fn key(&self, election: &str) -> Bytes {
        let name = self.core.names_keys().unwrap();
        format!("{election}/{name}").as_str().into()
    }

    pub(crate) fn own(&self, election: &str, created: Revision) -> KeyValue {
        let (key, lease) = (self.key(election), Some(self.lease()));
        KeyValue { key, value: "v".into(), created, modified: created, lease }
    }

    /// The candidate's keys in the elections of these numbers.
    pub(crate) fn owns(
        &self,
        created: &[Revision],
        which: impl Iterator<Item = usize>,
    ) -> Vec<Option<KeyValue>> {
        which.map(|nth| Some(self.own(&nth_name(nth), created[nth]))).collect()
    }

    /// A key of another candidate.
    pub(crate) fn other(&self, election: &str, created: Revision) -> KeyValue {
        let key = format!("{election}/77").as_str().into();
        let (value, lease) = ("other".into(), Some(LeaseId(0x77)));
        KeyValue { key, value, created, modified: created, lease }
    }

    pub(crate) fn leads(&self, election: &str) -> bool {
        self.core.standing(&name(election), self.now) != Standing::NotLeading
    }

    pub(crate) fn until(&self, election: &str) -> Time {
        match self.core.standing(&name(election), self.now) {
            Standing::Leading { until, .. } => until,
            Standing::NotLeading => panic!("it does not lead: {:#?}", self.told()),
        }
    }

    /// All effects since the last call, one line each.
    pub(crate) fn told(&self) -> Vec<String> {
        self.done.iter().map(ToString::to_string).collect()
    }

    /// The place of a line with these words among the effects.
    pub(crate) fn position(&self, words: &str) -> usize {
        let told = self.told();
        let found = told.iter().position(|line| line.contains(words));
        found.unwrap_or_else(|| panic!("no {words:?} in {told:#?}"))
    }

    pub(crate) fn has_told(&self, words: &str) -> bool {
        self.told().iter().any(|line| line.contains(words))
    }
}

/// The text of a request; for a confirmation, the text of its reads.
fn text(request: &Request) -> String {
    match &request.op {
        Op::Txn(txn) if witness(&request.op).is_some() => {
            let (when, then) = (Vec::new(), txn.otherwise.clone());
            Op::Txn(Txn { when, then, otherwise: Vec::new() }).to_string()
        }
        op => op.to_string(),
    }
}

/// The candidate's key in a query of the queue, and the expected lease of that key.
fn looks(op: &Op) -> Option<(&Bytes, LeaseId)> {
    let Op::Txn(Txn { when, then, .. }) = op else { return None };
    match (&when[..], &then[..]) {
        (
            [Compare::Created { .. }, Compare::Lease { key, lease }],
            [Act::Read(_), Act::Read(_)],
        ) => Some((key, *lease)),
        _ => None,
    }
}

/// The key that a confirmation would delete if it were not there.
fn witness(op: &Op) -> Option<usize> {
    let Op::Txn(Txn { when, then, otherwise }) = op else { return None };
    let ([Compare::Created { key, revision: 0 }], Some(Act::Delete { key: deleted })) =
        (&when[..], then.first())
    else {
        return None;
    };
    assert_eq!(key, deleted, "only what is not there may be deleted");
    let is_it =
        |act: &Act| matches!(act, Act::Read(Read { keys: Keys::One(one), .. }) if one == key);
    otherwise.iter().position(is_it)
}

/// The name of an election in an ordered set of many.
fn nth_name(nth: usize) -> String {
    format!("e{nth:02}")
}

/// The refusal of a missing right.
pub(crate) fn denied() -> Reply {
    Reply::Refused(Refusal::Denied { said: "etcdserver: permission denied".into() })
}

/// A transaction that took its first branch.
pub(crate) fn so(found: Vec<Option<KeyValue>>) -> Reply {
    Reply::Txn { succeeded: true, found }
}

/// A transaction that took its second branch.
pub(crate) fn not_so(found: Vec<Option<KeyValue>>) -> Reply {
    Reply::Txn { succeeded: false, found }
}

pub(crate) fn deleted(key: &Bytes, revision: Revision) -> Change {
    Change::Deleted { key: key.clone(), revision }
}

/// The keys that a transaction would write.
pub(crate) fn puts(request: &Request) -> Vec<&Bytes> {
    let Op::Txn(txn) = &request.op else { return Vec::new() };
    let mut values = Vec::new();
    for act in &txn.then {
        if let Act::Put { value, .. } | Act::Proclaim { value, .. } = act {
            values.push(value);
        }
    }
    values
}
