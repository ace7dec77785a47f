use super::{Court, Fact, Plan, Property, seconds};

/// The scalar fence: of two leaderships the later has the higher fence, and no fence is used
/// twice. Clocks play no part in it.
#[derive(Debug)]
pub(super) struct FencesGrow;

impl Property for FencesGrow {
    const NAME: &'static str = "Fences strictly grow and are unique";
    const SOURCE: &'static str = "the scalar fence";
    const NEEDS_BOUND: bool = false;

    fn new(_: &Plan) -> Self {
        Self
    }

    #[inline(always)]
    fn see(&mut self, court: &Court<'_>, fact: Fact<'_>) -> Result<(), String> {
        let Fact::Claimed { election, who, fence, until, first, .. } = fact else {
            return Ok(());
        };
        let leaderships = &court.annals(election).leaderships;
        let last = leaderships.last();
        if until <= court.now || last.is_some_and(|l| l.who == *who && l.fence == fence) {
            return Ok(());
        }
        let twin = leaderships.iter().find(|l| l.fence == fence);
        if let Some(twin) = twin.filter(|twin| twin.who != *who || twin.first != first) {
            return Err(format!(
                "{who} got fence {fence} of {}, which {} had from {} on",
                court.election(election),
                twin.who,
                seconds(twin.from),
            ));
        }
        // A leader that renews although it was deposed is for Leader Uniqueness to see.
        if twin.is_some() {
            return Ok(());
        }
        match leaderships.iter().map(|l| l.fence).max() {
            Some(highest) if highest >= fence => Err(format!(
                "{who} got fence {fence} of {} after somebody had {highest}",
                court.election(election),
            )),
            Some(_) | None => Ok(()),
        }
    }
}
