use tenure_core::etcd::Op;

use super::{Court, Fact, Plan, Property};
use crate::etcd::store::state::is_linearizable;

/// What is asked of etcd is what the page allows: no transaction without operations, no lease
/// whose id Go would print with a sign, not more operations than etcd takes.
#[derive(Debug)]
pub(super) struct SoundRequests;

impl Property for SoundRequests {
    const NAME: &'static str = "No request is unsound";
    const SOURCE: &'static str = "rulings 2, 4 and 6 (E1, E3, E5)";

    fn new(_: &Plan) -> Self {
        Self
    }

    #[inline(always)]
    fn see(&mut self, court: &Court<'_>, fact: &Fact<'_>) -> Result<(), String> {
        let Fact::Sent { node, request, .. } = fact else { return Ok(()) };
        let wrong = match &request.op {
            Op::Txn(txn) if !is_linearizable(txn) => "a transaction without operations is stale",
            Op::Txn(txn) if txn.when.len().max(txn.then.len()).max(txn.otherwise.len()) > 128 => {
                "a transaction has more than 128 operations or comparisons"
            }
            Op::Grant { lease, .. } | Op::KeepAlive { lease } | Op::Revoke { lease }
                if lease.0 <= 0 =>
            {
                "the id of a lease is not positive"
            }
            _ => return Ok(()),
        };
        Err(format!("{wrong}: {} sends {request}", court.name(*node)))
    }
}
