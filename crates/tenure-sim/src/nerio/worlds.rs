//! Source of the worlds of Nerio.

use super::QuorumLeases;
use super::driver::DriverRule;
use super::plan::{self, Climate, Plan};
use super::recovery;
use crate::sweep::{Duty, Source};

/// Worlds of Nerio.
#[derive(Clone, Copy, Debug, Default)]
pub struct Worlds {
    pub climate: Climate,
    /// Duty that their drivers leave undone.
    pub broken: Option<DriverRule>,
}

impl Source for Worlds {
    type Scenario = QuorumLeases;

    const NAME: &'static str = "nerio";

    fn plan(&self, seed: u64) -> Plan {
        let mut plan = plan::draw(seed, self.climate);
        if self.climate == Climate::Any {
            recovery::happens(seed, &mut plan);
        }
        match self.broken {
            Some(rule) => plan.breaking(rule),
            None => plan,
        }
    }

    /// Nerio is the protocol of worlds unless another one is named.
    fn flags(&self) -> String {
        match self.climate {
            Climate::Any => String::new(),
            Climate::BrokenClocks => " --broken-clocks".to_owned(),
        }
    }

    fn with_broken_clocks(self) -> Option<Self> {
        Some(Self { climate: Climate::BrokenClocks, ..self })
    }

    fn duties(self) -> Vec<Duty<Self>> {
        let duty = |rule: DriverRule| Duty {
            name: format!("{rule:?}"),
            meant: rule.meant(),
            worlds: Self { broken: Some(rule), ..self },
        };
        DriverRule::ALL.map(duty).into()
    }
}
