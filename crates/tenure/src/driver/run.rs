//! The loop of a core: one thread, one clock sample for each input.

use std::io;
use std::time::Duration;

use tenure_core::contract::{Protocol, Words};
use tenure_core::{Clocks, Command, Effect, Event, Input, Now, Time, Value, WallTime};
use tokio::sync::mpsc::error::TryRecvError;
use tokio::sync::{mpsc, oneshot};

use super::backend::{Backend, NowOf, WordsOf};
use super::fair::handle_fairly;
use super::loop_thread::Call;
use super::machine::Machine;
use super::timer::Timer;
use crate::clock;
use crate::error::{CampaignError, TransferError};
use crate::overdue::Pause;
use crate::request::Request;

/// The most inputs of each kind before messages are sent.
const BATCH: usize = 64;

/// The longest time of a batch, apart from its last input. A renewal passes through the tasks of
/// this thread several times, and waits for a batch each time.
const SPAN: Duration = Duration::from_millis(1);

pub(super) struct Loop<B: Backend> {
    backend: B,
    machine: Machine<B>,
    asked: mpsc::UnboundedReceiver<Call<B::Class, B::Ask>>,
    timer: Timer,
    effects: Vec<Effect<WordsOf<B>>>,
    closing: Option<Closing>,
}

struct Closing {
    until: Time,
    done: Option<oneshot::Sender<()>>,
}

struct Real<'a, B>(&'a B);

impl<B: Backend> Clocks for Real<'_, B> {
    fn since_boot(&self) -> Time {
        clock::now()
    }

    fn wall(&self) -> WallTime {
        self.0.wall()
    }

    fn compares_wall(&self) -> bool {
        self.0.compares_wall()
    }
}

enum Wake<B: Backend> {
    Incoming(B::Incoming),
    Alarm,
    Call(Call<B::Class, B::Ask>),
    /// Nothing holds the loop any more: neither node nor handle.
    Abandoned,
}

impl<B: Backend> Loop<B> {
    /// Must be called in the runtime of the loop.
    pub(super) fn new(
        backend: B,
        core: B::Core,
        start: <WordsOf<B> as Words>::Start,
        asked: mpsc::UnboundedReceiver<Call<B::Class, B::Ask>>,
    ) -> io::Result<Self> {
        let machine = Machine::new(core);
        let timer = Timer::new()?;
        let mut this = Self { backend, machine, asked, timer, effects: Vec::new(), closing: None };
        this.machine.input(Input::Start(start));
        let now = this.sample();
        this.feed_core(now);
        Ok(this)
    }

    /// Runs until the last handle is dropped, or the node is closed.
    pub(super) async fn run(mut self) {
        self.carry().await;
        let closing = self.closing.take();
        // Free everything first: callers that wait for the end go on only when no handle leads and
        // nothing is held.
        drop(self);
        if let Some(done) = closing.and_then(|closing| closing.done) {
            let _ = done.send(());
        }
    }

    async fn carry(&mut self) {
        loop {
            self.backend.before_waiting();
            if self.is_done() {
                break;
            }
            self.arm();
            let happened = self.next().await;
            self.on(happened);
            // A caller may wait for the effects of this input, so send them before the next one.
            self.backend.before_more();
            // An endless stream of one kind of input must delay neither handles nor inputs of other
            // kinds.
            let begin = clock::now();
            let is_late = || clock::now().since(begin) >= SPAN;
            if handle_fairly(self, BATCH, 1 + B::KINDS, Self::take, Self::on, is_late) {
                // Let the sending and receiving tasks of this thread run.
                tokio::task::yield_now().await;
            }
        }
    }

    fn take(&mut self, kind: usize) -> Option<Wake<B>> {
        match kind.checked_sub(1) {
            Some(kind) => self.backend.take(kind).map(Wake::Incoming),
            None if self.closing.is_some() => None,
            None => match self.asked.try_recv() {
                Ok(asked) => Some(Wake::Call(asked)),
                Err(TryRecvError::Disconnected) => Some(Wake::Abandoned),
                Err(TryRecvError::Empty) => None,
            },
        }
    }

    /// Waits for an event. Cancel safe: if a poll finds an event, that poll returns it.
    async fn next(&mut self) -> Wake<B> {
        let Self { backend, timer, asked, closing, .. } = self;
        tokio::select! {
            biased;
            () = timer.rung() => Wake::Alarm,
            incoming = backend.next() => Wake::Incoming(incoming),
            asked = asked.recv(), if closing.is_none() => match asked {
                Some(asked) => Wake::Call(asked),
                None => Wake::Abandoned,
            },
        }
    }

