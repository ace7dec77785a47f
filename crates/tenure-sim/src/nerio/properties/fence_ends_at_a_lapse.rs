use super::{Court, Fact, Plan, Property, seconds};

/// The scalar fence 2: a fence stays over renewals only as long as the claim is unbroken.
#[derive(Debug)]
pub(super) struct FenceEndsAtALapse;

impl Property for FenceEndsAtALapse {
    const NAME: &'static str = "A fence ends with the lapse of its leadership";
    const SOURCE: &'static str = "the scalar fence 2";

    fn new(_: &Plan) -> Self {
        Self
    }

    #[inline(always)]
    fn see(&mut self, court: &Court<'_>, fact: Fact<'_>) -> Result<(), String> {
        let Fact::Claimed { election, who, fence, .. } = fact else { return Ok(()) };
        let leaderships = court.annals(election).leaderships.iter().rev();
        let mut same = leaderships.filter(|l| l.who == *who && l.fence == fence);
        match same.next() {
            Some(last) if last.until <= court.now => Err(format!(
                "{who} claims {} again under fence {fence}, which lapsed at {}",
                court.election(election),
                seconds(last.until),
            )),
            Some(_) | None => Ok(()),
        }
    }
}
