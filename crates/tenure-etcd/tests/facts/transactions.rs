//! Transactions and ranges, as elections are made of them.

use etcd_client::{
    Compare, CompareOp, GetOptions, PutOptions, SortOrder, SortTarget, Txn, TxnOp, TxnOpResponse,
};

use crate::stage::{Fact, Stage, outcome};
use tenure_testkit::facts::Expected::{Always, Each};
use tenure_testkit::facts::{Seen, fact};

pub(crate) const FACTS: &[Fact] = &[
    fact!(
        create_only_once,
        Always("first made at its revision, second gets the first"),
        "A Txn `if CREATE(key) = 0 then Put else Get` makes the key once; its revision is the \
         creation revision, and who comes second gets what is there."
    ),
    fact!(
        first_and_predecessor,
        Always("first 0, before 2 is 1, before 0 is nobody"),
        "The leader is the first by CREATE; a predecessor is the last with \
         max_create_revision = own - 1."
    ),
    fact!(
        two_puts_in_one_transaction,
        Always("same creation revision"),
        "Two Puts in one transaction get the same creation revision."
    ),
    fact!(
        empty_range_compares_as_0,
        Always("CREATE = 0: true, CREATE > 0: false"),
        "An empty range compares as CREATE 0."
    ),
    fact!(
        deleted_and_made_anew,
        Always("CREATE has grown"),
        "A key that is deleted and made anew has a greater creation revision."
    ),
    fact!(
        range_to_the_end,
        Always("the two keys above"),
        "The end of a prefix of nothing but 0xFF is `\\0`: to the end of all keys."
    ),
    fact!(
        operations_in_a_transaction,
        Always(
            "128: accepted, 129: InvalidArgument: etcdserver: too many operations in txn request"
        ),
        "At most 128 operations in a transaction."
    ),
    fact!(
        keys_without_values,
        Each("key and CREATE, with the lease", "key and CREATE, without the lease"),
        "A Range with `keys_only` tells a key and its creation revision; its lease only on 3.4."
    ),
    fact!(
        one_term_in_all_answers,
        Always("the same term in both"),
        "A renewal's answer and a linearizable Range after it carry the same raft_term, while the \
         leader stays."
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
    // Not in the order of their names, so that the order is that of creation.
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

async fn two_puts_in_one_transaction(stage: Stage) -> Seen {
    let mut client = stage.client().await?;
    let keys = ["a", "b"].map(|end| format!("{}/{end}", stage.name()));
    let puts: Vec<_> = keys.iter().map(|key| TxnOp::put(key.as_str(), "", None)).collect();
    client.txn(Txn::new().and_then(puts)).await?;
    let options = GetOptions::new().with_prefix();
    let found = client.get(format!("{}/", stage.name()), Some(options)).await?;
    let revisions: Vec<_> = found.kvs().iter().map(|kv| kv.create_revision()).collect();
    let same = revisions.len() == 2 && revisions[0] == revisions[1];
    Ok(if same { "same creation revision".to_owned() } else { format!("{revisions:?}") })
}

async fn empty_range_compares_as_0(stage: Stage) -> Seen {
    let mut client = stage.client().await?;
    let mut said = Vec::new();
    for (sign, op) in [("=", CompareOp::Equal), (">", CompareOp::Greater)] {
        let empty = Compare::create_revision(format!("{}/", stage.name()), op, 0).with_prefix();
        // An operation that is not only serializable, as everywhere.
        let read = TxnOp::get(stage.name(), None);
        let txn = Txn::new().when([empty]).and_then([read.clone()]).or_else([read]);
        said.push(format!("CREATE {sign} 0: {}", client.txn(txn).await?.succeeded()));
    }
    Ok(said.join(", "))
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

async fn range_to_the_end(stage: Stage) -> Seen {
    let mut client = stage.client().await?;
    client.put(b"\xff\xff".to_vec(), "", None).await?;
    client.put(b"\xff\xff/a".to_vec(), "", None).await?;
    let options = GetOptions::new().with_range(b"\0".to_vec());
    let found = client.get(b"\xff\xff".to_vec(), Some(options)).await?;
    let above = found.kvs().iter().all(|kv| kv.key().starts_with(b"\xff\xff"));
    match (found.kvs().len(), above) {
        (2, true) => Ok("the two keys above".to_owned()),
        _ => Ok(format!("{:?}", found.kvs())),
    }
}

async fn operations_in_a_transaction(stage: Stage) -> Seen {
    let mut client = stage.client().await?;
    let mut said = Vec::new();
    for count in [128, 129] {
        let reads = vec![TxnOp::get(stage.name(), None); count];
        let answer = client.txn(Txn::new().and_then(reads)).await;
        said.push(format!("{count}: {}", outcome(&answer)));
    }
    Ok(said.join(", "))
}

async fn keys_without_values(stage: Stage) -> Seen {
    let mut client = stage.client().await?;
    let lease = client.lease_grant(60, None).await?.id();
    let options = PutOptions::new().with_lease(lease);
    let made = client.put(stage.name(), "value", Some(options)).await?;
    let made_at = made.header().ok_or("no header")?.revision();
    let options = GetOptions::new().with_prefix().with_keys_only();
    let options = options.with_sort(SortTarget::Create, SortOrder::Ascend).with_limit(1);
    let found = client.get(stage.name(), Some(options)).await?;
    let kv = found.kvs().first().cloned().ok_or("the key is gone")?;
    client.lease_revoke(lease).await?;
    if kv.create_revision() != made_at || !kv.value().is_empty() {
        return Ok(format!("made at {made_at}, then {kv:?}"));
    }
    let with = if kv.lease() == lease { "with" } else { "without" };
    Ok(format!("key and CREATE, {with} the lease"))
}

async fn one_term_in_all_answers(stage: Stage) -> Seen {
    let mut client = stage.client().await?;
    let lease = client.lease_grant(60, None).await?.id();
    let (mut keeper, mut answers) = client.lease_keep_alive(lease).await?;
    keeper.keep_alive().await?;
    let renewed = answers.message().await?.ok_or("the stream has ended")?;
    let read = client.get(stage.name(), None).await?;
    client.lease_revoke(lease).await?;
    let terms = [renewed.header(), read.header()].map(|header| header.map(|h| h.raft_term()));
    let same = terms[0] == terms[1] && terms[0].is_some_and(|term| term > 0);
    Ok(if same { "the same term in both".to_owned() } else { format!("{terms:?}") })
}
