use tenure_core::etcd::KeyValue;
use tenure_core::{LeaderView, View};

use super::{Check, Elections, Fact, Plan, Property, Records, seconds};

/// A view was true at some instant after the observer's last read, and never comes from memory.
/// Without faults the last view soon becomes true: in calm worlds with the news, elsewhere with the
/// next read.
#[derive(Debug, Default)]
pub(super) struct ObserversSeeWhatIs {
    /// Last view of each node and election, and the start of the observation.
    told: Vec<Vec<Option<Report>>>,
}

#[derive(Clone, Debug)]
struct Report {
    began: u64,
    view: Option<View>,
    /// Time of the view.
    at: u64,
}

/// Whether a view names this key as the leader; without a key, whether the view shows a vacancy.
/// An unknown leader is neither.
fn is(view: &View, first: Option<&KeyValue>) -> bool {
    match (view, first) {
        (View::Leader(LeaderView { id, value, fence, .. }), Some(kv)) => {
            let created = fence.map_or(kv.created, Records::created);
            let rest = kv.key.as_slice().strip_suffix(id.as_bytes());
            let is_own = rest.is_some_and(|rest| rest.ends_with(b"/"));
            is_own && value.as_bytes() == kv.value.as_slice() && created == kv.created
        }
        (View::Vacant, None) => true,
        _ => false,
    }
}

impl ObserversSeeWhatIs {
    /// Checks the views after the last fault, or in worlds without faults.
    fn in_the_end(&self, check: &Check<'_>) -> Result<(), String> {
        let plan = check.plan;
        let again = plan.own.bounds.look_again() + 3 * plan.conditions.unit;
        let (from, within) =
            if plan.calm { (0, plan.news()) } else { (plan.conditions.storm_ends, again) };
        for (node, told) in self.told.iter().enumerate() {
            for (election, told) in told.iter().enumerate() {
                let Some(told) = told else { continue };
                let Some(first) = check.records().firsts[election].firsts.back() else { continue };
                let doubt = matches!(told.view, Some(View::Unknown { .. }));
                let told_at = if doubt { told.at } else { told.began };
                let since = first.since.max(told_at).max(from);
                if check.now < since + within {
                    continue;
                }
                let says = told.view.as_ref();
                if says.is_none_or(|view| !is(view, first.key.as_ref())) {
                    let says = says.map_or("nothing".to_owned(), ToString::to_string);
                    let first = first.key.as_ref();
                    return Err(format!(
                        "{} says of {}: {says}; the first is {}, since {}",
                        check.name(node),
                        check.election(election),
                        first.map_or("nobody".to_owned(), ToString::to_string),
                        seconds(since),
                    ));
                }
            }
        }
        Ok(())
    }
}

impl Property<Elections> for ObserversSeeWhatIs {
    const NAME: &'static str = super::OBSERVERS.0;
    const SOURCE: &'static str = super::OBSERVERS.1;

    fn begin(&mut self, plan: &Plan) {
        self.told = vec![vec![None; plan.elections.len()]; plan.nodes.len()];
    }

    #[inline(always)]
    fn see(&mut self, check: &Check<'_>, fact: Fact<'_>) -> Result<(), String> {
        match fact {
            Fact::Crashed { node } => self.told[node].fill(None),
            Fact::Observes { node, election, begins } => {
                let told = &mut self.told[node][election];
                if !begins {
                    *told = None;
                } else if told.is_none() {
                    *told = Some(Report { began: check.now, view: None, at: check.now });
                }
            }
            Fact::Viewed { node, election, view, .. } => {
                let asked = check.records().asked[node][election][1];
                let mut firsts = check.records().firsts[election].since(asked);
                let known = matches!(view, View::Unknown { .. })
                    || firsts.any(|first| is(view, first.key.as_ref()))
                    || check.records().went_back(asked);
                if !known {
                    let first = check.records().firsts[election].now();
                    return Err(format!(
                        "{} says of {}: {view}; no such state existed since the read at {}, \
                         and the first is {}",
                        check.name(node),
                        check.election(election),
                        seconds(asked),
                        first.map_or("nobody".to_owned(), ToString::to_string),
                    ));
                }
                if let Some(told) = &mut self.told[node][election] {
                    told.view = Some((*view).clone());
                    told.at = check.now;
                }
            }
            Fact::Moment => self.in_the_end(check)?,
            _ => {}
        }
        Ok(())
    }
}
