use std::net::SocketAddr;
use std::time::Duration;

use tenure_core::nerio::{GrantRecord, Inc, Message, Refusal, Refused, Release, Sender, Stamp};
use tenure_core::{NodeName, Time};

use super::places::{ByLife, Place, Places};
use super::{Check, Fact, Own, Plan, Property, QuorumLeases};

/// How long a grantor grants nothing after a write has failed.
const RETRY: Duration = Duration::from_secs(1);

/// Parked requests and who is next, kept by a second, simpler hand: of those who were told that
/// they wait, the first in the common order is granted, as soon as the grant before has ended.
#[derive(Debug, Default)]
pub(super) struct WaitingInCommonOrder {
    /// Until when each grantor turns away what waits when its turn comes: a write failed.
    failing: Vec<Time>,
    room: usize,
    asks: Places<ByLife<Waiting>>,
    queues: Places<Queue>,
}

#[derive(Debug, Default)]
struct Queue {
    waits: Vec<Waiting>,
    grant: Option<Grant>,
    /// Whether it was given back while somebody waited, and nobody has it yet.
    owed: bool,
}

#[derive(Clone, Debug)]
struct Waiting {
    name: NodeName,
    inc: Inc,
    address: SocketAddr,
    start: Time,
    arrival: Time,
    expires: Time,
    leading: bool,
    priority: u8,
    next: Option<NodeName>,
    /// Whether it cannot have been evicted.
    sure: bool,
}

#[derive(Debug)]
struct Grant {
    inc: Inc,
    address: SocketAddr,
    start: Time,
    finish: Time,
    stamp: Stamp,
    next: Option<NodeName>,
}

/// Where somebody stands, but for the draw that decides among equals.
type Class = (bool, bool, u8);

impl Property<QuorumLeases> for WaitingInCommonOrder {
    const NAME: &'static str = "Waiting requests are handled in the common order";
    const SOURCE: &'static str = "parked requests; who is next 1 and 2";
    const NEEDS_BOUND: bool = false;

    fn begin(&mut self, plan: &Plan) {
        *self = Self {
            failing: vec![Time::ZERO; plan.nodes.len()],
            room: plan.config().limits.parked,
            asks: Places::by_election(plan),
            queues: Places::by_election(plan),
        };
    }

    #[inline(always)]
    fn see(&mut self, check: &Check<'_>, fact: Fact<'_>) -> Result<(), String> {
        match fact {
            Fact::Crashed { node } => {
                self.failing[node] = Time::ZERO;
                self.asks.forget(node);
                self.queues.forget(node);
                Ok(())
            }
            Fact::Own(Own::Asks { grantor, election, from, request, local }) => {
                self.is_paid(check, (grantor, election))?;
                let config = &check.plan.nodes[grantor].config;
                let lease_ends = local.after(config.drift.stretch(request.delta));
                let asks = self.asks.at_mut((grantor, election));
                let asks = asks.get_or(from.who.inc, || Waiting::of(from));
                asks.address = from.address;
                (asks.start, asks.arrival) = (request.start, local);
                asks.expires = lease_ends.min(local.after(config.parked_for()));
                (asks.leading, asks.priority) = (request.leading, request.priority);
                asks.next.clone_from(&request.next);
                asks.sure = self.failing[grantor] <= local;
                Ok(())
            }
            Fact::Own(Own::GivesUp { grantor, election, from, release, local }) => {
                let place = (grantor, election);
                self.is_paid(check, place)?;
                self.queues.at_mut(place).give_up(from, release, local);
                Ok(())
            }
            Fact::Own(Own::Freed { grantor, election, .. }) => {
                let queue = self.queues.at_mut((grantor, election));
                let goes_on = |at: Time| queue.waits.iter().any(|w| w.sure && at < w.expires);
                queue.owed = queue.grant.as_ref().is_some_and(|grant| goes_on(grant.finish));
                Ok(())
            }
            Fact::Own(Own::Sent { node, message: Message::Refused(refused), .. })
                if matches!(refused.refusal, Refusal::Held { parked: true, .. }) =>
            {
                self.park(check, node, refused);
                Ok(())
            }
            Fact::Own(Own::Silent { grantor, refused })
                if matches!(refused.refusal, Refusal::Held { parked: true, .. }) =>
            {
                self.park(check, grantor, refused);
                Ok(())
            }
            Fact::Own(Own::Unwritten { grantor, local }) => {
                self.cannot_write(grantor, local);
                Ok(())
            }
            Fact::Own(Own::Granted { grantor, election, record, .. })
            | Fact::Own(Own::Decided { grantor, election, record }) => {
                let asks = self.asks.at((grantor, election)).get(record.holder.inc);
                let queue = self.queues.at_mut((grantor, election));
                queue.owed = false;
                queue.grant(asks, record).map_err(|why| {
                    let name = &check.plan.nodes[grantor].name;
                    let (of, holder) = (check.election(election), &record.holder);
                    format!("{name} grants {of} to {holder}, {why}")
                })
            }
            _ => Ok(()),
        }
    }
}

impl WaitingInCommonOrder {
    fn is_paid(&self, check: &Check<'_>, place: Place) -> Result<(), String> {
        match self.queues.at(place).owed {
            true => Err(format!(
                "{} had {} given back, and handled nobody of those who wait",
                check.plan.nodes[place.0].name,
                check.election(place.1),
            )),
            false => Ok(()),
        }
    }

