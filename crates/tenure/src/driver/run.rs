//! The loop that carries a core: one thread, one clock sample for each thing that happens.

use std::io;

use tenure_core::contract::{Protocol, Words};
use tenure_core::{Command, Effect, Event, Input, Time, Value};
use tokio::sync::mpsc::error::TryRecvError;
use tokio::sync::{mpsc, oneshot};

use super::backend::{Backend, WordsOf};
use super::hold::Asked;
use super::machine::Machine;
use super::order::Order;
use super::seats::Seats;
use super::timer::Timer;
use super::turns::take_turns;
use crate::clock;
use crate::error::{CampaignError, TransferError};

/// How many things of each kind are handled before all that they gave rise to is sent.
const BATCH: usize = 64;

/// The loop's state.
pub(super) struct Loop<B: Backend> {
    backend: B,
    machine: Machine<B>,
    asked: mpsc::UnboundedReceiver<Asked<B::Kind, B::Ask>>,
    timer: Timer,
    /// Room for the effects of one input.
    effects: Vec<Effect<WordsOf<B>>>,
    closing: Option<Closing>,
}

struct Closing {
    until: Time,
    done: Option<oneshot::Sender<()>>,
}

/// What happened.
enum Happened<B: Backend> {
    News(B::News),
    Alarm,
    Asked(Asked<B::Kind, B::Ask>),
    /// Nobody holds the node any more.
    Abandoned,
}

impl<B: Backend> Loop<B> {
    /// Must be called in the runtime in which it runs.
    pub(super) fn new(
        (backend, core): (B, B::Core),
        start: <WordsOf<B> as Words>::Start,
        asked: mpsc::UnboundedReceiver<Asked<B::Kind, B::Ask>>,
    ) -> io::Result<Self> {
        let (machine, timer) = (Machine::new(core), Timer::new()?);
        let mut this = Self { backend, machine, asked, timer, effects: Vec::new(), closing: None };
        this.machine.input(Input::Start(start));
        this.work(clock::now());
        Ok(this)
    }

    /// Runs until nobody holds the node any more, or until it is closed.
    pub(super) async fn run(mut self) {
        loop {
            self.backend.before_waiting();
            if self.is_done() {
                break;
            }
            self.arm();
            let happened = self.next().await;
            self.on(happened);
            // Somebody may wait for this one, so it waits for nothing that comes after it.
            self.backend.before_more();
            // What never ends keeps neither handles nor other kinds waiting.
            take_turns(&mut self, BATCH, 1 + B::KINDS, Self::take, Self::on);
        }
    }

    fn take(&mut self, kind: usize) -> Option<Happened<B>> {
        match kind.checked_sub(1) {
            Some(kind) => self.backend.take(kind).map(Happened::News),
            None if self.closing.is_some() => None,
            None => match self.asked.try_recv() {
                Ok(asked) => Some(Happened::Asked(asked)),
                Err(TryRecvError::Disconnected) => Some(Happened::Abandoned),
                Err(TryRecvError::Empty) => None,
            },
        }
    }

    /// Cancel safe: whatever is ready is returned by the poll that found it.
    async fn next(&mut self) -> Happened<B> {
        let Self { backend, timer, asked, closing, .. } = self;
        tokio::select! {
            biased;
            () = timer.rung() => Happened::Alarm,
            news = backend.next() => Happened::News(news),
            asked = asked.recv(), if closing.is_none() => match asked {
                Some(asked) => Happened::Asked(asked),
                None => Happened::Abandoned,
            },
        }
    }

    /// The clock is read here, after whatever happened has happened.
    fn on(&mut self, happened: Happened<B>) {
        let now = clock::now();
        // The alarm is heard only where there is a pause, and under a flood there is none.
        let is_due = self.machine.core.deadline().is_some_and(|deadline| deadline.at <= now);
        if is_due || matches!(happened, Happened::Alarm) {
            self.machine.input(Input::Timeout);
            self.work(now);
        }
        match happened {
            Happened::News(news) => self.backend.on_news(now, news, &mut self.machine),
            Happened::Asked(Asked::Handle(order)) => self.on_order(order),
            Happened::Asked(Asked::Node(ask)) => self.backend.on_ask(now, ask, &mut self.machine),
            Happened::Asked(Asked::Close(done)) => self.close(now, Some(done)),
            Happened::Abandoned => self.close(now, None),
            Happened::Alarm => {}
        }
        self.work(now);
    }

