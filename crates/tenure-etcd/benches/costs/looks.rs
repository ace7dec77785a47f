//! Costs of a waiting candidate to etcd, in queues of two lengths.

use std::time::Duration;

use etcd_client::{Client, Compare, CompareOp, GetOptions, Txn, TxnOp};
use tenure::clock;
use tenure_etcd::Node;
use tenure_services::etcd::Cluster;
use tokio::task::JoinSet;

use crate::stage::{self, Party};
use crate::target::Targets;
use crate::{Result, bare};

/// How many keys there are before those that are measured.
const QUEUES: [usize; 2] = [1_000, 5_000];
/// How many candidates wait behind them, each with a session of its own.
const WAITERS: usize = 100;
/// Ours by default. A look comes every 10 to 11.25 s.
const LEASE: Duration = Duration::from_secs(10);
/// Requests under way at once while the queue is filled.
const AT_ONCE: usize = 50;

/// Processor time of etcd for one request of each kind.
struct Requests {
    bare: Duration,
    narrow: Duration,
    whole: Duration,
}

pub(crate) async fn measure(quick: bool, targets: &mut Targets) -> Result<()> {
    let mut waiting = Vec::new();
    for queue in QUEUES {
        let cluster = stage::start()?;
        let mut client = Party::start(&cluster).await?.client;
        fill(&client, queue).await?;
        println!("looks: a queue of {queue} keys; processor time of etcd");
        let Requests { bare, narrow, whole } =
            requests(&cluster, &mut client, queue, quick).await?;
        println!("  one key is read:                        {bare:>9.1?}");
        println!("  a look at the own key and the one before: {narrow:>7.1?}");
        println!("  a look at the whole queue:              {whole:>9.1?}");
        let ratio = |one: Duration| one.as_secs_f64() / bare.as_secs_f64();
        println!("  the whole queue to one key: {:.1}", ratio(whole));
        targets.at_most(&format!("a look to one key, of {queue}"), ratio(narrow), 2.0, "");
        waiting.push(waiters(&cluster, quick).await?);
    }
    let grown = waiting[1].as_secs_f64() / waiting[0].as_secs_f64();
    targets.at_most("a candidate that waits, 5,000 before it to 1,000", grown, 1.5, "");
    Ok(())
}

/// Keys of one lease, one created after the other.
async fn fill(client: &Client, queue: usize) -> Result<()> {
    let lease = bare::grant(&mut client.clone()).await?;
    let mut puts = JoinSet::new();
    for number in 0..queue {
        if puts.len() >= AT_ONCE {
            puts.join_next().await.ok_or("nothing is put")???;
        }
        let mut client = client.clone();
        puts.spawn(async move { bare::put(&mut client, &key(number), lease).await });
    }
    while let Some(put) = puts.join_next().await {
        put??;
    }
    Ok(())
}

fn key(number: usize) -> String {
    format!("queue/{number:05}")
}

async fn requests(
    cluster: &Cluster,
    client: &mut Client,
    queue: usize,
    quick: bool,
) -> Result<Requests> {
    let (many, few) = if quick { (500, 10) } else { (2_000, 40) };
    let own = key(queue / 2);
    let before = key(queue / 2 - 1);
    let mut created = Vec::new();
    for key in [&own, &before] {
        let found = client.get(key.as_str(), None).await?;
        created.push(found.kvs().first().ok_or("a key is missing")?.create_revision());
    }
    let is = |key: &str, created| Compare::create_revision(key, CompareOp::Equal, created);
    let read = TxnOp::get(own.as_str(), None);
    let narrow = Txn::new()
        .when([is(&own, created[0]), is(&before, created[1])])
        .and_then([read.clone()])
        .or_else([read]);
    let whole = bare::sure(&own, created[0], "queue/", GetOptions::with_keys_only);
    let started = used(cluster)?;
    for _ in 0..many {
        client.get(own.as_str(), None).await?;
    }
    let read = used(cluster)?;
    for _ in 0..many {
        client.txn(narrow.clone()).await?;
    }
    let looked = used(cluster)?;
    for _ in 0..few {
        client.txn(whole.clone()).await?;
    }
    let done = used(cluster)?;
    let bare = (read - started) / many;
    let narrow = (looked - read) / many;
    let whole = (done - looked) / few;
    Ok(Requests { bare, narrow, whole })
}