    /// Nobody is sure to wait there now, nor one whose request came with the failure.
    fn cannot_write(&mut self, grantor: usize, now: Time) {
        self.failing[grantor] = now.after(RETRY);
        let waits = self.queues.of(grantor).iter_mut().flat_map(|queue| &mut queue.waits);
        let asks = self.asks.of(grantor).iter_mut().flat_map(ByLife::values_mut);
        waits.chain(asks).for_each(|waits| waits.sure = false);
    }

    fn park(&mut self, check: &Check<'_>, node: usize, told: &Refused) {
        let Some(election) = check.number(&told.election) else { return };
        let asks = self.asks.at((node, election)).get(told.asker);
        let Some(asks) = asks.filter(|asks| asks.start == told.start) else { return };
        let queue = self.queues.at_mut((node, election));
        queue.waits.retain(|waits| asks.arrival < waits.expires);
        let inc = asks.inc;
        let own = |waits: &&mut Waiting| waits.inc == inc;
        let newest = queue.waits.iter_mut().filter(own).max_by_key(|waits| waits.start);
        match newest {
            // Where it was turned away meanwhile it waits from now on, else still from then on.
            Some(newest) if newest.start == asks.start && !newest.sure => {
                *newest = Waiting { sure: false, ..asks.clone() };
            }
            Some(newest) if newest.start == asks.start => newest.sure = asks.sure,
            // It still waits with the newer one.
            Some(newest) if asks.start < newest.start && newest.sure => {}
            // The newer one may have been evicted, and the older one may wait in its stead.
            Some(newest) if asks.start < newest.start => {
                queue.waits.retain(|waits| waits.inc != inc || waits.start != asks.start);
                queue.waits.push(Waiting { sure: false, ..asks.clone() });
            }
            Some(_) | None => {
                queue.waits.retain(|waits| waits.inc != inc);
                queue.waits.push(asks.clone());
            }
        }
        if queue.waits.len() > self.room {
            // One was evicted, and it was not the one that was just told that it waits.
            let next = queue.next();
            let others = || queue.waits.iter().filter(|waits| waits.sure && waits.inc != inc);
            let lowest = others().map(|waits| class_of(waits, &next)).min();
            let is_it =
                |waits: &&mut Waiting| waits.inc != inc && Some(class_of(waits, &next)) == lowest;
            queue.waits.iter_mut().filter(is_it).for_each(|waits| waits.sure = false);
        }
    }
}

impl Queue {
    fn next(&self) -> Option<NodeName> {
        self.grant.as_ref().and_then(|grant| grant.next.clone())
    }

    fn give_up(&mut self, from: &Sender, release: &Release, now: Time) {
        let own = |inc: Inc, address: SocketAddr, start: Time| {
            inc == from.who.inc && address == from.address && start <= release.start
        };
        self.waits.retain(|waits| !own(waits.inc, waits.address, waits.start));
        // Only a grant that lasts can be given back, and be followed by the one that is named.
        let ends =
            |grant: &&mut Grant| own(grant.inc, grant.address, grant.start) && now < grant.finish;
        if let Some(grant) = self.grant.as_mut().filter(ends) {
            grant.next = release.next.clone().or(grant.next.take());
        }
    }

    fn grant(&mut self, asks: Option<&Waiting>, record: &GrantRecord) -> Result<(), String> {
        let (inc, at) = (record.holder.inc, record.stamp.clock);
        let known = |grant: &&mut Grant| grant.inc == inc && grant.start == record.start;
        if let Some(own) = self.grant.as_mut().filter(known) {
            if own.stamp == record.stamp {
                own.finish = record.finish;
                return Ok(());
            }
            // It was forgotten, with who is next: its request came again long after.
            self.grant = None;
        }
        self.waits.retain(|waits| at < waits.expires);
        let waited = self.waits.iter().find(|w| w.inc == inc && w.start == record.start);
        let new = asks.filter(|asks| asks.start == record.start && asks.arrival == at);
        let renews = self.grant.as_ref().is_some_and(|grant| grant.inc == inc && at < grant.finish);
        let next = self.next();
        let named = next.as_ref() == Some(&record.holder.name);
        let class = (named, record.leading, record.priority);
        let mut others = self.waits.iter().filter(|waits| waits.inc != inc && waits.sure);
        let wrong = match (renews, waited, new) {
            (true, ..) => None,
            // Who held it before a restart may go on.
            _ if self.grant.is_none() => None,
            (false, None, Some(_)) => others.next().map(|first| (first, "waited before it came")),
            (false, ..) => others
                .find(|waits| class_of(waits, &next) > class)
                .map(|first| (first, "goes before it")),
        };
        let wrong = wrong.map(|(first, why)| format!("and {} {why}", first.name));
        let request = waited.or(new).and_then(|request| request.next.clone());
        let before = self.grant.replace(Grant {
            inc,
            address: record.address,
            start: record.start,
            finish: record.finish,
            stamp: record.stamp,
            next: request,
        });
        self.waits.retain(|waits| {
            let lapsed = before.as_ref().is_some_and(|before| {
                before.inc == waits.inc && before.inc != inc && waits.start <= before.start
            });
            waits.inc != inc && !lapsed
        });
        wrong.map_or(Ok(()), Err)
    }
}

impl Waiting {
    /// Somebody who has asked for nothing yet.
    fn of(who: &Sender) -> Self {
        Self {
            name: who.who.name.clone(),
            inc: who.who.inc,
            address: who.address,
            start: Time::ZERO,
            arrival: Time::ZERO,
            expires: Time::ZERO,
            leading: false,
            priority: 0,
            next: None,
            sure: false,
        }
    }
}

fn class_of(waits: &Waiting, next: &Option<NodeName>) -> Class {
    (next.as_ref() == Some(&waits.name), waits.leading, waits.priority)
}
