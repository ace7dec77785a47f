//! A member of three when the other two stand still.

use std::thread;
use std::time::Duration;

use etcd_client::{Compare, CompareOp, Error as EtcdError, GetOptions, Txn, TxnOp, TxnOpResponse};
use tenure_services::Error;
use tenure_services::etcd::{Cluster, Member, Version};

use crate::stage::{Fact, Stage, connect, outcome, words};
use tenure_testkit::facts::{Seen, fact};

pub(crate) const FACTS: &[Fact] = &[
    fact!(
        serializable_transaction,
        "succeeded on stale data, read old",
        "With 2 of 3 members stopped, a transaction with serializable operations only succeeds \
         from stale data."
    ),
    fact!(
        linearizable_operation_taken,
        "refused",
        "One linearizable operation in the branch that is taken makes the transaction \
         linearizable."
    ),
    fact!(
        linearizable_operation_not_taken,
        "refused",
        "One linearizable operation in the branch that is not taken makes the transaction \
         linearizable."
    ),
];

/// Three members. The first member knows less than the others, which stand still.
///
/// The others start anew while the first is stopped: otherwise their messages would wait in its
/// sockets, and the first would read them when it goes on.
pub(crate) fn minority(version: Version) -> Result<Cluster, Error> {
    let cluster = Cluster::start(version, 3)?;
    asked(|| cluster.etcdctl(&["put", "stale", "old"]))?;
    cluster.wait_ready()?;
    let first = cluster.member(0);
    let others = [cluster.member(1), cluster.member(2)];
    first.stop()?;
    others.into_iter().try_for_each(|member| member.restart())?;
    others.into_iter().try_for_each(Member::wait_ready)?;
    asked(|| others[0].etcdctl(&["put", "stale", "new"]))?;
    others.into_iter().try_for_each(|member| member.stop())?;
    first.cont()?;
    // The member believes in its former leader for a moment; a longer belief shows in the facts.
    for _ in 0..600 {
        if first.status().is_ok_and(|status| status.leader == 0) {
            break;
        }
        thread::sleep(Duration::from_millis(100));
    }
    Ok(cluster)
}

/// The answer of a member. Repeats the question while the member, or its leader, stands still.
pub(crate) fn asked<T>(ask: impl Fn() -> Result<T, Error>) -> Result<T, Error> {
    (1..12).find_map(|_| ask().ok()).map_or_else(ask, Ok)
}

fn unchanged() -> Compare {
    Compare::value("stale", CompareOp::Equal, "old")
}

fn serializable() -> TxnOp {
    TxnOp::get("stale", Some(GetOptions::new().with_serializable()))
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

/// A transaction that this member must not answer from its own state.
async fn refused(stage: Stage, txn: Txn) -> Seen {
    let mut client = connect(stage.minority()?, 0).await?;
    Ok(match client.txn(txn).await {
        Err(EtcdError::GRpcStatus(_)) => "refused".to_owned(),
        other => outcome(&other),
    })
}
