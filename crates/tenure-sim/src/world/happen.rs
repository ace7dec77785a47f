//! Steps of a world: an input to a core, its effects, its messages on their way.

use std::vec::Drain;

use tenure_core::{Effect, Input, Now, Protocol, contract};

use super::fault::Kind;
use super::{Context, Happening, Msg, Occurrence, System, Words, World};
use crate::rng::Rng;

type Sender<G> = <Words<G> as contract::Words>::Sender;

/// The remaining bits of a draw whose fault struck.
const LEFT: u64 = (1 << 48) - 1;

/// A span from `from` to just below `to`, by a draw whose fault struck.
fn span(draw: u64, from: u64, to: u64) -> u64 {
    from + (draw & LEFT) % (to - from).max(1)
}

impl<G: System> World<G> {
    pub(super) fn happen(&mut self, happening: Happening<G>) -> Result<(), G::Violation> {
        if let Some((node, until)) = self.stopped(&happening) {
            if let Happening::Wake { .. } = happening {
                self.nodes[node].wake = Some(until);
                self.nodes[node].woken_for = None;
            }
            self.queue.push(until, happening);
            return Ok(());
        }
        match happening {
            Happening::Deliver { to, input, arrow } => {
                if self.nodes[to].core.is_none() {
                    return Ok(());
                }
                if let Some(recorder) = &mut self.recorder {
                    recorder.arrived(arrow, self.now);
                }
                self.input(to, input)
            }
            Happening::Resume { node, life } => {
                if self.nodes[node].life == life {
                    self.resume(node)
                } else {
                    Ok(())
                }
            }
            Happening::Flushed { node, life } => {
                let this = &mut self.nodes[node];
                if this.life != life {
                    return Ok(());
                }
                let Some((ticket, record)) = this.flushing.pop_front() else { return Ok(()) };
                if self.write_fails(node) {
                    return self.input(node, Input::Failed(Some(ticket)));
                }
                self.system.write(&mut self.nodes[node].disk, record);
                self.input(node, Input::Flushed(ticket))
            }
            Happening::Wake { node, life } => {
                let this = &mut self.nodes[node];
                if this.life != life || this.wake != Some(self.now) {
                    return Ok(());
                }
                if let Some(at) = self.system.rest(self.now, node).filter(|at| *at > self.now) {
                    this.wake = Some(at);
                    this.woken_for = None;
                    self.queue.push(at, Happening::Wake { node, life });
                    return Ok(());
                }
                this.wake = None;
                self.input(node, Input::Timeout)
            }
            Happening::Start { node } => self.start(node),
            Happening::Command { node } => self.next_command(node),
            Happening::Incident { number } => self.incident(number),
        }
    }

    /// Wakes the process of a node whose wall clock was set, unless it is stopped.
    pub(super) fn set_clock(&mut self, node: usize) -> Result<(), G::Violation> {
        let this = &self.nodes[node];
        let runs = this.core.is_some() && this.held.is_none() && this.stopped_until <= self.now;
        if runs { self.input(node, Input::Timeout) } else { Ok(()) }
    }

    /// The stopped process for which this event waits, and the end of the stop.
    fn stopped(&self, happening: &Happening<G>) -> Option<(usize, u64)> {
        let node = match happening {
            Happening::Deliver { to, .. } => *to,
            Happening::Flushed { node, life }
            | Happening::Resume { node, life }
            | Happening::Wake { node, life } => {
                let this = &self.nodes[*node];
                let stale =
                    matches!(happening, Happening::Wake { .. }) && this.wake != Some(self.now);
                if this.life != *life || stale {
                    return None;
                }
                *node
            }
            Happening::Start { .. } | Happening::Command { .. } | Happening::Incident { .. } => {
                return None;
            }
        };
        let until = self.nodes[node].stopped_until;
        (until > self.now).then_some((node, until))
    }

    /// Carries out the rest of an input whose process was stopped in the middle.
    fn resume(&mut self, node: usize) -> Result<(), G::Violation> {
        let Some(effects) = self.nodes[node].held.take() else { return Ok(()) };
        self.apply(node, effects)?;
        self.finish(node)
    }

    /// Passes one input to one core, with one sample of the core's clock, carries out the effects,
    /// and then passes the driver's answers, with the same sample.
    pub(super) fn input(
        &mut self,
        node: usize,
        input: Input<Words<G>>,
    ) -> Result<(), G::Violation> {
        self.resume(node)?;
        self.nodes[node].sampled = self.now;
        self.handle(node, input)?;
        self.finish(node)
    }

