use tenure_core::Time;
use tenure_core::nerio::{Inc, Message};

use super::places::Places;
use super::{Check, Fact, Own, Plan, Property, QuorumLeases};

/// Identity: a grantor that hears one life of a name, another, and the first again says that two
/// use it; and says so to each of them that it refuses, for as long as a lease lasts.
#[derive(Debug, Default)]
pub(super) struct NamesAreReported {
    /// The last two lives of each name at each grantor.
    heard: Places<Option<(Inc, Option<Inc>)>>,
    /// Whose name each grantor has to say before it handles the next request.
    owed: Vec<Option<usize>>,
    /// When a life of each name came back last at each grantor, and none since that was new.
    back: Places<Option<Time>>,
    /// Whom each grantor has to say so if it refuses its request of this Start, and whether it has
    /// refused that and not said so.
    refuses: Vec<Option<(Inc, Time, bool)>>,
}

impl Property<QuorumLeases> for NamesAreReported {
    const NAME: &'static str = "A name that two incarnations use at once is reported";
    const SOURCE: &'static str = "identity";
    const NEEDS_BOUND: bool = false;

    fn begin(&mut self, plan: &Plan) {
        let nodes = plan.nodes.len();
        let (owed, refuses) = (vec![None; nodes], vec![None; nodes]);
        let (heard, back) = (Places::by_node(plan), Places::by_node(plan));
        *self = Self { heard, owed, back, refuses };
    }

    #[inline(always)]
    fn see(&mut self, check: &Check<'_>, fact: Fact<'_>) -> Result<(), String> {
        match fact {
            Fact::Crashed { node } => {
                self.heard.forget(node);
                self.back.forget(node);
                (self.owed[node], self.refuses[node]) = (None, None);
                Ok(())
            }
            Fact::Own(Own::Sent { node, message: Message::Refused(refused), .. }) => {
                if let Some((inc, start, silent)) = &mut self.refuses[node]
                    && (refused.asker, refused.start) == (*inc, *start)
                {
                    *silent = refused.name_shared.is_none();
                    if !*silent {
                        self.refuses[node] = None;
                    }
                }
                Ok(())
            }
            Fact::Own(Own::Asks { grantor, from, request, local, .. }) => {
                if let Some((inc, start, true)) = self.refuses[grantor].take() {
                    let name = &check.plan.nodes[grantor].name;
                    return Err(format!(
                        "{name} refused {inc} its request of {start}, and did not say that another \
                         life uses its name"
                    ));
                }
                if let Some(owed) = self.owed[grantor] {
                    let (name, owed) = (&check.plan.nodes[grantor].name, &check.plan.nodes[owed]);
                    let of = &owed.name;
                    return Err(format!(
                        "{name} heard two lives of {of} in turn, and said nothing"
                    ));
                }
                let mut nodes = check.plan.nodes.iter();
                let Some(node) = nodes.position(|node| node.name == from.who.name) else {
                    return Ok(());
                };
                let inc = from.who.inc;
                let place = (grantor, node);
                let (last, before) = self.heard.at_mut(place).get_or_insert((inc, None));
                if *last != inc {
                    let is_back = *before == Some(inc);
                    *self.back.at_mut(place) = is_back.then_some(local);
                    self.owed[grantor] = is_back.then_some(node);
                    (*last, *before) = (inc, Some(*last));
                }
                let lasts = request.lease.max(check.plan.nodes[grantor].config.parked_for());
                let shared = self.back.at(place).is_some_and(|back| local.since(back) <= lasts);
                self.refuses[grantor] = shared.then_some((inc, request.start, false));
                Ok(())
            }
            Fact::Own(Own::Contested { grantor, .. }) => {
                self.owed[grantor] = None;
                Ok(())
            }
            _ => Ok(()),
        }
    }
}