    /// Handles an event. Reads the clock after the event.
    fn on(&mut self, happened: Wake<B>) {
        let sampled = self.sample();
        let now = sampled.since_boot();
        // Check the deadline after every event: a flood leaves no pause in which the alarm is
        // heard. The alarm alone proves nothing, because it may ring for an earlier deadline.
        if let Some(due) = self.machine.core.due().filter(|due| *due <= now) {
            if let Some(pause) = Pause::of(due, now) {
                self.machine.campaigns.paused(pause);
            }
            self.machine.input(Input::Timeout);
            self.feed_core(sampled);
        }
        match happened {
            Wake::Incoming(incoming) => self.backend.on_incoming(now, incoming, &mut self.machine),
            Wake::Call(Call::Handle(request)) => self.on_request(request),
            Wake::Call(Call::Node(ask)) => self.backend.on_ask(now, ask, &mut self.machine),
            Wake::Call(Call::Close(done)) => self.close(now, Some(done)),
            Wake::Abandoned => self.close(now, None),
            Wake::Alarm => {}
        }
        self.feed_core(sampled);
    }

    fn on_request(&mut self, request: Request<B::Class>) {
        let Self { backend, machine, .. } = self;
        let (election, command) = match request {
            Request::Campaign { election, campaign, value, priority, reply } => {
                let value = match Value::new(&value) {
                    Ok(value) => value,
                    Err(error) => return reply.refuse(CampaignError::Value(error)),
                };
                if !machine.campaigns.open(&election, campaign, reply) {
                    return;
                }
                backend.opened(&election, &mut machine.campaigns);
                (election, Command::Campaign { value, priority })
            }
            Request::Resign { election, campaign } => {
                match machine.campaigns.resign(&election, campaign) {
                    Some(_) => (election, Command::Resign),
                    None => return,
                }
            }
            Request::Transfer { election, campaign, to, probe, reply } => {
                if let Some(protocol) = B::NO_TRANSFER {
                    return reply.refuse(TransferError::Unsupported { protocol });
                }
                if !machine.campaigns.transfer(&election, campaign, reply) {
                    return;
                }
                (election, Command::Transfer { to, probe })
            }
            Request::Observe { election, every, afresh, reply } => {
                let every = if B::AFRESH || (afresh && B::LOOKS_ANEW) {
                    machine.subscriptions.observe_afresh(&election, every, reply)
                } else {
                    machine.subscriptions.observe(&election, every, reply)
                };
                let Some(every) = every else { return };
                (election, Command::Observe { every })
            }
            Request::Unobserve { election } => {
                if !machine.subscriptions.unobserve(&election) {
                    return;
                }
                (election, Command::Unobserve)
            }
        };
        machine.command(election, command);
    }

    /// Gives everything up. The loop ends once others know of the end, or after the farewell time.
    fn close(&mut self, now: Time, done: Option<oneshot::Sender<()>>) {
        if self.closing.is_some() {
            return;
        }
        self.closing = Some(Closing { until: now.after(self.backend.farewell()), done });
        for election in self.machine.campaigns.elections() {
            self.machine.command(election, Command::Resign);
        }
    }

    fn is_done(&self) -> bool {
        let quiet = self.backend.is_idle(&self.machine.core) && self.machine.campaigns.is_quiet();
        self.closing.as_ref().is_some_and(|closing| quiet || clock::now() >= closing.until)
    }

    fn sample(&self) -> NowOf<B> {
        NowOf::<B>::sample(&Real(&self.backend))
    }

    /// Hands the core its inputs, and carries out the effects of each.
    fn feed_core(&mut self, now: NowOf<B>) {
        while let Some(input) = self.machine.next_input() {
            self.handle(now, input);
        }
    }

    /// Carries out the effects strictly in their order. A failed write drops the effects after it.
    fn handle(&mut self, now: NowOf<B>, input: Input<WordsOf<B>>) {
        let mut effects = std::mem::take(&mut self.effects);
        self.machine.core.handle(now, input, &mut effects);
        let Self { backend, machine, .. } = self;
        for effect in effects.drain(..) {
            match effect {
                Effect::Raise { election, until, .. } => {
                    let owed = machine.campaigns.raise(&election, until);
                    machine.owe_lapsed(election, owed);
                }
                Effect::Bound { election, wall } => machine.campaigns.bound(&election, wall),
                Effect::Lower { election } => machine.campaigns.lower(&election),
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
                // Every event that is common to all protocols belongs to an election.
                Effect::Emit { election: None, event: _ } => {}
            }
        }
        self.effects = effects;
    }

    /// Arms the timer for the next deadline of the core, or for the end of the close.
    fn arm(&mut self) {
        let closing = self.closing.as_ref().map(|closing| closing.until);
        self.timer.arm(self.machine.core.due().into_iter().chain(closing).min());
    }
}
