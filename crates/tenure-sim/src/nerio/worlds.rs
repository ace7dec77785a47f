//! The source of Nerio's worlds.

use super::QuorumLeases;
use super::plan::{self, Climate, Plan};
use crate::sweep::Source;

#[derive(Clone, Copy, Debug, Default)]
pub struct Worlds {
    pub climate: Climate,
}

impl Source for Worlds {
    type Scenario = QuorumLeases;

    const NAME: &'static str = "nerio";

    fn plan(&self, seed: u64) -> Plan {
        plan::draw(seed, self.climate)
    }

    /// Nerio needs no flag, because it is the default protocol of worlds.
    fn flags(&self) -> String {
        match self.climate {
            Climate::Any => String::new(),
            Climate::BrokenClocks => " --broken-clocks".to_owned(),
        }
    }

    fn with_broken_clocks(self) -> Option<Self> {
        Some(Self { climate: Climate::BrokenClocks })
    }
}
