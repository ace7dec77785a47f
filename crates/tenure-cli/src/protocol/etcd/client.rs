//! A node of etcd elections with the settings of a command.

use std::cell::RefCell;
use std::time::Duration;

use tenure::{ElectionName, NodeName, Waiting};
use tenure_core::etcd::{Checked, Foreign, Refusal};
use tenure_etcd::{
    CheckError, CheckedOptions, Credentials, Endpoint, Node, Notice, Options, OwnEvent, Report,
};
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::{RecvError, TryRecvError};

use super::explain::Explain;
use super::store::Store;
use crate::failure::Failure;
use crate::protocol::troubles::{Troubles, Watch, for_each};
use crate::protocol::{
    self, AnyElection, AskMode, Backend, Later, Participant, StartedParticipant, start as system,
};
use crate::settings::Origins;

/// The names of refusals that do not pass by themselves.
const LASTING: [&str; 2] = ["denied", "unauthenticated"];

#[derive(Clone, Copy, PartialEq, Eq)]
enum Purpose {
    Campaign,
    Ask,
}

impl Backend for Store {
    fn grace(&self) -> Duration {
        self.config.grace
    }

    fn kill_margin(&self) -> Duration {
        self.config.kill_margin
    }

    fn lease(&self) -> Option<Duration> {
        Some(self.config.lease)
    }

    /// The patience is the time limit of an `etcdctl` command.
    fn patience(&self) -> Duration {
        Duration::from_secs(5)
    }

    fn candidate<'a>(
        &'a self,
        _: &'a NodeName,
        election: &'a ElectionName,
        origins: &'a Origins,
    ) -> StartedParticipant<'a> {
        Box::pin(async move { start(self, election, Purpose::Campaign, origins) })
    }

    fn asker<'a>(
        &'a self,
        election: &'a ElectionName,
        _: AskMode,
        origins: &'a Origins,
    ) -> StartedParticipant<'a> {
        Box::pin(async move { start(self, election, Purpose::Ask, origins) })
    }
}

struct Client {
    node: Node,
    options: CheckedOptions,
    config: Checked,
    of: ElectionName,
    endpoints: usize,
    explain: Explain,
    troubles: Troubles,
    reports: RefCell<Reports>,
}

struct Reports {
    notices: Receiver<Notice>,
    /// The first key of the election, if no candidate made that key.
    foreign: Option<Foreign>,
    /// The latest refusal that etcd will repeat.
    refused: Option<Refusal>,
}

impl Reports {
    fn hear(&mut self) {
        loop {
            match self.notices.try_recv() {
                Ok(Notice::Protocol { event: OwnEvent::Foreign(foreign), .. }) => {
                    self.foreign = foreign;
                }
                Ok(Notice::Protocol { event: OwnEvent::Obstacle { refusal, .. }, .. })
                    if refusal.is_permanent() =>
                {
                    self.refused = Some(refusal);
                }
                Ok(_) | Err(TryRecvError::Lagged(_)) => {}
                Err(TryRecvError::Empty | TryRecvError::Closed) => break,
            }
        }
    }

    /// Describes the foreign key that keeps the leader unknown, if there is one.
    fn in_the_way(&mut self) -> Option<String> {
        self.hear();
        self.foreign.as_ref().map(ToString::to_string)
    }

    fn refused(&mut self) -> Option<Refusal> {
        self.hear();
        self.refused.clone()
    }
}

/// Connects at the first need. An unreachable etcd is no failure, because it may come later. A
/// separate task finds lasting faults, and for a candidate also missing permissions.
fn start(
    store: &Store,
    election: &ElectionName,
    purpose: Purpose,
    origins: &Origins,
) -> Result<Box<dyn Participant>, Failure> {
    let explain = Explain::new(store, election, origins);
    let options = options(store).check().map_err(|error| explain.options(&error))?;
    let node = Node::builder(store.config.clone(), options.clone()).start();
    let node = node.map_err(|error| system::refused(&error))?;
    let (watch, troubles) = Watch::new(purpose == Purpose::Campaign);
    let notices = node.notices();
    let config = store.config.clone();
    let of = election.clone();
    let reports = Reports { notices: node.notices(), foreign: None, refused: None };
    let client = Client {
        node,
        options: options.clone(),
        config: config.clone(),
        of: of.clone(),
        endpoints: store.endpoints.len(),
        explain: explain.clone(),
        troubles,
        reports: RefCell::new(reports),
    };
    if purpose == Purpose::Ask {
        let notices = client.node.notices();
        tokio::spawn(give_up_when_refused(explain.clone(), notices, watch.giving_up()));
    }
    tokio::spawn(async move {
        let elections = match purpose {
            Purpose::Campaign => vec![of],
            Purpose::Ask => Vec::new(),
        };
        let checked = tenure_etcd::check(&options, &config, &elections).await;
        let lease = config.lease;
        Watcher { explain, lease, watch }.watch(checked, notices).await;
    });
    Ok(Box::new(client))
}

