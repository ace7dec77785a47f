//! Transactions and ranges of elections.

use etcd_client::{
    Compare, CompareOp, GetOptions, SortOrder, SortTarget, Txn, TxnOp, TxnOpResponse,
};

use crate::stage::{Fact, Stage};
use tenure_testkit::facts::{Seen, fact};

pub(crate) const FACTS: &[Fact] = &[
    fact!(
        create_only_once,
        "first made at its revision, second gets the first",
        "A Txn `if CREATE(key) = 0 then Put else Get` makes the key once; its revision is the \
         creation revision, and who comes second gets what is there."
    ),
    fact!(
        first_and_predecessor,
        "first 0, before 2 is 1, before 0 is nobody",
        "The leader is the first by CREATE; a predecessor is the last with \
         max_create_revision = own - 1."
    ),
    fact!(
        deleted_and_made_anew,
        "CREATE has grown",
        "A key that is deleted and made anew has a greater creation revision."
    ),
];

fn create(key: &str, value: &str) -> Txn {
    let missing = Compare::create_revision(key, CompareOp::Equal, 0);
    Txn::new()
        .when([missing])
        .and_then([TxnOp::put(key, value, None)])
        .or_else([TxnOp::get(key, None)])
}

async fn create_only_once(stage: Stage) -> Seen {
    let mut client = stage.client().await?;
    let first = client.txn(create(stage.name(), "first")).await?;
    let second = client.txn(create(stage.name(), "second")).await?;
    let made_at = first.header().ok_or("no header")?.revision();
    let found = match second.op_responses().pop() {
        Some(TxnOpResponse::Get(found)) => found,
        other => return Ok(format!("the second got {other:?}")),
    };
    let kv = found.kvs().first().ok_or("the key is gone")?;
    if first.succeeded()
        && !second.succeeded()
        && kv.create_revision() == made_at
        && kv.value_str()? == "first"
    {
        return Ok("first made at its revision, second gets the first".to_owned());
    }
    Ok(format!("made at {made_at}, then {kv:?}"))
}

async fn first_and_predecessor(stage: Stage) -> Seen {
    let mut client = stage.client().await?;
    let key = |n: u32| format!("{}/{n}", stage.name());
    let mut created = Vec::new();
    // The order of creation differs from that of the names.
    for n in [2, 1, 0] {
        let made = client.put(key(n), (2 - n).to_string(), None).await?;
        created.push(made.header().ok_or("no header")?.revision());
    }
    let prefix = format!("{}/", stage.name());
    let one = |order, up_to| {
        GetOptions::new()
            .with_prefix()
            .with_limit(1)
            .with_sort(SortTarget::Create, order)
            .with_max_create_revision(up_to)
    };
    let mut said = Vec::new();
    for (order, up_to) in [
        (SortOrder::Ascend, 0),
        (SortOrder::Descend, created[2] - 1),
        (SortOrder::Descend, created[0] - 1),
    ] {
        let found = client.get(prefix.as_str(), Some(one(order, up_to))).await?;
        let value = found.kvs().first().map(|kv| kv.value_str().unwrap().to_owned());
        said.push(value.unwrap_or_else(|| "nobody".to_owned()));
    }
    Ok(format!("first {}, before 2 is {}, before 0 is {}", said[0], said[1], said[2]))
}

async fn deleted_and_made_anew(stage: Stage) -> Seen {
    let mut client = stage.client().await?;
    let mut fences = Vec::new();
    for _ in 0..2 {
        let made = client.txn(create(stage.name(), "")).await?;
        fences.push(made.header().ok_or("no header")?.revision());
        client.delete(stage.name(), None).await?;
    }
    Ok(if fences[1] > fences[0] { "CREATE has grown".to_owned() } else { format!("{fences:?}") })
}
