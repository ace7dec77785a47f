use super::{Court, Fact, Plan, Property, seconds};

/// Section 1: at any time, at most one process is leader.
#[derive(Debug)]
pub(super) struct LeaderUniqueness;

impl Property for LeaderUniqueness {
    const NAME: &'static str = "Leader Uniqueness";
    const SOURCE: &'static str = "section 1";

    fn new(_: &Plan) -> Self {
        Self
    }

    #[inline(always)]
    fn see(&mut self, court: &Court<'_>, fact: Fact<'_>) -> Result<(), String> {
        let Fact::Claimed { node, election, who, fence, until, .. } = fact else { return Ok(()) };
        if until <= court.now {
            return Ok(());
        }
        let leaderships = court.annals(election).leaderships.iter().rev();
        let mut others = leaderships.filter(|l| !(l.who == *who && l.fence == fence));
        let Some(other) = others.find(|other| other.ends() > court.now) else { return Ok(()) };
        let promised = match other.promised {
            0 => String::new(),
            promised => format!(", promised until {}", seconds(promised)),
        };
        Err(format!(
            "{who} leads {} with fence {fence} until {} on grants of {}, {}; and {} leads with \
             fence {} since {} until {}{}, on grants of {}, {}",
            court.election(election),
            seconds(until),
            court.backers(election, who, until),
            court.clock(node),
            other.who,
            other.fence,
            seconds(other.from),
            seconds(other.until),
            promised,
            court.backers(election, &other.who, other.until),
            court.clock(other.node),
        ))
    }
}