/// Processor time of etcd a second for each of ours that waits, beside a session that only keeps
/// its lease alive and watches a key, as the recipe has it.
async fn waiters(cluster: &Cluster, quick: bool) -> Result<Duration> {
    let window = if quick { LEASE * 2 } else { LEASE * 6 };
    let idle = rate(cluster, window / 4).await?;
    let mut sessions = Vec::new();
    for _ in 0..WAITERS {
        sessions.push(session(cluster).await?);
    }
    let bare = rate(cluster, window).await?.saturating_sub(idle);
    drop(sessions);
    let mut nodes = Vec::new();
    let mut campaigns = JoinSet::new();
    for _ in 0..WAITERS {
        let node: Node = stage::node(cluster, LEASE)?;
        let election = node.election("queue")?;
        campaigns.spawn(async move { election.campaign("10.0.0.7:8080").await.map(drop) });
        nodes.push(node);
    }
    // All wait, and the next looks are spread.
    tokio::time::sleep(LEASE * 2).await;
    let ours = rate(cluster, window).await?.saturating_sub(idle);
    if let Some(won) = campaigns.try_join_next() {
        return Err(format!("who should wait is done: {won:?}").into());
    }
    let each = |all: Duration| all / u32::try_from(WAITERS).unwrap_or(1);
    println!(
        "  {WAITERS} candidates wait behind them, over {window:?}: {:.1?} a second each; a session \
         with a watch {:.1?}, ratio {:.1}; etcd for itself {idle:.1?} a second",
        each(ours),
        each(bare),
        ours.as_secs_f64() / bare.as_secs_f64(),
    );
    campaigns.abort_all();
    let mut closing = JoinSet::new();
    for node in nodes {
        closing.spawn(async move { node.close().await });
    }
    closing.join_all().await;
    Ok(each(ours))
}

/// How much processor time etcd takes in a second.
async fn rate(cluster: &Cluster, window: Duration) -> Result<Duration> {
    let began = clock::now();
    let before = used(cluster)?;
    tokio::time::sleep(window).await;
    let used = used(cluster)?.saturating_sub(before);
    Ok(used.div_f64(clock::now().since(began).as_secs_f64()))
}

/// A lease that is kept alive every third of it, and a watch on a key. Ends when it is dropped.
async fn session(cluster: &Cluster) -> Result<JoinSet<()>> {
    let mut client = Party::start(cluster).await?.client;
    let lease = client.lease_grant(LEASE.as_secs().cast_signed(), None).await?.id();
    let (mut keeper, mut answers) = client.lease_keep_alive(lease).await?;
    let mut stream = bare::stream(&mut client).await?;
    bare::watch(&mut stream, &key(0), 0).await?;
    let mut tasks = JoinSet::new();
    tasks.spawn(async move {
        let _open = stream;
        let mut third = tokio::time::interval(LEASE / 3);
        loop {
            third.tick().await;
            if keeper.keep_alive().await.is_err() || answers.message().await.is_err() {
                return;
            }
        }
    });
    Ok(tasks)
}

/// Processor time of all threads of etcd.
pub(crate) fn used(cluster: &Cluster) -> Result<Duration> {
    let pid = cluster.member(0).pid().ok_or("etcd has ended")?;
    let mut used = 0;
    for thread in std::fs::read_dir(format!("/proc/{pid}/task"))? {
        // A thread that has just ended is not counted.
        if let Ok(told) = std::fs::read_to_string(thread?.path().join("schedstat")) {
            used += told.split_whitespace().next().ok_or("an empty line")?.parse::<u64>()?;
        }
    }
    Ok(Duration::from_nanos(used))
}
