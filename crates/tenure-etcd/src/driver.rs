//! The loop that carries the core: one thread, one clock sample for each thing that happens.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use tenure::driver::{Boards, Elected, Order as Asked, Resign, Seats, Timer};
use tenure::{AtMostOne, CampaignError, Obstacle, TransferError, Waiting, clock};
use tenure_core::etcd::{
    Checked, Command, Effect, End, Etcd, Event, Extra, Ignored, Lost, Message, Refusal, Start,
    Store, View, Words,
};
use tenure_core::{ElectionName, Fence, Input, Protocol, Standing, Time, Value};
use tokio::sync::mpsc::error::TryRecvError;
use tokio::sync::{broadcast, mpsc, oneshot};

use crate::counters::Counters;
use crate::endpoint::Endpoint;
use crate::node::Mark;
use crate::notice::Notice;
use crate::seen;
use crate::wire::connect::Status;
use crate::wire::{News, Wire};

/// How many things of each kind are handled before the loop looks whether it is done.
const BATCH: usize = 64;
/// How long a node that closes waits at least until its keys are gone; else one call's time.
const FAREWELL: Duration = Duration::from_millis(500);
const FAREWELL_MAX: Duration = Duration::from_secs(5);

/// What a node asks of its driver.
pub(crate) enum Order {
    Handle(Asked<AtMostOne>),
    Proclaim { election: ElectionName, fence: Fence, value: Value },
    Counters(oneshot::Sender<Counters>),
    Close(oneshot::Sender<()>),
}

/// Everything a driver has been given.
pub(crate) struct Parts {
    pub(crate) config: Checked,
    pub(crate) start: Start,
    pub(crate) wire: Wire,
    pub(crate) orders: mpsc::UnboundedReceiver<Order>,
    pub(crate) notices: broadcast::Sender<Notice>,
    pub(crate) granted: Arc<AtomicU32>,
    pub(crate) mark: Arc<Mark>,
}

/// The loop's state.
pub(crate) struct Driver {
    config: Checked,
    core: Etcd,
    wire: Wire,
    orders: mpsc::UnboundedReceiver<Order>,
    notices: broadcast::Sender<Notice>,
    /// The length of the lease as granted last, in seconds.
    granted: Arc<AtomicU32>,
    mark: Arc<Mark>,
    timer: Timer,
    seats: Seats<AtMostOne>,
    boards: Boards,
    counters: Counters,
    /// Elections of which observers may have missed something.
    gaps: BTreeSet<ElectionName>,
    /// What the driver itself wants of the core, after the effects at hand.
    owed: Vec<(ElectionName, Command)>,
    /// Since when only another cluster answers, and no endpoint fails to.
    other_since: Option<Time>,
    /// What became of each endpoint, as long as none is in use; bounded by their number.
    connecting: Option<Vec<Obstacle>>,
    closing: Option<Closing>,
}

struct Closing {
    until: Time,
    done: Option<oneshot::Sender<()>>,
}

/// What happened.
enum Happened {
    News(News),
    Alarm,
    Order(Order),
    /// Nobody holds the node any more.
    Abandoned,
}

impl Driver {
    /// Must be called in the runtime in which it runs.
    pub(crate) fn new(parts: Parts) -> std::io::Result<Self> {
        let Parts { config, start, wire, orders, notices, granted, mark } = parts;
        let mut driver = Self {
            core: Etcd::new(config.clone()),
            config,
            wire,
            orders,
            notices,
            granted,
            mark,
            timer: Timer::new()?,
            seats: Seats::default(),
            boards: Boards::default(),
            counters: Counters::default(),
            gaps: BTreeSet::new(),
            owed: Vec::new(),
            other_since: None,
            connecting: Some(Vec::new()),
            closing: None,
        };
        driver.input(clock::now(), Input::Start(start));
        Ok(driver)
    }

    /// Runs until nobody holds the node any more, or until it is closed.
    pub(crate) async fn run(mut self) {
        while !self.is_done() {
            let closing = self.closing.as_ref().map(|closing| closing.until);
            let deadline = self.core.deadline().map(|deadline| deadline.at);
            self.timer.arm([deadline, closing].into_iter().flatten().min());
            let happened = self.next().await;
            self.on(happened);
            self.take_turns();
        }
    }

