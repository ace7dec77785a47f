//! What worlds of Nerio are drawn from.

use super::QuorumLeases;
use super::driver::DriverRule;
use super::plan::{self, Climate, Plan};
use super::recovery;
use crate::sweep::{Duty, Source};

/// Worlds of Nerio.
#[derive(Clone, Copy, Debug, Default)]
pub struct Worlds {
    /// What they are drawn from.
    pub climate: Climate,
    /// What their drivers do wrong.
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

    fn flags(&self) -> &'static str {
        match self.climate {
            Climate::Any => "",
            Climate::BrokenClocks => " --broken-clocks",
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
