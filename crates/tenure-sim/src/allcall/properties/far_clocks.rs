use super::super::plan::Kind;
use super::{Check, Fact, LeasedLeaders, Property, seconds};

/// Ruling 4: a candidate whose clock is off by more than 3K + 2H neither campaigns nor renews, if
/// at least two others with right clocks answer. A single other participant suffices if the
/// candidate compared both clocks while both were right.
#[derive(Debug, Default)]
pub(in super::super) struct FarClocksDoNotWin;

impl Property<LeasedLeaders> for FarClocksDoNotWin {
    const NAME: &'static str = "A clock beyond the skew never wins";
    const SOURCE: &'static str = "ruling 4";
    const NEEDS_BOUND: bool = false;

    fn see(&mut self, check: &Check<'_>, fact: Fact<'_>) -> Result<(), String> {
        let (Fact::Claimed(claim), Kind::Beyond) = (&fact, check.plan.own.kind) else {
            return Ok(());
        };
        let own = &check.plan.own;
        let (since, ahead) = check.own.ahead[claim.node];
        let far = 3 * own.skew + 2 * own.heartbeat;
        // A claim takes effect when others receive its call, up to half a heartbeat after the
        // decision. Allow claims that were decided within that time after the clock's step.
        let before = claim.decided <= since + own.slow(own.heartbeat / 2);
        if own.is_right(claim.node) || ahead.unsigned_abs() < far || before {
            return Ok(());
        }
        // The earliest possible time of the participant's first call.
        let calls = |node: usize| {
            let role = &check.apps[node][claim.election];
            role.campaigning.then_some(role.since.max(check.history.since[node]))
        };
        let others = (0..check.plan.participants()).filter(|other| *other != claim.node);
        let others: Vec<u64> = others.filter_map(calls).collect();
        let answer = |then: u64| others.iter().filter(|calls| **calls < then).count();
        // A single other participant counts only if both campaigned for this span before the
        // candidate's clock went wrong.
        let compared = 3 * (own.lease + 4 * own.heartbeat);
        let two = calls(claim.node).is_some_and(|own| own + compared < since)
            && check.own.agreed[claim.node] > compared
            && answer(since.saturating_sub(compared)) == 1;
        let others = answer(claim.decided.saturating_sub(4 * own.heartbeat));
        if others == 0 || others == 1 && !two {
            return Ok(());
        }
        Err(format!(
            "{} leads {} {:.3} s ahead since {}, and the clocks of {others} others are right",
            check.name(claim.node),
            check.election(claim.election),
            ahead as f64 / 1e9,
            seconds(since),
        ))
    }
}
