//! The course of one election: arrivals and departures.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use etcd_client::Client;
use tenure::clock;
use tenure_services::etcd::{Cluster, Version};
use tenure_testkit::Rng;

use crate::history::{History, Key};
use crate::observers::Observers;
use crate::participant::{Fate, Kind, Participant};
use crate::verdict;

/// The election that changes hands.
const ELECTION: &str = "company";
/// A candidate in the middle of the queue quits at least once in this number of reigns.
const REIGNS_FOR_A_QUITTER: usize = 5;
/// The number of contenders at a time.
const CONTENDERS: usize = 7;
/// The longest wait for a step. Some steps wait until a dead candidate's lease ends.
const PATIENCE: Duration = Duration::from_secs(60);
/// The longest time of an election, below nextest's limit, which would end the test without a
/// report.
const LIMIT: Duration = Duration::from_secs(480);
const BETWEEN_LOOKS: Duration = Duration::from_millis(5);

/// Runs the election on etcd `version` to its end, and judges its history.
pub(crate) fn meet(version: Version, seed: u64) {
    let cluster = Cluster::start(version, 1).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let course = async {
        let mut company = Company::open(&cluster, seed).await;
        company.hold().await;
        company.dissolve().await;
        company.close().await;
    };
    let over = runtime.block_on(async { tokio::time::timeout(LIMIT, course).await });
    assert!(over.is_ok(), "not over after {LIMIT:?}");
}

struct Company<'a> {
    cluster: &'a Cluster,
    rng: Rng,
    history: History,
    observers: Observers,
    contenders: Vec<Participant>,
    departed: Vec<Participant>,
    /// Values of the leaders that reported their leadership, in order.
    reigns: Vec<String>,
    led: BTreeSet<Kind>,
    /// The number of candidates that were ordered to quit while others waited before and behind
    /// them.
    quitters: usize,
}

impl<'a> Company<'a> {
    async fn open(cluster: &'a Cluster, seed: u64) -> Self {
        let history = History::follow(cluster.member(0).endpoint(), ELECTION).await;
        Self {
            cluster,
            rng: Rng::new(seed),
            history,
            observers: Observers::start(cluster, ELECTION),
            contenders: Vec::new(),
            departed: Vec::new(),
            reigns: Vec::new(),
            led: BTreeSet::new(),
            quitters: 0,
        }
    }

    async fn hold(&mut self) {
        let is_long = std::env::var_os("TESTS_LONG").is_some();
        let hand_overs = if is_long { 50 } else { 20 };
        while self.reigns.len() <= hand_overs {
            while self.contenders.len() < CONTENDERS {
                self.join();
            }
            let leader = self.settled().await;
            if self.quitters < self.reigns.len() / REIGNS_FOR_A_QUITTER {
                self.one_quits().await;
            }
            self.some_depart(leader);
        }
    }

    /// Ends all processes without starting others, and asserts that no key is left.
    async fn dissolve(&mut self) {
        while !self.contenders.is_empty() {
            let leader = self.settled().await;
            self.some_depart(leader);
        }
        self.wait("the last one is gone", |company| {
            company.history.queue().is_empty()
                && company.observers.is_vacant()
                && company.departed.iter().all(Participant::has_ended)
        })
        .await;
    }

    async fn close(self) {
        let Self { cluster, history, observers, departed, reigns, quitters, .. } = self;
        let told = observers.told();
        let fences = observers.fences();
        observers.close().await;
        verdict::on_history(&history.all(), &departed);
        verdict::on_variety(&history.all(), &history.leaders(), &departed);
        verdict::on_leaders(&history.leaders(), &departed);
        verdict::on_observers(&history.leaders(), &told, &fences);
        verdict::on_what_is_left(cluster, ELECTION, &history.all(), &departed).await;
        let mut kinds = BTreeMap::<_, usize>::new();
        departed.iter().for_each(|one| *kinds.entry((one.kind, one.fate)).or_default() += 1);
        println!(
            "{}: {} hand-overs; {quitters} of {} told to quit in the middle; {kinds:?}",
            cluster.version(),
            reigns.len() - 1,
            departed.len(),
        );
    }

    fn join(&mut self) {
        let nth = self.contenders.len() + self.departed.len();
        let kind = *self.rng.pick(&Kind::ALL);
        let dies = kind != Kind::Etcdctl && self.rng.once_in(5);
        let fate = if dies { Fate::Dies } else { Fate::Leaves };
        self.contenders.push(Participant::join(self.cluster, ELECTION, nth, kind, fate));
    }

