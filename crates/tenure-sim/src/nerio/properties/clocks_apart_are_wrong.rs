use super::{Check, Fact, Own, Plan, Property, QuorumLeases};

/// A node reports a breach of ρ only of a clock that breaks its bound. If the clock of a node and
/// all clocks beside it are legal, the node reports no breach, however late messages are.
#[derive(Debug, Default)]
pub(super) struct ClocksApartAreWrong {
    /// Whether each node's clock keeps to its bound.
    is_legal: Vec<bool>,
}

impl Property<QuorumLeases> for ClocksApartAreWrong {
    const NAME: &'static str = "Clocks apart are wrong";
    const SOURCE: &'static str = "clock breach";
    const NEEDS_BOUND: bool = false;

    fn begin(&mut self, plan: &Plan) {
        let drift = plan.config().drift;
        let sites = plan.conditions.sites.iter();
        self.is_legal = sites.map(|site| site.clock.is_within(drift)).collect();
    }

    #[inline]
    fn see(&mut self, check: &Check<'_>, fact: Fact<'_>) -> Result<(), String> {
        let Fact::Own(Own::Apart { node, apart }) = fact else { return Ok(()) };
        let is_member = |other: &usize| {
            let nodes = &check.plan.nodes;
            nodes[*other].name == apart.member
        };
        let others = (0..check.plan.nodes.len()).filter(is_member);
        let legal = others.chain([node]).all(|one| self.is_legal[one]);
        match legal {
            true => Err(format!("{} reports legal clocks: {apart}", check.name(node))),
            false => Ok(()),
        }
    }
}
