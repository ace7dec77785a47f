use super::{Check, Claim, Elections, Fact, Property};
use crate::etcd::plan::FENCE_END;

#[derive(Debug, Default)]
pub(super) struct FencesHaveRoom;

impl Property<Elections> for FencesHaveRoom {
    const NAME: &'static str = super::FENCES.0;
    const SOURCE: &'static str = super::FENCES.1;

    #[inline(always)]
    fn see(&mut self, check: &Check<'_>, fact: Fact<'_>) -> Result<(), String> {
        let Fact::Claimed(Claim { node, election, fence: Some(fence), .. }) = fact else {
            return Ok(());
        };
        if fence.number() < FENCE_END {
            return Ok(());
        }
        let name = check.name(node);
        let election = check.election(election);
        Err(format!("{name} got fence {fence} of {election}: no room for a revision so high"))
    }
}
