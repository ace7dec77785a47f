//! What worlds of Nerio are drawn from, and how they are told to people.

use super::driver::DriverRule;
use super::plan::{Climate, Inhabitant, Plan};
use super::{Counts, Town};
use crate::sweep::Source;
use crate::timeline::{Lane, Span};
use crate::world::clock::TRUE_RATE;
use crate::world::conditions::{Conditions, Site};

/// Worlds of Nerio.
#[derive(Clone, Copy, Debug, Default)]
pub struct Worlds {
    /// What they are drawn from.
    pub climate: Climate,
    /// What their drivers do wrong.
    pub broken: Option<DriverRule>,
}

impl Source for Worlds {
    type Plan = Plan;
    type Guest = Town;
    type Counts = Counts;

    const NAME: &'static str = "nerio";

    fn plan(&self, seed: u64) -> Plan {
        let plan = Plan::draw(seed, self.climate);
        match self.broken {
            Some(rule) => plan.breaking(rule),
            None => plan,
        }
    }

    fn conditions(plan: &Plan) -> Conditions {
        plan.conditions.clone()
    }

    fn guest(plan: Plan) -> Town {
        Town::new(plan)
    }

    fn drawn(guest: Town) -> Town {
        guest.drawn()
    }

    fn spans(guest: &mut Town) -> Vec<Span> {
        guest.take_spans()
    }

    fn count(guest: &Town, counts: &mut Counts) {
        counts.add(guest.counts());
    }

    fn lanes(plan: &Plan) -> Vec<Lane> {
        let lane = |(site, node): (&Site, &Inhabitant)| Lane {
            name: site.name.clone(),
            role: match (node.member, node.campaigns) {
                (true, true) => "grantor, candidate",
                (true, false) => "grantor",
                (false, _) => "candidate",
            }
            .to_owned(),
            clock: format!("{:.4} of true time", site.clock.rate(0) as f64 / TRUE_RATE as f64),
        };
        plan.conditions.sites.iter().zip(&plan.nodes).map(lane).collect()
    }

    fn names(plan: &Plan) -> Vec<(String, String)> {
        plan.nodes.iter().map(|node| (node.address.to_string(), node.name.to_string())).collect()
    }

    fn told(counts: &Counts) -> Vec<String> {
        vec![
            format!("messages      {}", counts.messages),
            format!(
                "elections     {} won: {} ran out, {} handed over, {} given up or withdrawn",
                counts.elected, counts.expired, counts.transferred, counts.resigned
            ),
            format!(
                "also          {} claims raised, {} edicts, {} verifications, {} views \
                 of observers",
                counts.claims, counts.edicts, counts.verified, counts.views
            ),
        ]
    }

    fn ends(counts: &Counts) -> String {
        format!(
            "{} ends of a process, {} directories lost, {} mistaken",
            counts.crashes, counts.lost_disks, counts.foreign_disks
        )
    }

    fn flags(&self) -> &'static str {
        match self.climate {
            Climate::Any => "",
            Climate::BrokenClocks => " --broken-clocks",
        }
    }
}
