//! The loop that carries a core: one thread, one clock sample for each thing that happens.

use std::future::poll_fn;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use tenure_core::nerio::wire::{DATAGRAM_MAX, Dropped, Envelope, Packer, open};
use tenure_core::nerio::{
    Checked, Command, Effect, End, Event, Extra, Kept, Nerio, Question, Sender, Start, Words,
};
use tenure_core::{ElectionName, Input, Protocol, Time, Value};
use tokio::sync::mpsc::error::TryRecvError;
use tokio::sync::{broadcast, mpsc, oneshot};

use super::agreement::Agreement;
use super::counters::Counters;
use super::edicts::Source;
use super::log;
use super::notice::{Forgot, Notice};
use super::order::Order;
use super::outbox::Outbox;
use super::proofs::{Proof, Proofs};
use super::seen;
use super::storage::{Flushed, Records};
use crate::clock;
use crate::driver::{Boards, Elected, Order as Asked, Resign, Seats, Timer, Told};
use crate::error::CampaignError;
use crate::kind::AtMostOne;
use crate::state::WriteError;
use crate::transport::Transport;

/// How many things of each kind are handled before all that they gave rise to is sent.
const BATCH: usize = 64;
/// How long a node that closes waits for its releases to arrive.
const FAREWELL: Duration = Duration::from_millis(500);

/// Everything a driver has been given.
pub(super) struct Parts<T> {
    pub(super) config: Checked,
    pub(super) core: Nerio,
    pub(super) start: Start,
    pub(super) transport: T,
    pub(super) records: Records,
    pub(super) flushed: Flushed,
    pub(super) orders: mpsc::UnboundedReceiver<Order>,
    pub(super) notices: broadcast::Sender<Notice>,
}

/// The loop's state.
pub(super) struct Driver<T> {
    config: Checked,
    core: Nerio,
    transport: T,
    records: Records,
    flushed: Flushed,
    orders: mpsc::UnboundedReceiver<Order>,
    notices: broadcast::Sender<Notice>,
    told: Told,
    timer: Timer,
    outbox: Outbox,
    seats: Seats<AtMostOne>,
    boards: Boards,
    proofs: Proofs,
    agreement: Agreement,
    /// What a quarantine is for.
    forgot: Forgot,
    counters: Counters,
    /// Room for one datagram, and one byte more by which a longer one is known.
    buffer: Vec<u8>,
    /// Room for the effects of one input.
    effects: Vec<Effect>,
    /// What the driver itself wants of the core, after the effects at hand.
    owed: Vec<(ElectionName, Command)>,
    closing: Option<Closing>,
}

struct Closing {
    until: Time,
    done: Option<oneshot::Sender<()>>,
}

/// What happened.
enum Happened {
    Datagram {
        length: usize,
        from: SocketAddr,
    },
    Alarm,
    Order(Order),
    Flushed((tenure_core::Ticket, Result<(), WriteError>)),
    /// Nobody holds the node any more.
    Abandoned,
    /// One datagram could not be received.
    Nothing,
}

impl<T: Transport> Driver<T> {
    /// Must be called in the runtime in which it runs.
    pub(super) fn new(parts: Parts<T>) -> io::Result<Self> {
        let Parts { config, core, start, transport, records, flushed, orders, notices } = parts;
        let who = tenure_core::nerio::Who { name: core.who().name.clone(), inc: start.inc };
        let packer = Packer::new(config.digest(), &Envelope { epoch: 0, who: who.clone() });
        let mut driver = Self {
            config,
            core,
            transport,
            records,
            flushed,
            orders,
            notices,
            told: Told::default(),
            timer: Timer::new()?,
            outbox: Outbox::new(packer),
            seats: Seats::default(),
            boards: Boards::default(),
            proofs: Proofs::default(),
            agreement: Agreement::default(),
            forgot: Forgot::Grants,
            counters: Counters::default(),
            buffer: vec![0; DATAGRAM_MAX + 1],
            effects: Vec::new(),
            owed: Vec::new(),
            closing: None,
        };
        // After the lock on the state directory was taken: the quarantine counts from here.
        if let Some(memory) = start.memory.as_ref().filter(|memory| memory.kept == Kept::Founding) {
            let delta_max = driver.config.delta_max.max(memory.delta_max);
            driver.notice(Notice::Founding { delta_max });
        }
        if start.memory.as_ref().is_some_and(|memory| memory.kept == Kept::Nothing) {
            driver.forgot = Forgot::Everything;
        }
        let (here, member) = (driver.transport.local_address(), driver.config.position(&who.name));
        let member = member.map(|member| driver.config.members[member].address);
        if let Some(member) = member.filter(|member| !receives(here, *member)) {
            driver.notice(Notice::ListensElsewhere { here, member });
        }
        driver.input(clock::now(), Input::Start(start));
        Ok(driver)
    }

