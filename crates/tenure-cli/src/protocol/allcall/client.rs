//! Taking part in elections on NATS with the settings of a command.

use std::collections::BTreeMap;
use std::time::Duration;

use tenure::{ElectionName, NodeName, Waiting};
use tenure_core::allcall::{Config, OwnEvent};
use tenure_nats::{Identity, Login, Node, Notice, Options, Pem, Server, Tls};
use tokio::sync::broadcast::{Receiver, error::RecvError};
use tokio::sync::watch;

use super::bus::{Proof, Settings};
use super::explain::Explain;
use crate::exit::Exit;
use crate::failure::{self, Failure};
use crate::protocol::outage::{Endpoints, Outage};
use crate::protocol::{AnyElection, Asks, Backend, Later, Participant, start};
use crate::settings::Origins;

/// What a client is there for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Purpose {
    Campaign,
    Ask,
}

/// How long a question may take beside its rounds: a connection, and a server that is slow.
const CONNECTING: Duration = Duration::from_secs(5);

impl Backend for Settings {
    fn grace(&self) -> Duration {
        self.config.grace
    }

    fn kill_margin(&self) -> Duration {
        self.config.kill_margin
    }

    fn patience(&self) -> Duration {
        CONNECTING + self.config.heartbeat * 3
    }

    fn candidate(
        &self,
        id: &NodeName,
        _: &ElectionName,
        origins: &Origins,
    ) -> Result<Box<dyn Participant>, Failure> {
        let config = Config { id: id.clone(), ..self.config.clone() };
        begin(self, config, Purpose::Campaign, origins)
    }

    fn asker(
        &self,
        _: &ElectionName,
        _: Asks,
        origins: &Origins,
    ) -> Result<Box<dyn Participant>, Failure> {
        begin(self, self.config.clone(), Purpose::Ask, origins)
    }
}

struct Client {
    node: Node,
    /// How many there are.
    servers: usize,
    troubles: watch::Receiver<Troubles>,
}

/// What is wrong at the moment.
#[derive(Clone, Default)]
struct Troubles {
    /// Something that waiting does not mend.
    permanent: Option<Failure>,
    /// Why nothing comes back.
    silent: Option<Failure>,
    /// Since when, and what was heard last.
    outage: Option<Outage>,
}

/// Connects at once. That no server can be reached is no error: one may come yet.
fn begin(
    settings: &Settings,
    config: Config,
    purpose: Purpose,
    origins: &Origins,
) -> Result<Box<dyn Participant>, Failure> {
    let explain = Explain::new(settings, origins);
    let bug = |error: String| Failure::new(Exit::Bug, error, "report it");
    let config = config.check().map_err(|error| bug(error.to_string()))?;
    let options = options(settings)?.check().map_err(|error| explain.options(&error))?;
    let node = Node::builder(config, options).start().map_err(|error| start::refused(&error))?;
    let (tell, troubles) = watch::channel(Troubles::default());
    let watcher = Watcher {
        purpose,
        explain,
        tell,
        was_connected: false,
        failing: BTreeMap::new(),
        servers: settings.servers.len(),
        endpoints: Endpoints::default(),
        warned: BTreeMap::new(),
    };
    tokio::spawn(watcher.watch(node.notices()));
    Ok(Box::new(Client { node, servers: settings.servers.len(), troubles }))
}

impl Participant for Client {
    fn election(&self, name: &ElectionName) -> AnyElection {
        AnyElection::MayOverlap(self.node.election_named(name.clone()))
    }

    fn permanent_failure(&self) -> Later<'static, Failure> {
        let mut troubles = self.troubles.clone();
        Box::pin(async move {
            let found = troubles.wait_for(|troubles| troubles.permanent.is_some()).await;
            match found.ok().and_then(|troubles| troubles.permanent.clone()) {
                Some(failure) => failure,
                // Nothing was found, and the watcher has ended.
                None => std::future::pending().await,
            }
        })
    }

    /// Each server that fails has a warning. That none is left is said once all have been tried.
    fn worth_reporting(&self, waiting: &Waiting) -> Later<'static, ()> {
        match waiting {
            Waiting::Connecting { obstacles } if obstacles.len() < self.servers => {
                Box::pin(std::future::pending())
            }
            _ => Box::pin(std::future::ready(())),
        }
    }

    fn why_unknown(&self, _: &ElectionName) -> Later<'static, Option<Failure>> {
        Box::pin(std::future::ready(self.troubles.borrow().silent.clone()))
    }

    fn trouble(&self) -> Option<String> {
        let troubles = self.troubles.borrow();
        troubles.outage.as_ref().map(|outage| outage.told(tenure::clock::now()))
    }

    fn close(self: Box<Self>) -> Later<'static, ()> {
        Box::pin(async move { self.node.close().await })
    }
}

