use std::time::Duration;

use tenure_core::Time;

use super::{Check, Fact, Own, Plan, Property, QuorumLeases};

/// A grantor that starts waits for what it lacks: it founds nothing when somebody knows better,
/// or before it was told anything; it writes no reserve, which says that it has read the fences of
/// the others, before one of them has answered; and it gives no longer leases than its directory
/// knows of before those that others have forgotten are over.
#[derive(Debug, Default)]
pub(super) struct StartsInOrder {
    lives: Vec<Life>,
}

/// What one grantor does in its present life.
#[derive(Clone, Debug, Default)]
struct Life {
    /// When it began.
    began: Option<Time>,
    /// Whether it was told that it is the first start of the cluster, though it may have granted,
    /// and has not given that up.
    founds: bool,
    /// Whether it has to ask others before it serves.
    reads: bool,
    /// The members whose answers it has had to its present question.
    answered: usize,
    /// What it has just heard, and what it heard before that, unless it did not wait for it.
    hears: Option<Heard>,
    heard: Option<Heard>,
}

/// What shows whether there was a leadership.
#[derive(Clone, Debug)]
enum Heard {
    /// The answer of a member, and its name if that knows of one.
    Answer(Option<String>),
    Leader(String),
}

impl Property<QuorumLeases> for StartsInOrder {
    const NAME: &'static str = "A start waits for what it lacks";
    const SOURCE: &'static str = "the scalar fence 4; restart: founding, grantors that differ";
    const NEEDS_BOUND: bool = false;

    fn begin(&mut self, plan: &Plan) {
        self.lives = vec![Life::default(); plan.nodes.len()];
    }

    #[inline(always)]
    fn see(&mut self, check: &Check<'_>, fact: Fact<'_>) -> Result<(), String> {
        match fact {
            Fact::Crashed { node } => self.lives[node] = Life::default(),
            Fact::Started { node, local, .. } => {
                self.lives[node] = Life { began: Some(local), ..Life::default() };
            }
            // It may say so again.
            Fact::Own(Own::Lost { grantor, founds }) if !self.lives[grantor].reads => {
                let life = &mut self.lives[grantor];
                (life.founds, life.reads) = (founds, check.plan.members() > 2);
            }
            Fact::Own(Own::Recalls { grantor, by, knows }) if self.lives[grantor].reads => {
                let knows = knows.then(|| check.plan.nodes[by].name.to_string());
                self.lives[grantor].hears = Some(Heard::Answer(knows));
            }
            Fact::Own(Own::Asks { grantor, from, request, .. }) if self.lives[grantor].founds => {
                let leader = request.leading.then(|| Heard::Leader(from.who.to_string()));
                self.lives[grantor].hears = leader;
            }
            // It was not the answer that it waits for, or it has given its founding up.
            Fact::Own(Own::Unread { grantor }) => {
                let life = &mut self.lives[grantor];
                if let Some(Heard::Answer(_)) = life.heard.take() {
                    life.answered -= 1;
                }
            }
            Fact::Own(Own::NotFounded { grantor }) => self.lives[grantor].founds = false,
            Fact::Own(Own::Unwritten { grantor, .. }) => self.lives[grantor].founds = false,
            Fact::Own(Own::Serves { grantor }) => {
                let life = &mut self.lives[grantor];
                life.founds = false;
                if std::mem::take(&mut life.reads) && life.answered == 0 {
                    let name = &check.plan.nodes[grantor].name;
                    return Err(format!(
                        "{name} has lost its memory, and serves with nothing read"
                    ));
                }
            }
            Fact::Own(Own::Reserves { grantor }) => {
                let life = &self.lives[grantor];
                if life.reads && life.answered == 0 {
                    let name = &check.plan.nodes[grantor].name;
                    return Err(format!(
                        "{name} has lost its memory, and writes a reserve with nothing read"
                    ));
                }
            }
            Fact::Handled { node, .. } => {
                let life = &mut self.lives[node];
                if life.hears.is_none() && life.heard.is_none() {
                    return Ok(());
                }
                let heard = std::mem::replace(&mut life.heard, life.hears.take());
                life.answered += usize::from(matches!(life.heard, Some(Heard::Answer(_))));
                let (Some(Heard::Answer(Some(knows))) | Some(Heard::Leader(knows))) = heard else {
                    return Ok(());
                };
                if life.founds {
                    let name = &check.plan.nodes[node].name;
                    return Err(format!("{name} founds, and {knows} knows of a leadership"));
                }
            }
            Fact::Own(Own::Allows { grantor, delta_max, ever, local }) => {
                return self.allows(check, grantor, (delta_max, ever), local);
            }
            _ => {}
        }
        Ok(())
    }
}

impl StartsInOrder {
    fn allows(
        &self,
        check: &Check<'_>,
        grantor: usize,
        (delta_max, ever): (Duration, Duration),
        local: Time,
    ) -> Result<(), String> {
        let node = &check.plan.nodes[grantor];
        let Some(began) = self.lives[grantor].began else { return Ok(()) };
        let parts = 1_000_000_000 + u128::from(node.config.drift.parts_per_billion());
        let needed = (delta_max.as_nanos() * parts).div_ceil(1_000_000_000);
        if local.since(began).as_nanos() >= needed {
            return Ok(());
        }
        Err(format!(
            "{} allows leases of {delta_max:?} at {local}, after {ever:?} until it started at \
             {began}",
            node.name,
        ))
    }
}
