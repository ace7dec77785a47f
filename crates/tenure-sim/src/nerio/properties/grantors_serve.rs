use super::{Check, Fact, Own, Plan, Property, QuorumLeases, seconds};

/// Restart: after the last fault, every running grantor grants again within the bound. Other checks
/// would notice a failed grantor only when too few grantors are left.
#[derive(Debug, Default)]
pub(super) struct GrantorsServe {
    serves: Vec<bool>,
    judged: bool,
}

impl Property<QuorumLeases> for GrantorsServe {
    const NAME: &'static str = "Every grantor serves in the end";
    const SOURCE: &'static str = "restart 1; the scalar fence 4";

    fn begin(&mut self, plan: &Plan) {
        *self = Self { serves: vec![false; plan.nodes.len()], judged: false };
    }

    #[inline(always)]
    fn see(&mut self, check: &Check<'_>, fact: Fact<'_>) -> Result<(), String> {
        match fact {
            Fact::Own(Own::Serves { grantor }) => {
                self.serves[grantor] = true;
                Ok(())
            }
            Fact::Crashed { node } => {
                if let Some(serves) = self.serves.get_mut(node) {
                    *serves = false;
                }
                Ok(())
            }
            // If members change, some nodes grant nothing in the end.
            Fact::Moment if check.plan.own.focus.changes() => Ok(()),
            Fact::Moment if !self.judged && check.now >= check.plan.settled => {
                self.judged = true;
                let runs = |grantor: &usize| {
                    let node = &check.plan.nodes[*grantor];
                    node.member && !node.stray && check.history.lives[*grantor].is_some()
                };
                match (0..self.serves.len()).filter(runs).find(|grantor| !self.serves[*grantor]) {
                    Some(idle) => Err(format!(
                        "{} grants nothing since it started at {}, and nothing has gone wrong \
                         since {}",
                        check.plan.nodes[idle].name,
                        seconds(check.history.since[idle]),
                        seconds(check.plan.conditions.storm_ends),
                    )),
                    None => Ok(()),
                }
            }
            _ => Ok(()),
        }
    }
}
