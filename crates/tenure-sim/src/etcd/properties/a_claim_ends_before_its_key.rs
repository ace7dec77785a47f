use tenure_core::etcd::{Act, Op};

use super::{Check, Elections, Fact, Leadership, Own, Property, is_foul, seconds};
use crate::etcd::store::note::Note;

/// Contract, duty 6: the driver lowers a claim before it sends a request that ends the claim's key
/// or lease. No other node's request ends the key or the lease.
#[derive(Debug, Default)]
pub(super) struct AClaimEndsBeforeItsKey;

impl Property<Elections> for AClaimEndsBeforeItsKey {
    const NAME: &'static str = "A claim ends before its key goes";
    const SOURCE: &'static str = "ruling 5 (E4); the contract, duty 6";

    #[inline(always)]
    fn see(&mut self, check: &Check<'_>, fact: Fact<'_>) -> Result<(), String> {
        // Ignore the knowledge that a process had before a restore.
        let knows = |node: usize| !check.records().went_back(check.records().confirmed[node]);
        let holding = |is: &dyn Fn(&Leadership) -> bool| {
            let all = check.history.elections.iter().enumerate();
            let mut all = all
                .flat_map(|(n, past)| past.leaderships.iter().rev().take(8).map(move |l| (n, l)));
            all.find(|(_, l)| l.holds(check.now) && !l.own.robbed && knows(l.node) && is(l))
        };
        let (found, what) = match fact {
            Fact::Own(Own::Stored(Note::Gone { key, cause })) if !is_foul(*cause) => {
                (holding(&|l| l.own.key == *key), format!("its key is gone: {cause}"))
            }
            Fact::Own(Own::Sent { node, request, .. }) => {
                let what = format!("it sends: {}", request.op);
                match &request.op {
                    Op::Revoke { lease } => {
                        let on_it = |l: &Leadership| {
                            let kv = check.records().keys.get(&l.own.key);
                            kv.is_some_and(|kv| kv.lease == Some(*lease))
                        };
                        let ends = |l: &Leadership| l.node == node && on_it(l);
                        (holding(&ends), what)
                    }
                    // The transaction only deletes a missing key.
                    Op::Txn(txn) if txn.deletes_nothing() => return Ok(()),
                    Op::Txn(txn) => {
                        let deletes = |l: &Leadership| {
                            let is =
                                |act: &Act| matches!(act, Act::Delete { key } if *key == l.own.key);
                            l.node == node && txn.then.iter().any(is)
                        };
                        if !txn.then.iter().any(|act| matches!(act, Act::Delete { .. })) {
                            return Ok(());
                        }
                        (holding(&deletes), what)
                    }
                    _ => return Ok(()),
                }
            }
            _ => return Ok(()),
        };
        let Some((election, leadership)) = found else { return Ok(()) };
        Err(format!(
            "{} leads {}{} until {}, and {what}",
            check.name(leadership.node),
            check.election(election),
            leadership.under(),
            seconds(leadership.until),
        ))
    }
}