    fn on_order(&mut self, order: Order<B::Kind>) {
        let Self { backend, machine, .. } = self;
        let (election, command) = match order {
            Order::Campaign { election, seat, value, priority, reply } => {
                let value = match Value::new(&value) {
                    Ok(value) => value,
                    Err(error) => return reply.refuse(CampaignError::Value(error)),
                };
                if !machine.seats.open(&election, seat, reply) {
                    return;
                }
                backend.opened(&election, &machine.seats);
                (election, Command::Campaign { value, priority })
            }
            Order::Resign { election, seat } => match machine.seats.resign(&election, seat) {
                Some(_) => (election, Command::Resign),
                None => return,
            },
            Order::Transfer { election, seat, to, probe, reply } => {
                if let Some(protocol) = B::NO_TRANSFER {
                    return reply.refuse(TransferError::Unsupported { protocol });
                }
                if !machine.seats.transfer(&election, seat, reply) {
                    return;
                }
                (election, Command::Transfer { to, probe })
            }
            Order::Observe { election, every, reply } => {
                let every = match B::AFRESH {
                    true => machine.boards.observe_afresh(&election, every, reply),
                    false => machine.boards.observe(&election, every, reply),
                };
                let Some(every) = every else { return };
                (election, Command::Observe { every })
            }
            Order::Unobserve { election } => {
                if !machine.boards.unobserve(&election) {
                    return;
                }
                (election, Command::Unobserve)
            }
        };
        machine.command(election, command);
    }

    /// Gives everything up, and ends once that has arrived or enough time has passed.
    fn close(&mut self, now: Time, done: Option<oneshot::Sender<()>>) {
        if self.closing.is_some() {
            return;
        }
        self.closing = Some(Closing { until: now.after(self.backend.farewell()), done });
        for election in self.machine.seats.elections() {
            self.machine.command(election, Command::Resign);
        }
    }

    fn is_done(&mut self) -> bool {
        let quiet = self.backend.is_idle(&self.machine.core) && self.machine.seats.is_quiet();
        let Some(closing) = &mut self.closing else { return false };
        if !quiet && clock::now() < closing.until {
            return false;
        }
        if let Some(done) = closing.done.take() {
            // Before those who wait for it go on, no handle says that it leads.
            self.machine.seats = Seats::default();
            let _ = done.send(());
        }
        true
    }

    /// Hands the core all that it must hear, and carries out what follows from each.
    fn work(&mut self, now: Time) {
        while let Some(input) = self.machine.next_input() {
            self.handle(now, input);
        }
    }

    /// Carries out the effects strictly in their order. A failed write stops what follows it.
    fn handle(&mut self, now: Time, input: Input<WordsOf<B>>) {
        let mut effects = std::mem::take(&mut self.effects);
        self.machine.core.handle(now, input, &mut effects);
        let Self { backend, machine, .. } = self;
        for effect in effects.drain(..) {
            match effect {
                Effect::Raise { election, until, .. } => {
                    let owed = machine.seats.raise(&election, until);
                    backend.raised(&election, until, &machine.seats);
                    machine.owe(election, owed);
                }
                Effect::Lower { election } => machine.seats.lower(&election),
                Effect::Persist(record) => {
                    if !backend.persist(&record) {
                        return self.handle(now, Input::Failed(None));
                    }
                }
                Effect::Flush(ticket, record) => backend.flush(ticket, record),
                Effect::Send { to, message } => backend.send(to, message),
                Effect::Emit { election: Some(election), event } => {
                    machine.on_event(backend, &election, event);
                }
                Effect::Emit { election: None, event: Event::Own(own) } => {
                    backend.on_event(None, own, machine);
                }
                // Of no election there is nothing that every protocol tells.
                Effect::Emit { election: None, event: _ } => {}
            }
        }
        self.effects = effects;
    }

    /// Sets the alarm to the core's deadline, if that has moved.
    fn arm(&mut self) {
        let deadline = self.machine.core.deadline().map(|deadline| deadline.at);
        let closing = self.closing.as_ref().map(|closing| closing.until);
        self.timer.arm([deadline, closing].into_iter().flatten().min());
    }
}
