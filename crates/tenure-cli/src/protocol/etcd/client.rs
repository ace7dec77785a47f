//! Taking part in elections on etcd with the settings of a command.

use std::collections::BTreeMap;
use std::time::Duration;

use tenure::{ElectionName, NodeName, Waiting};
use tenure_core::etcd::Checked;
use tenure_etcd::{
    CheckError, CheckedOptions, Credentials, Endpoint, Identity, Node, Notice, Options, Pem,
    Report, Tls,
};
use tokio::sync::broadcast::{Receiver, error::RecvError};
use tokio::sync::watch;

use super::explain::Explain;
use super::store::Store;
use crate::exit::Exit;
use crate::failure::{self, Failure};
use crate::protocol::outage::{Endpoints, Outage};
use crate::protocol::{self, AnyElection, Asks, Backend, Later, Participant, start as system};
use crate::settings::Origins;

/// How the refusals are called that waiting does not mend.
const LASTING: [&str; 2] = ["denied", "unauthenticated"];

/// What a client is there for.
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

    /// What `etcdctl` gives a command.
    fn patience(&self) -> Duration {
        Duration::from_secs(5)
    }

    fn candidate(
        &self,
        _: &NodeName,
        election: &ElectionName,
        origins: &Origins,
    ) -> Result<Box<dyn Participant>, Failure> {
        start(self, election, Purpose::Campaign, origins)
    }

    fn asker(
        &self,
        election: &ElectionName,
        _: Asks,
        origins: &Origins,
    ) -> Result<Box<dyn Participant>, Failure> {
        start(self, election, Purpose::Ask, origins)
    }
}

struct Client {
    node: Node,
    options: CheckedOptions,
    config: Checked,
    of: ElectionName,
    /// How many there are.
    endpoints: usize,
    explain: Explain,
    troubles: watch::Receiver<Troubles>,
}

/// What is wrong at the moment.
#[derive(Clone, Default)]
struct Troubles {
    /// Something that waiting does not mend.
    permanent: Option<Failure>,
    /// Why etcd does not answer.
    silent: Option<Failure>,
    /// Since when, and what was heard last.
    outage: Option<Outage>,
}

/// Connects when it is first needed. That etcd cannot be reached is no error: it may come yet.
/// What waiting does not mend is found out beside it; for a candidate that is also a permission
/// that is missing.
fn start(
    store: &Store,
    election: &ElectionName,
    purpose: Purpose,
    origins: &Origins,
) -> Result<Box<dyn Participant>, Failure> {
    let explain = Explain::new(store, election, origins);
    let options = options(store)?.check().map_err(|error| explain.options(&error))?;
    let node = Node::builder(store.config.clone(), options.clone()).start();
    let node = node.map_err(|error| system::refused(&error))?;
    let (tell, troubles) = watch::channel(Troubles::default());
    let (notices, config, of) = (node.notices(), store.config.clone(), election.clone());
    let client = Client {
        node,
        options: options.clone(),
        config: config.clone(),
        of: of.clone(),
        endpoints: store.endpoints.len(),
        explain: explain.clone(),
        troubles,
    };
    if purpose == Purpose::Ask {
        let notices = client.node.notices();
        tokio::spawn(give_up_when_refused(explain.clone(), notices, tell.clone()));
    }
    tokio::spawn(async move {
        let elections = match purpose {
            Purpose::Campaign => vec![of],
            Purpose::Ask => Vec::new(),
        };
        let checked = tenure_etcd::check(&options, &config, &elections).await;
        let lease = config.lease;
        let (warned, endpoints) = (BTreeMap::new(), Endpoints::default());
        let watcher = Watcher { purpose, explain, lease, tell, warned, endpoints };
        watcher.watch(checked, notices).await;
    });
    Ok(Box::new(client))
}

