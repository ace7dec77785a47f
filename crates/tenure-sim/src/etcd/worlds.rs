//! What worlds of elections on etcd are drawn from.

use super::Elections;
use super::plan::{self, Plan};
use crate::sweep::Source;

/// Worlds of elections on etcd.
#[derive(Clone, Copy, Debug, Default)]
pub struct Worlds;

impl Source for Worlds {
    type Scenario = Elections;

    const NAME: &'static str = "etcd";

    fn plan(&self, seed: u64) -> Plan {
        plan::draw(seed)
    }

    fn flags(&self) -> &'static str {
        " --protocol etcd"
    }
}
