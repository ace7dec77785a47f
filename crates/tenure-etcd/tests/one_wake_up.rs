//! A hundred candidates wait in one election, with `TESTS_LONG` a thousand, each with a lease, a
//! connection and a watch of its own: one departure wakes one of them at most. Our nodes and etcd
//! itself count.

#![expect(clippy::unwrap_used, reason = "it is a test")]

mod common;

use std::iter;
use std::time::Duration;

use etcd_client::{Client, GetOptions, SortOrder, SortTarget};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tenure::{AtMostOne, CampaignError, Leadership, Waiting};
use tenure_etcd::{CheckedOptions, Node};
use tenure_services::etcd::{Cluster, Version};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::task::JoinHandle;

use crate::common::{all, is_late, node, run, soon};

fn waiters() -> usize {
    if std::env::var_os("TESTS_LONG").is_some() { 1_000 } else { 100 }
}

/// How many of them come at once.
const AT_ONCE: usize = 50;
/// In seconds: nothing is renewed and nobody looks again by the clock while this runs.
const LEASE: u64 = 3_600;
const ELECTION: &str = "queue";
/// Long enough for whoever was woken besides to ask its question.
const QUIET: Duration = Duration::from_millis(500);

tenure_services::on_each_version!(one_wake_up);

fn one_wake_up(version: Version) {
    more_files();
    let cluster = Cluster::start(version, 1).unwrap();
    run(async {
        let mut queue = Queue::fill(&cluster).await;
        // The leader, several times.
        for _ in 0..5 {
            let gone = queue.take(0);
            let next = queue.lines[0].number;
            queue.departs(gone, Some(next)).await;
            assert!(queue.lines[0].leads().await, "{version}");
        }
        // From the middle: whoever stood behind looks, and goes on to wait.
        for nth in [1, waiters() / 2, waiters() - 20] {
            let gone = queue.take(nth);
            let next = queue.lines[nth].number;
            queue.departs(gone, Some(next)).await;
            assert!(!queue.lines[nth].campaign.is_finished(), "{version}");
        }
        // The last one: nobody stood behind.
        let gone = queue.take(queue.lines.len() - 1);
        queue.departs(gone, None).await;
        assert!(queue.lines[0].leads().await, "{version}");
        queue.dissolve().await;
    });
}

/// Candidates in the queue.
struct Line {
    number: usize,
    node: Node,
    campaign: Campaign,
    leadership: Option<Leadership<AtMostOne>>,
}

type Campaign = JoinHandle<Result<Leadership<AtMostOne>, CampaignError>>;

impl Line {
    /// Begins to campaign; returns when its key is there and it has won or waits.
    async fn stand(options: CheckedOptions, number: usize) -> Self {
        let node = node(&options, LEASE);
        let campaign = node.election(ELECTION).unwrap().campaign(&number.to_string());
        let mut waits = campaign.waiting();
        let campaign = tokio::spawn(campaign);
        while number > 0 && !matches!(waits.next().await, Some(Waiting::Behind { .. })) {}
        Self { number, node, campaign, leadership: None }
    }

    async fn leads(&mut self) -> bool {
        if self.leadership.is_none() {
            self.leadership = Some(soon(&mut self.campaign).await.unwrap().unwrap());
        }
        self.leadership.as_ref().is_some_and(|leadership| leadership.is_current())
    }
}

struct Queue {
    client: Client,
    /// Where etcd tells what it counts.
    address: String,
    /// In the order of their keys; the first leads.
    lines: Vec<Line>,
}

impl Queue {
    async fn fill(cluster: &Cluster) -> Self {
        let endpoint = cluster.member(0).endpoint();
        let client = Client::connect([endpoint], None).await.unwrap();
        let address = endpoint.trim_start_matches("http://").to_owned();
        let mut lines = vec![Line::stand(all(cluster), 0).await];
        assert!(lines[0].leads().await);
        while lines.len() <= waiters() {
            let next = lines.len()..(lines.len() + AT_ONCE).min(waiters() + 1);
            let standing = next.map(|number| Line::stand(all(cluster), number));
            lines.extend(all_of(standing).await);
        }
        let mut queue = Self { client, address, lines };
        let order = queue.stored().await;
        queue.lines.sort_by_key(|line| order.iter().position(|number| *number == line.number));
        queue
    }

    /// Holders of keys, in the order of the keys.
    async fn stored(&mut self) -> Vec<usize> {
        let options = GetOptions::new().with_prefix();
        let options = options.with_sort(SortTarget::Create, SortOrder::Ascend);
        let found = soon(self.client.get(format!("{ELECTION}/"), Some(options))).await.unwrap();
        found.kvs().iter().map(|kv| kv.value_str().unwrap().parse().unwrap()).collect()
    }

