use super::{Check, Fact, LeasedLeaders, Own, Property};

/// Ruling 8: a life keeps its rank and its tie-break, over every reconnection, so that equal ranks
/// do not alternate.
#[derive(Debug, Default)]
pub(in super::super) struct RanksAreKept;

impl Property<LeasedLeaders> for RanksAreKept {
    const NAME: &'static str = "Equal ranks do not alternate";
    const SOURCE: &'static str = "ruling 8; an old test";

    fn see(&mut self, check: &Check<'_>, fact: Fact<'_>) -> Result<(), String> {
        let Fact::Own(Own::Said { node, packet, .. }) = fact else { return Ok(()) };
        let me = check.life_of(node).me.as_ref();
        match me.is_none_or(|(_, rank)| *rank == packet.header.rank) {
            true => Ok(()),
            false => Err(format!("{} was {me:?}, and now says {packet}", check.name(node))),
        }
    }
}