    /// Runs until nobody holds the node any more, or until it is closed.
    pub(super) async fn run(mut self) {
        loop {
            self.outbox.flush(&mut self.transport, &mut self.counters);
            if self.is_done() {
                break;
            }
            self.arm();
            let happened = self.next().await;
            self.on(happened);
            // Somebody may wait for this one, so it waits for nothing that comes after it.
            self.outbox.hurry(&mut self.transport, &mut self.counters);
            self.take_turns();
        }
    }

    /// A socket that is never empty keeps neither the disk nor handles waiting. [`on`](Self::on)
    /// looks at the clock for each.
    fn take_turns(&mut self) {
        let takes = [Self::take_flushed, Self::take_order, Self::take_datagram];
        crate::driver::take_turns(self, BATCH, &takes, Self::on);
    }

    fn take_flushed(&mut self) -> Option<Happened> {
        self.flushed.try_recv().ok().map(Happened::Flushed)
    }

    fn take_order(&mut self) -> Option<Happened> {
        if self.closing.is_some() {
            return None;
        }
        match self.orders.try_recv() {
            Ok(order) => Some(Happened::Order(order)),
            Err(TryRecvError::Disconnected) => Some(Happened::Abandoned),
            Err(TryRecvError::Empty) => None,
        }
    }

    fn take_datagram(&mut self) -> Option<Happened> {
        // Nobody is woken by this: whoever waits next asks again.
        let mut context = Context::from_waker(Waker::noop());
        match self.transport.poll_receive(&mut context, &mut self.buffer) {
            Poll::Ready(received) => Some(datagram(received)),
            Poll::Pending => None,
        }
    }

    /// Cancel safe: whatever is ready is returned by the poll that found it.
    async fn next(&mut self) -> Happened {
        let Self { transport, buffer, timer, orders, flushed, closing, .. } = self;
        let received = poll_fn(|context| transport.poll_receive(context, buffer));
        tokio::select! {
            biased;
            received = received => datagram(received),
            () = timer.rung() => Happened::Alarm,
            Some(done) = flushed.recv() => Happened::Flushed(done),
            order = orders.recv(), if closing.is_none() => match order {
                Some(order) => Happened::Order(order),
                None => Happened::Abandoned,
            },
        }
    }

    fn on(&mut self, happened: Happened) {
        // Sampled after whatever happened has happened.
        let now = clock::now();
        // The alarm is heard only where there is a pause, and under a flood there is none.
        let is_due = self.core.deadline().is_some_and(|deadline| deadline.at <= now);
        if is_due || matches!(happened, Happened::Alarm) {
            self.input(now, Input::Timeout);
        }
        match happened {
            Happened::Datagram { length, from } => {
                let buffer = std::mem::take(&mut self.buffer);
                self.on_datagram(now, &buffer[..length], from);
                self.buffer = buffer;
            }
            Happened::Order(order) => self.on_order(now, order),
            Happened::Flushed((ticket, Ok(()))) => self.input(now, Input::Flushed(ticket)),
            Happened::Flushed((ticket, Err(error))) => {
                self.write_failed(&error);
                self.input(now, Input::Failed(Some(ticket)));
            }
            Happened::Abandoned => self.close(now, None),
            Happened::Alarm | Happened::Nothing => {}
        }
    }

    fn on_datagram(&mut self, now: Time, datagram: &[u8], from: SocketAddr) {
        self.counters.received += 1;
        let (envelope, messages) = match open(self.config.digest(), 0, datagram) {
            Ok(opened) => opened,
            Err(dropped) => {
                self.counters.drop_for(dropped.label());
                if let Dropped::Digest(theirs) = dropped {
                    self.on_mismatch(now, theirs, datagram, from);
                }
                return;
            }
        };
        if let Some(notice) = self.agreement.agrees(from, &self.config, &mut self.told) {
            self.notice(notice);
        }
        let from = Sender { who: envelope.who, address: from };
        for message in messages {
            match message {
                Ok(message) => {
                    self.counters.messages += 1;
                    self.input(now, Input::Message { from: from.clone(), message });
                }
                Err(dropped) => self.counters.drop_for(dropped.label()),
            }
        }
    }

    /// A peer of another configuration is told so, once for each datagram that wants something.
    fn on_mismatch(&mut self, now: Time, theirs: u64, datagram: &[u8], address: SocketAddr) {
        let Ok((envelope, messages)) = open(theirs, 0, datagram) else { return };
        let peer = envelope.who.name;
        if !messages.is_empty() {
            self.outbox.introduce(address, &mut self.transport, &mut self.counters);
        }
        for notice in self.agreement.differs(now, (peer, address), theirs, &self.config) {
            self.notice(notice);
        }
    }

