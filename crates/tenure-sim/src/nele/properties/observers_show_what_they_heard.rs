use std::collections::BTreeMap;
use std::time::Duration;

use tenure_core::nele::{
    Config, Kind, Mode, Partition, Process, Record, Report, Request, Said, Terms,
};
use tenure_core::{LeaderView, Time, View};

use super::{Check, Emergence, Fact, Own, Property};
use crate::nele::account::{Read, by_any_clock};
use crate::scenario::plan::nanos;

/// How many records of a partition are remembered of each who read it: more than come within T.
const LATEST: usize = 1_024;

/// Observers: a leader that is shown has said so itself, in a record of this election, and lately;
/// a vacancy is shown by one that has listened for as long as anybody may lead who was not heard;
/// and one that hears nothing for long shows neither. Kept by a second hand, which takes more for
/// heard than the core does.
#[derive(Debug, Default)]
pub(in super::super) struct Shown {
    hearing: BTreeMap<usize, Hearing>,
    /// What each node shows of each election.
    views: BTreeMap<(usize, usize), View>,
    /// The latest records of each partition that each node has read, in `at_least_one`.
    reads: BTreeMap<(usize, Partition), BTreeMap<u64, First>>,
}

/// That a record was read first.
#[derive(Clone, Copy, Debug)]
struct First {
    /// When, on its reader's clock, and in true time.
    at: Time,
    when: u64,
    /// The leader epoch of the record: after a truncation another one has its offset.
    epoch: Option<u32>,
}

/// What the present life of a node has heard.
#[derive(Debug, Default)]
struct Hearing {
    /// Since when without a break, and when last.
    since: Option<Time>,
    last: Time,
    /// When each process was heard last, and for how long it may lead after that.
    leads: BTreeMap<Process, (Time, Duration)>,
    /// What its clock showed when its timer went off last.
    handled: Time,
    /// When that was.
    went_off: u64,
}

impl Property<Emergence> for Shown {
    const NAME: &'static str = "An observer shows what it heard";
    const SOURCE: &'static str = "the module document: timers";

    fn see(&mut self, check: &Check<'_>, fact: Fact<'_>) -> Result<(), String> {
        match fact {
            Fact::Started { node, .. } | Fact::Crashed { node } => {
                self.hearing.remove(&node);
                self.views.retain(|(of, _), _| *of != node);
                self.reads.retain(|(of, _), _| *of != node);
            }
            Fact::Observes { node, election, begins } => {
                let at = check.plan.conditions.sites[node].clock.shows(check.now);
                let hearing = self.hearing.entry(node).or_default();
                hearing.last = hearing.last.max(at);
                if !begins {
                    self.views.remove(&(node, election));
                }
            }
            Fact::Own(Own::Asked { node, request: Request::Stop(_), .. }) => {
                // What is said now is missed.
                let account = check.own.account(node);
                let reads = account.is_some_and(|one| one.partitions.values().any(Read::is_open));
                if let Some(hearing) = self.hearing.get_mut(&node).filter(|_| !reads) {
                    hearing.since = None;
                }
            }
            Fact::Own(Own::Heard { node, report, at }) => self.hear(check, node, report, at),
            Fact::Viewed { node, election, view, looked, .. } => {
                self.views.insert((node, election), view.clone());
                let at = check.plan.conditions.sites[node].clock.shows(looked);
                let listens = *view != View::Vacant || self.has_listened(check, node, at);
                if !listens {
                    let (name, election) = (check.name(node), check.election(election));
                    return Err(format!("{name} cannot know yet that {election} is vacant"));
                }
                self.judge(check, (node, election), view, at)?;
                if *view == View::Vacant && looked == check.now {
                    self.still_vacant(check, (node, election), looked)?;
                }
            }
            Fact::Handled { node, timer: Some(timer), .. } => {
                return self.handled(check, node, timer);
            }
            _ => {}
        }
        Ok(())
    }
}

impl Shown {
    fn hear(&mut self, check: &Check<'_>, node: usize, report: &Report, at: Time) {
        let Some(process) = check.plan.process(node) else { return };
        let config = &process.config;
        let records: &[_] = match report {
            Report::Records { records, .. } => records,
            Report::Position { end: Ok(_), .. } => &[],
            _ => return,
        };
        let hearing = self.hearing.entry(node).or_default();
        if at.since(hearing.last) >= config.silence() * 2 {
            hearing.since = None;
        }
        hearing.last = at;
        hearing.since.get_or_insert(at);
        if let Report::Records { partition, .. } = report
            && config.mode == Mode::AtLeastOne
        {
            let reads = self.reads.entry((node, *partition)).or_default();
            for Record { offset, epoch, .. } in records {
                if reads.get(offset).is_some_and(|first| first.epoch != *epoch) {
                    reads.split_off(offset);
                }
                let first = First { at, when: check.now, epoch: *epoch };
                reads.entry(*offset).or_insert(first);
            }
            while reads.len() > LATEST {
                reads.pop_first();
            }
        }
        for record in records {
            if let Said::Entry(entry) = &record.said
                && entry.kind == Kind::Beat
                && entry.election == config.election
            {
                let leads = leads_for(config, &entry.terms);
                hearing.leads.insert(entry.sender.clone(), (at, leads));
            }
        }
    }

    /// Whether it has listened for as long as anybody may lead who was not heard.
    fn has_listened(&self, check: &Check<'_>, node: usize, at: Time) -> bool {
        let Some(process) = check.plan.process(node) else { return true };
        let since = self.hearing.get(&node).and_then(|hearing| hearing.since);
        since.is_some_and(|since| at >= since.after(process.config.heard_leads()))
    }

