//! What one member of three does when the other two stand still.

use std::thread;
use std::time::Duration;

use etcd_client::{
    Compare, CompareOp, ConnectOptions, Error as EtcdError, GetOptions, Txn, TxnOp, TxnOpResponse,
};
use tenure_services::etcd::{Cluster, ClusterConfig, Member, Version};

use crate::stage::{Fact, Stage, connect, connect_with, now, outcome, silent, words};
use tenure_testkit::facts::Expected::{Always, Each};
use tenure_testkit::facts::{Failure, Seen, fact};

pub(crate) const FACTS: &[Fact] = &[
    fact!(
        transaction_without_operations,
        Always("succeeded on stale data"),
        "With 2 of 3 members stopped, a transaction without operations succeeds from stale data."
    ),
    fact!(
        serializable_transaction,
        Always("succeeded on stale data, read old"),
        "With 2 of 3 members stopped, a transaction with serializable operations only succeeds \
         from stale data."
    ),
    fact!(
        linearizable_operation_taken,
        Always("refused"),
        "One linearizable operation in the branch that is taken makes the transaction \
         linearizable."
    ),
    fact!(
        linearizable_operation_not_taken,
        Always("refused"),
        "One linearizable operation in the branch that is not taken makes the transaction \
         linearizable."
    ),
    fact!(
        put_without_a_quorum,
        Each(
            "Unknown: context deadline exceeded, after 5 s",
            "DeadlineExceeded: context deadline exceeded, after 5 s"
        ),
        "Without a quorum a Put fails after 7 s; an expired deadline is `Unknown` on 3.4 and \
         `DeadlineExceeded` on 3.7."
    ),
    fact!(
        range_without_a_quorum,
        Always("Unavailable: etcdserver: request timed out, after 5 s"),
        "Without a quorum a Range fails after 7 to 14 s: what began before it is waited for, too."
    ),
    fact!(
        new_stream_without_a_leader,
        Always("Unavailable: etcdserver: no leader"),
        "A new watch that requires a leader is refused when there is none."
    ),
    fact!(
        old_stream_without_a_leader,
        Always("Unavailable: etcdserver: no leader, after 1 s"),
        "An open watch that requires a leader ends some seconds after the quorum is lost."
    ),
    fact!(
        keep_alive_without_a_quorum,
        Always("answered with a TTL, later silent for 4 s"),
        "A renewal is answered after the quorum is lost; the next one on that stream is silent."
    ),
];

/// Three members. The first knows less than the others, and they stand still.
///
/// The others are started anew while it is stopped: what they would have sent it otherwise waits
/// in its sockets, and it would know it when it goes on.
pub(crate) fn minority(version: Version) -> Result<Cluster, tenure_services::Error> {
    let cluster = Cluster::start(version, 3)?;
    cluster.etcdctl(&["put", "stale", "old"])?;
    cluster.wait_ready()?;
    let (first, others) = (cluster.member(0), [cluster.member(1), cluster.member(2)]);
    first.stop()?;
    others.into_iter().try_for_each(Member::restart)?;
    others.into_iter().try_for_each(Member::wait_ready)?;
    others[0].etcdctl(&["put", "stale", "new"])?;
    others.into_iter().try_for_each(|member| member.stop())?;
    first.cont()?;
    // For a moment it believes in the leader that it had. If it does so for longer, the facts say.
    for _ in 0..600 {
        if first.status().is_ok_and(|status| status.leader == 0) {
            break;
        }
        thread::sleep(Duration::from_millis(100));
    }
    Ok(cluster)
}

fn unchanged() -> Compare {
    Compare::value("stale", CompareOp::Equal, "old")
}

fn serializable() -> TxnOp {
    TxnOp::get("stale", Some(GetOptions::new().with_serializable()))
}

async fn transaction_without_operations(stage: Stage) -> Seen {
    let mut client = connect(stage.minority()?, 0).await?;
    let answer = client.txn(Txn::new().when([unchanged()])).await;
    Ok(match answer {
        Ok(answer) if answer.succeeded() => "succeeded on stale data".to_owned(),
        Ok(_) => "the comparison failed".to_owned(),
        Err(error) => words(&error),
    })
}

async fn serializable_transaction(stage: Stage) -> Seen {
    let mut client = connect(stage.minority()?, 0).await?;
    let answer = client.txn(Txn::new().when([unchanged()]).and_then([serializable()])).await;
    let answer = match answer {
        Ok(answer) => answer,
        Err(error) => return Ok(words(&error)),
    };
    let how = if answer.succeeded() { "succeeded on stale data" } else { "failed" };
    match answer.op_responses().pop() {
        Some(TxnOpResponse::Get(found)) => {
            let value = found.kvs().first().map_or("nothing", |kv| kv.value_str().unwrap());
            Ok(format!("{how}, read {value}"))
        }
        other => Ok(format!("{how}, and answered {other:?}")),
    }
}

async fn linearizable_operation_taken(stage: Stage) -> Seen {
    let linearizable = TxnOp::get("stale", None);
    refused(stage, Txn::new().when([unchanged()]).and_then([serializable(), linearizable])).await
}