    fn on_order(&mut self, now: Time, order: Order) {
        match order {
            Order::Handle(asked) => {
                if let Some((election, command)) = self.on_handle(asked) {
                    self.input(now, Input::Command { election, command });
                }
            }
            Order::Verify { election, leader, reply } => {
                self.proofs.wait(&election, Question { leader, start: now }, reply);
                self.input(
                    now,
                    Input::Command { election, command: Command::Extra(Extra::Verify { leader }) },
                );
            }
            Order::Counters(reply) => {
                let _ = reply.send(self.counters.clone());
            }
            Order::Service(reply) => {
                let _ = reply.send(self.core.service(now));
            }
            Order::Disagreement(reply) => {
                let _ = reply.send(self.agreement.disagreement(&self.config));
            }
            Order::Close(done) => self.close(now, Some(done)),
        }
    }

    /// What the core must be told of it.
    fn on_handle(&mut self, asked: Asked<AtMostOne>) -> Option<(ElectionName, Command)> {
        let (election, command) = match asked {
            Asked::Campaign { election, seat, value, priority, reply } => {
                let value = match Value::new(&value) {
                    Ok(value) => value,
                    Err(error) => {
                        reply.refuse(CampaignError::Value(error));
                        return None;
                    }
                };
                let opened = self.seats.open(&election, seat, reply);
                (election, opened.then_some(Command::Campaign { value, priority }))
            }
            Asked::Resign { election, seat } => {
                let resign = self.seats.resign(&election, seat);
                (election, resign.map(|Resign| Command::Resign))
            }
            Asked::Transfer { election, seat, to, probe, reply } => {
                let goes_on = self.seats.transfer(&election, seat, reply);
                (election, goes_on.then_some(Command::Transfer { to, probe }))
            }
            Asked::Observe { election, every, reply } => {
                let every = self.boards.observe(&election, every, reply);
                (election, every.map(|every| Command::Observe { every }))
            }
            Asked::Unobserve { election } => {
                let last = self.boards.unobserve(&election);
                (election, last.then_some(Command::Unobserve))
            }
        };
        Some((election, command?))
    }

    /// Gives everything up, and ends once that has arrived or enough time has passed.
    fn close(&mut self, now: Time, done: Option<oneshot::Sender<()>>) {
        if self.closing.is_some() {
            return;
        }
        self.closing = Some(Closing { until: now.after(FAREWELL), done });
        for election in self.seats.elections() {
            self.input(now, Input::Command { election, command: Command::Resign });
        }
    }

    fn is_done(&mut self) -> bool {
        let quiet = self.seats.is_quiet();
        let Some(closing) = &mut self.closing else { return false };
        if !quiet && clock::now() < closing.until {
            return false;
        }
        if let Some(done) = closing.done.take() {
            let _ = done.send(());
        }
        true
    }

    /// One input to the core, and whatever follows from it.
    fn input(&mut self, now: Time, input: Input<Words>) {
        self.handle(now, input);
        while let Some((election, command)) = self.owed.pop() {
            self.handle(now, Input::Command { election, command });
        }
    }

    fn handle(&mut self, now: Time, input: Input<Words>) {
        let mut effects = std::mem::take(&mut self.effects);
        self.core.handle(now, input, &mut effects);
        self.carry_out(now, effects.drain(..));
        self.effects = effects;
    }

    /// Strictly in their order. A failed write stops what follows it.
    fn carry_out(&mut self, now: Time, effects: impl Iterator<Item = Effect>) {
        for effect in effects {
            match effect {
                Effect::Raise { election, until, .. } => {
                    let owed = self.seats.raise(&election, until);
                    self.owe(election, owed);
                }
                Effect::Lower { election } => self.seats.lower(&election),
                Effect::Persist(record) => {
                    if let Err(error) = self.records.persist(&record) {
                        self.write_failed(&error);
                        return self.handle(now, Input::Failed(None));
                    }
                }
                Effect::Flush(ticket, record) => self.records.flush(ticket, record),
                Effect::Send { to, message } => {
                    self.outbox.push(to, &message, &mut self.transport, &mut self.counters);
                }
                Effect::Emit { election, event } => self.on_event(election, event),
            }
        }
    }

