//! Elections on etcd under the suite: three processes, and a small store with random answers.

use std::collections::BTreeMap;
use std::time::Duration;

use tenure_core::ElectionName;
use tenure_core::etcd::{
    Act, Answer, Bytes, CallId, Change, Checked, Command, Compare, Config, Etcd, Extra, Header,
    KeyValue, Keys, LeaseId, Message, Op, Pick, Read, Refusal, Reply, Request, Revision, Start,
    Store, Txn,
};

use tenure_testkit::Rng;
use tenure_testkit::contract::{Received, Subject};

mod cores {
    tenure_testkit::contract!(etcd, crate::contract::EtcdSubject);
}

struct EtcdSubject;

fn config() -> Checked {
    let lease = Duration::from_secs(1);
    let (grace, kill_margin) = (lease / 10, lease / 100);
    Config { lease, grace, kill_margin, elections: 4, ..Config::default() }.check().unwrap()
}

impl Subject for EtcdSubject {
    type Core = Etcd;
    type Store = SmallStore;

    const NODES: usize = 3;
    // A bound on the debug output, three times as long as this flood left.
    const DEBUG_BYTES_MAX: usize = 20_000;

    fn core(_: usize) -> Etcd {
        Etcd::new(config())
    }

    fn start(node: usize) -> Start {
        Start { seed: node as u64, lease: (node == 2).then_some(LeaseId(0x42)) }
    }

    fn elections() -> Vec<ElectionName> {
        ["x", "y", "z/1"].map(|name| name.parse().unwrap()).to_vec()
    }

    fn command(rng: &mut Rng) -> Command {
        let value = format!("v{}", rng.within(0..4)).parse().unwrap();
        match rng.within(0..12) {
            0..=6 => Command::Campaign { value, priority: 0 },
            7 => Command::Resign,
            8 => Command::Extra(Extra::Proclaim { value }),
            9 | 10 => Command::Observe { every: Duration::ZERO },
            _ => Command::Unobserve,
        }
    }

    fn hostile(rng: &mut Rng) -> (Store, Message) {
        if rng.once_in(50) {
            let (call, within) = (CallId(number(rng)), Duration::MAX);
            let op = Op::Unwatch { watch: CallId(number(rng)) };
            return (Store, Message::Request(Request { call, within, op }));
        }
        let call = CallId(if rng.once_in(4) { number(rng) } else { rng.within(0..300) });
        let header = (!rng.once_in(4)).then(|| header(rng));
        (Store, Message::Answer(Answer { call, header, reply: reply(rng) }))
    }

    fn send(
        store: &mut SmallStore,
        node: usize,
        _: &Store,
        message: &Message,
        rng: &mut Rng,
    ) -> Vec<(usize, Received<Self>)> {
        let Message::Request(request) = message else { return Vec::new() };
        let answers = store.serve(node, request, rng);
        let sent = |(node, answer)| (node, (Store, Message::Answer(answer)));
        answers.into_iter().map(sent).collect()
    }
}

/// A store that serves at once, and sometimes answers with an error or not at all.
#[derive(Default)]
pub(crate) struct SmallStore {
    revision: Revision,
    keys: BTreeMap<Bytes, KeyValue>,
    leases: Vec<LeaseId>,
    watches: BTreeMap<(usize, CallId), Keys>,
}

impl SmallStore {
    fn serve(&mut self, node: usize, request: &Request, rng: &mut Rng) -> Vec<(usize, Answer)> {
        let call = request.call;
        let mut answers = Vec::new();
        let reply = match &request.op {
            Op::Grant { lease, .. } if self.leases.contains(lease) => Reply::LeaseExists,
            Op::Grant { lease, ttl } => {
                self.leases.push(*lease);
                Reply::Granted { ttl: (*ttl).max(2) }
            }
            Op::KeepAlive { lease } => {
                let alive = *lease == LeaseId(0x42) || self.leases.contains(lease);
                Reply::Alive { ttl: alive.then_some(2) }
            }
            Op::Revoke { lease } => {
                self.leases.retain(|other| other != lease);
                let of_lease = self.keys.values().filter(|kv| kv.lease == Some(*lease));
                let keys: Vec<Bytes> = of_lease.map(|kv| kv.key.clone()).collect();
                self.revision += u64::from(!keys.is_empty());
                let gone = keys.into_iter().map(|key| self.delete(key));
                let gone = gone.collect();
                self.tell(gone, &mut answers);
                Reply::Revoked
            }
            Op::Txn(txn) => {
                let (reply, changes) = self.txn(txn);
                self.tell(changes, &mut answers);
                reply
            }
            Op::Watch { keys, .. } => {
                self.watches.insert((node, call), keys.clone());
                Reply::Watching
            }
            Op::Unwatch { watch } => {
                self.watches.remove(&(node, *watch));
                return answers;
            }
        };
        let header = Some(self.header());
        answers.push((
            node,
            match rng.within(0..12) {
                0 => return answers,
                1 => Answer { call, header: None, reply: unknown() },
                2 => Answer { call, header: None, reply: Reply::Refused(refusal(rng)) },
                _ => Answer { call, header, reply },
            },
        ));
        answers
    }

    fn header(&self) -> Header {
        Header { cluster: 1, member: 1, revision: self.revision, term: 1 }
    }

    fn delete(&mut self, key: Bytes) -> Change {
        self.keys.remove(&key);
        Change::Deleted { key, revision: self.revision }
    }

