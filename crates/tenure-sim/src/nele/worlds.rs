//! What worlds of NELE are drawn from.

use super::Emergence;
use super::plan::{self, Plan};
use crate::sweep::Source;

/// Worlds of NELE.
#[derive(Clone, Copy, Debug, Default)]
pub struct Worlds;

impl Source for Worlds {
    type Scenario = Emergence;

    const NAME: &'static str = "nele";

    fn plan(&self, seed: u64) -> Plan {
        plan::draw(seed)
    }

    fn flags(&self) -> &'static str {
        " --protocol nele"
    }
}
