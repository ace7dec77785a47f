use super::{Court, Fact, Plan, Property};

/// When nothing goes wrong no lease is lost.
#[derive(Debug)]
pub(super) struct Stability;

impl Property for Stability {
    const NAME: &'static str = "No lease is lost in calm worlds";
    const SOURCE: &'static str = "ruling 3 (E2): renewed at a third of its length";

    fn new(_: &Plan) -> Self {
        Self
    }

    #[inline(always)]
    fn see(&mut self, court: &Court<'_>, fact: &Fact<'_>) -> Result<(), String> {
        let Fact::Closed { node, lease, lost: Some(lost) } = fact else { return Ok(()) };
        if !court.plan.calm && court.now < court.plan.settled {
            return Ok(());
        }
        Err(format!("{} lost lease {lease}: {lost}", court.name(*node)))
    }
}
