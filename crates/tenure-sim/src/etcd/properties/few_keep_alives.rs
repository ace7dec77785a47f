use std::collections::BTreeMap;
use std::time::Duration;

use tenure_core::Time;
use tenure_core::etcd::{LeaseId, Op};

use super::{Check, Elections, Fact, Own, Property};

/// When nothing goes wrong, a lease costs one keep-alive for each third of its length, whatever
/// hangs on it.
#[derive(Debug, Default)]
pub(super) struct FewKeepAlives {
    /// When the first was sent on each lease, and how many there were.
    sent: BTreeMap<LeaseId, (Time, u32)>,
}

impl Property<Elections> for FewKeepAlives {
    const NAME: &'static str = "One keep-alive for each third of a lease";
    const SOURCE: &'static str = "ruling 10 (E9): one lease for all elections";

    #[inline(always)]
    fn see(&mut self, check: &Check<'_>, fact: Fact<'_>) -> Result<(), String> {
        let Fact::Own(Own::Sent { node, request, local, .. }) = fact else { return Ok(()) };
        let Op::KeepAlive { lease } = &request.op else { return Ok(()) };
        if !check.plan.calm {
            return Ok(());
        }
        let (first, count) = self.sent.entry(*lease).or_insert((local, 0));
        *count += 1;
        // By chance each comes up to an eighth of that earlier.
        let third = Duration::from_nanos(check.plan.conditions.unit / 3 * 7 / 8);
        let passed = local.since(*first).as_nanos() / third.as_nanos();
        // One to ask how long a given lease lasts, one to confirm that, and one now.
        if u128::from(*count) <= passed + 3 {
            return Ok(());
        }
        Err(format!(
            "{} has sent {count} keep-alives on lease {lease} within {passed} thirds of it",
            check.name(node)
        ))
    }
}
