use tenure_core::nerio::{Inc, MemberSet, Message, Refusal};
use tenure_core::{NodeName, Waiting};

use super::{Check, Fact, Own, Plan, Property, QuorumLeases};

/// What a candidate says it waits for keeps it from every quorum, and is the last word of somebody:
/// nobody who has granted since is in its way.
///
/// What the candidate has forgotten since counts here, too: this allows more than it may say.
#[derive(Debug, Default)]
pub(super) struct WaitingIsSo {
    elections: usize,
    /// Whom each member has named since it granted last, by candidate.
    held: Vec<Vec<Vec<NodeName>>>,
    /// Who granted to each node with its last input: what it says then it may have found before.
    granted: Vec<Option<(usize, usize)>>,
}

impl Property<QuorumLeases> for WaitingIsSo {
    const NAME: &'static str = "What a candidate says it waits for is so";
    const SOURCE: &'static str = "waiting";
    const NEEDS_BOUND: bool = false;

    fn begin(&mut self, plan: &Plan) {
        let elections = plan.elections.len();
        let none = vec![Vec::new(); plan.members()];
        let nodes = plan.nodes.len();
        *self = Self { elections, held: vec![none; elections * nodes], granted: vec![None; nodes] };
    }

    #[inline(always)]
    fn see(&mut self, check: &Check<'_>, fact: Fact<'_>) -> Result<(), String> {
        match fact {
            Fact::Started { node, .. } => {
                let all = &mut self.held[node * self.elections..][..self.elections];
                all.iter_mut().flatten().for_each(Vec::clear);
                self.granted[node] = None;
                Ok(())
            }
            Fact::Own(Own::Answered { node, election, member, message, .. }) => {
                if asker(message) != check.history.lives[node].map(Inc) {
                    return Ok(());
                }
                self.see_grant(node);
                let place = node * self.elections + election;
                match message {
                    Message::Refused(refused) => {
                        if let Refusal::Held { holder, .. } = &refused.refusal {
                            let (held, name) = (&mut self.held[place][member], &holder.who.name);
                            if !held.contains(name) {
                                held.push(name.clone());
                            }
                        }
                    }
                    _ => self.granted[node] = Some((place, member)),
                }
                Ok(())
            }
            Fact::Handled { node, timer: Some(_), .. } => {
                self.see_grant(node);
                Ok(())
            }
            Fact::Waits { node, election, waiting } => {
                let held = &self.held[node * self.elections + election];
                judge(check, held, waiting).map_err(|why| {
                    let name = &check.plan.nodes[node].name;
                    format!("{name} says of {}: {waiting}; {why}", check.election(election))
                })
            }
            _ => Ok(()),
        }
    }
}

impl WaitingIsSo {
    /// Another input has come since somebody granted.
    fn see_grant(&mut self, node: usize) {
        if let Some((place, member)) = self.granted[node].take() {
            self.held[place][member].clear();
        }
    }
}

fn judge(check: &Check<'_>, held: &[Vec<NodeName>], waiting: &Waiting) -> Result<(), String> {
    let config = check.plan.config();
    match waiting {
        Waiting::NoQuorum { missing } => {
            let is_missing = |member: &usize| {
                let name = config.members[*member].name.as_str();
                missing.iter().any(|missing| **missing == *name)
            };
            let silent: MemberSet = (0..config.members.len()).filter(is_missing).collect();
            match config.quorums.is_possible(silent) {
                true => Err("the others are a quorum".to_owned()),
                false => Ok(()),
            }
        }
        Waiting::Behind { who, .. } => {
            let names = |held: &Vec<NodeName>| held.iter().any(|name| name.as_str() == &**who);
            match held.iter().any(names) {
                true => Ok(()),
                false => Err("all who named that one have granted since".to_owned()),
            }
        }
        _ => Ok(()),
    }
}

/// The life that is answered.
fn asker(message: &Message) -> Option<Inc> {
    match message {
        Message::Granted(ok) => Some(ok.asker),
        Message::Refused(refused) => Some(refused.asker),
        _ => None,
    }
}
