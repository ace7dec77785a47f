use super::{Check, Emergence, Fact, Own, Property};

/// Ruling 8: a rebalance takes only what it names. What its client has a process has, too.
#[derive(Debug, Default)]
pub(in super::super) struct Kept;

impl Property<Emergence> for Kept {
    const NAME: &'static str = "A process that joins disturbs no owner";
    const SOURCE: &'static str = "ruling 8";

    fn see(&mut self, check: &Check<'_>, fact: Fact<'_>) -> Result<(), String> {
        let Fact::Own(Own::Keeps { node, kept: false }) = fact else { return Ok(()) };
        Err(format!("{} keeps a partition, and takes it for given back", check.name(node)))
    }
}
