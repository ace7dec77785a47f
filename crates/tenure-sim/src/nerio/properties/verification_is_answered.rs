use std::collections::BTreeMap;
use std::time::Duration;

use tenure_core::nerio::{Message, Question, Who};

use super::{Check, Fact, Own, Plan, Property, QuorumLeases, seconds};

/// Section 10.5: where nothing goes wrong, whoever asks a node whether it leads is told, and is
/// told yes while it does.
#[derive(Debug, Default)]
pub(super) struct VerificationIsAnswered {
    calm: bool,
    /// The open questions of each node about each election, and when each was asked.
    open: BTreeMap<(usize, usize, Question), u64>,
    /// When the first of them is overdue.
    due: u64,
}

impl Property<QuorumLeases> for VerificationIsAnswered {
    const NAME: &'static str = "A verification is answered";
    const SOURCE: &'static str = "section 10.5";

    fn begin(&mut self, plan: &Plan) {
        *self = Self { calm: plan.calm, open: BTreeMap::new(), due: u64::MAX };
    }

    #[inline(always)]
    fn see(&mut self, check: &Check<'_>, fact: Fact<'_>) -> Result<(), String> {
        if !self.calm {
            return Ok(());
        }
        match fact {
            // Who was asked before it started answers nothing.
            Fact::Own(Own::Sent {
                node, to: Some(to), message: Message::Verify(verify), ..
            }) if check.history.lives.iter().all(Option::is_some) => {
                let election = check.number(&verify.election);
                let leader = check.plan.nodes[to].address;
                let question = Question { leader, start: verify.start };
                self.open.insert((node, election.unwrap_or(0), question), check.now);
                self.set_due(check);
                Ok(())
            }
            Fact::Own(Own::Verified { election, node, question, .. }) => {
                self.open.remove(&(node, election, question));
                self.set_due(check);
                Ok(())
            }
            Fact::Own(Own::NotVerified { election, node, question, by }) => {
                let asked = self.open.remove(&(node, election, question));
                self.set_due(check);
                asked.map_or(Ok(()), |asked| judge(check, election, node, by, asked))
            }
            Fact::Moment if self.due < check.now => {
                let late = |(_, asked): &(_, &u64)| **asked + patience(check) < check.now;
                let Some(((node, election, question), asked)) = self.open.iter().find(late) else {
                    return Ok(());
                };
                Err(format!(
                    "{} asked {} at {} whether it leads {}, and got no answer",
                    check.plan.nodes[*node].name,
                    question.leader,
                    seconds(*asked),
                    check.election(*election),
                ))
            }
            _ => Ok(()),
        }
    }
}

impl VerificationIsAnswered {
    fn set_due(&mut self, check: &Check<'_>) {
        let first = self.open.values().copied().min();
        self.due = first.map_or(u64::MAX, |first| first + patience(check));
    }
}

/// There and back, where nothing goes wrong.
fn patience(check: &Check<'_>) -> u64 {
    let conditions = &check.plan.conditions;
    2 * conditions.trip.longest().max(conditions.loopback.longest())
}

/// Who has led for a lease has enough left, whenever it is asked, for the answer to arrive in time.
fn judge(
    check: &Check<'_>,
    election: usize,
    node: usize,
    by: &Who,
    asked: u64,
) -> Result<(), String> {
    let unit = check.plan.conditions.unit;
    let promises = check.plan.config().verify_max > Duration::ZERO;
    match check.past(election).leader(check.now) {
        Some(led) if promises && led.own.who == *by && led.from + unit < asked => Err(format!(
            "{} asked {by} at {} about {} and was told no, but it leads since {} until {}; {}, {}",
            check.plan.nodes[node].name,
            seconds(asked),
            check.election(election),
            seconds(led.from),
            seconds(led.until),
            check.clock(node),
            check.clock(led.node),
        )),
        Some(_) | None => Ok(()),
    }
}