impl Participant for Client {
    fn election(&self, name: &ElectionName) -> AnyElection {
        AnyElection::AtMostOne(self.node.election_named(name.clone()))
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

    /// Each endpoint that fails has a warning. That no endpoint is left is said once it is known
    /// that this may pass; what is refused for good ends the process, which says why.
    fn worth_reporting(&self, waiting: &Waiting) -> Later<'static, ()> {
        let mut troubles = self.troubles.clone();
        match waiting {
            Waiting::Connecting { obstacles } if obstacles.len() == self.endpoints => {
                Box::pin(async move {
                    if troubles.wait_for(|troubles| troubles.silent.is_some()).await.is_err() {
                        // The watcher has ended.
                        std::future::pending().await
                    }
                })
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
        Box::pin(std::future::ready(self.troubles.borrow().silent.clone()))
    }

    fn trouble(&self) -> Option<String> {
        let troubles = self.troubles.borrow();
        troubles.outage.as_ref().map(|outage| outage.told(tenure::clock::now()))
    }

    /// The reason alone does not say which setting it is about: another check does.
    fn refused(&self, why: String) -> Later<'static, Failure> {
        let (options, config) = (self.options.clone(), self.config.clone());
        let (elections, explain) = ([self.of.clone()], self.explain.clone());
        Box::pin(async move {
            let checked = tenure_etcd::check(&options, &config, &elections).await;
            let found = checked.err().map(|error| explain.check(&error));
            match found {
                Some((failure, false)) => failure,
                Some((_, true)) | None => protocol::refused(why),
            }
        })
    }

    fn close(self: Box<Self>) -> Later<'static, ()> {
        Box::pin(async move { self.node.close().await })
    }
}

/// A process that only asks ends when etcd refuses to answer. This does not wait for the check, so
/// that the refusal is known before the leader is reported as unknown.
async fn give_up_when_refused(
    explain: Explain,
    mut notices: Receiver<Notice>,
    tell: watch::Sender<Troubles>,
) {
    loop {
        let refused = match notices.recv().await {
            Ok(Notice::Obstacle { refusal, .. }) => explain.refusal(&refusal),
            Ok(_) | Err(RecvError::Lagged(_)) => None,
            Err(RecvError::Closed) => return,
        };
        if let Some(failure) = refused {
            tell.send_modify(|troubles| troubles.permanent = Some(failure));
            return;
        }
    }
}

fn options(store: &Store) -> Result<Options, Failure> {
    let parse = |url: &str| {
        url.parse::<Endpoint>()
            .map_err(|error| Failure::new(Exit::Bug, format!("{url}: {error}"), "report it"))
    };
    let endpoints = store.endpoints.iter().map(|endpoint| parse(&endpoint.url));
    let mut options = Options::new(endpoints.collect::<Result<_, _>>()?);
    let identity = store.identity.as_ref().map(|identity| Identity {
        certificate: Pem::File(identity.certificate.clone()),
        key: Pem::File(identity.key.clone()),
    });
    let authority = store.authority.clone().map(Pem::File);
    if authority.is_some() || identity.is_some() {
        options.tls = Some(Tls { authority, identity, domain_name: None });
    }
    options.credentials = store
        .login
        .as_ref()
        .map(|login| Credentials { user: login.user.clone(), password: login.password.0.clone() });
    Ok(options)
}

/// For how long nothing more is reported after a permanent failure, which ends the process unless
/// it leads.
const ENDING: Duration = Duration::from_secs(10);

/// Warns of what an operator should know.
struct Watcher {
    purpose: Purpose,
    explain: Explain,
    lease: Duration,
    tell: watch::Sender<Troubles>,
    /// The latest warning about each thing: repeated only when it changes.
    warned: BTreeMap<About, String>,
    endpoints: Endpoints,
}

/// What a warning is about.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum About {
    Etcd,
    Alarms(String),
    Version(String),
    Lease,
    Cluster,
    History,
    LateKey,
    /// What is refused, in words.
    Doing(&'static str),
}

impl About {
    /// Whether it is over when there is a lease to begin with: when it comes back it is new.
    fn is_over_with_a_lease(&self) -> bool {
        matches!(self, Self::Etcd | Self::Cluster | Self::History | Self::LateKey | Self::Doing(_))
    }
}

impl Watcher {
    async fn watch(mut self, checked: Result<Report, CheckError>, mut notices: Receiver<Notice>) {
        match checked {
            Ok(report) => self.on_report(&report),
            Err(error) => {
                let (failure, passes) = self.explain.check(&error);
                if passes {
                    let text = format!("no election can be held yet: {}", failure.what);
                    self.warn(About::Etcd, &text);
                    self.note_endpoints(&error);
                    self.tell.send_modify(|troubles| troubles.silent = Some(failure));
                } else {
                    self.give_up(failure);
                    tokio::time::sleep(ENDING).await;
                }
            }
        }
        loop {
            match notices.recv().await {
                Ok(notice) => self.on_notice(&notice),
                Err(RecvError::Lagged(_)) => {}
                Err(RecvError::Closed) => return,
            }
        }
    }

