use std::collections::BTreeMap;
use std::time::Duration;

use tenure_core::nerio::{Message, Question, Who};

use super::{Court, Fact, Plan, Property, seconds};

/// Section 10.5: where nothing goes wrong, whoever asks a node whether it leads is told, and is
/// told yes while it does.
#[derive(Debug)]
pub(super) struct VerificationIsAnswered {
    calm: bool,
    /// The open questions of each node about each election, and when each was asked.
    open: BTreeMap<(usize, usize, Question), u64>,
    /// When the first of them is overdue.
    due: u64,
}

impl Property for VerificationIsAnswered {
    const NAME: &'static str = "A verification is answered";
    const SOURCE: &'static str = "section 10.5";

    fn new(plan: &Plan) -> Self {
        Self { calm: plan.calm, open: BTreeMap::new(), due: u64::MAX }
    }

    #[inline(always)]
    fn see(&mut self, court: &Court<'_>, fact: Fact<'_>) -> Result<(), String> {
        if !self.calm {
            return Ok(());
        }
        match fact {
            // Who was asked before it started answers nothing.
            Fact::Sent { node, to: Some(to), message: Message::Verify(verify), .. }
                if court.ledger.lives.iter().all(Option::is_some) =>
            {
                let election = court.number(&verify.election);
                let leader = court.plan.nodes[to].address;
                let question = Question { leader, start: verify.start };
                self.open.insert((node, election.unwrap_or(0), question), court.now);
                self.set_due(court);
                Ok(())
            }
            Fact::Verified { election, node, question, .. } => {
                self.open.remove(&(node, election, question));
                self.set_due(court);
                Ok(())
            }
            Fact::NotVerified { election, node, question, by } => {
                let asked = self.open.remove(&(node, election, question));
                self.set_due(court);
                asked.map_or(Ok(()), |asked| judge(court, election, node, by, asked))
            }
            Fact::Moment if self.due < court.now => {
                let late = |(_, asked): &(_, &u64)| **asked + patience(court) < court.now;
                let Some(((node, election, question), asked)) = self.open.iter().find(late) else {
                    return Ok(());
                };
                Err(format!(
                    "{} asked {} at {} whether it leads {}, and got no answer",
                    court.plan.nodes[*node].name,
                    question.leader,
                    seconds(*asked),
                    court.election(*election),
                ))
            }
            _ => Ok(()),
        }
    }
}

impl VerificationIsAnswered {
    fn set_due(&mut self, court: &Court<'_>) {
        let first = self.open.values().copied().min();
        self.due = first.map_or(u64::MAX, |first| first + patience(court));
    }
}

/// There and back, where nothing goes wrong.
fn patience(court: &Court<'_>) -> u64 {
    let conditions = &court.plan.conditions;
    2 * conditions.trip.longest().max(conditions.loopback.longest())
}

/// Who has led for a lease has enough left, whenever it is asked, for the answer to arrive in time.
fn judge(
    court: &Court<'_>,
    election: usize,
    node: usize,
    by: &Who,
    asked: u64,
) -> Result<(), String> {
    let unit = court.plan.conditions.unit;
    let promises = court.plan.config().verify_max > Duration::ZERO;
    match court.annals(election).leader(court.now) {
        Some(led) if promises && led.who == *by && led.from + unit < asked => Err(format!(
            "{} asked {by} at {} about {} and was told no, but it leads since {} until {}; {}, {}",
            court.plan.nodes[node].name,
            seconds(asked),
            court.election(election),
            seconds(led.from),
            seconds(led.until),
            court.clock(node),
            court.clock(led.node),
        )),
        Some(_) | None => Ok(()),
    }
}