    /// Passes the answers to the effects of the last input, once these effects are carried out.
    fn finish(&mut self, node: usize) -> Result<(), G::Violation> {
        while self.nodes[node].held.is_none()
            && let Some((election, command)) = self.nodes[node].owed.pop()
        {
            self.handle(node, Input::Command { election, command })?;
        }
        self.schedule_wake(node);
        Ok(())
    }

    fn handle(&mut self, node: usize, input: Input<Words<G>>) -> Result<(), G::Violation> {
        let mut effects = std::mem::take(&mut self.spare);
        effects.clear();
        let this = &mut self.nodes[node];
        let Some(core) = &mut this.core else { return Ok(()) };
        let context = Context {
            now: self.now,
            conditions: &self.conditions,
            clock: &this.clock,
            wall: this.wall,
            sampled: this.sampled,
        };
        let local = context.sample();
        if let Some(recorder) = &mut self.recorder {
            recorder.line(self.now, node, format!("[{local}] {input}"));
        }
        self.system.see(&context, Occurrence::Input { node, input: &input })?;
        let timer = matches!(input, Input::Timeout);
        core.handle(Now::sample(&context.reading(local)), input, &mut effects);
        this.inputs += 1;
        let life = this.life;
        let count = this.inputs;
        self.system.see(&context, Occurrence::Handled { node, core, timer })?;
        if self.nodes[node].held.is_none() && self.hits(Kind::Pause, node, count) {
            // A pause right after the clock was read. Most pauses are short.
            let draw = self.fate.draw(Kind::Pause, node, count);
            let unit = self.conditions.unit;
            let longest = if draw.is_multiple_of(4) { unit * 3 } else { unit / 4 };
            let until = self.now + span(draw >> 2, 1, longest);
            self.stop(node, until);
            self.nodes[node].held = Some(effects);
            self.queue.push(until, Happening::Resume { node, life });
            return Ok(());
        }
        self.apply(node, effects)
    }

    fn schedule_wake(&mut self, node: usize) {
        let this = &mut self.nodes[node];
        let life = this.life;
        let Some(deadline) = this.core.as_ref().and_then(Protocol::deadline) else { return };
        // A timer that comes before one deadline comes before all later deadlines, too.
        if this.wake.is_some() && this.woken_for.is_some_and(|first| first <= deadline.at) {
            return;
        }
        let mut at = this.clock.reaches(deadline.at).max(self.now + 1);
        let rest = self.system.rest(self.now, node);
        at = at.max(rest.unwrap_or(0));
        let in_time = this.wake.is_some_and(|wake| wake <= at);
        this.woken_for = Some(deadline.at).filter(|_| rest.is_none());
        if in_time {
            return;
        }
        this.timers += 1;
        let count = this.timers;
        if self.hits(Kind::Early, node, count) {
            at = span(self.fate.draw(Kind::Early, node, count), self.now + 1, at + 1);
        } else if self.hits(Kind::Tardy, node, count) {
            at += span(self.fate.draw(Kind::Tardy, node, count), 0, self.conditions.unit / 20);
            self.nodes[node].woken_for = None;
        }
        self.nodes[node].wake = Some(at);
        self.queue.push(at, Happening::Wake { node, life });
    }

    fn apply(
        &mut self,
        node: usize,
        mut effects: Vec<Effect<Words<G>>>,
    ) -> Result<(), G::Violation> {
        if effects.is_empty() {
            self.reuse(effects);
            return Ok(());
        }
        let life = self.nodes[node].life;
        let count = self.nodes[node].inputs;
        let crash = self.hits(Kind::Crash, node, count).then(|| {
            let draw = self.fate.draw(Kind::Crash, node, count) & LEFT;
            draw as usize % (effects.len() + 1)
        });
        let all = effects.len();
        let mut dropped = false;
        let mut left = effects.drain(..);
        for number in 0..all {
            if crash == Some(number) {
                self.note(node, || format!("ends before effect {} of {all}", number + 1));
                return self.end_by_chance(node, count);
            }
            if !self.carry_out(node, life, &mut left)? {
                dropped = true;
                break;
            }
        }
        for effect in left {
            self.show(node, Occurrence::Dropped { node, effect: &effect })?;
        }
        if crash == Some(all) && !dropped {
            self.note(node, || "ends after its effects".to_owned());
            return self.end_by_chance(node, count);
        }
        self.reuse(effects);
        Ok(())
    }