    /// Answers that never end keep no handle waiting. [`on`](Self::on) looks at the clock for each.
    fn take_turns(&mut self) {
        let takes = [Self::take_order, Self::take_news];
        tenure::driver::take_turns(self, BATCH, &takes, Self::on);
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

    fn take_news(&mut self) -> Option<Happened> {
        self.wire.take().map(Happened::News)
    }

    /// Cancel safe: whatever is ready is returned by the poll that found it.
    async fn next(&mut self) -> Happened {
        let Self { wire, timer, orders, closing, .. } = self;
        tokio::select! {
            biased;
            () = timer.rung() => Happened::Alarm,
            news = wire.next() => Happened::News(news),
            order = orders.recv(), if closing.is_none() => match order {
                Some(order) => Happened::Order(order),
                None => Happened::Abandoned,
            },
        }
    }

    /// The clock is read here, after whatever happened has happened.
    fn on(&mut self, happened: Happened) {
        let now = clock::now();
        // The alarm is heard only where there is a pause.
        let is_due = self.core.deadline().is_some_and(|deadline| deadline.at <= now);
        if is_due || matches!(happened, Happened::Alarm) {
            self.input(now, Input::Timeout);
        }
        match happened {
            Happened::News(news) => self.on_news(now, news),
            Happened::Order(order) => self.on_order(now, order),
            Happened::Abandoned => self.close(now, None),
            Happened::Alarm => {}
        }
    }

    fn on_news(&mut self, now: Time, news: News) {
        match news {
            News::Answer(answer) => {
                self.counters.answer(&answer.reply);
                if let Some(header) = answer.header {
                    self.hear_of(header.cluster);
                }
                let message = Message::Answer(answer);
                self.input(now, Input::Message { from: Store, message });
            }
            News::Connected { endpoint, status } => {
                let Status { cluster, member, version, .. } = status;
                self.counters.connections += 1;
                self.connecting = None;
                self.hear_of(cluster);
                let unfixed = !version.has_stalled_leader_fix();
                self.notice(Notice::Connected { endpoint: endpoint.clone(), member, version });
                if unfixed {
                    self.notice(Notice::EarlyRevocation { endpoint, version });
                }
            }
            News::LoggedIn { endpoint, why } => self.notice(Notice::LoggedIn { endpoint, why }),
            News::NotLoggedIn { endpoint, why } => {
                self.notice(Notice::NotLoggedIn { endpoint, why });
            }
            News::Disconnected { endpoint, why } => {
                self.is_without(&endpoint, &why);
                self.notice(Notice::Disconnected { endpoint, why });
            }
            News::Unreachable { endpoint, why } => {
                self.counters.unreachable += 1;
                self.is_without(&endpoint, &why);
                // It may be of the right cluster.
                self.other_since = None;
                self.notice(Notice::Unreachable { endpoint, why });
            }
        }
    }

    /// This endpoint is of no use: whatever campaigns waits for another.
    fn is_without(&mut self, endpoint: &Endpoint, why: &Arc<str>) {
        let by: Arc<str> = endpoint.to_string().into();
        let obstacles = self.connecting.get_or_insert_default();
        obstacles.retain(|obstacle| obstacle.by != by);
        obstacles.push(Obstacle { by, label: "unreachable", why: why.clone() });
        obstacles.sort_by(|a, b| a.by.cmp(&b.by));
        let waiting = Waiting::Connecting { obstacles: obstacles.clone() };
        for election in self.seats.campaigns() {
            self.seats.waits(&election, waiting.clone());
        }
    }

    fn hear_of(&mut self, cluster: u64) {
        if self.core.cluster() == Some(cluster) {
            self.other_since = None;
        }
    }

    fn on_order(&mut self, now: Time, order: Order) {
        match order {
            Order::Handle(asked) => {
                if let Some((election, command)) = self.on_handle(asked) {
                    self.input(now, Input::Command { election, command });
                }
            }
            Order::Proclaim { election, fence, value } => {
                // It may be over since, and a new campaign have begun.
                let standing = self.core.standing(&election, now);
                if matches!(standing, Standing::Leading { fence: Some(own), .. } if own == fence) {
                    let command = Command::Extra(Extra::Proclaim { value });
                    self.input(now, Input::Command { election, command });
                }
            }
            Order::Counters(reply) => {
                let _ = reply.send(self.counters.clone());
            }
            Order::Close(done) => self.close(now, Some(done)),
        }
    }

    /// What the core must be told of it.
    fn on_handle(&mut self, asked: Asked<AtMostOne>) -> Option<(ElectionName, Command)> {
        match asked {
            // Candidates go in the order in which they came: all protocols on these keys do.
            Asked::Campaign { election, seat, value, priority: _, reply } => {
                let value = match Value::new(&value) {
                    Ok(value) => value,
                    Err(error) => {
                        reply.refuse(CampaignError::Value(error));
                        return None;
                    }
                };
                let opened = self.seats.open(&election, seat, reply);
                if let Some(obstacles) = self.connecting.clone().filter(|_| opened) {
                    self.seats.waits(&election, Waiting::Connecting { obstacles });
                }
                opened.then_some((election, Command::Campaign { value, priority: 0 }))
            }
            Asked::Resign { election, seat } => {
                let resign = self.seats.resign(&election, seat);
                resign.map(|Resign| (election, Command::Resign))
            }
            Asked::Transfer { reply, .. } => {
                reply.refuse(TransferError::Unsupported { protocol: "etcd" });
                None
            }
            // etcd tells of changes by itself.
            Asked::Observe { election, every: _, reply } => {
                let look = self.boards.observe_afresh(&election, reply);
                look.then_some((election, Command::Observe { every: Duration::ZERO }))
            }
            Asked::Unobserve { election } => {
                let last = self.boards.unobserve(&election);
                if last {
                    self.gaps.remove(&election);
                }
                last.then_some((election, Command::Unobserve))
            }
        }
    }

    /// Gives everything up, and ends once that is done or enough time has passed.
    fn close(&mut self, now: Time, done: Option<oneshot::Sender<()>>) {
        if self.closing.is_some() {
            return;
        }
        let patience = (self.config.lease / 4).clamp(FAREWELL, FAREWELL_MAX);
        self.closing = Some(Closing { until: now.after(patience), done });
        for election in self.seats.elections() {
            self.input(now, Input::Command { election, command: Command::Resign });
        }
    }

    fn is_done(&mut self) -> bool {
        let quiet = self.core.is_idle() && self.seats.is_quiet();
        let Some(closing) = &mut self.closing else { return false };
        if !quiet && clock::now() < closing.until {
            return false;
        }
        if let Some(done) = closing.done.take() {
            // Before those who wait for it go on, no handle says that it leads.
            self.seats = Seats::default();
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
        let mut effects = Vec::new();
        self.core.handle(now, input, &mut effects);
        for effect in effects {
            self.carry_out(effect);
        }
    }

    /// Strictly in their order: nothing is sent before a claim that was lowered is lowered.
    fn carry_out(&mut self, effect: Effect) {
        match effect {
            Effect::Raise { election, until, .. } => {
                let owed = self.seats.raise(&election, until);
                self.settle(&election, until);
                self.owe(election, owed);
            }
            Effect::Lower { election } => self.seats.lower(&election),
            Effect::Send { to: Store, message: Message::Request(request) } => {
                self.counters.ask(&request.op);
                self.wire.send(request);
            }
            Effect::Emit { election: Some(election), event } => self.on_event(election, event),
            Effect::Emit { election: None, event } => self.on_node_event(None, event),
            // A core sends no answers, and writes no records.
            Effect::Send { .. } | Effect::Persist(_) | Effect::Flush(..) => {}
        }
    }

    /// Whoever wins while a renewal is late has little time left: long work begins with half of
    /// the lease ahead.
    fn settle(&self, election: &ElectionName, until: Time) {
        let granted = Duration::from_secs(self.granted.load(Ordering::Relaxed).into());
        if until.since(clock::now()) >= granted / 2 {
            self.seats.settled(election);
        }
    }

    fn on_event(&mut self, election: ElectionName, event: Event) {
        match event {
            Event::Elected { fence, key } => {
                self.counters.elected += 1;
                let id = seen::id(&self.config.namespace, &election, &key);
                let elected = Elected { id, fence, extra: self.mark.clone() };
                let owed = self.seats.elected(&election, elected);
                self.owe(election, owed);
            }
            Event::Ended(end) => self.on_end(&election, &end),
            Event::Released => self.seats.released(&election),
            Event::View(view) => self.on_view(election, view),
            Event::NotObserved(why) => {
                self.boards.close(&election);
                self.notice(Notice::NotObserved { election, why });
            }
            Event::Reset => drop(self.gaps.insert(election)),
            Event::Waiting { behind } => {
                let who = seen::id(&self.config.namespace, &election, &behind);
                self.seats.waits(&election, Waiting::Behind { who, leading: false });
                self.notice(Notice::Waiting { election, behind });
            }
            Event::Again(lost) => self.notice(Notice::Again { election, lost }),
            Event::Zombie { key } => self.notice(Notice::Zombie { election, key }),
            event => self.on_node_event(Some(election), event),
        }
    }

    /// etcd refuses something that has to be done: for one election, or for all. With a lease those
    /// that wait are in their queues, and wait for nothing else.
    fn is_refused(&self, election: Option<&ElectionName>, doing: &str, refusal: &Refusal) {
        if election.is_none() && self.core.lease().is_some() {
            return;
        }
        let why = format!("{doing}: {refusal}").into();
        let obstacles = vec![Obstacle { by: "etcd".into(), label: refusal.label(), why }];
        let all = || self.seats.campaigns();
        for election in election.map_or_else(all, |election| vec![election.clone()]) {
            let (obstacles, missing) = (obstacles.clone(), Vec::new());
            self.seats.waits(&election, Waiting::Refused { obstacles, missing });
        }
    }

    fn on_end(&mut self, election: &ElectionName, end: &End) {
        self.counters.expired += u64::from(*end == End::Lost(Lost::Expired));
        match seen::end(end) {
            Ok(loss) => self.seats.ended(election, loss),
            Err(why) => self.seats.refused(election, why),
        }
        if seen::is_objection(end) {
            self.seats.released(election);
        }
    }

    fn on_view(&mut self, election: ElectionName, view: View) {
        let view = seen::view(&self.config.namespace, &election, view);
        if self.gaps.remove(&election) {
            self.boards.see_after_gap(&election, view);
        } else {
            self.boards.see(&election, view);
        }
        if self.boards.look_again(&election) {
            self.owed.push((election, Command::Observe { every: Duration::ZERO }));
        }
    }

    fn on_node_event(&mut self, election: Option<ElectionName>, event: Event) {
        match event {
            Event::Opened { lease, asked, granted } => {
                self.granted.store(granted, Ordering::Relaxed);
                self.notice(Notice::Opened { lease, asked, granted });
            }
            Event::Moving { from, to, granted, term } => {
                self.granted.store(granted, Ordering::Relaxed);
                self.notice(Notice::Moving { from, to, term });
            }
            Event::WentBack { from, to } => self.notice(Notice::WentBack { from, to }),
            Event::Closed { lease, lost } => self.notice(Notice::Closed { lease, lost }),
            Event::Obstacle { doing, refusal } => {
                self.is_refused(election.as_ref(), doing, &refusal);
                self.notice(Notice::Obstacle { election, doing, refusal });
            }
            Event::Unsure { doing, why } => self.notice(Notice::Unsure { election, doing, why }),
            Event::Ignored(reason) => {
                self.counters.ignore_for(reason.label());
                if reason == Ignored::OtherCluster {
                    let now = clock::now();
                    let since = *self.other_since.get_or_insert(now);
                    self.notice(Notice::OtherCluster { lasting: now.since(since) });
                    // Another endpoint may lead to the right one.
                    self.wire.leave(&"it is of another cluster than at the start".into());
                }
            }
            _ => {}
        }
    }

    fn owe(&mut self, election: ElectionName, owed: Option<Resign>) {
        self.owed.extend(owed.map(|Resign| (election, Command::Resign)));
    }

    fn notice(&self, notice: Notice) {
        // Nobody listening is fine.
        let _ = self.notices.send(notice);
    }
}