    fn txn(&mut self, txn: &Txn) -> (Reply, Vec<Change>) {
        let created = |key| self.keys.get(key).map_or(0, |kv: &KeyValue| kv.created);
        let lease = |key| self.keys.get(key).and_then(|kv: &KeyValue| kv.lease);
        let succeeded = txn.when.iter().all(|compare| match compare {
            Compare::Created { key, revision } => created(key) == *revision,
            Compare::Lease { key, lease: wanted } => lease(key) == Some(*wanted),
        });
        let acts = if succeeded { &txn.then } else { &txn.otherwise };
        let (mut found, mut changes) = (Vec::new(), Vec::new());
        if acts.iter().any(|act| !matches!(act, Act::Read(_))) {
            self.revision += 1;
        }
        for act in acts {
            match act {
                Act::Put { key, value, lease } => {
                    let created = self.keys.get(key).map_or(self.revision, |kv| kv.created);
                    let (key, value, lease) = (key.clone(), value.clone(), Some(*lease));
                    let kv = KeyValue { key, value, created, modified: self.revision, lease };
                    self.keys.insert(kv.key.clone(), kv.clone());
                    changes.push(Change::Put(kv));
                }
                Act::Move { key, .. } | Act::Proclaim { key, .. } => {
                    let Some(kv) = self.keys.get_mut(key) else { continue };
                    kv.modified = self.revision;
                    match act {
                        Act::Move { lease, .. } => kv.lease = Some(*lease),
                        Act::Proclaim { value, .. } => kv.value = value.clone(),
                        _ => {}
                    }
                    changes.push(Change::Put(kv.clone()));
                }
                Act::Delete { key } => changes.push(self.delete(key.clone())),
                Act::Read(Read { keys, pick, .. }) => {
                    let all = self.keys.values().filter(|kv| keys.contains(&kv.key));
                    found.push(match pick {
                        Pick::First => all.min_by_key(|kv| kv.created).cloned(),
                        Pick::LastUpTo(most) => {
                            let older = all.filter(|kv| kv.created <= *most);
                            older.max_by_key(|kv| kv.created).cloned()
                        }
                    });
                }
            }
        }
        (Reply::Txn { succeeded, found }, changes)
    }

    fn tell(&self, changes: Vec<Change>, answers: &mut Vec<(usize, Answer)>) {
        for ((node, call), keys) in &self.watches {
            let concerns = |change: &&Change| keys.contains(change.key());
            let told: Vec<Change> = changes.iter().filter(concerns).cloned().collect();
            if !told.is_empty() {
                let (call, header, reply) = (*call, Some(self.header()), Reply::Changed(told));
                answers.push((*node, Answer { call, header, reply }));
            }
        }
    }
}

fn unknown() -> Reply {
    Reply::Unknown { why: "connection reset".into() }
}

fn refusal(rng: &mut Rng) -> Refusal {
    let said = "no".into();
    match rng.within(0..12) {
        0 => Refusal::Denied { said },
        1 => Refusal::Unauthenticated { said },
        2..=6 => Refusal::NoSpace { said },
        _ => Refusal::Other { said },
    }
}

fn header(rng: &mut Rng) -> Header {
    let cluster = if rng.once_in(40) { number(rng) } else { 1 };
    Header { cluster, member: number(rng), revision: number(rng), term: rng.within(0..3) }
}

/// A small, a huge or any number.
fn number(rng: &mut Rng) -> u64 {
    match rng.within(0..5) {
        0 => 0,
        1 | 2 => rng.within(0..30),
        3 => u64::MAX - rng.within(0..3),
        _ => 1 << rng.within(0..64),
    }
}

fn ttl(rng: &mut Rng) -> u32 {
    [0, 1, 2, 10, u32::MAX][rng.within(0..5) as usize]
}

fn bytes(rng: &mut Rng) -> Bytes {
    match rng.within(0..4) {
        0 => "x/42".into(),
        1 => "y/1".into(),
        2 => Bytes::new(b""),
        _ => Bytes::new(&vec![0xff; rng.within(1..200) as usize]),
    }
}

fn key_value(rng: &mut Rng) -> KeyValue {
    KeyValue {
        key: bytes(rng),
        value: bytes(rng),
        created: number(rng),
        modified: number(rng),
        lease: rng.once_in(2).then(|| LeaseId(number(rng).cast_signed())),
    }
}

fn reply(rng: &mut Rng) -> Reply {
    match rng.within(0..13) {
        0 => Reply::Granted { ttl: ttl(rng) },
        1 => Reply::LeaseExists,
        2 => Reply::Alive { ttl: rng.once_in(2).then(|| ttl(rng)) },
        3 => Reply::Revoked,
        4 => Reply::LeaseGone,
        5..=7 => {
            let found = 0..rng.within(0..4);
            let found = found.map(|_| rng.once_in(2).then(|| key_value(rng))).collect();
            Reply::Txn { succeeded: rng.once_in(2), found }
        }
        8 => Reply::Watching,
        9 => {
            let changes = (0..rng.within(0..4)).map(|_| match rng.within(0..5) {
                0 => Change::TooLarge { key: bytes(rng), revision: number(rng) },
                1 | 2 => Change::Put(key_value(rng)),
                _ => Change::Deleted { key: bytes(rng), revision: number(rng) },
            });
            Reply::Changed(changes.collect())
        }
        10 => Reply::Compacted { revision: number(rng) },
        11 => Reply::Refused(refusal(rng)),
        _ => unknown(),
    }
}
