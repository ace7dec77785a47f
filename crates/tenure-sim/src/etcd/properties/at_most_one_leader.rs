use super::{Court, Fact, Plan, Property, seconds};

/// The promise: at most one leader in true time, unless its key or lease was taken away, or the
/// store went back, or a server that is not mended revoked early.
#[derive(Debug)]
pub(super) struct AtMostOneLeader;

impl Property for AtMostOneLeader {
    const NAME: &'static str = "At most one leader";
    const SOURCE: &'static str = "the promise";

    fn new(_: &Plan) -> Self {
        Self
    }

    #[inline(always)]
    fn see(&mut self, court: &Court<'_>, fact: &Fact<'_>) -> Result<(), String> {
        let Fact::Claimed { node, life, election, fence, key, until, .. } = fact else {
            return Ok(());
        };
        if *until <= court.now {
            return Ok(());
        }
        let leaderships = &court.annals(*election).leaderships;
        let back = court.ledger.restored.unwrap_or(0);
        let own = |l: &&super::Leadership| l.is(*node, *life, *fence, back);
        // Its process may have stopped between the win and the claim.
        let robbed = match leaderships.iter().rev().find(own) {
            Some(own) => own.robbed,
            None => court.ledger.is_taken(key),
        };
        if robbed {
            return Ok(());
        }
        let mut others = leaderships.iter().rev().filter(|l| !own(l) && !l.robbed);
        let Some(other) = others.find(|other| other.until > court.now) else { return Ok(()) };
        Err(format!(
            "{} leads {} with fence {fence} until {}; and {} leads with fence {} since {} until {}",
            court.name(*node),
            court.election(*election),
            seconds(*until),
            court.name(other.node),
            other.fence,
            seconds(other.from),
            seconds(other.until),
        ))
    }
}
