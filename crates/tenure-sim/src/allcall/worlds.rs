//! What worlds of ALLCALL are drawn from.

use super::LeasedLeaders;
use super::plan::{self, Plan};
use crate::sweep::Source;

/// Worlds of ALLCALL.
#[derive(Clone, Copy, Debug, Default)]
pub struct Worlds;

impl Source for Worlds {
    type Scenario = LeasedLeaders;

    const NAME: &'static str = "allcall";

    fn plan(&self, seed: u64) -> Plan {
        plan::draw(seed)
    }

    fn flags(&self) -> &'static str {
        " --protocol allcall"
    }
}
