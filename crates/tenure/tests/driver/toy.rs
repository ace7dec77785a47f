//! A protocol in which one process always wins, driven by the common loop.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::marker::PhantomData;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tenure::driver::{Backend, Hold, Machine, Timing, spawn};
use tenure::{Election, ElectionName, Fence, LeaderView, Loss, SafetyClass, Time, Value, View};
use tenure_core::{
    Command, Deadline, Effect, Effects, End, Event, Input, Protocol, Standing, Ticket, Words,
};
use tenure_testkit::handles::PATIENCE;
use tokio::sync::{mpsc, oneshot};

/// The terms of the leaderships that a toy gives.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Grant {
    /// Length of leaderships; `None` for leaders without an end.
    pub(crate) lease: Option<Duration>,
    /// Fence of the first leader.
    pub(crate) fence: Option<Fence>,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Plain;

impl Words for Plain {
    type Start = ();
    type Sender = &'static str;
    type Address = &'static str;
    type Message = LeaderNews;
    type Record = &'static str;
    type Command = Command<Loss>;
    type Event = Event<&'static str>;
}

/// A leader, or the end of a leadership.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct LeaderNews {
    election: ElectionName,
    id: &'static str,
    value: Option<Value>,
}

impl fmt::Display for LeaderNews {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = if self.value.is_some() { "leads" } else { "leads no more" };
        write!(f, "{}: {} {what}", self.election, self.id)
    }
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Core {
    id: &'static str,
    grant: Grant,
    leaders: BTreeMap<(ElectionName, &'static str), Value>,
    observed: BTreeSet<ElectionName>,
}

impl Core {
    fn emit(election: &ElectionName, event: Event<&'static str>, out: &mut Effects<Plain>) {
        out.push(Effect::Emit { election: Some(election.clone()), event });
    }

    fn end(&mut self, election: &ElectionName, loss: Loss, out: &mut Effects<Plain>) {
        if self.leaders.contains_key(&(election.clone(), self.id)) {
            out.push(Effect::Lower { election: election.clone() });
            Self::emit(election, Event::Ended(End::Lost(loss)), out);
            Self::emit(election, Event::Released, out);
            self.tell(LeaderNews { election: election.clone(), id: self.id, value: None }, out);
        }
    }

    /// Tells this node and all others.
    fn tell(&mut self, told: LeaderNews, out: &mut Effects<Plain>) {
        out.push(Effect::Send { to: "all", message: told.clone() });
        self.hear(told, out);
    }

    fn hear(&mut self, LeaderNews { election, id, value }: LeaderNews, out: &mut Effects<Plain>) {
        match value {
            Some(value) => self.leaders.insert((election.clone(), id), value),
            None => self.leaders.remove(&(election.clone(), id)),
        };
        self.show(&election, out);
    }

    fn show(&self, election: &ElectionName, out: &mut Effects<Plain>) {
        if !self.observed.contains(election) {
            return;
        }
        let of_it = self.leaders.iter().filter(|((name, _), _)| name == election);
        let seen = |((_, id), value): (&(_, &str), &Value)| {
            LeaderView::new((*id).into(), value.as_str().as_bytes().into())
        };
        let mut leaders = of_it.map(seen);
        let view = match (leaders.next(), leaders.collect::<Vec<_>>()) {
            (None, _) => View::Vacant,
            (Some(leader), others) if others.is_empty() => View::Leader(leader),
            (Some(followed), others) => View::Leaders { followed, others },
        };
        Self::emit(election, Event::View(view.into()), out);
    }
}

impl Protocol for Core {
    type Words = Plain;
    type Now = Time;

    fn handle(&mut self, now: Time, input: Input<Plain>, out: &mut Effects<Plain>) {
        match input {
            Input::Command { election, command: Command::Campaign { value, .. } } => {
                let until = self.grant.lease.map_or(Time::MAX, |lease| now.after(lease));
                let fence = self.grant.fence;
                self.grant.fence = fence.and_then(Fence::next);
                out.push(Effect::Raise { election: election.clone(), until, fence });
                Self::emit(&election, Event::Elected { id: self.id.into(), fence }, out);
                Self::emit(&election, Event::Settled, out);
                self.tell(LeaderNews { election, id: self.id, value: Some(value) }, out);
            }
            Input::Command { election, command: Command::Resign } => {
                self.end(&election, Loss::Resigned, out);
            }
            Input::Command { election, command: Command::Observe { .. } } => {
                self.observed.insert(election.clone());
                self.show(&election, out);
            }
            Input::Command { election, command: Command::Unobserve } => {
                self.observed.remove(&election);
            }
            Input::Command { election, command: Command::Extra(loss) } => {
                self.end(&election, loss, out);
            }
            Input::Message { message, .. } => self.hear(message, out),
            _ => {}
        }
    }

    fn deadline(&self) -> Option<Deadline> {
        None
    }

    fn standing(&self, _: &ElectionName, _: Time) -> Standing {
        unreachable!("nobody asks the core of this test")
    }
}

pub(crate) enum Incoming {
    Loss(Loss),
    News(LeaderNews),
}

/// The channels to all nodes of a group.
pub(crate) type All = Arc<Mutex<BTreeMap<&'static str, mpsc::UnboundedSender<Incoming>>>>;

/// The backend for both classes of safety.
pub(crate) struct Toy<C: SafetyClass> {
    id: &'static str,
    all: All,
    incoming: mpsc::UnboundedReceiver<Incoming>,
    /// The end of the thread drops this sender.
    _ends: oneshot::Sender<()>,
    kind: PhantomData<fn() -> C>,
}

impl<C: SafetyClass> Backend for Toy<C> {
    type Core = Core;
    type Class = C;
    type Extra = Loss;
    type Own = &'static str;
    type Incoming = Incoming;
    type Ask = ();

    const THREAD: &'static str = "toy";
    const KINDS: usize = 1;
    const NO_TRANSFER: Option<&'static str> = Some("toy");

    async fn next(&mut self) -> Incoming {
        match self.incoming.recv().await {
            Some(incoming) => incoming,
            None => std::future::pending().await,
        }
    }

    fn take(&mut self, _: usize) -> Option<Incoming> {
        self.incoming.try_recv().ok()
    }

    fn on_incoming(&mut self, _: Time, incoming: Incoming, machine: &mut Machine<Self>) {
        match incoming {
            Incoming::Loss(loss) => machine.command("x".parse().unwrap(), Command::Extra(loss)),
            Incoming::News(message) => machine.input(Input::Message { from: message.id, message }),
        }
    }

    fn on_ask(&mut self, _: Time, (): (), _: &mut Machine<Self>) {}

    fn send(&mut self, _: &'static str, told: LeaderNews) {
        for (id, one) in &*self.all.lock().unwrap() {
            if *id != self.id {
                let _ = one.send(Incoming::News(told.clone()));
            }
        }
    }

    fn persist(&mut self, _: &&'static str) -> bool {
        true
    }

    fn flush(&mut self, _: Ticket, _: &'static str) {}

    fn on_event(&mut self, _: Option<ElectionName>, _: &'static str, _: &mut Machine<Self>) {}

    fn farewell(&self) -> Duration {
        PATIENCE
    }
}

/// The test's side of a running toy.
pub(crate) struct Outside<C: SafetyClass> {
    pub(crate) node: Arc<Hold<C, ()>>,
    pub(crate) incoming: mpsc::UnboundedSender<Incoming>,
    pub(crate) ends: oneshot::Receiver<()>,
}

impl<C: SafetyClass> Outside<C> {
    pub(crate) fn start(id: &'static str, grant: Grant, all: &All) -> Self {
        let (incoming, taken) = mpsc::unbounded_channel();
        let (ended, ends) = oneshot::channel();
        all.lock().unwrap().insert(id, incoming.clone());
        let all = all.clone();
        let begin = move || {
            let toy = Toy::<C> { id, all, incoming: taken, _ends: ended, kind: PhantomData };
            (toy, Core { id, grant, leaders: BTreeMap::new(), observed: BTreeSet::new() }, ())
        };
        let grace = Duration::from_millis(2);
        let kill_margin = Duration::from_millis(1);
        let timing = move || Timing { grace, kill_margin, resignation_max: PATIENCE };
        Self { node: spawn(begin, timing).unwrap(), incoming, ends }
    }

    pub(crate) fn election(&self, name: &str) -> Election<C> {
        self.node.election(name.parse().unwrap())
    }

    pub(crate) async fn close(&self) {
        self.node.close().await;
    }
}

/// A core without other nodes, and its handle.
pub(crate) fn toy<C: SafetyClass>(grant: Grant) -> (Election<C>, Outside<C>) {
    let outside = Outside::start("me", grant, &All::default());
    (outside.election("x"), outside)
}