    /// Waits until the first candidate in etcd reports its leadership, and all observers agree;
    /// returns its key.
    async fn settled(&mut self) -> Key {
        let mut found = None;
        self.wait("a leader that everybody knows", |company| {
            let Some(first) = company.history.queue().into_iter().next() else { return false };
            let is_first = |one: &&mut Participant| one.value == first.value;
            let leader = company.contenders.iter_mut().find(is_first);
            let settled = leader.is_some_and(Participant::look)
                && company.observers.agree_on(&first.key)
                // Read the history last, so that no other candidate can have come in between.
                && company.history.queue().first() == Some(&first);
            found = settled.then_some(first);
            settled
        })
        .await;
        let leader = found.unwrap();
        if self.reigns.last() != Some(&leader.value) {
            self.reigns.push(leader.value.clone());
            let its = |one: &&Participant| one.value == leader.value;
            self.led.insert(self.contenders.iter().find(its).unwrap().kind);
        }
        leader
    }

    /// Lets a candidate in the middle of the queue leave, once all candidates are in it. Returns
    /// when its key is gone.
    async fn one_quits(&mut self) {
        self.wait("everybody is in the queue", |company| {
            let queue = company.queue();
            company.contenders.iter().all(|one| queue.contains(&one.value))
        })
        .await;
        let queue = self.queue();
        // An etcdctl that does not know of its key yet does not quit.
        let may = |one: &Participant| {
            one.is_ready() && self.may_quit(one) && is_in_the_middle(&queue, &one.value)
        };
        let those: Vec<_> =
            (0..self.contenders.len()).filter(|nth| may(&self.contenders[*nth])).collect();
        if those.is_empty() {
            return;
        }
        let mut one = self.contenders.remove(*self.rng.pick(&those));
        one.depart();
        self.quitters += 1;
        let value = one.value.clone();
        self.departed.push(one);
        self.wait("who quit is gone", |company| !company.queue().contains(&value)).await;
    }

    /// Whether a candidate of this kind may quit. A candidate quits only after one of its kind has
    /// led, so that each kind leads with any seed.
    fn may_quit(&self, one: &Participant) -> bool {
        self.led.contains(&one.kind)
    }

    /// The values in the queue, the leader's first.
    fn queue(&self) -> Vec<String> {
        self.history.queue().into_iter().map(|key| key.value).collect()
    }

    /// Lets the leader depart in most cases, and sometimes some waiting candidates, in any order.
    fn some_depart(&mut self, leader: Key) {
        let goes = !self.rng.once_in(4);
        let waiting = self.queue();
        let mut departing = Vec::new();
        let mut staying = Vec::new();
        for one in std::mem::take(&mut self.contenders) {
            let departs = if one.value == leader.value {
                goes
            } else {
                // etcdctl leaves its key behind if it is interrupted before it knows of the key, or
                // between its win and its report.
                let may = match one.kind {
                    Kind::Ours | Kind::Go => one.is_ready(),
                    Kind::Etcdctl => !goes && waiting.contains(&one.value),
                };
                let quits = may && self.may_quit(&one) && self.rng.once_in(8);
                self.quitters += usize::from(quits && is_in_the_middle(&waiting, &one.value));
                quits
            };
            if departs { departing.push(one) } else { staying.push(one) }
        }
        self.contenders = staying;
        self.rng.shuffle(&mut departing);
        departing.iter_mut().for_each(Participant::depart);
        self.departed.append(&mut departing);
    }

    async fn wait(&mut self, what: &str, mut holds: impl FnMut(&mut Self) -> bool) {
        let limit = clock::now().after(PATIENCE);
        while !holds(self) {
            assert!(clock::now() < limit, "not within {PATIENCE:?}: {what}\n{}", self.situation());
            tokio::time::sleep(BETWEEN_LOOKS).await;
        }
    }

    fn situation(&self) -> String {
        let queue = self.history.queue();
        let told = self.observers.told().map(|(who, told)| (who, told.last().cloned()));
        let said = |one: &Participant| {
            let end = if one.has_ended() { " (ended)" } else { "" };
            format!("{}{end}: {:?}\n", one.value, one.said())
        };
        let here: String = self.contenders.iter().map(said).collect();
        let gone: String = self.departed.iter().rev().take(CONTENDERS).map(said).collect();
        format!("queue: {queue:#?}\ntold: {told:#?}\nhere:\n{here}departed last:\n{gone}")
    }
}

/// Whether the candidate has others before and behind it in the queue.
fn is_in_the_middle(queue: &[String], value: &str) -> bool {
    queue.iter().position(|one| one == value).is_some_and(|nth| 0 < nth && nth + 1 < queue.len())
}

/// A client that reads etcd directly.
pub(crate) async fn client(cluster: &Cluster) -> Client {
    Client::connect([cluster.member(0).endpoint()], None).await.unwrap()
}