    fn take(&mut self, nth: usize) -> Line {
        self.lines.remove(nth)
    }

    /// A candidate leaves; only `woken` asks anything because of that, and it asks once. A node
    /// repeats a call that had no answer in time, and then nothing is compared.
    async fn departs(&mut self, gone: Line, woken: Option<usize>) {
        let (before, unknown) = self.transactions().await;
        let counted = self.counted().await;
        let mut notices = gone.node.notices();
        gone.campaign.abort();
        drop(gone.leadership);
        soon(gone.node.close()).await;
        soon(async {
            while woken.is_some() && self.asked_since(&before).await.is_empty() {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        })
        .await;
        tokio::time::sleep(QUIET).await;
        let asked = self.asked_since(&before).await;
        let counted = self.counted().await - counted;
        let late = iter::from_fn(|| notices.try_recv().ok()).any(|notice| is_late(&notice));
        if !late && self.transactions().await.1 == unknown {
            let expected = Vec::from_iter(woken.map(|number| (number, 1)));
            let some = &asked[..asked.len().min(10)];
            assert!(asked == expected, "{expected:?} was to ask, {} did: {some:?}", asked.len());
            // And the one that deleted the key.
            let all = 1 + u64::from(woken.is_some());
            assert_eq!(counted, all, "{} departed", gone.number);
        }
        let order: Vec<_> = self.lines.iter().map(|line| line.number).collect();
        assert_eq!(self.stored().await, order);
    }

    /// How many transactions each has sent, and how many calls of all had no answer in time.
    async fn transactions(&self) -> (Vec<u64>, u64) {
        let mut counts = Vec::new();
        let mut unknown = 0;
        for line in &self.lines {
            let counters = soon(line.node.counters()).await.unwrap();
            counts.push(counters.requests.get("txn").copied().unwrap_or(0));
            unknown += counters.unknown;
        }
        (counts, unknown)
    }

    /// Requests of each candidate beyond `before`.
    async fn asked_since(&self, before: &[u64]) -> Vec<(usize, u64)> {
        let (now, _) = self.transactions().await;
        let numbers = self.lines.iter().map(|line| line.number);
        let more = numbers.zip(now.iter().zip(before).map(|(now, before)| now - before));
        more.filter(|(_, more)| *more > 0).collect()
    }

    /// How many transactions etcd was asked for.
    async fn counted(&self) -> u64 {
        let mut stream = TcpStream::connect(&self.address).await.unwrap();
        let request = format!("GET /metrics HTTP/1.0\r\nHost: {}\r\n\r\n", self.address);
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut said = String::new();
        soon(stream.read_to_string(&mut said)).await.unwrap();
        let is_it = |line: &&str| {
            line.starts_with("grpc_server_started_total{") && line.contains("grpc_method=\"Txn\"")
        };
        let line = said.lines().find(is_it).unwrap();
        line.rsplit(' ').next().unwrap().parse().unwrap()
    }

    /// All leave, those behind first, so that nobody leads on the way.
    async fn dissolve(mut self) {
        for line in &self.lines {
            line.campaign.abort();
        }
        while !self.lines.is_empty() {
            let last = self.lines.split_off(self.lines.len().saturating_sub(AT_ONCE));
            let close = async |line: Line| {
                drop(line.leadership);
                line.node.close().await;
            };
            all_of(last.into_iter().map(close)).await;
        }
        soon(async {
            while !self.stored().await.is_empty()
                || !self.client.leases().await.unwrap().leases().is_empty()
            {
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        })
        .await;
    }
}

/// Does each of them at once, and waits for all.
async fn all_of<F>(futures: impl Iterator<Item = F>) -> Vec<F::Output>
where
    F: Future<Output: Send + 'static> + Send + 'static,
{
    let (tasks, mut done): (Vec<_>, Vec<_>) = (futures.map(tokio::spawn).collect(), vec![]);
    for task in tasks {
        done.push(soon(task).await.unwrap());
    }
    done
}

/// As many as the system lets us have, for etcd, too. A node needs about six.
fn more_files() {
    let limit = getrlimit(Resource::Nofile);
    let files = 16 * waiters() as u64;
    if limit.current.is_none_or(|current| current >= files) {
        return;
    }
    let wanted = limit.maximum.map_or(files, |maximum| maximum.min(files));
    assert!(wanted >= files / 2, "so many nodes need {files} open files: raise `ulimit -Hn`");
    setrlimit(Resource::Nofile, Rlimit { current: Some(wanted), ..limit }).unwrap();
}