impl Participant for Client {
    fn election(&self, name: &ElectionName) -> AnyElection {
        AnyElection::AtMostOne(self.node.election_named(name.clone()))
    }

    fn alive(&self) -> Later<'_, bool> {
        Box::pin(async { self.node.counters().await.is_some() })
    }

    fn permanent_failure(&self) -> Later<'static, Failure> {
        self.troubles.permanent()
    }

    /// Reports the wait only when all failures may pass by themselves. Each failing endpoint has a
    /// warning of its own, and a lasting refusal ends the process with another message.
    fn worth_reporting(&self, waiting: &Waiting) -> Later<'static, ()> {
        match waiting {
            Waiting::Connecting { obstacles }
                if obstacles.len() == self.endpoints
                    && obstacles.iter().all(|obstacle| obstacle.label == "unreachable") =>
            {
                self.troubles.silence()
            }
            Waiting::Connecting { .. } => Box::pin(std::future::pending()),
            Waiting::Refused { obstacles, .. }
                if obstacles.iter().any(|obstacle| LASTING.contains(&obstacle.label)) =>
            {
                Box::pin(std::future::pending())
            }
            _ => Box::pin(std::future::ready(())),
        }
    }

    fn why_unknown(&self, _: &ElectionName) -> Later<'static, Option<Failure>> {
        self.troubles.why_silent()
    }

    fn unknown(&self, _: &ElectionName) -> Later<'static, Option<String>> {
        protocol::at_once(self.reports.borrow_mut().in_the_way())
    }

    fn why_vacant(&self, _: &ElectionName) -> Later<'static, Option<String>> {
        protocol::at_once(self.reports.borrow_mut().in_the_way())
    }

    fn trouble(&self) -> Option<String> {
        self.troubles.outage()
    }

    /// Checks etcd again, because `why` does not name the wrong setting. If etcd is too busy for
    /// the check, explains etcd's latest refusal.
    fn refused(&self, why: String) -> Later<'static, Failure> {
        let options = self.options.clone();
        let config = self.config.clone();
        let elections = [self.of.clone()];
        let explain = self.explain.clone();
        let refused = self.reports.borrow_mut().refused();
        Box::pin(async move {
            let checked = tenure_etcd::check(&options, &config, &elections).await;
            let found = checked.err().map(|error| explain.check(&error));
            match found {
                Some((failure, false)) => failure,
                Some((_, true)) | None => refused
                    .and_then(|refusal| explain.refusal(&refusal, "readwrite"))
                    .unwrap_or_else(|| protocol::refused(why)),
            }
        })
    }

    fn close(self: Box<Self>) -> Later<'static, ()> {
        Box::pin(async move { self.node.close().await })
    }
}

/// Ends a process that only asks, when etcd refuses to answer. Does not wait for the check, so that
/// the process knows the refusal before it reports the leader as unknown.
async fn give_up_when_refused(
    explain: Explain,
    mut notices: Receiver<Notice>,
    give_up: impl Fn(Failure),
) {
    loop {
        let refused = match notices.recv().await {
            Ok(Notice::Protocol { event: OwnEvent::Obstacle { refusal, .. }, .. }) => {
                explain.refusal(&refusal, "read")
            }
            Ok(_) | Err(RecvError::Lagged(_)) => None,
            Err(RecvError::Closed) => return,
        };
        if let Some(failure) = refused {
            return give_up(failure);
        }
    }
}

fn options(store: &Store) -> Options {
    let mut options = Options::new(store.endpoints.iter().cloned().map(Endpoint::from).collect());
    options.tls.clone_from(&store.tls);
    options.credentials = store
        .login
        .as_ref()
        .map(|login| Credentials { user: login.user.clone(), password: login.password.0.clone() });
    options
}

/// Time after a permanent failure in which the process reports no other trouble. The failure ends
/// the process unless the process leads.
const ENDING: Duration = Duration::from_secs(10);

struct Watcher {
    explain: Explain,
    lease: Duration,
    watch: Watch<About>,
}

