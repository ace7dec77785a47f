//! A protocol of which one process always wins, carried by the common loop.

use std::marker::PhantomData;
use std::sync::Arc;
use std::time::Duration;

use tenure::driver::{Backend, Hold, Machine, Office, Order, Timing, election, spawn};
use tenure::{Election, ElectionName, Fence, Kind, Loss, Time};
use tenure_core::{
    Command, Deadline, Effect, Effects, End, Event, Input, Protocol, Standing, Ticket, Words,
};
use tokio::sync::{mpsc, oneshot};

/// What it grants.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Grant {
    /// How long its leaders lead; for ever if they have no end.
    pub(crate) lease: Option<Duration>,
    /// That of its first leader.
    pub(crate) fence: Option<Fence>,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Plain;

impl Words for Plain {
    type Start = ();
    type Sender = &'static str;
    type Address = &'static str;
    type Message = &'static str;
    type Record = &'static str;
    type Command = Command<Loss>;
    type Event = Event<&'static str>;
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Core {
    grant: Grant,
    leads: Option<ElectionName>,
}

impl Core {
    fn end(&mut self, loss: Loss, out: &mut Effects<Plain>) {
        if let Some(election) = self.leads.take() {
            out.push(Effect::Lower { election: election.clone() });
            for event in [Event::Ended(End::Lost(loss)), Event::Released] {
                out.push(Effect::Emit { election: Some(election.clone()), event });
            }
        }
    }
}

impl Protocol for Core {
    type Words = Plain;

    fn handle(&mut self, now: Time, input: Input<Plain>, out: &mut Effects<Plain>) {
        match input {
            Input::Command { election, command: Command::Campaign { .. } } => {
                let until = self.grant.lease.map_or(Time::MAX, |lease| now.after(lease));
                let fence = self.grant.fence;
                self.grant.fence = fence.and_then(Fence::next);
                out.push(Effect::Raise { election: election.clone(), until, fence });
                for event in [Event::Elected { id: "me".into(), fence }, Event::Settled] {
                    out.push(Effect::Emit { election: Some(election.clone()), event });
                }
                self.leads = Some(election);
            }
            Input::Command { command: Command::Resign, .. } => {
                self.end(Loss::Resigned, out);
            }
            Input::Command { command: Command::Extra(loss), .. } => self.end(loss, out),
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

/// The same for both classes of safety.
pub(crate) struct Toy<K: Kind> {
    losses: mpsc::UnboundedReceiver<Loss>,
    /// Dropped with the thread.
    _ends: oneshot::Sender<()>,
    kind: PhantomData<fn() -> K>,
}

impl<K: Kind> Backend for Toy<K> {
    type Core = Core;
    type Kind = K;
    type Extra = Loss;
    type Own = &'static str;
    type News = Loss;
    type Ask = ();

    const THREAD: &'static str = "toy";
    const KINDS: usize = 1;
    const NO_TRANSFER: Option<&'static str> = Some("toy");

    async fn next(&mut self) -> Loss {
        match self.losses.recv().await {
            Some(loss) => loss,
            None => std::future::pending().await,
        }
    }

    fn take(&mut self, _: usize) -> Option<Loss> {
        self.losses.try_recv().ok()
    }

    fn on_news(&mut self, _: Time, loss: Loss, machine: &mut Machine<Self>) {
        machine.command("x".parse().unwrap(), Command::Extra(loss));
    }

    fn on_ask(&mut self, _: Time, (): (), _: &mut Machine<Self>) {}

    fn send(&mut self, _: &'static str, _: &'static str) {}

    fn persist(&mut self, _: &&'static str) -> bool {
        true
    }

    fn flush(&mut self, _: Ticket, _: &'static str) {}

    fn on_event(&mut self, _: Option<ElectionName>, _: &'static str, _: &mut Machine<Self>) {}

    fn farewell(&self) -> Duration {
        Duration::from_secs(1)
    }
}

/// The test's side of a running toy.
pub(crate) struct Outside {
    pub(crate) losses: mpsc::UnboundedSender<Loss>,
    /// Resolves when the thread has ended.
    pub(crate) ends: oneshot::Receiver<()>,
}

struct Shared<K: Kind>(Hold<K, ()>);

impl<K: Kind> Office<K> for Shared<K> {
    fn order(&self, order: Order<K>) {
        self.0.order(order);
    }

    fn timing(&self) -> Timing {
        let (grace, kill_margin) = (Duration::from_millis(2), Duration::from_millis(1));
        Timing { grace, kill_margin, resignation_max: Duration::from_secs(1) }
    }
}

pub(crate) fn toy<K: Kind>(grant: Grant) -> (Election<K>, Outside) {
    let (losses, taken) = mpsc::unbounded_channel();
    let (ended, ends) = oneshot::channel();
    let hold = spawn(move || {
        let toy = Toy::<K> { losses: taken, _ends: ended, kind: PhantomData };
        (toy, Core { grant, leads: None }, ())
    });
    let handle = election(Arc::new(Shared(hold.unwrap())), "x".parse().unwrap());
    (handle, Outside { losses, ends })
}
