use std::collections::BTreeMap;
use std::time::Duration;

use tenure_core::nerio::{Message, ToAsker};
use tenure_core::{End, Loss};

use super::{Check, Claim, Fact, Own, Plan, Property, QuorumLeases, seconds};

/// Succession: without faults, a waiting candidate leads soon after the leader gave up.
#[derive(Debug, Default)]
pub(super) struct PromptSuccession {
    calm: bool,
    /// Time from which each node wants to lead each election.
    waiting: BTreeMap<(usize, usize), u64>,
    /// End of verification promises that may delay a release, by election.
    promised: BTreeMap<usize, u64>,
    /// Time by which each election must have its next leader, and the end of its last leader.
    due: BTreeMap<usize, (u64, u64)>,
}

impl Property<QuorumLeases> for PromptSuccession {
    const NAME: &'static str = "Prompt succession";
    const SOURCE: &'static str = "parked requests; succession";

    fn begin(&mut self, plan: &Plan) {
        *self = Self {
            // A candidate that leaves the election to the weak leader does not wait at grantors.
            calm: plan.calm && plan.config().ring.is_none_or(|ring| !ring.only_weak_leader),
            waiting: BTreeMap::new(),
            promised: BTreeMap::new(),
            due: BTreeMap::new(),
        };
    }

    #[inline(always)]
    fn see(&mut self, check: &Check<'_>, fact: Fact<'_>) -> Result<(), String> {
        if !self.calm {
            return Ok(());
        }
        match fact {
            Fact::Campaigns { node, election } => {
                self.waiting.insert((election, node), check.now);
                Ok(())
            }
            Fact::Own(Own::Sent {
                message: Message::Asker(ToAsker::Remainder(answer)), ..
            }) if answer.remaining > Duration::ZERO => {
                let mut elections = check.plan.elections.iter();
                let election = elections.position(|election| *election == answer.election);
                let until = check.now + Bound::of(check.plan).promise;
                self.promised.insert(election.unwrap_or(0), until);
                Ok(())
            }
            Fact::Ended { election, node, end, .. } => {
                self.waiting.remove(&(election, node));
                self.due.remove(&election);
                let led = check.past(election).leaderships.last().filter(|l| l.node == node);
                if led.is_none() || !matches!(end, End::Lost(Loss::Resigned | Loss::Transferred)) {
                    return Ok(());
                }
                let bound = Bound::of(check.plan);
                let parked = |since: &u64| since + bound.parked < check.now;
                let mut others = self.waiting.range((election, 0)..(election + 1, 0));
                if others.any(|(_, since)| parked(since)) {
                    let promised = self.promised.get(&election).copied().unwrap_or(0);
                    let from = check.now.max(promised);
                    self.due.insert(election, (from + bound.next, check.now));
                }
                Ok(())
            }
            Fact::Claimed(Claim { election, .. }) => {
                self.due.remove(&election);
                Ok(())
            }
            Fact::Moment => match self.due.iter().find(|(_, (due, _))| *due < check.now) {
                Some((election, (_, since))) => Err(format!(
                    "{} has no leader since {}, and somebody waited",
                    check.election(*election),
                    seconds(*since),
                )),
                None => Ok(()),
            },
            _ => Ok(()),
        }
    }
}

/// Bounds on spans without faults, in true time.
struct Bound {
    /// The longest time from the wish to lead until the request waits at all grantors: one message.
    parked: u64,
    /// Time from the end of one leadership to the next: the release, the ok, and a second round for
    /// the fence. The time includes the refresh of a waiting request at that moment, and a rival
    /// that yields.
    next: u64,
    /// Delay of a release by the answer to a verification.
    promise: u64,
}

impl Bound {
    fn of(plan: &Plan) -> Self {
        let trip = plan.conditions.trip.longest();
        let config = plan.config();
        let nanos = |span: Duration| config.drift.real_at_most(span).as_nanos() as u64;
        Self {
            parked: 2 * trip,
            next: 20 * trip + 2 * nanos(config.refresh),
            promise: nanos(config.verify_max),
        }
    }
}
