//! What worlds of regional voters are drawn from.

use super::RegionalVoters;
use super::plan::{self, Plan};
use crate::sweep::Source;

/// Worlds of regional voters.
#[derive(Clone, Copy, Debug, Default)]
pub struct Worlds;

impl Source for Worlds {
    type Scenario = RegionalVoters;

    const NAME: &'static str = "voter";

    fn plan(&self, seed: u64) -> Plan {
        plan::draw(seed)
    }

    fn flags(&self) -> &'static str {
        " --protocol voter"
    }
}
