//! A node of NATS elections with the settings of a command.

use std::collections::BTreeMap;
use std::mem;
use std::time::Duration;

use tenure::{ElectionName, NodeName, Obstacle, Waiting, clock};
use tenure_core::allcall::{Config, OwnEvent};
use tenure_nats::{Login, Node, Notice, Options, Server};
use tokio::sync::broadcast::Receiver;
use tokio::sync::watch;

use super::bus::{Proof, Settings};
use super::explain::Explain;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::protocol::troubles::{STARTING, Troubles, Watch, for_each};
use crate::protocol::{
    AnyElection, AskMode, Backend, Later, Participant, Rank, StartedParticipant, start, tls, urls,
};
use crate::settings::Origins;

/// The extra time that a question gets for its connection and a slow server.
const CONNECTING: Duration = Duration::from_secs(5);

/// The longest time for which an asker listens without `--wait`.
const LISTENING_MAX: Duration = Duration::from_secs(60);

impl Backend for Settings {
    fn grace(&self) -> Duration {
        self.config.grace
    }

    fn kill_margin(&self) -> Duration {
        self.config.kill_margin
    }

    fn lease(&self) -> Option<Duration> {
        Some(self.config.lease)
    }

    /// An asker that hears of no leader for lease + max-clock-skew knows that nobody leads. To
    /// listen for longer than a minute, a user must give `--wait`.
    fn patience(&self) -> Duration {
        let listens = self.listens().min(LISTENING_MAX);
        CONNECTING + self.config.heartbeat.saturating_mul(3) + listens
    }

    fn candidate<'a>(
        &'a self,
        id: &'a NodeName,
        _: &'a ElectionName,
        origins: &'a Origins,
    ) -> StartedParticipant<'a> {
        Box::pin(async move {
            let config = Config { id: id.clone(), ..self.config.clone() };
            begin(self, config, true, origins)
        })
    }

    fn asker<'a>(
        &'a self,
        _: &'a ElectionName,
        _: AskMode,
        origins: &'a Origins,
    ) -> StartedParticipant<'a> {
        Box::pin(async move { begin(self, self.config.clone(), false, origins) })
    }
}

impl Settings {
    /// (1 + drift)·(lease + max-clock-skew): after this time every lease of which this process has
    /// not heard is over.
    pub(super) fn listens(&self) -> Duration {
        let Config { lease, max_clock_skew, drift, .. } = self.config;
        drift.stretch(lease.saturating_add(max_clock_skew))
    }
}

#[derive(Clone, Default)]
struct Observations {
    rank: Option<u64>,
    /// Whether this process has ever been connected to a server.
    connected: bool,
    comes_back: bool,
}

struct Client {
    settings: Settings,
    explain: Explain,
    began: tenure::Time,
    known: watch::Receiver<Observations>,
    node: Node,
    servers: usize,
    troubles: Troubles,
}

/// Connects at once. An unreachable server is no failure, because it may come later. A candidate
/// prints warnings.
fn begin(
    settings: &Settings,
    config: Config,
    aloud: bool,
    origins: &Origins,
) -> Result<Box<dyn Participant>, Failure> {
    let explain = Explain::new(settings, origins);
    let bug = |error: String| Failure::new(Exit::Bug, error, "report it");
    let config = config.check().map_err(|error| bug(error.to_string()))?;
    let options = options(settings).check().map_err(|error| explain.options(&error))?;
    let node = Node::builder(config, options).start().map_err(|error| start::refused(&error))?;
    let (watch, troubles) = Watch::new(aloud);
    let failing = BTreeMap::new();
    let servers = settings.servers.len();
    let (tell, known) = watch::channel(Observations::default());
    let watcher = Watcher {
        explain: explain.clone(),
        watch,
        known: tell,
        asks: !aloud,
        was_connected: false,
        denied: false,
        failing,
        servers,
    };
    tokio::spawn(watcher.watch(node.notices()));
    let settings = settings.clone();
    let began = clock::now();
    Ok(Box::new(Client { settings, explain, began, known, node, servers, troubles }))
}

impl Client {
    /// Whether another node has sent messages; `None` while this node's own messages do not come
    /// back.
    async fn company(node: &Node, known: &watch::Receiver<Observations>) -> Option<bool> {
        if !known.borrow().comes_back {
            return None;
        }
        let counters = node.counters().await?;
        // An asker sends no calls and no replies, so it hears only calls and replies of other
        // nodes.
        Some(["call", "reply"].iter().any(|kind| counters.heard.contains_key(kind)))
    }

    /// Names the servers while none has answered and no attempt has failed.
    fn unanswered(&self) -> Option<String> {
        let waits = !self.known.borrow().connected && self.troubles.outage().is_none();
        waits.then(|| format!("no answer yet from {}", urls::shown(&self.settings.servers)))
    }

