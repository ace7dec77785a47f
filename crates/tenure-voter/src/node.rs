//! A process that is a voter of a network.

use std::collections::BTreeMap;
use std::io;
use std::marker::PhantomData;
use std::net::{SocketAddr, TcpListener};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tenure::driver::{self, HoldOf, Notices, Timing};
use tenure::{AtMostOne, Election, MayOverlap, NameError, SafetyClass, SystemError, clock};
use tenure_core::ElectionName;
use tenure_core::voter::{Checked, Header, Identity, Memory, Mode, Participant, Start, Voter};
use tokio::sync::{broadcast, mpsc};
use tokio::task::JoinSet;

use crate::auth::{self, Guard};
use crate::client::Client;
use crate::counters::{Counters, Tally};
use crate::driver::{Ask, Driver};
use crate::notice::Notice;
use crate::options::CheckedOptions;
use crate::server::{self, Server, WAITING_MAX};
use crate::state::{MemoryError, State};
use crate::tls::Reread;
use crate::troubles::Troubles;

pub(crate) const IDLE_MIN: Duration = Duration::from_secs(5);

/// A class of safety, and its mode.
pub trait Class: SafetyClass {
    const MODE: Mode;
}

impl Class for AtMostOne {
    const MODE: Mode = Mode::Majority;
}

impl Class for MayOverlap {
    const MODE: Mode = Mode::Available;
}

/// A voter. Clones are the same voter.
///
/// The leaders of a `Node<AtMostOne>`, in `majority`, have fences. The leaders of a
/// `Node<MayOverlap>`, in `available`, have no fences. When the last clone and the last handle that
/// came from it are gone, the node resigns and ends. [`close`](Self::close) makes the node do this
/// at once, and waits until others have received the resignation.
#[derive(Clone, Debug)]
pub struct Node<C: Class> {
    config: Checked,
    who: Participant,
    address: SocketAddr,
    driver: HoldOf<Driver<C>>,
    notices: Notices<Notice>,
}

/// Starts a [`Node`].
#[derive(Debug)]
#[must_use]
pub struct Builder<C: Class> {
    config: Checked,
    options: CheckedOptions,
    listener: Option<TcpListener>,
    class: PhantomData<C>,
}

