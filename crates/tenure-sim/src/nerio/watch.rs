//! Supervised release: members watch the processes of others, and report their ends. A report is
//! late and comes again and again; other members and strangers forge reports.

use tenure_core::nerio::{Gone, Message, Sender, Supervisor, Who};

use super::focus::Focus;
use super::forge::stranger;
use super::plan::Plan;
use super::quorum_leases::Details;
use crate::rng::mix;
use crate::scenario::{History, Leadership};
use crate::world::conditions::Conditions;

/// Salt of the draw that makes worlds whose processes are watched.
const WATCHES: u64 = 0x77_6174_6368;
/// The rate of reports, true and forged.
const REPORTS: u16 = 12_000;

/// Draws whether members watch the processes of this world, and sets the rate of its reports.
/// Members watch in a quarter of the worlds whose subject is neither members, memories nor forged
/// messages.
pub(super) fn begins(focus: Focus, seed: u64, conditions: &mut Conditions) -> bool {
    let fits = matches!(focus, Focus::Broad | Focus::Memory | Focus::Crowd | Focus::Grid);
    let watches = fits && mix(seed ^ WATCHES).is_multiple_of(4);
    if watches {
        conditions.forges = REPORTS;
    }
    watches
}

/// The member that watches this node.
pub(super) fn supervisor(plan: &Plan, node: usize) -> Option<usize> {
    let by = (node + 1) % plan.members();
    (plan.own.watches && by != node).then_some(by)
}

/// The ends of watched processes.
#[derive(Debug, Default)]
pub struct Watch {
    now: u64,
    /// End of the promises of each node's present process, in true time.
    promises: Vec<u64>,
    ended: Vec<Ended>,
}

#[derive(Debug)]
struct Ended {
    who: Who,
    by: usize,
    /// Time from which the end may be reported: all promises are over.
    from: u64,
}

impl Watch {
    pub(super) fn new(nodes: usize) -> Self {
        Self { promises: vec![0; nodes], ..Self::default() }
    }

    pub(super) fn at(&mut self, now: u64) {
        self.now = now;
    }

    pub(super) fn promised(&mut self, node: usize, until: u64) {
        self.promises[node] = self.promises[node].max(until);
    }

    /// Ends the leaderships of a watched process with the process: nothing acts under them any
    /// more. Its promises still count.
    pub(super) fn crashed(
        &mut self,
        plan: &Plan,
        history: &mut History<Details>,
        node: usize,
        who: &Who,
    ) {
        let promised = std::mem::take(&mut self.promises[node]);
        let Some(by) = supervisor(plan, node) else { return };
        for past in &mut history.elections {
            let its = |led: &&mut Leadership<Details>| led.node == node && led.life == who.inc.0;
            past.leaderships.iter_mut().filter(its).for_each(|led| {
                led.until = led.until.min(self.now);
            });
        }
        self.ended.push(Ended { who: who.clone(), by, from: self.now.max(promised) });
    }

    /// A report about a process that is gone, true or forged, with the sender that the report
    /// claims to have. The report arrives after a message of `from`.
    pub(super) fn report(
        &self,
        plan: &Plan,
        all: &[Who],
        from: &Sender,
        draw: u64,
    ) -> Option<(Sender, Message)> {
        let member = |member: usize| {
            let (who, address) = (all[member].clone(), plan.nodes[member].address);
            Sender { who, address, proved: true, epoch: from.epoch }
        };
        let sender = plan.nodes.iter().position(|node| node.address == from.address)?;
        let by = supervisor(plan, sender)?;
        let other = (by + 1) % plan.members();
        let about_sender = Message::from(Gone { who: from.who.clone() });
        match draw % 8 {
            // A forged report: this member does not watch the process, which lives.
            0 if other != by => Some((member(other), about_sender)),
            // Strangers: a report in the name of the supervisor, and a report in the name of
            // another supervisor.
            1 => Some((Sender { address: stranger(), proved: false, ..member(by) }, about_sender)),
            2 => {
                let name = plan.nodes[other].name.clone();
                let elsewhere = Sender { address: stranger(), proved: false, ..from.clone() };
                Some((elsewhere, Message::from(Supervisor { name })))
            }
            _ => {
                let over: Vec<&Ended> =
                    self.ended.iter().filter(|ended| ended.from <= self.now).collect();
                let nth = match draw >> 8 & 3 {
                    0 => (draw >> 16) as usize % over.len().max(1),
                    back => over.len().checked_sub(back as usize)?,
                };
                let ended = over.get(nth)?;
                let message = Message::from(Gone { who: ended.who.clone() });
                Some((member(ended.by), message))
            }
        }
    }
}