    fn nobody(&self) -> String {
        format!("nobody has answered: no candidate takes part in cluster {}", self.cluster())
    }

    fn cluster(&self) -> &str {
        self.settings.config.cluster.as_str()
    }

    /// Describes an election without a known leader.
    fn silence(&self, company: bool) -> String {
        let left = self.settings.listens().saturating_sub(clock::now().since(self.began));
        let tenths = left.as_millis().div_ceil(100);
        let who = if company {
            format!("no candidate in cluster {} says who leads", self.cluster())
        } else {
            self.nobody()
        };
        match tenths {
            0 => format!("{who}, and this process may have missed a leader's messages"),
            _ => format!(
                "{who}, but a stopped or cut-off candidate may still lead; this process knows for \
                 sure in {}.{}s",
                tenths / 10,
                tenths % 10
            ),
        }
    }
}

impl Participant for Client {
    fn election(&self, name: &ElectionName) -> AnyElection {
        AnyElection::MayOverlap(self.node.election_named(name.clone()))
    }

    fn alive(&self) -> Later<'_, bool> {
        Box::pin(async { self.node.counters().await.is_some() })
    }

    fn permanent_failure(&self) -> Later<'static, Failure> {
        self.troubles.permanent()
    }

    /// Reports the wait only when all servers were tried: each failing server has a warning of its
    /// own.
    fn worth_reporting(&self, waiting: &Waiting) -> Later<'static, ()> {
        match waiting {
            Waiting::Connecting { obstacles }
                if obstacles.len() < self.servers
                    || obstacles.iter().any(|obstacle| obstacle.label == Obstacle::NO_ANSWER) =>
            {
                Box::pin(std::future::pending())
            }
            _ => Box::pin(std::future::ready(())),
        }
    }

    fn why_unknown(&self, _: &ElectionName) -> Later<'static, Option<Failure>> {
        let silent = self.troubles.why_silent();
        let known = self.known.clone();
        let wait = self.settings.listens();
        let explain = self.explain.clone();
        let unanswered = self.unanswered();
        Box::pin(async move {
            match silent.await {
                None if known.borrow().comes_back => Some(explain.not_heard(wait)),
                None => unanswered.map(|text| explain.silent(&text)),
                silent => silent,
            }
        })
    }

    fn unknown(&self, _: &ElectionName) -> Later<'static, Option<String>> {
        let node = self.node.clone();
        let known = self.known.clone();
        let texts = [false, true].map(|company| self.silence(company));
        let unanswered = self.unanswered();
        Box::pin(async move {
            match Self::company(&node, &known).await {
                Some(company) => texts.into_iter().nth(usize::from(company)),
                None => unanswered,
            }
        })
    }

    fn why_vacant(&self, _: &ElectionName) -> Later<'static, Option<String>> {
        let node = self.node.clone();
        let known = self.known.clone();
        let nobody = self.nobody();
        Box::pin(async move {
            let company = Self::company(&node, &known).await;
            (company == Some(false)).then_some(nobody)
        })
    }

    fn unreachable(&self) -> Later<'static, ()> {
        let mut known = self.known.clone();
        Box::pin(async move {
            let connected = async { known.wait_for(|known| known.connected).await.is_ok() };
            if tokio::time::timeout(CONNECTING, connected).await.is_ok() {
                std::future::pending().await
            }
        })
    }

    fn rank(&self) -> Later<'static, Option<Rank>> {
        let mut known = self.known.clone();
        let drawn = self.settings.config.rank.is_none();
        Box::pin(async move {
            let told = known.wait_for(|known| known.rank.is_some());
            let number = tokio::time::timeout(STARTING, told).await.ok()?.ok()?.rank?;
            Some(Rank { number, drawn })
        })
    }

    fn refused(&self, why: String) -> Later<'static, Failure> {
        self.troubles.refused(why)
    }

    fn trouble(&self) -> Option<String> {
        self.troubles.outage()
    }

    fn close(self: Box<Self>) -> Later<'static, ()> {
        Box::pin(async move { self.node.close().await })
    }
}

fn options(settings: &Settings) -> Options {
    let mut options = Options::new(settings.servers.iter().cloned().map(Server::from).collect());
    options.prefix = settings.prefix.clone();
    options.tls.clone_from(&settings.tls);
    options.login = settings.proof.clone().map(|proof| match proof {
        Proof::User(tls::Login { user, file: Some(path), .. }) => {
            Login::PasswordFile { user, path }
        }
        Proof::User(login) => Login::User { user: login.user, password: login.password.0 },
        Proof::Token(_, Some(path)) => Login::TokenFile(path),
        Proof::Token(token, None) => Login::Token(token.0),
        Proof::Credentials(path) => Login::Credentials(path),
        Proof::NKey(path) => Login::NKey(path),
    });
    options
}