    /// Keeps the vector of effects for the next input.
    fn reuse(&mut self, effects: Vec<Effect<Words<G>>>) {
        if effects.capacity() > self.spare.capacity() {
            self.spare = effects;
        }
    }

    /// Carries out the next effect: reads the effect in its place, and takes only the parts that
    /// travel. A message that is passed by value would be moved at every step. Returns false after
    /// a failed write: the remaining effects must be dropped.
    #[inline(never)]
    fn carry_out(
        &mut self,
        node: usize,
        life: u128,
        left: &mut Drain<'_, Effect<Words<G>>>,
    ) -> Result<bool, G::Violation> {
        let Some(effect) = left.as_slice().first() else { return Ok(true) };
        self.note(node, || format!("    {effect}"));
        if matches!(effect, Effect::Persist(_)) && self.write_fails(node) {
            // No other node sees the effects of a failed write.
            self.show(node, Occurrence::Dropped { node, effect })?;
            left.next();
            self.handle(node, Input::Failed(None))?;
            return Ok(false);
        }
        let this = &self.nodes[node];
        let context = this.context(&self.conditions, self.now);
        let occurrence = Occurrence::Effect { node, life, effect, disk: &this.disk };
        let owed = self.system.see(&context, occurrence)?;
        let way = match effect {
            Effect::Send { to, message } => {
                let way = self.send(node, life, to, message);
                way.map(|way| (way, self.system.sender(node, life, to)))
            }
            _ => None,
        };
        // Everything is ready before the message moves, so that it moves once.
        let way = way.map(|((at, to, arrow), from)| (to, from, arrow, self.queue.room(at)));
        match left.next() {
            Some(Effect::Persist(record)) => {
                self.system.write(&mut self.nodes[node].disk, record);
            }
            Some(Effect::Flush(ticket, record)) => {
                let this = &mut self.nodes[node];
                let draw = self.fate.draw(Kind::Write, node, this.writes);
                let idle = this.flushed_at <= self.now;
                // Flushes end in the order in which they began, even if stops delay them.
                let at = (self.now + self.conditions.flush.of(draw)).max(this.flushed_at);
                this.flushed_at = at;
                if idle && draw.is_multiple_of(2) {
                    // The record is on disk before the node learns that its flush has ended.
                    self.system.write(&mut this.disk, record.clone());
                }
                this.flushing.push_back((ticket, record));
                self.queue.push(at, Happening::Flushed { node, life });
            }
            Some(Effect::Send { message, .. }) => {
                if let Some((to, from, arrow, room)) = way {
                    room.put(Happening::Deliver {
                        to,
                        input: Input::Message { from, message },
                        arrow,
                    });
                }
            }
            Some(
                Effect::Raise { .. }
                | Effect::Bound { .. }
                | Effect::Lower { .. }
                | Effect::Emit { .. },
            )
            | None => {}
        }
        self.nodes[node].owed.extend(owed);
        Ok(true)
    }

    fn write_fails(&mut self, node: usize) -> bool {
        let this = &mut self.nodes[node];
        this.writes += 1;
        let count = this.writes;
        let first = !this.wrote;
        this.wrote = true;
        if self.now >= self.conditions.storm_ends {
            return false;
        }
        // The first write of a life matters most, and comes only once.
        match self.conditions.rates.write {
            0 => false,
            rate if first => {
                self.fate.strikes_at(rate.max(1 << 14), Kind::Write, node, count, self.now)
            }
            _ => self.fate.strikes(Kind::Write, node, count, self.now),
        }
    }

    /// Sends a message. The last recipient gets the message itself, all others get copies. Returns
    /// the arrival at the last recipient, the recipient's number, and the arrow of the message;
    /// `None` if the message does not arrive there.
    #[inline(always)]
    fn send(
        &mut self,
        node: usize,
        life: u128,
        to: &<Words<G> as contract::Words>::Address,
        message: &Msg<G>,
    ) -> Option<(u64, usize, usize)> {
        let address = to;
        let mut recipients = self.system.recipients(node, address);
        let mut last = recipients.next()?;
        for next in recipients {
            if let Some((at, to, arrow)) = self.send_to(node, life, (last, address), message) {
                let from = self.system.sender(node, life, address);
                let message = message.clone();
                self.queue.push(
                    at,
                    Happening::Deliver { to, input: Input::Message { from, message }, arrow },
                );
            }
            last = next;
        }
        self.send_to(node, life, (last, address), message)
    }

