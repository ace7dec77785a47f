use tenure_core::voter::Ask;

use super::super::plan::Kind;
use super::{Check, Fact, Own, Property, RegionalVoters};
use crate::scenario::PlanOf;

/// V12: a voter is dropped only by one that has failed to reach it itself, again and again; and by
/// nobody when nothing goes wrong.
#[derive(Debug, Default)]
pub(in super::super) struct NobodyHealthyIsDropped {
    /// When a node asked each other one without an answer, since the last that has one: those
    /// among them that were not sent, as a write before them failed.
    beats: Vec<Vec<Vec<u64>>>,
    /// How many there were when the last answer came, until the next one is asked: what was overdue
    /// by then is judged before the answer, at the same input.
    before: Vec<Vec<usize>>,
}

impl Property<RegionalVoters> for NobodyHealthyIsDropped {
    const NAME: &'static str = "No healthy voter is dropped";
    const SOURCE: &'static str = "V12";
    const NEEDS_BOUND: bool = false;

    fn begin(&mut self, plan: &PlanOf<RegionalVoters>) {
        let count = plan.nodes.len();
        self.beats = vec![vec![Vec::new(); count]; count];
        self.before = vec![vec![0; count]; count];
    }

    fn see(&mut self, check: &Check<'_>, fact: Fact<'_>) -> Result<(), String> {
        match fact {
            Fact::Started { node, .. } => {
                self.beats[node].fill(Vec::new());
                self.before[node].fill(0);
            }
            Fact::Own(
                Own::Asks { node, to, ask: Ask::Heartbeat(_) | Ask::Status { .. } }
                | Own::Unsent { node, to },
            ) => {
                self.beats[node][to].push(check.now);
                self.before[node][to] = 0;
            }
            Fact::Own(Own::Answered { node, by }) => {
                let of = check.plan.own.number(by);
                // Some are still to be answered.
                let most = check.plan.own.slow(check.plan.own.config.request_timeout);
                self.before[node][of] = self.beats[node][of].len();
                self.beats[node][of].retain(|asked| asked + most >= check.now);
            }
            Fact::Own(Own::Dropped { node, id }) => {
                let config = &check.plan.nodes[node].config;
                let all = &check.plan.nodes;
                let Some(other) = all.iter().position(|one| one.config.id == *id) else {
                    return Ok(());
                };
                // What comes from another memory of that name is no answer.
                if check.plan.own.kind == Kind::Mistaken {
                    return Ok(());
                }
                let (name, beats) = (check.name(node), self.beats[node][other].len());
                let beats = beats.max(self.before[node][other]);
                if beats <= config.tolerance as usize {
                    return Err(format!(
                        "{name} drops {id}, which has not answered {beats} requests; {} may stay \
                         without an answer",
                        config.tolerance
                    ));
                }
                if check.plan.calm || check.now >= check.plan.settled {
                    return Err(format!("{name} drops {id}, and nothing goes wrong"));
                }
            }
            _ => {}
        }
        Ok(())
    }
}