/// The subject of a warning.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum About {
    Etcd,
    Alarms(String),
    Version(String),
    Lease,
    Cluster,
    History,
    LateKey,
    Foreign,
    /// The refused operation, in words.
    Doing(&'static str),
}

impl About {
    /// Whether this trouble is over once the node has a new lease. A later warning about the same
    /// subject is then news.
    fn is_over_with_a_lease(&self) -> bool {
        matches!(self, Self::Etcd | Self::Cluster | Self::History | Self::LateKey | Self::Doing(_))
    }
}

impl Watcher {
    async fn watch(mut self, checked: Result<Report, CheckError>, notices: Receiver<Notice>) {
        match checked {
            Ok(report) => self.on_report(&report),
            Err(error) => {
                let (failure, passes) = self.explain.check(&error);
                if passes {
                    let text = format!("no election can be held yet: {}", failure.what);
                    self.watch.warn(About::Etcd, &text);
                    self.note_endpoints(&error);
                    self.watch.is_silent(|| failure);
                } else {
                    self.watch.give_up(failure);
                    tokio::time::sleep(ENDING).await;
                }
            }
        }
        for_each(notices, |notice| self.on_notice(notice)).await;
    }

    /// Records the failures of all endpoints as reported, because the warning names them.
    fn note_endpoints(&mut self, error: &CheckError) {
        let CheckError::NoEndpoint { errors } = error else { return };
        for error in errors {
            if let Some(endpoint) = error.endpoint() {
                self.watch.knows_of(&endpoint.to_string(), &error.told());
            }
        }
    }

    /// Warns of the states of all endpoints: a candidate may need any of them later.
    fn on_report(&mut self, report: &Report) {
        for (endpoint, found) in &report.endpoints {
            if let Err(error) = found {
                self.watch.warn_of(&endpoint.to_string(), &error.told());
            }
        }
        for (endpoint, status) in report.members() {
            for alarm in &status.alarms {
                let about = About::Alarms(endpoint.to_string());
                self.watch.warn(
                    about,
                    &format!("{endpoint} reports the alarm {alarm}: see etcdctl alarm list"),
                );
            }
        }
        for (endpoint, status) in report.unfixed() {
            let endpoint = endpoint.clone();
            let version = status.version;
            self.on_notice(&Notice::EarlyRevocation { endpoint, version });
        }
    }

    fn on_notice(&mut self, notice: &Notice) {
        let text = notice.to_string();
        tracing::debug!("{text}");
        match notice {
            Notice::Connected { endpoint, .. } => self.watch.is_connected(&endpoint.to_string()),
            Notice::LoggedIn { endpoint, .. } => self.watch.works(&endpoint.to_string()),
            Notice::NotLoggedIn { endpoint, .. } => {
                self.watch.warn_of(&endpoint.to_string(), &text);
            }
            Notice::Disconnected { endpoint, .. } | Notice::Unreachable { endpoint, .. } => {
                let why = || self.explain.silent(&text);
                self.watch.goes_on_without(&endpoint.to_string(), &text, why);
            }
            Notice::EarlyRevocation { endpoint, .. } => {
                self.watch.warn(About::Version(endpoint.to_string()), &text);
            }
            // All claims on the first cluster are over by now.
            Notice::OtherCluster { lasting } if *lasting >= self.lease => {
                self.watch.give_up(self.explain.other_cluster(*lasting));
            }
            Notice::OtherCluster { .. } => self.watch.warn(About::Cluster, &text),
            Notice::Protocol { event, .. } => self.on_event(event, &text),
            _ => {}
        }
    }

    fn on_event(&mut self, event: &OwnEvent, text: &str) {
        match event {
            OwnEvent::Obstacle { doing, .. } => self.watch.warn(About::Doing(doing), text),
            OwnEvent::Opened { asked, granted, .. } => {
                self.watch.forget(About::is_over_with_a_lease);
                if asked != granted {
                    self.watch.warn(About::Lease, text);
                }
            }
            OwnEvent::WentBack { .. } => {
                let advice = ". If etcd was restored without --bump-revision, end all candidates, \
                              raise --fence-epoch by one, and start them again";
                self.watch.warn(About::History, &(text.to_owned() + advice));
            }
            OwnEvent::LateKey { .. } => self.watch.warn(About::LateKey, text),
            OwnEvent::Foreign(Some(_)) => self.watch.warn(About::Foreign, text),
            _ => {}
        }
    }
}