    /// Sends a message to one node, at an address that several nodes may share.
    fn send_to(
        &mut self,
        node: usize,
        life: u128,
        (to, address): (usize, &<Words<G> as contract::Words>::Address),
        message: &Msg<G>,
    ) -> Option<(u64, usize, usize)> {
        let link = node * 64 + to;
        self.nodes[node].sent[to] += 1;
        let count = self.nodes[node].sent[to];
        let draw = self.fate.draw(Kind::Act, link, count);
        let trip = if node == to { &self.conditions.loopback } else { &self.conditions.trip };
        let mut delay = trip.of(draw);
        let recorder = self.recorder.as_mut();
        let arrow = recorder.map_or(0, |r| r.sent(node, to, self.now, message.to_string()));
        let cut = self.nodes[node].cut[to] > self.now;
        if cut || (node != to && self.strikes(Kind::Loss, link, count)) {
            self.note(node, || "        lost".to_owned());
            return None;
        }
        if node != to {
            let unit = self.conditions.unit;
            if self.strikes(Kind::VeryLate, link, count) {
                // A delay from half a lease to three leases.
                delay = span(self.fate.draw(Kind::VeryLate, link, count), unit / 2, unit * 3);
            } else if self.strikes(Kind::Late, link, count) {
                delay += span(self.fate.draw(Kind::Late, link, count), 0, unit / 2);
            }
            if self.strikes(Kind::Repeat, link, count) {
                let again = span(self.fate.draw(Kind::Repeat, link, count), 0, unit);
                let from = self.system.sender(node, life, address);
                let message = message.clone();
                let again = self.grid(self.now + delay + again);
                self.queue.push(
                    again,
                    Happening::Deliver { to, input: Input::Message { from, message }, arrow },
                );
            }
        }
        let mut at = self.grid(self.now + delay);
        if self.conditions.ordered {
            let last = &mut self.nodes[node].arrives[to];
            at = at.max(*last);
            *last = at;
        }
        if self.conditions.forges != 0 && node != to && self.now < self.conditions.storm_ends {
            let from = self.system.sender(node, life, address);
            self.forge(link, count, &from, message, at, arrow);
        }
        Some((at, to, arrow))
    }

    /// Sends a forged message after a message that arrives at `at`.
    fn forge(
        &mut self,
        link: usize,
        count: u32,
        from: &Sender<G>,
        message: &Msg<G>,
        at: u64,
        arrow: usize,
    ) {
        let kind = Kind::Forged;
        let to = link % 64;
        let draw = self.fate.draw(kind, link, count);
        if draw >> 48 >= u64::from(self.conditions.forges) {
            return;
        }
        let Some((from, message)) = self.system.forge(from, message, draw & LEFT) else { return };
        if self.fate.happens(kind, link, count, self.now) {
            let at = self.grid(at + span(draw, 0, self.conditions.unit / 16));
            self.queue.push(
                at,
                Happening::Deliver { to, input: Input::Message { from, message }, arrow },
            );
        }
    }

    /// `at`, or the next multiple of the grain.
    const fn grid(&self, at: u64) -> u64 {
        let grain = self.conditions.grain;
        if grain <= 1 { at } else { at.next_multiple_of(grain) }
    }

    /// Lets an application give its next command, if it has one.
    fn next_command(&mut self, node: usize) -> Result<(), G::Violation> {
        let this = &mut self.nodes[node];
        this.commands += 1;
        let count = this.commands;
        let stopped = this.stopped_until > self.now;
        let mut rng = Rng::new(self.fate.draw(Kind::Act, node, count), 1);
        let next = self.grid(self.now + self.conditions.pace.of(rng.next()));
        self.queue.push(next, Happening::Command { node });
        let this = &self.nodes[node];
        let Some(core) = this.core.as_ref().filter(|_| !stopped) else { return Ok(()) };
        let context = this.context(&self.conditions, self.now);
        let command = self.system.next_command(&context, node, core, &mut rng);
        let Some((election, command)) = command else { return Ok(()) };
        if self.fate.happens(Kind::Act, node, count, self.now) {
            return self.input(node, Input::Command { election, command });
        }
        Ok(())
    }
}
