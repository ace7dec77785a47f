use tenure_core::etcd::{Act, Op};

use super::{Court, Fact, Plan, Property, is_foul, seconds};
use crate::etcd::store::note::Note;

/// A claim is lowered before a request leaves that ends its key or lease, and nobody else's
/// request ends it: contract, duty 6.
#[derive(Debug)]
pub(super) struct AClaimEndsBeforeItsKey;

impl Property for AClaimEndsBeforeItsKey {
    const NAME: &'static str = "A claim ends before its key goes";
    const SOURCE: &'static str = "ruling 5 (E4); the contract, duty 6";

    fn new(_: &Plan) -> Self {
        Self
    }

    #[inline(always)]
    fn see(&mut self, court: &Court<'_>, fact: &Fact<'_>) -> Result<(), String> {
        let holding = |is: &dyn Fn(&super::Leadership) -> bool| {
            let all = court.ledger.annals.iter().enumerate();
            let mut all = all.flat_map(|(n, annals)| {
                annals.leaderships.iter().rev().take(8).map(move |l| (n, l))
            });
            all.find(|(_, l)| l.holds(court.now) && !l.robbed && is(l))
        };
        let (found, what) = match fact {
            Fact::Stored(Note::Gone { key, cause }) if !is_foul(*cause) => {
                (holding(&|l| l.key == *key), format!("its key is gone: {cause}"))
            }
            Fact::Sent { node, request, .. } => {
                let what = format!("it sends: {}", request.op);
                match &request.op {
                    Op::Revoke { lease } => {
                        let on_it = |l: &super::Leadership| {
                            let kv = court.ledger.keys.get(&l.key);
                            kv.is_some_and(|kv| kv.lease == Some(*lease))
                        };
                        let ends = |l: &super::Leadership| l.node == *node && on_it(l);
                        (holding(&ends), what)
                    }
                    // Only a key that is not there.
                    Op::Txn(txn) if txn.deletes_nothing() => return Ok(()),
                    Op::Txn(txn) => {
                        let deletes = |l: &super::Leadership| {
                            let is =
                                |act: &Act| matches!(act, Act::Delete { key } if *key == l.key);
                            l.node == *node && txn.then.iter().any(is)
                        };
                        match txn.then.iter().any(|act| matches!(act, Act::Delete { .. })) {
                            true => (holding(&deletes), what),
                            false => return Ok(()),
                        }
                    }
                    _ => return Ok(()),
                }
            }
            _ => return Ok(()),
        };
        let Some((election, leadership)) = found else { return Ok(()) };
        Err(format!(
            "{} leads {} with fence {} until {}, and {what}",
            court.name(leadership.node),
            court.election(election),
            leadership.fence,
            seconds(leadership.until),
        ))
    }
}