fn options(settings: &Settings) -> Result<Options, Failure> {
    let parse = |url: &str| {
        url.parse::<Server>()
            .map_err(|error| Failure::new(Exit::Bug, format!("{url}: {error}"), "report it"))
    };
    let servers = settings.servers.iter().map(|server| parse(&server.url));
    let mut options = Options::new(servers.collect::<Result<_, _>>()?);
    options.prefix = settings.prefix.clone();
    let identity = settings.identity.as_ref().map(|identity| Identity {
        certificate: Pem::File(identity.certificate.clone()),
        key: Pem::File(identity.key.clone()),
    });
    let authority = settings.authority.clone().map(Pem::File);
    if authority.is_some() || identity.is_some() {
        options.tls = Some(Tls { authority, identity, first: false });
    }
    options.login = settings.proof.clone().map(|proof| match proof {
        Proof::User(login) => Login::User { user: login.user, password: login.password.0 },
        Proof::Credentials(path) => Login::Credentials(path),
        Proof::NKey(path) => Login::NKey(path),
    });
    Ok(options)
}

/// Warns of what an operator should know.
struct Watcher {
    purpose: Purpose,
    explain: Explain,
    tell: watch::Sender<Troubles>,
    was_connected: bool,
    /// What will not pass by itself, of each server that was tried before the first connection.
    failing: BTreeMap<String, Failure>,
    servers: usize,
    endpoints: Endpoints,
    /// The latest warning about each thing: repeated only when it changes.
    warned: BTreeMap<&'static str, String>,
}

impl Watcher {
    async fn watch(mut self, mut notices: Receiver<Notice>) {
        loop {
            match notices.recv().await {
                Ok(notice) => self.on(&notice),
                Err(RecvError::Lagged(_)) => {}
                Err(RecvError::Closed) => return,
            }
        }
    }

    fn on(&mut self, notice: &Notice) {
        let text = notice.to_string();
        tracing::debug!("{text}");
        match notice {
            Notice::Connected { server, .. } => {
                self.was_connected = true;
                self.failing.clear();
                self.endpoints.works(server.as_str());
                self.tell.send_modify(|troubles| {
                    troubles.silent = None;
                    troubles.outage = None;
                });
            }
            Notice::Unreachable { server, error } => {
                let (failure, may_pass) = self.explain.unreachable(server, error);
                if !may_pass && !self.was_connected {
                    self.failing.insert(server.to_string(), failure.clone());
                }
                // One that is only not there yet may do.
                if self.failing.len() == self.servers {
                    let failure = Some(failure.clone());
                    self.tell.send_modify(|troubles| troubles.permanent = failure);
                }
                self.goes_on_without(server, &text, failure);
            }
            Notice::Disconnected { server, .. } => {
                self.goes_on_without(server, &text, self.explain.silent(&text));
            }
            Notice::Denied { .. } => {
                let failure = Some(self.explain.denied(&text));
                self.tell.send_modify(|troubles| troubles.permanent = failure);
            }
            Notice::Leaving { .. } => self.warn("leaving", &text),
            Notice::Overrun { .. } => self.warn("overrun", &text),
            Notice::Protocol { event, .. } => self.on_event(event, &text),
            _ => {}
        }
    }

    fn on_event(&mut self, event: &OwnEvent, text: &str) {
        match event {
            OwnEvent::ClockOff { .. } => {
                let advice = ": see that time synchronization works on this machine";
                self.warn("clock", &(text.to_owned() + advice));
            }
            OwnEvent::ClockSetBack { .. } => self.warn("clock set back", text),
            OwnEvent::PayloadTooSmall { .. } => self.warn("payload", text),
            OwnEvent::OtherTimes { .. } => {
                let advice =
                    ": give all of them the same --heartbeat, --lease and --max-clock-skew";
                self.warn("times", &(text.to_owned() + advice));
            }
            OwnEvent::Void { .. } => {
                let advice = ": what this process says does not come back from NATS in time";
                self.warn("void", &(text.to_owned() + advice));
            }
            _ => {}
        }
    }

    /// A server is of no use: a candidate waits, as files are read anew for each connection, and a
    /// network mends. Each reason is said once, until the server is in use again.
    fn goes_on_without(&mut self, server: &Server, text: &str, failure: Failure) {
        let news = self.endpoints.is_news(server.as_str(), text);
        let (now, mut again) = (tenure::clock::now(), None);
        self.tell.send_modify(|troubles| {
            troubles.silent.get_or_insert(failure);
            match &mut troubles.outage {
                Some(outage) => again = outage.goes_on(now, text),
                None => troubles.outage = Some(Outage::new(now, text)),
            }
        });
        if self.purpose == Purpose::Campaign {
            let first = news.then(|| text.to_owned());
            first.into_iter().chain(again).for_each(|text| failure::warn(&text));
        }
    }

    /// A process that only asks says it in its answer.
    fn warn(&mut self, about: &'static str, text: &str) {
        let before = self.warned.insert(about, text.to_owned());
        if self.purpose == Purpose::Campaign && before.is_none_or(|before| before != text) {
            failure::warn(text);
        }
    }
}
