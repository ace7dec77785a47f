//! A process that queries the leader without being a voter.

use std::any::Any;
use std::convert::Infallible;
use std::marker::PhantomData;
use std::sync::Arc;
use std::time::Duration;

use tenure::driver::{self, Backend, HoldOf, LOG, Machine, Notices, Timing};
use tenure::{Election, Time};
use tenure_core::voter::{
    Asker as Core, AskerConfig, Identity, Memory, Message, OwnEvent, Peer, Start,
};
use tenure_core::{ElectionName, Input, Ticket};
use tokio::sync::{broadcast, mpsc};
use tokio::task::JoinSet;

use crate::client::{Client, Question};
use crate::incoming::{Incoming, RequestResult};
use crate::node::{Class, IDLE_MIN, StartError};
use crate::notice::Notice;
use crate::options::CheckedOptions;
use crate::troubles::Troubles;
use crate::wire::Head;

/// A client that queries voters for the leader, and does not vote. Clones are the same asker. An
/// asker does not listen, and voters do not know it.
pub struct Asker<C: Class> {
    driver: HoldOf<AskerDriver<C>>,
    notices: Notices<Notice>,
}

impl<C: Class> Asker<C> {
    /// Starts the asker on a thread of its own. The asker sends no request before an election is
    /// observed.
    ///
    /// The asker uses only the seeds, secrets and certificates of the options.
    ///
    /// # Errors
    ///
    /// When the system refuses a resource, or a certificate cannot be read.
    pub fn start(config: AskerConfig, options: &CheckedOptions) -> Result<Self, StartError> {
        if config.mode != C::MODE {
            return Err(StartError::Mode { mode: config.mode, handles: C::MODE });
        }
        let (to_loop, from_tasks) = mpsc::unbounded_channel();
        let client = Client::new(options, IDLE_MIN.max(2 * config.every), to_loop.clone());
        let client = client.map_err(|why| StartError::Tls { why })?;
        let start = Start {
            incarnation: driver::random()?,
            seed: driver::seed()?,
            // An asker has no durable state.
            memory: Memory::begin(Identity(0)),
        };
        let (notices, said) = Notices::new();
        let seeds = options.seeds.clone();
        let begin = move || {
            let mut tasks = JoinSet::new();
            tasks.spawn(client.watch());
            if let Some(seeds) = seeds {
                tasks.spawn(seeds.watch(config.every, to_loop));
            }
            let asking = AskerDriver {
                election: config.election.clone(),
                client,
                _tasks: tasks,
                from_tasks,
                troubles: Troubles::new(config.election.clone(), config.mode, said.clone()),
                notices: said,
                class: PhantomData,
            };
            (asking, Core::new(config), start)
        };
        // An asker never leads, so all times of a leadership are zero.
        let none = Duration::ZERO;
        let timing = move || Timing { grace: none, kill_margin: none, resignation_max: none };
        Ok(Self { driver: driver::spawn(begin, timing)?, notices })
    }

    /// The election with this name, to observe. The asker refuses a campaign.
    #[must_use]
    pub fn election_named(&self, name: ElectionName) -> Election<C> {
        self.driver.election(name)
    }

    /// Notices for an operator. The first listener receives all notices from the start on; later
    /// listeners receive only new notices. Slow listeners miss the oldest.
    #[must_use]
    pub fn notices(&self) -> broadcast::Receiver<Notice> {
        self.notices.listen()
    }

    /// Ends the asker.
    pub async fn close(&self) {
        self.driver.close().await;
    }
}

struct AskerDriver<C> {
    election: ElectionName,
    client: Client,
    /// The task that resolves seeds; it ends with the driver.
    _tasks: JoinSet<()>,
    from_tasks: mpsc::UnboundedReceiver<Incoming>,
    troubles: Troubles,
    notices: broadcast::Sender<Notice>,
    class: PhantomData<fn() -> C>,
}

impl<C: Class> Backend for AskerDriver<C> {
    type Core = Core;
    type Class = C;
    type Extra = Infallible;
    type Own = OwnEvent;
    type Incoming = Incoming;
    type Ask = Infallible;

    const THREAD: &'static str = "tenure-asker";
    const KINDS: usize = 1;
    const NO_TRANSFER: Option<&'static str> = Some("voter");

    async fn next(&mut self) -> Incoming {
        match self.from_tasks.recv().await {
            Some(next) => next,
            // The client holds the sender as long as the driver lives.
            None => std::future::pending().await,
        }
    }

    fn take(&mut self, _: usize) -> Option<Incoming> {
        self.from_tasks.try_recv().ok()
    }

    fn on_incoming(&mut self, _: Time, incoming: Incoming, machine: &mut Machine<Self>) {
        match incoming {
            Incoming::RequestResult(answered) => {
                let RequestResult { to, call, result, .. } = *answered;
                let message = self.troubles.read(&to, call, result);
                machine.input(Input::Message { from: Peer::At(to), message });
            }
            Incoming::Seeds(urls) => {
                let Some(from) = urls.first().cloned().map(Peer::At) else { return };
                machine.input(Input::Message { from, message: Message::Seeds(urls) });
            }
            Incoming::Notice(notice) => {
                tracing::warn!(target: LOG, "{notice}");
                // The send fails without listeners; ignore it.
                let _ = self.notices.send(notice);
            }
            // An asker serves no requests, and has no directory.
            Incoming::IncomingRequest(_) | Incoming::Directory(_) => {}
        }
    }

    fn on_ask(&mut self, _: Time, ask: Infallible, _: &mut Machine<Self>) {
        match ask {}
    }

    fn send(&mut self, to: Peer, message: Message) {
        if let (Peer::At(to), Message::Request { call, within, ask, .. }) = (to, message) {
            let head = Head::Other(Some(self.election.clone()));
            self.client.ask(Question { to, call, within, head, ask });
        }
    }

    /// An asker has nothing to write.
    fn persist(&mut self, _: &Memory) -> bool {
        false
    }

    fn flush(&mut self, _: Ticket, _: Memory) {}

    fn on_event(&mut self, _: Option<ElectionName>, _: OwnEvent, _: &mut Machine<Self>) {}

    fn elected(&mut self, _: &ElectionName) -> Arc<dyn Any + Send + Sync> {
        Arc::new(())
    }

    fn farewell(&self) -> Duration {
        Duration::ZERO
    }
}
