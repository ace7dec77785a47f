use std::time::Duration;

use tenure_core::Time;

use super::{Check, Fact, Own, Plan, Property, QuorumLeases};

/// A grantor that starts waits for what it lacks: it writes no reserve, which says that it has read
/// the fences of the others, before one of them has answered; and it gives no longer leases than
/// its directory knows of before those that others have forgotten are over.
#[derive(Debug, Default)]
pub(super) struct StartsInOrder {
    lives: Vec<Life>,
}

/// What one grantor does in its present life.
#[derive(Clone, Debug, Default)]
struct Life {
    /// When it began.
    began: Option<Time>,
    /// Whether it has to ask others before it serves.
    reads: bool,
    /// How many answers it has had.
    answered: usize,
    /// Whether one arrives, and whether it has just handled one, and may say that it does not
    /// count.
    hears: bool,
    handled: bool,
}

impl Property<QuorumLeases> for StartsInOrder {
    const NAME: &'static str = "A start waits for what it lacks";
    const SOURCE: &'static str = "the scalar fence 4; restart: grantors that differ";
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
            Fact::Own(Own::Opens { grantor, knows_fences: false, .. }) => {
                self.lives[grantor].reads = check.plan.members() > 1;
            }
            Fact::Own(Own::Recalls { grantor, .. }) if self.lives[grantor].reads => {
                self.lives[grantor].hears = true;
            }
            Fact::Handled { node, .. } => {
                let life = &mut self.lives[node];
                let hears = std::mem::take(&mut life.hears);
                life.answered += usize::from(std::mem::replace(&mut life.handled, hears));
            }
            Fact::Own(Own::Unread { grantor }) => self.lives[grantor].handled = false,
            Fact::Own(Own::Serves { grantor }) => {
                let life = &mut self.lives[grantor];
                let answered = life.answered + usize::from(life.handled);
                if std::mem::take(&mut life.reads) && answered == 0 {
                    let name = &check.plan.nodes[grantor].name;
                    return Err(format!(
                        "{name} has lost its memory, and serves with nothing read"
                    ));
                }
            }
            Fact::Own(Own::Reserves { grantor, .. }) => {
                let life = &self.lives[grantor];
                if life.reads && life.answered == 0 && !life.handled {
                    let name = &check.plan.nodes[grantor].name;
                    return Err(format!(
                        "{name} has lost its memory, and writes a reserve with nothing read"
                    ));
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
