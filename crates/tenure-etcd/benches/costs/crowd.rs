//! The cost for etcd of real candidates that wait in one election, as many as 5,000.
//!
//! Each candidate has a session, a thread and a connection of its own, because the lease is a part
//! of a key's name. Several processes share the candidates, as a single process may not have enough
//! file descriptors.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use tenure::clock;
use tenure_etcd::Node;
use tenure_services::etcd::Cluster;
use tokio::task::JoinSet;

use crate::stage::{self, Party};
use crate::target::Targets;
use crate::{Result, bare};

/// Numbers of waiting candidates.
const CROWDS: [usize; 2] = [1_000, 5_000];
/// The most candidates of one process, with five file descriptors each.
const TOGETHER: usize = 1_000;
/// The most candidates that start at once in one process.
const AT_ONCE: usize = 10;
/// Length of each candidate's lease. With the default of 10 s, the renewals of all candidates would
/// need two cores of etcd.
const LEASE: Duration = Duration::from_secs(60);
/// The first argument of a process of candidates. The endpoint and the number of candidates follow.
pub(crate) const MEMBER: &str = "--crowd";

struct Cost {
    messages: f64,
    time: Duration,
}

pub(crate) async fn measure(quick: bool, targets: &mut Targets) -> Result<()> {
    let mut costs = Vec::new();
    for crowd in CROWDS.map(|crowd| if quick { crowd / 10 } else { crowd }) {
        let cluster = stage::start()?;
        let mut client = Party::start(&cluster).await?.client;
        let idle = taken(&cluster, LEASE / 6).await?;
        let began = clock::now();
        let mut members = Vec::new();
        for from in (0..crowd).step_by(TOGETHER) {
            members.push(Members::start(&cluster, TOGETHER.min(crowd - from))?);
        }
        for members in &mut members {
            members.ready()?;
        }
        let came = clock::now().since(began);
        // All candidates wait now: every request from here on is a renewal.
        tokio::time::sleep(LEASE / 3).await;
        bare::count(&mut client, "queue/", i64::try_from(crowd)?).await?;
        let all = taken(&cluster, LEASE).await?;
        bare::count(&mut client, "queue/", i64::try_from(crowd)?).await?;
        let each = all.time.saturating_sub(idle.time) / u32::try_from(crowd)?;
        println!(
            "crowd: {crowd} candidates in one election, leases of {LEASE:?}, came within \
             {came:.0?}; over {LEASE:?}:\n  etcd gets {:.0} messages a second, and takes {:.1} % \
             of a core, {each:.1?} a second for each; before them {:.0} and {:.1} %",
            all.messages,
            all.time.as_secs_f64() * 100.0,
            idle.messages,
            idle.time.as_secs_f64() * 100.0,
        );
        costs.push(each);
    }
    let grown = costs[1].as_secs_f64() / costs[0].as_secs_f64();
    targets.at_most("one of the larger crowd to one of the smaller", grown, 1.5, "");
    Ok(())
}

/// A process of candidates. The candidates end with the process, and their keys end with their
/// leases.
struct Members(Child);

impl Members {
    fn start(cluster: &Cluster, number: usize) -> Result<Self> {
        let mut command = Command::new(std::env::current_exe()?);
        command.args(["--bench", MEMBER, cluster.member(0).endpoint(), &number.to_string()]);
        Ok(Self(command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?))
    }

    fn ready(&mut self) -> Result<()> {
        let mut said = String::new();
        BufReader::new(self.0.stdout.as_mut().ok_or("no output")?).read_line(&mut said)?;
        if said.is_empty() { Err("who should wait has ended".into()) } else { Ok(()) }
    }
}

impl Drop for Members {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Runs the candidates of this process until its standard input ends.
pub(crate) async fn wait(endpoint: &str, number: usize) -> Result<()> {
    let mut nodes = Vec::new();
    let mut campaigns = JoinSet::new();
    while nodes.len() < number {
        let more = AT_ONCE.min(number - nodes.len());
        let first = nodes.len();
        for _ in 0..more {
            let node = stage::node_at(endpoint, LEASE)?;
            let election = node.election("queue")?;
            campaigns.spawn(async move { election.campaign("10.0.0.7:8080").await });
            nodes.push(node);
        }
        for node in &nodes[first..] {
            while !is_queued(node).await? {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        }
    }
    println!("all wait");
    // The first candidate leads until the process ends.
    let held = tokio::spawn(async move { campaigns.join_all().await });
    tokio::task::spawn_blocking(|| std::io::stdin().read_to_end(&mut Vec::new())).await??;
    held.abort();
    Ok(())
}

/// Whether the candidate watches a key: the key before its own, or its own key if it leads.
async fn is_queued(node: &Node) -> Result<bool> {
    let counters = node.counters().await.ok_or("a node is closed")?;
    Ok(counters.requests.get("watch").is_some_and(|watches| *watches > 0))
}

/// Measures the requests that etcd gets in a second, and their cost.
async fn taken(cluster: &Cluster, window: Duration) -> Result<Cost> {
    let began = clock::now();
    let messages = messages(cluster)?;
    let time = used(cluster)?;
    tokio::time::sleep(window).await;
    let seconds = clock::now().since(began).as_secs_f64();
    let time = used(cluster)?.saturating_sub(time).div_f64(seconds);
    Ok(Cost { messages: (self::messages(cluster)? - messages) / seconds, time })
}

/// Messages of clients by etcd's own count: calls, and messages on streams.
fn messages(cluster: &Cluster) -> Result<f64> {
    let mut messages = 0.0;
    for line in metrics(cluster)?.lines() {
        if line.starts_with("grpc_server_msg_received_total{") {
            messages +=
                line.split_whitespace().next_back().ok_or("an empty line")?.parse::<f64>()?;
        }
    }
    Ok(messages)
}

pub(crate) fn metrics(cluster: &Cluster) -> Result<String> {
    let endpoint = cluster.member(0).endpoint().trim_start_matches("http://");
    let mut stream = TcpStream::connect(endpoint)?;
    write!(stream, "GET /metrics HTTP/1.0\r\n\r\n")?;
    let mut metrics = String::new();
    stream.read_to_string(&mut metrics)?;
    Ok(metrics)
}

/// Processor time of all threads of etcd.
fn used(cluster: &Cluster) -> Result<Duration> {
    let pid = cluster.member(0).pid().ok_or("etcd has ended")?;
    let mut used = 0;
    for thread in std::fs::read_dir(format!("/proc/{pid}/task"))? {
        // A thread that has just ended has no such file, and is not counted.
        if let Ok(told) = std::fs::read_to_string(thread?.path().join("schedstat")) {
            used += told.split_whitespace().next().ok_or("an empty line")?.parse::<u64>()?;
        }
    }
    Ok(Duration::from_nanos(used))
}
