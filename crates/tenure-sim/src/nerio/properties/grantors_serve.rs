use super::{Court, Fact, Plan, Property, seconds};

/// Restart: once nothing goes wrong, every grantor that runs grants again within the bound. The
/// others would make up for it, until too few are left.
#[derive(Debug)]
pub(super) struct GrantorsServe {
    serves: Vec<bool>,
    judged: bool,
}

impl Property for GrantorsServe {
    const NAME: &'static str = "Every grantor serves in the end";
    const SOURCE: &'static str = "restart 1; the scalar fence 4";

    fn new(plan: &Plan) -> Self {
        Self { serves: vec![false; plan.members()], judged: false }
    }

    #[inline(always)]
    fn see(&mut self, court: &Court<'_>, fact: Fact<'_>) -> Result<(), String> {
        match fact {
            Fact::Serves { grantor } => {
                self.serves[grantor] = true;
                Ok(())
            }
            Fact::Crashed { node } => {
                if let Some(serves) = self.serves.get_mut(node) {
                    *serves = false;
                }
                Ok(())
            }
            Fact::Moment if !self.judged && court.now >= court.plan.settled => {
                self.judged = true;
                let runs = |grantor: &usize| court.ledger.lives[*grantor].is_some();
                match (0..self.serves.len()).filter(runs).find(|grantor| !self.serves[*grantor]) {
                    Some(idle) => Err(format!(
                        "{} grants nothing since it started at {}, and nothing has gone wrong \
                         since {}",
                        court.plan.nodes[idle].name,
                        seconds(court.ledger.since[idle]),
                        seconds(court.plan.conditions.storm_ends),
                    )),
                    None => Ok(()),
                }
            }
            _ => Ok(()),
        }
    }
}
