use super::{Court, Fact, Plan, Property};

/// What the handle says is what the core says, at any moment.
#[derive(Debug)]
pub(super) struct HandlesAgree;

impl Property for HandlesAgree {
    const NAME: &'static str = "Handle and core agree";
    const SOURCE: &'static str = "the contract";

    fn new(_: &Plan) -> Self {
        Self
    }

    #[inline(always)]
    fn see(&mut self, court: &Court<'_>, fact: &Fact<'_>) -> Result<(), String> {
        let Fact::Asked { node, election, handle, standing } = fact else { return Ok(()) };
        let core = match standing {
            tenure_core::Standing::Leading { fence, .. } => *fence,
            tenure_core::Standing::NotLeading => None,
        };
        if *handle == core {
            return Ok(());
        }
        Err(format!(
            "the handle of {} in {} says fence {handle:?}, and the core {core:?}",
            court.name(*node),
            court.election(*election),
        ))
    }
}
