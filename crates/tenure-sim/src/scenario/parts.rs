//! A network that splits into two parts and heals, without other faults of its links; and the
//! properties that must hold in each part.

use std::fmt::Debug;

use super::{Check, Fact, Property, Scenario, seconds};

/// The split of the network.
#[derive(Clone, Copy, Debug, Default)]
pub struct Parts {
    /// Nodes of one side, a bit each.
    side: u64,
    until: u64,
    /// Time of the last change.
    moved: u64,
}

impl Parts {
    pub const fn split(&mut self, side: u64, until: u64, now: u64) {
        *self = Self { side, until, moved: now };
    }

    #[must_use]
    const fn side(&self, node: usize, now: u64) -> bool {
        now < self.until && self.side >> node & 1 == 1
    }

    /// Whether two nodes reach each other.
    #[must_use]
    pub const fn reach(&self, one: usize, other: usize, now: u64) -> bool {
        self.side(one, now) == self.side(other, now)
    }

    /// Whether the network is split.
    #[must_use]
    pub const fn is_cut(&self, now: u64) -> bool {
        now < self.until
    }

    /// Time of the last split or heal.
    #[must_use]
    pub const fn moved(&self, now: u64) -> u64 {
        if now >= self.until && self.until > self.moved { self.until } else { self.moved }
    }
}

/// A scenario whose worlds split the network.
pub trait WithParts: Scenario {
    /// Name of the promise that bounds the overlap of two leaders after a heal.
    const OVERLAP: &'static str;
    /// Name of the promise that bounds the vacancy in a part of the network.
    const VACANCY: &'static str;

    /// The longest overlap of two leaders that reach each other, in true time, if this world has a
    /// bound.
    fn overlap_most(check: &Check<'_, Self>) -> Option<u64>;

    /// The time from which two nodes that reach each other can find each other; `None` if they
    /// cannot.
    fn met(_: &Check<'_, Self>, _one: usize, _other: usize) -> Option<u64> {
        Some(0)
    }

    /// The longest allowed vacancy on a node's side of a cut, and the instant from which it is
    /// counted. `None` if this world has no bound.
    fn vacant_most(check: &Check<'_, Self>, node: usize, election: usize) -> Option<(u64, u64)>;
}

impl<S: WithParts> Check<'_, S> {
    #[must_use]
    pub fn reach(&self, one: usize, other: usize) -> bool {
        self.history.parts.reach(one, other, self.now)
    }

    /// Whether a node campaigns in an election, and can lead.
    #[must_use]
    pub fn contends(&self, node: usize, election: usize) -> bool {
        self.history.lives[node].is_some()
            && self.apps[node][election].campaigning
            && S::can_lead(self.plan, node)
    }

    /// The nodes that lead an election now, each with its begin.
    pub fn leaders(&self, election: usize) -> impl Iterator<Item = (usize, u64)> {
        let now = self.now;
        let led = self.past(election).leaderships.iter().rev().take(16);
        led.filter(move |led| led.holds(now)).map(|led| (led.node, led.from))
    }
}

/// Two leaders that reach each other become one leader within a bound.
#[derive(Debug, Default)]
pub struct OneAfterAHeal;

impl<S: WithParts> Property<S> for OneAfterAHeal {
    const NAME: &'static str = "Two leaders do not outlive a heal";
    const SOURCE: &'static str = S::OVERLAP;

    fn see(&mut self, check: &Check<'_, S>, fact: Fact<'_, S>) -> Result<(), String> {
        let (Fact::Handled { .. }, Some(most)) = (&fact, S::overlap_most(check)) else {
            return Ok(());
        };
        let moved = check.history.parts.moved(check.now);
        for election in 0..check.plan.elections.len() {
            for (one, since) in check.leaders(election) {
                let mut others = check.leaders(election).filter(|(other, from)| {
                    one < *other
                        && check.reach(one, *other)
                        && S::met(check, one, *other).is_some_and(|met| {
                            check.now > since.max(*from).max(moved).max(met) + most
                        })
                });
                if let Some((other, from)) = others.next() {
                    return Err(format!(
                        "{} and {} both lead {}, since {} and {}, and reach each other since {}",
                        check.name(one),
                        check.name(other),
                        check.election(election),
                        seconds(since),
                        seconds(from),
                        seconds(moved),
                    ));
                }
            }
        }
        Ok(())
    }
}

/// A part of the network with a candidate has a leader within a bound.
#[derive(Debug, Default)]
pub struct InTime;

impl<S: WithParts> Property<S> for InTime {
    const NAME: &'static str = "Each part has a leader in time";
    const SOURCE: &'static str = S::VACANCY;

    fn see(&mut self, check: &Check<'_, S>, fact: Fact<'_, S>) -> Result<(), String> {
        let Fact::Handled { node, .. } = fact else { return Ok(()) };
        let now = check.now;
        if now >= check.plan.retired {
            return Ok(());
        }
        for election in 0..check.plan.elections.len() {
            let Some((most, stirred)) = S::vacant_most(check, node, election) else { continue };
            if !check.contends(node, election) {
                continue;
            }
            let led = check.past(election).leaderships.iter().rev().take(16);
            let last = led.filter(|led| check.reach(node, led.node)).map(|led| led.until).max();
            let moved = check.history.parts.moved(now);
            let since = last.unwrap_or(0).max(stirred).max(moved);
            if now > since.saturating_add(most) {
                return Err(format!(
                    "nobody leads {} where {} is since {}",
                    check.election(election),
                    check.name(node),
                    seconds(since)
                ));
            }
        }
        Ok(())
    }
}