    fn on_event(&mut self, election: Option<ElectionName>, event: Event) {
        let Some(election) = election else { return self.on_node_event(event) };
        match event {
            Event::Elected { fence, timestamp } => {
                self.counters.elected += 1;
                // The application first: what follows asks for the lease of full length, and the
                // first one lasts long enough for that to wait until others have had the processor.
                self.outbox.give_way();
                let who = self.core.who();
                let extra = Arc::new(Source::new(who.inc, timestamp));
                let elected = Elected { id: who.name.clone().into(), fence, extra };
                let owed = self.seats.elected(&election, elected);
                self.owe(election, owed);
            }
            Event::Settled => self.seats.settled(&election),
            Event::Held { until } => self.seats.held(&election, until),
            Event::Ended(end) => {
                self.counters.expired += u64::from(end == End::Expired);
                // The application has its answer in the cell; others wait for the release.
                self.outbox.flush(&mut self.transport, &mut self.counters);
                self.seats.ended(&election, seen::loss(end));
            }
            Event::Waiting(waiting) => {
                self.seats.waits(&election, self.agreement.explain(waiting, &self.config));
            }
            Event::Released => self.seats.released(&election),
            Event::SuccessorWaits { .. } => self.seats.successor_waits(&election),
            Event::TransferFailed { to, why } => {
                if let Some(error) = seen::transfer_error(to, why) {
                    self.seats.transfer_failed(&election, error);
                }
            }
            Event::View(view) => self.boards.see(&election, seen::view(view)),
            Event::Verified { question, leader: who, until, fence } => {
                let proof = Proof::Leads { who, until, fence };
                self.proofs.answered(&election, question, &proof);
            }
            Event::NotVerified { question, by } => {
                self.proofs.answered(&election, question, &Proof::DoesNotLead { by });
            }
            Event::Granted { to } => self.notice(Notice::Granted { election, to }),
            Event::Freed { by } => self.notice(Notice::Freed { election, by }),
            // What keeps a campaign from being won is told as what it waits for.
            Event::Obstacle { grantor, refusal } if self.seats.won(&election) => {
                self.notice(Notice::Obstacle { election, grantor, refusal });
            }
            Event::NameShared { grantor, other } => {
                self.notice(Notice::NameShared { election, grantor, other });
            }
            event => self.on_node_event(event),
        }
    }

    /// Each failure is at debug in the log; that the disk fails is said once.
    fn write_failed(&mut self, error: &WriteError) {
        tracing::debug!(%error, "a record could not be written");
        self.counters.write_failures += 1;
        self.counters.write_error = Some(error.to_string());
    }

    fn owe(&mut self, election: ElectionName, owed: Option<Resign>) {
        self.owed.extend(owed.map(|Resign| (election, Command::Resign)));
    }

    fn on_node_event(&mut self, event: Event) {
        match event {
            Event::Serving => self.notice(Notice::Serving),
            Event::RaiseWaits { before, delta_max, until } => {
                self.notice(Notice::RaiseWaits { before, delta_max, until });
            }
            Event::Raised { delta_max } => self.notice(Notice::Raised { delta_max }),
            Event::Quarantined { until } => {
                let forgot = self.forgot;
                self.notice(Notice::Quarantined { until, forgot });
            }
            Event::Recovering => self.notice(Notice::Recovering),
            Event::RecoveryWaits { founding, silent, unfounded } => {
                self.notice(Notice::RecoveryWaits { founding, silent, unfounded });
            }
            Event::NotFounded { by } => self.notice(Notice::NotFounded { by }),
            Event::DiskFailed => {
                let error = self.counters.write_error.clone().unwrap_or_default();
                self.notice(Notice::DiskFailed { error });
            }
            Event::DiskHangs { since } => {
                let error = self.records.hangs(clock::now().since(since));
                self.counters.write_error = Some(error.clone());
                self.notice(Notice::DiskHangs { error });
            }
            Event::DiskMended => {
                self.counters.write_error = None;
                self.notice(Notice::DiskMended);
            }
            Event::NameContested { name, addresses } => {
                self.notice(Notice::NameContested { name, addresses });
            }
            Event::AddressContested { who, holder, other } => {
                self.notice(Notice::AddressContested { who, holder, other });
            }
            Event::Ignored(reason) => self.counters.ignore_for(reason.label()),
            _ => {}
        }
    }

    /// Says it, unless that was said already.
    fn notice(&mut self, notice: Notice) {
        if log::notice(&mut self.told, clock::now(), &notice, &self.config) {
            // Nobody listening is fine.
            let _ = self.notices.send(notice);
        }
    }

    /// Sets the alarm to the core's deadline, if that has moved.
    fn arm(&mut self) {
        let deadline = self.core.deadline().map(|deadline| deadline.at);
        let closing = self.closing.as_ref().map(|closing| closing.until);
        self.timer.arm([deadline, closing].into_iter().flatten().min());
    }
}

/// Whether what is sent to `member` arrives at a socket that is bound `here`, as far as the two
/// addresses tell.
fn receives(here: SocketAddr, member: SocketAddr) -> bool {
    let any = here.ip().is_unspecified() || here.ip().to_canonical() == member.ip().to_canonical();
    any && here.port() == member.port()
}

fn datagram(received: io::Result<(usize, SocketAddr)>) -> Happened {
    match received {
        Ok((length, from)) => Happened::Datagram { length, from },
        Err(error) => {
            tracing::debug!(%error, "a datagram could not be received");
            Happened::Nothing
        }
    }
}