    /// What is wrong with a view at this time of its node's clock.
    fn judge(
        &self,
        check: &Check<'_>,
        (node, election): (usize, usize),
        view: &View,
        at: Time,
    ) -> Result<(), String> {
        let Some(process) = check.plan.process(node) else { return Ok(()) };
        let config = &process.config;
        let Some(hearing) = self.hearing.get(&node) else { return Ok(()) };
        let own = |leader: &LeaderView| leader.incarnation == check.history.lives[node];
        let late = |leader: &&LeaderView| {
            let mut heard = hearing.leads.iter().filter(|(who, _)| {
                who.id.as_str() == &*leader.id && Some(who.incarnation) == leader.incarnation
            });
            !own(leader) && heard.all(|(_, (heard, leads))| at.since(*heard) > *leads)
        };
        let deaf = at.since(hearing.last) > config.silence() * 2;
        let wrong = match view {
            View::Leader(leader) if deaf && !own(leader) => Some("it hears nothing".to_owned()),
            View::Vacant if deaf => Some("it hears nothing".to_owned()),
            View::Leader(leader) => late(&leader).then(|| not_heard(leader)),
            View::Leaders { followed, others } => {
                let mut all = [followed].into_iter().chain(others);
                all.find(|leader| late(leader)).map(not_heard)
            }
            View::Vacant | View::Unknown { .. } => None,
        };
        match wrong {
            None => Ok(()),
            Some(wrong) => Err(format!(
                "{} shows of {} at {at}: {view}, and {wrong}",
                check.name(node),
                check.election(election)
            )),
        }
    }

    /// What its node shows since its timer went off last, as of then.
    fn handled(&mut self, check: &Check<'_>, node: usize, timer: Time) -> Result<(), String> {
        let hearing = self.hearing.entry(node).or_default();
        let at = std::mem::replace(&mut hearing.handled, timer);
        let went_off = std::mem::replace(&mut hearing.went_off, check.now);
        let views = self.views.range((node, 0)..=(node, usize::MAX));
        for ((_, election), view) in views {
            self.judge(check, (node, *election), view, at)?;
            if *view == View::Vacant {
                self.still_vacant(check, (node, *election), went_off)?;
            }
        }
        Ok(())
    }

    /// A vacancy that was shown at a time, and is still: nobody leads since so long before that it
    /// was to be heard. One with a longer T may never have been.
    fn still_vacant(
        &self,
        check: &Check<'_>,
        (node, election): (usize, usize),
        shown: u64,
    ) -> Result<(), String> {
        let (plan, now) = (check.plan, check.now);
        let group = |node| plan.process(node).map(|one| one.manner.group);
        let loose = plan.own.mode == Mode::AtLeastOne;
        let counts = |of| loose || group(of) == group(node);
        let mut led = check.past(election).leaderships.iter().rev().take(16);
        let leads = led.find(|led| {
            let (known, own) = (plan.own.unlike != Some(led.node), led.node == node);
            let said = led.holds(now) && led.from + plan.own.heard < shown;
            let late = || loose && self.reads_late(check, led.node, (node, election), shown);
            said && counts(led.node) && known && !own && !late()
        });
        match leads {
            None => Ok(()),
            Some(led) => Err(format!(
                "{} shows {} as vacant, and {} leads for {} s",
                check.name(node),
                check.election(election),
                check.name(led.node),
                (now - led.from) as f64 / 1e9,
            )),
        }
    }

    /// Whether the last news of a leader, for T from which it leads in `at-least-one`, had been
    /// read by an observer for longer than one may be silent, and for as long before it knew a
    /// vacancy as it has to.
    fn reads_late(
        &self,
        check: &Check<'_>,
        leader: usize,
        (observer, election): (usize, usize),
        shown: u64,
    ) -> bool {
        let Some(process) = check.plan.process(observer) else { return false };
        let Some(role) = process.config.role(&check.plan.elections[election]) else { return false };
        let partition = process.config.partition_of(role);
        let of = |node| self.reads.get(&(node, partition));
        let news = check.own.account(leader).and_then(|one| one.partitions.get(&partition)?.news);
        let last = |first: &(&u64, &First)| Some(first.1.at) == news;
        let Some((offset, read)) = of(leader).and_then(|reads| reads.iter().rev().find(last))
        else {
            return false;
        };
        let (config, own) = (&process.config, &check.plan.own);
        // By the slowest clock, and the fastest.
        let leads = check.now <= read.when + own.at_most(own.takeover);
        let waited = nanos(config.heard_leads()) * 9 / 10;
        let heard = of(observer).and_then(|reads| reads.get(offset));
        heard.is_some_and(|heard| {
            let late = heard.when + nanos(config.silence()) < read.when;
            late && leads && heard.when + waited <= shown
        })
    }
}

/// How long one with these terms may lead after it was heard. One with others than the own ones
/// may take as long as its T to write.
fn leads_for(config: &Config, terms: &Terms) -> Duration {
    if *terms == config.terms() {
        return config.heard_leads().max(config.silence());
    }
    let span = by_any_clock(2 * terms.takeover, config) + Duration::from_nanos(1);
    (span + config.fetch_wait).max(config.heard_leads()).max(config.silence())
}

fn not_heard(leader: &LeaderView) -> String {
    format!("{} was not heard to be there lately", leader.id)
}