/// The reason why a voter did not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    #[error("this node is of a type for mode {handles}, but the configuration has mode {mode}")]
    Mode { mode: Mode, handles: Mode },
    #[error(
        "mode majority needs a state directory: the promises of a voter must survive its process; \
         mode available needs none"
    )]
    NoState,
    #[error("cannot listen on {listen}: {source}")]
    Listen { listen: SocketAddr, source: io::Error },
    #[error(
        "state directory {path} belongs to a voter of mode majority: in mode available this voter \
         could lead beside a leader that it has promised to follow"
    )]
    Promised { path: PathBuf },
    #[error(transparent)]
    Memory(#[from] MemoryError),
    #[error("{why}")]
    Tls { why: Arc<str> },
    #[error(transparent)]
    System(#[from] SystemError),
}

impl<C: Class> Node<C> {
    /// A voter with these settings and network options.
    pub fn builder(config: Checked, options: CheckedOptions) -> Builder<C> {
        Builder { config, options, listener: None, class: PhantomData }
    }

    /// The election `name`. A network elects one leader: the node accepts a campaign only in the
    /// election of its settings.
    pub fn election(&self, name: &str) -> Result<Election<C>, NameError> {
        Ok(self.election_named(ElectionName::new(name)?))
    }

    /// The election with this name.
    #[must_use]
    pub fn election_named(&self, name: ElectionName) -> Election<C> {
        self.driver.election(name)
    }

    /// The settings of the node.
    #[must_use]
    pub fn config(&self) -> &Checked {
        &self.config
    }

    /// The identity of this run of the node.
    #[must_use]
    pub fn who(&self) -> &Participant {
        &self.who
    }

    /// The bound address, with the chosen port if the options left the port open.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Notices for an operator. The first listener receives all notices from the start on; later
    /// listeners receive only new notices. Slow listeners miss the oldest.
    #[must_use]
    pub fn notices(&self) -> broadcast::Receiver<Notice> {
        self.notices.listen()
    }

    /// Totals since the start; `None` once the node is closed. Cancel safe.
    pub async fn counters(&self) -> Option<Counters> {
        self.driver.ask(Ask::Counters).await
    }

    /// Resigns all leaderships, and waits until others have received the resignation, or two
    /// request timeouts have passed. After `close` every handle of this node says that the node
    /// does not lead.
    ///
    /// End all work under a leadership before this call. Dropping the future changes nothing: the
    /// node closes all the same.
    pub async fn close(&self) {
        self.driver.close().await;
    }
}

impl<C: Class> Builder<C> {
    /// Listens on this socket, which the application has bound.
    pub fn listener(mut self, listener: TcpListener) -> Self {
        self.listener = Some(listener);
        self
    }

    /// Starts the voter on a thread of its own, so that an application that blocks cannot starve a
    /// heartbeat. The start succeeds without other voters.
    pub fn start(self) -> Result<Node<C>, StartError> {
        let Self { config, options, listener, .. } = self;
        if config.mode != C::MODE {
            return Err(StartError::Mode { mode: config.mode, handles: C::MODE });
        }
        let (listener, address) = listen(&options, listener)?;
        let (mut state, memory) = remember(&config, &options)?;
        let incarnation = driver::random()?;
        let seed = driver::seed()?;
        let who = Participant { id: config.id.clone(), identity: memory.identity, incarnation };
        let start = Start { incarnation, seed, memory };
        let (to_loop, from_tasks) = mpsc::unbounded_channel();
        let (requests, asked) = mpsc::channel(WAITING_MAX);
        state.iter_mut().for_each(|state| state.watch(to_loop.clone()));
        let refused = Arc::new(Tally::default());
        let room = auth::room(config.voters, config.heartbeat);
        let idle = (2 * config.heartbeat).max(IDLE_MIN);
        let client = Client::new(&options, idle, to_loop.clone());
        let server = Server {
            header: header(&config, &who),
            base: server::base(&config.url),
            guard: Guard::new(options.secrets.clone(), room, clock::now()),
            tls: server_tls(&options).map_err(|why| StartError::Tls { why })?.map(Arc::new),
            // The server closes idle connections later than the client, so that no request meets a
            // closing connection.
            idle: 2 * idle,
            requests,
            to_loop: to_loop.clone(),
            refused: refused.clone(),
        };
        let client = client.map_err(|why| StartError::Tls { why })?;
        let (notices, said) = Notices::new();
        let settings = config.clone();
        let begin = move || {
            let mut tasks = JoinSet::new();
            tasks.spawn(client.watch());
            if let Some(tls) = &server.tls {
                tasks.spawn(tls.clone().watch(server.to_loop.clone()));
            }
            match tokio::net::TcpListener::from_std(listener) {
                Ok(listener) => drop(tasks.spawn(server.run(listener))),
                // Only a runtime without an I/O driver fails here.
                Err(error) => tracing::error!(%error, "not listening"),
            }
            if let Some(seeds) = options.seeds.clone() {
                tasks.spawn(seeds.watch(settings.heartbeat, to_loop));
            }
            let troubles = Troubles::new(settings.election.clone(), settings.mode, said.clone());
            let core = Voter::new(settings.clone());
            let wired = Driver {
                config: settings,
                client,
                _tasks: tasks,
                requests: asked,
                from_tasks,
                exchanges: BTreeMap::new(),
                last: 0,
                state,
                failing: None,
                waits: false,
                troubles,
                releasing: 0,
                notices: said,
                counters: Counters::default(),
                refused,
                class: PhantomData,
            };
            (wired, core, start)
        };
        let timing = timing(&config);
        let driver = driver::spawn(begin, move || timing)?;
        Ok(Node { config, who, address, driver, notices })
    }
}

/// The header of answers that do not come from the loop; only the loop knows the founding.
fn header(config: &Checked, who: &Participant) -> Header {
    Header {
        election: config.election.clone(),
        mode: config.mode,
        sender: who.clone(),
        url: config.url.clone(),
        founding: None,
    }
}

fn timing(config: &Checked) -> Timing {
    let grace = config.grace;
    let kill_margin = config.kill_margin;
    Timing { grace, kill_margin, resignation_max: config.lease() }
}

fn listen(
    options: &CheckedOptions,
    listener: Option<TcpListener>,
) -> Result<(TcpListener, SocketAddr), StartError> {
    let listen = options.listen;
    let bound = match listener {
        Some(listener) => Ok(listener),
        None => TcpListener::bind(listen),
    };
    let ready = bound.and_then(|listener| {
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        Ok((listener, address))
    });
    ready.map_err(|source| StartError::Listen { listen, source })
}

fn remember(
    config: &Checked,
    options: &CheckedOptions,
) -> Result<(Option<State>, Memory), StartError> {
    match (config.mode, &options.state) {
        (Mode::Majority, Some(path)) => {
            let (state, memory) = State::open(path, &config.election, &config.id)?;
            Ok((Some(state), memory))
        }
        (Mode::Majority, None) => Err(StartError::NoState),
        (Mode::Available, Some(path)) if State::is_in(path) => {
            Err(StartError::Promised { path: path.clone() })
        }
        (Mode::Available, _) => Ok((None, Memory::begin(Identity(driver::random()?)))),
    }
}

fn server_tls(options: &CheckedOptions) -> Result<Option<Reread<rustls::ServerConfig>>, Arc<str>> {
    if options.tls.as_ref().is_none_or(|tls| tls.identity.is_none()) {
        return Ok(None);
    }
    let files = options.files();
    let options = options.clone();
    let make = move || {
        let made = options.server_tls().map_err(|error| Arc::from(error.to_string()))?;
        made.ok_or_else(|| Arc::from("TLS is not set up any more"))
    };
    Reread::new(files, make).map(Some)
}