    /// One of them was named; the others say the same or less.
    fn note_endpoints(&mut self, error: &CheckError) {
        let CheckError::NoEndpoint { errors } = error else { return };
        for error in errors {
            if let Some(endpoint) = error.endpoint() {
                self.endpoints.is_news(&endpoint.to_string(), &error.to_string());
            }
        }
    }

    /// A candidate may need all endpoints one day.
    fn on_report(&mut self, report: &Report) {
        for (endpoint, found) in &report.endpoints {
            if let Err(error) = found {
                self.warn_of(endpoint, &error.to_string());
            }
        }
        for (endpoint, status) in report.members() {
            for alarm in &status.alarms {
                let about = About::Alarms(endpoint.to_string());
                self.warn(about, &format!("{endpoint} has a trouble: {alarm}"));
            }
        }
        for (endpoint, status) in report.unfixed() {
            let (endpoint, version) = (endpoint.clone(), status.version);
            self.on_notice(&Notice::EarlyRevocation { endpoint, version });
        }
    }

    fn on_notice(&mut self, notice: &Notice) {
        let text = notice.to_string();
        tracing::debug!("{text}");
        match notice {
            Notice::Connected { endpoint, .. } => {
                self.endpoints.works(&endpoint.to_string());
                self.tell.send_modify(|troubles| {
                    troubles.silent = None;
                    troubles.outage = None;
                });
            }
            Notice::LoggedIn { endpoint, .. } => self.endpoints.works(&endpoint.to_string()),
            Notice::NotLoggedIn { endpoint, .. } => self.warn_of(endpoint, &text),
            Notice::Disconnected { endpoint, .. } | Notice::Unreachable { endpoint, .. } => {
                self.warn_of(endpoint, &text);
                self.goes_on_without(&text);
                // What the check found says more.
                self.tell.send_modify(|troubles| {
                    troubles.silent.get_or_insert_with(|| self.explain.silent(&text));
                });
            }
            Notice::Obstacle { doing, .. } => self.warn(About::Doing(doing), &text),
            Notice::Opened { asked, granted, .. } => {
                self.warned.retain(|about, _| !about.is_over_with_a_lease());
                if asked != granted {
                    let text = format!(
                        "etcd grants a lease of {granted} s at least, and {asked} s were asked \
                         for: taking over after a crash takes {granted} s"
                    );
                    self.warn(About::Lease, &text);
                }
            }
            Notice::EarlyRevocation { endpoint, .. } => {
                self.warn(About::Version(endpoint.to_string()), &text);
            }
            // Whatever was held of the first one is over by now.
            Notice::OtherCluster { lasting } if *lasting >= self.lease => {
                self.give_up(self.explain.other_cluster(*lasting));
            }
            Notice::OtherCluster { .. } => self.warn(About::Cluster, &text),
            Notice::WentBack { .. } => {
                let advice = ". If it was not restored with --bump-revision, end all candidates, \
                              raise --fence-epoch by one, and start them again";
                self.warn(About::History, &(text + advice));
            }
            Notice::LateKey { .. } => self.warn(About::LateKey, &text),
            _ => {}
        }
    }

    /// Each reason once, until the endpoint is in use again.
    fn warn_of(&mut self, endpoint: &Endpoint, text: &str) {
        let news = self.endpoints.is_news(&endpoint.to_string(), text);
        if news && self.purpose == Purpose::Campaign {
            failure::warn(text);
        }
    }

    /// No endpoint is in use: a candidate waits, as files of certificates are read anew for each
    /// connection, and a network mends.
    fn goes_on_without(&self, text: &str) {
        let (now, mut again) = (tenure::clock::now(), None);
        self.tell.send_modify(|troubles| match &mut troubles.outage {
            Some(outage) => again = outage.goes_on(now, text),
            None => troubles.outage = Some(Outage::new(now, text)),
        });
        if let Some(again) = again.filter(|_| self.purpose == Purpose::Campaign) {
            failure::warn(&again);
        }
    }

    fn give_up(&self, failure: Failure) {
        self.tell.send_modify(|troubles| troubles.permanent = Some(failure));
    }

    /// A process that only asks says it in its answer.
    fn warn(&mut self, about: About, text: &str) {
        let before = self.warned.insert(about, text.to_owned());
        if self.purpose == Purpose::Campaign && before.is_none_or(|before| before != text) {
            failure::warn(text);
        }
    }
}