struct Watcher {
    explain: Explain,
    watch: Watch<&'static str>,
    known: watch::Sender<Observations>,
    asks: bool,
    was_connected: bool,
    /// Whether the server has reported a missing permission.
    denied: bool,
    /// The lasting failure of each server that was tried before the first connection.
    failing: BTreeMap<String, Failure>,
    servers: usize,
}

impl Watcher {
    async fn watch(mut self, notices: Receiver<Notice>) {
        for_each(notices, |notice| self.on(notice)).await;
    }

    /// Warns, even if the text has not changed.
    fn warn_again(&mut self, about: &'static str, text: &str) {
        self.watch.forget(|known| *known == about);
        self.watch.warn(about, text);
    }

    fn comes_back(&self, comes_back: bool) {
        self.known.send_modify(|known| known.comes_back = comes_back);
    }

    fn on(&mut self, notice: &Notice) {
        let text = notice.to_string();
        tracing::debug!("{text}");
        match notice {
            Notice::Connected { server, .. } => {
                self.was_connected = true;
                self.known.send_modify(|known| known.connected = true);
                self.failing.clear();
                self.watch.is_connected(server.as_str());
            }
            Notice::Unreachable { server, error } => {
                let failure = self.explain.unreachable(server, error);
                if !error.passes() && !self.was_connected {
                    self.failing.insert(server.to_string(), failure.clone());
                }
                // Fail only if every server fails for good: a server that does not answer yet may
                // accept this client.
                if self.failing.len() == self.servers {
                    self.watch.give_up(failure.clone());
                }
                self.watch.goes_on_without(server.as_str(), &text, || failure);
            }
            Notice::Disconnected { server, .. } => {
                self.comes_back(false);
                let why = || self.explain.silent(&text);
                self.watch.goes_on_without(server.as_str(), &text, why);
            }
            Notice::Denied { .. } => {
                self.denied = true;
                self.watch.give_up(self.explain.denied(&text));
            }
            Notice::Complains { .. } => self.watch.warn("complains", &text),
            Notice::LoggedOut { server, .. } => {
                self.comes_back(false);
                let text = self.explain.logged_out(&text);
                let why = || self.explain.silent(&text);
                self.watch.goes_on_without(server.as_str(), &text, why);
            }
            Notice::Leaving { .. } => self.watch.warn("leaving", &text),
            Notice::Overrun { .. } => self.watch.warn("overrun", &text),
            Notice::Protocol { event, .. } => self.on_event(event, &text),
            _ => {}
        }
    }

    fn on_event(&mut self, event: &OwnEvent, text: &str) {
        match event {
            OwnEvent::ClockOff { .. } => {
                let advice = ": check that time synchronization works on this machine";
                self.watch.warn("clock", &(text.to_owned() + advice));
            }
            OwnEvent::ClockSetBack { .. } => self.watch.warn("clock set back", text),
            OwnEvent::PayloadTooSmall { .. } => self.watch.warn("payload", text),
            // Keep the failure now: the campaign and the observers end after this event.
            OwnEvent::OtherTimes { who, theirs, ours, refuses: true } => {
                self.watch.give_up(self.explain.other_times(&who.id, *theirs, *ours, self.asks));
            }
            OwnEvent::OtherTimes { refuses: false, .. } => {
                let advice = ": give both the same times; until then each ignores the other, and \
                              both may lead";
                self.watch.warn("times", &(text.to_owned() + advice));
            }
            OwnEvent::Started { rank, .. } => {
                self.known.send_modify(|known| known.rank = Some(rank.number));
            }
            // This process stands in one election, so these warnings leave out the election's name.
            OwnEvent::Beaten { .. } => {
                self.warn_again("beaten", &event.sentence(None).to_string());
            }
            OwnEvent::GivesWay { .. } => {
                self.warn_again("gives way", &event.sentence(None).to_string());
            }
            OwnEvent::SameName { .. } => {
                self.watch.warn("name", &format!("{event}: give each its own --id"));
            }
            OwnEvent::SameRank { .. } => {
                self.watch.warn("rank", &format!("{event}: give each its own --rank"));
            }
            OwnEvent::Valid { .. } => {
                // The server has granted the permission since.
                if mem::take(&mut self.denied) {
                    self.watch.goes_on();
                }
                self.comes_back(true);
            }
            OwnEvent::Void { .. } => {
                self.comes_back(false);
                let advice = ": messages of this process do not come back from NATS in time";
                self.watch.warn("void", &(text.to_owned() + advice));
            }
            _ => {}
        }
    }
}