async fn linearizable_operation_not_taken(stage: Stage) -> Seen {
    let linearizable = TxnOp::get("stale", None);
    let txn = Txn::new().when([unchanged()]).and_then([serializable()]);
    refused(stage, txn.or_else([linearizable])).await
}

/// A transaction that must not be answered from what this member happens to know.
async fn refused(stage: Stage, txn: Txn) -> Seen {
    let mut client = connect(stage.minority()?, 0).await?;
    Ok(match client.txn(txn).await {
        Err(EtcdError::GRpcStatus(_)) => "refused".to_owned(),
        other => outcome(&other),
    })
}

/// What was said, and whether no earlier than so many seconds after `began`. How much later is up
/// to the machine.
fn after(seconds: u64, began: Duration, said: &str) -> String {
    let took = now() - began;
    if took < Duration::from_secs(seconds) {
        return format!("{said}, after {took:?}");
    }
    format!("{said}, after {seconds} s")
}

async fn put_without_a_quorum(stage: Stage) -> Seen {
    let mut client = connect(stage.minority()?, 0).await?;
    let began = now();
    let put = client.put(stage.name(), "", None).await;
    Ok(after(5, began, &outcome(&put)))
}

async fn range_without_a_quorum(stage: Stage) -> Seen {
    let mut client = connect(stage.minority()?, 0).await?;
    let began = now();
    let read = client.get(stage.name(), None).await;
    Ok(after(5, began, &outcome(&read)))
}

async fn new_stream_without_a_leader(stage: Stage) -> Seen {
    let options = ConnectOptions::new().with_require_leader(true);
    let mut client = connect_with(stage.minority()?, 0, options).await?;
    Ok(match client.watch(stage.name(), None).await {
        Err(error) => words(&error),
        Ok(mut watch) => outcome(&watch.message().await),
    })
}

/// Whether it leads, as soon as it says so: a busy member does not answer at once.
fn leads(member: Member<'_>) -> Result<bool, tenure_services::Error> {
    let tries = (0..12).find_map(|_| member.status().ok());
    tries.map_or_else(|| member.status(), Ok).map(|status| status.leads())
}

/// The leader of three, with the other two to be stopped.
fn leader_and_others(cluster: &Cluster) -> Result<(usize, Vec<usize>), String> {
    let is_it = |index: &usize| leads(cluster.member(*index)).is_ok_and(|leads| leads);
    let leader = (0..3).find(is_it).ok_or("nobody leads")?;
    Ok((leader, (0..3).filter(|index| *index != leader).collect()))
}

async fn old_stream_without_a_leader(stage: Stage) -> Seen {
    let cluster = stage.own(3)?;
    let (leader, others) = leader_and_others(&cluster)?;
    let options = ConnectOptions::new().with_require_leader(true);
    let mut client = connect_with(&cluster, leader, options).await?;
    let mut watch = client.watch(stage.name(), None).await?;
    let began = now();
    others.iter().try_for_each(|other| cluster.member(*other).stop())?;
    loop {
        match watch.message().await {
            // What says that the watch is there.
            Ok(Some(message)) if message.created() => {}
            Ok(message) => return Ok(format!("{message:?}")),
            Err(error) => return Ok(after(1, began, &words(&error))),
        }
    }
}

async fn keep_alive_without_a_quorum(stage: Stage) -> Seen {
    // A leader takes three seconds or more to notice that it leads nobody.
    let config = ClusterConfig::new(stage.version(), 3).argument("--heartbeat-interval=300");
    let cluster = config.argument("--election-timeout=3000").start()?;
    loop {
        if let Some(seen) = renewals(&cluster).await? {
            return Ok(seen);
        }
        cluster.members().try_for_each(|member| member.cont())?;
        cluster.wait_ready()?;
    }
}

/// What one renewal comes to while the leader has not noticed that the other members were stopped,
/// and one after that; nothing where the machine missed the time before.
async fn renewals(cluster: &Cluster) -> Result<Option<String>, Failure> {
    let (leader, others) = leader_and_others(cluster)?;
    let mut client = connect(cluster, leader).await?;
    let lease = client.lease_grant(60, None).await?.id();
    let (mut keeper, mut answers) = client.lease_keep_alive(lease).await?;
    others.iter().try_for_each(|other| cluster.member(*other).stop())?;
    keeper.keep_alive().await?;
    let leads = || leads(cluster.member(leader));
    let soon = loop {
        match tokio::time::timeout(Duration::from_millis(500), answers.message()).await {
            Ok(Ok(Some(answer))) if answer.ttl() > 0 => break "answered with a TTL",
            Ok(other) => return Ok(Some(format!("{other:?}"))),
            Err(_) if leads()? => {}
            Err(_) => return Ok(None),
        }
    };
    while leads()? {
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    keeper.keep_alive().await?;
    let later = answers.message();
    let later =
        if silent(later, Duration::from_secs(4)).await { "silent for 4 s" } else { "answered" };
    Ok(Some(format!("{soon}, later {later}")))
}
