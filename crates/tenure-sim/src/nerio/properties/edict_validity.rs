use super::{Court, Fact, Plan, Property};

/// Section 1: an edict is created by the leader, while it leads. And the handle, the core and
/// true time agree on who that is.
#[derive(Debug)]
pub(super) struct EdictValidity;

impl Property for EdictValidity {
    const NAME: &'static str = "Edict Validity";
    const SOURCE: &'static str = "section 1";

    fn new(_: &Plan) -> Self {
        Self
    }

    #[inline(always)]
    fn see(&mut self, court: &Court<'_>, fact: Fact<'_>) -> Result<(), String> {
        match fact {
            Fact::Edict { election, who, fence, .. } => {
                match court.annals(election).leader(court.now) {
                    Some(leader) if leader.who == *who && leader.fence == fence => Ok(()),
                    Some(leader) => Err(format!(
                        "{who} creates an edict of {} under fence {fence} while {} leads under {}",
                        court.election(election),
                        leader.who,
                        leader.fence,
                    )),
                    None => Err(format!(
                        "{who} creates an edict of {} under fence {fence} while nobody leads",
                        court.election(election),
                    )),
                }
            }
            Fact::Asked { election, who, handle, standing } => {
                let says = standing.is_leading();
                if says == handle.is_some() {
                    return Ok(());
                }
                let (core, handle) = (leads(says), leads(handle.is_some()));
                let election = court.election(election);
                Err(format!("the core of {who} {core} {election}, and its handle {handle}"))
            }
            _ => Ok(()),
        }
    }
}

const fn leads(says: bool) -> &'static str {
    if says { "leads" } else { "does not lead" }
}
