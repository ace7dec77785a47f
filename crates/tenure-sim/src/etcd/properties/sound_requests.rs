use tenure_core::etcd::{Act, Compare, Keys, Op, Txn};

use super::{Check, Elections, Fact, Own, Property};
use crate::etcd::store::state::{is_linearizable, operations};

/// What is asked of etcd is what the page allows: no transaction without operations, no lease
/// whose id Go would print with a sign, not more operations than etcd takes, no key that is one of
/// two elections of its process.
#[derive(Debug, Default)]
pub(super) struct SoundRequests;

impl Property<Elections> for SoundRequests {
    const NAME: &'static str = "No request is unsound";
    const SOURCE: &'static str = "rulings 2, 4, 6 and 10 (E1, E3, E5, E9)";

    #[inline(always)]
    fn see(&mut self, check: &Check<'_>, fact: Fact<'_>) -> Result<(), String> {
        let Fact::Own(Own::Sent { node, request, .. }) = fact else { return Ok(()) };
        let wrong = match &request.op {
            Op::Txn(txn) if !is_linearizable(txn) => "a transaction without operations is stale",
            Op::Txn(txn) if operations(txn) > 128 => {
                "a transaction has more than 128 operations or comparisons"
            }
            Op::Txn(txn) if !txn.when.is_empty() && txn.then.iter().any(reads_values_of_all) => {
                "a candidate reads values of others, which may be too large"
            }
            Op::Txn(txn) if puts_what_is_there(txn) => {
                "a key that is there is written with its lease: late, that moves it back"
            }
            Op::Txn(txn) if txn.then.iter().any(|act| nests(check, act)) => {
                "a key is also one of another election of its process"
            }
            Op::Grant { lease, .. } | Op::KeepAlive { lease } | Op::Revoke { lease }
                if lease.0 <= 0 =>
            {
                "the id of a lease is not positive"
            }
            _ => return Ok(()),
        };
        Err(format!("{wrong}: {} sends {request}", check.name(node)))
    }
}

/// Whether it writes more of a key that it takes for there than its value.
fn puts_what_is_there(txn: &Txn) -> bool {
    let is_new = |compare: &Compare| matches!(compare, Compare::Created { revision: 0, .. });
    txn.then.iter().any(|act| matches!(act, Act::Put { .. })) && !txn.when.iter().any(is_new)
}

/// Whether it makes a key of an election below one that is there. Applications want one of these
/// only while they lead in the one above.
fn nests(check: &Check<'_>, act: &Act) -> bool {
    let Act::Put { key, .. } = act else { return false };
    let above =
        check.records().election_of(key).map(|election| &check.records().firsts[election].prefix);
    above.is_some_and(|above| key.as_slice()[above.as_slice().len()..].contains(&b'/'))
}

/// Whether it reads values of a whole election.
fn reads_values_of_all(act: &Act) -> bool {
    matches!(act, Act::Read(read) if matches!(read.keys, Keys::Prefix(_)) && !read.keys_only)
}
