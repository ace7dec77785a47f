use std::collections::BTreeMap;

use tenure_core::nerio::Inc;

use super::{Court, Fact, Plan, Property};

/// Identity: a grantor that hears one life of a name, another, and the first again says that two
/// use it.
#[derive(Debug)]
pub(super) struct NamesAreReported {
    /// The last two lives of each name at each grantor.
    heard: BTreeMap<(usize, usize), (Inc, Option<Inc>)>,
    /// Whose name each grantor has to say before it handles the next request.
    owed: Vec<Option<usize>>,
}

impl Property for NamesAreReported {
    const NAME: &'static str = "A name that two lives use at once is reported";
    const SOURCE: &'static str = "identity";
    const NEEDS_BOUND: bool = false;

    fn new(plan: &Plan) -> Self {
        Self { heard: BTreeMap::new(), owed: vec![None; plan.nodes.len()] }
    }

    #[inline(always)]
    fn see(&mut self, court: &Court<'_>, fact: &Fact<'_>) -> Result<(), String> {
        match fact {
            Fact::Crashed { node } => {
                self.heard.retain(|(grantor, _), _| grantor != node);
                self.owed[*node] = None;
                Ok(())
            }
            Fact::Asks { grantor, from, .. } => {
                if let Some(owed) = self.owed[*grantor] {
                    let (name, owed) = (&court.plan.nodes[*grantor].name, &court.plan.nodes[owed]);
                    let of = &owed.name;
                    return Err(format!(
                        "{name} heard two lives of {of} in turn, and said nothing"
                    ));
                }
                let mut nodes = court.plan.nodes.iter();
                let Some(node) = nodes.position(|node| node.name == from.who.name) else {
                    return Ok(());
                };
                let inc = from.who.inc;
                let (last, before) = self.heard.entry((*grantor, node)).or_insert((inc, None));
                if *last != inc {
                    self.owed[*grantor] = (*before == Some(inc)).then_some(node);
                    (*last, *before) = (inc, Some(*last));
                }
                Ok(())
            }
            Fact::Contested { grantor, .. } => {
                self.owed[*grantor] = None;
                Ok(())
            }
            _ => Ok(()),
        }
    }
}
