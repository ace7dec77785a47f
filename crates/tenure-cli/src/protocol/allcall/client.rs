//! Taking part in elections on NATS with the settings of a command.

use std::collections::BTreeMap;
use std::time::Duration;

use tenure::{ElectionName, NodeName, Waiting};
use tenure_core::allcall::{Config, OwnEvent};
use tenure_nats::{Identity, Login, Node, Notice, Options, Pem, Server, Tls};
use tokio::sync::broadcast::{Receiver, error::RecvError};

use super::bus::{Proof, Settings};
use super::explain::Explain;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::protocol::troubles::{Troubles, Watch};
use crate::protocol::{AnyElection, Asks, Backend, Later, Participant, start};
use crate::settings::Origins;

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
        begin(self, config, true, origins)
    }

    fn asker(
        &self,
        _: &ElectionName,
        _: Asks,
        origins: &Origins,
    ) -> Result<Box<dyn Participant>, Failure> {
        begin(self, self.config.clone(), false, origins)
    }
}

struct Client {
    node: Node,
    /// How many there are.
    servers: usize,
    troubles: Troubles,
}

/// Connects at once. That no server can be reached is no error: one may come yet. A candidate warns
/// aloud.
fn begin(
    settings: &Settings,
    config: Config,
    aloud: bool,
    origins: &Origins,
) -> Result<Box<dyn Participant>, Failure> {
    let explain = Explain::new(settings, origins);
    let bug = |error: String| Failure::new(Exit::Bug, error, "report it");
    let config = config.check().map_err(|error| bug(error.to_string()))?;
    let options = options(settings)?.check().map_err(|error| explain.options(&error))?;
    let node = Node::builder(config, options).start().map_err(|error| start::refused(&error))?;
    let (watch, troubles) = Watch::new(aloud);
    let (failing, servers) = (BTreeMap::new(), settings.servers.len());
    let watcher = Watcher { explain, watch, was_connected: false, failing, servers };
    tokio::spawn(watcher.watch(node.notices()));
    Ok(Box::new(Client { node, servers: settings.servers.len(), troubles }))
}

impl Participant for Client {
    fn election(&self, name: &ElectionName) -> AnyElection {
        AnyElection::MayOverlap(self.node.election_named(name.clone()))
    }

    fn permanent_failure(&self) -> Later<'static, Failure> {
        self.troubles.permanent()
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
        self.troubles.why_silent()
    }

    fn trouble(&self) -> Option<String> {
        self.troubles.outage()
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
    explain: Explain,
    watch: Watch<&'static str>,
    was_connected: bool,
    /// What will not pass by itself, of each server that was tried before the first connection.
    failing: BTreeMap<String, Failure>,
    servers: usize,
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
                self.watch.is_connected(server.as_str());
            }
            Notice::Unreachable { server, error } => {
                let (failure, may_pass) = self.explain.unreachable(server, error);
                if !may_pass && !self.was_connected {
                    self.failing.insert(server.to_string(), failure.clone());
                }
                // One that is only not there yet may do.
                if self.failing.len() == self.servers {
                    self.watch.give_up(failure.clone());
                }
                self.watch.goes_on_without(server.as_str(), &text, || failure);
            }
            Notice::Disconnected { server, .. } => {
                let why = || self.explain.silent(&text);
                self.watch.goes_on_without(server.as_str(), &text, why);
            }
            Notice::Denied { .. } => self.watch.give_up(self.explain.denied(&text)),
            Notice::Leaving { .. } => self.watch.warn("leaving", &text),
            Notice::Overrun { .. } => self.watch.warn("overrun", &text),
            Notice::Protocol { event, .. } => self.on_event(event, &text),
            _ => {}
        }
    }

    fn on_event(&mut self, event: &OwnEvent, text: &str) {
        match event {
            OwnEvent::ClockOff { .. } => {
                let advice = ": see that time synchronization works on this machine";
                self.watch.warn("clock", &(text.to_owned() + advice));
            }
            OwnEvent::ClockSetBack { .. } => self.watch.warn("clock set back", text),
            OwnEvent::PayloadTooSmall { .. } => self.watch.warn("payload", text),
            OwnEvent::OtherTimes { .. } => {
                let advice =
                    ": give all of them the same --heartbeat, --lease and --max-clock-skew";
                self.watch.warn("times", &(text.to_owned() + advice));
            }
            OwnEvent::Void { .. } => {
                let advice = ": what this process says does not come back from NATS in time";
                self.watch.warn("void", &(text.to_owned() + advice));
            }
            _ => {}
        }
    }
}
