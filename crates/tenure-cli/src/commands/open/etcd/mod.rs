//! Taking part in elections on etcd with the settings of a command.

mod explain;

use std::collections::BTreeMap;

use tenure::{AtMostOne, Election, ElectionName};
use tenure_etcd::{CheckError, CheckedOptions, Credentials, Endpoint, Identity, Node, Notice};
use tenure_etcd::{Options, Pem, Report, Tls};
use tokio::sync::broadcast::{Receiver, error::RecvError};
use tokio::sync::watch;

use self::explain::Explain;
use super::{Later, Participant};
use crate::exit::Exit;
use crate::failure::{self, Failure};
use crate::settings::Ledger;
use crate::settings::etcd::Store;

struct Client {
    node: Node,
    troubles: watch::Receiver<Troubles>,
}

/// What is wrong at the moment.
#[derive(Clone, Default)]
struct Troubles {
    /// Something that waiting does not mend.
    hopeless: Option<Failure>,
    /// Why etcd does not answer.
    silent: Option<Failure>,
}

/// Connects when it is first needed. That etcd cannot be reached is no error: it may come yet.
/// What waiting does not mend is found out beside it; for a candidate in `election` that is also
/// a permission that is missing.
pub(super) fn start(
    store: &Store,
    election: Option<&ElectionName>,
    ledger: &Ledger,
) -> Result<Box<dyn Participant>, Failure> {
    let explain = Explain::new(store, ledger);
    let options = options(store)?.check().map_err(|error| explain.options(&error))?;
    let node = Node::builder(store.config.clone(), options.clone()).start();
    let node = node.map_err(|error| explain::start(&error))?;
    let (tell, troubles) = watch::channel(Troubles::default());
    let elections: Vec<_> = election.cloned().into_iter().collect();
    tokio::spawn(examine(options, store.clone(), elections, explain.clone(), tell.clone()));
    tokio::spawn(listen(node.notices(), election.is_some(), explain, tell));
    Ok(Box::new(Client { node, troubles }))
}

impl Participant for Client {
    fn election(&self, name: &ElectionName) -> Election<AtMostOne> {
        self.node.election_named(name.clone())
    }

    fn hopeless(&self, _: &Ledger) -> Later<Failure> {
        let mut troubles = self.troubles.clone();
        Box::pin(async move {
            let found = troubles.wait_for(|troubles| troubles.hopeless.is_some()).await;
            match found.ok().and_then(|troubles| troubles.hopeless.clone()) {
                Some(failure) => failure,
                // Nothing was found, and nobody looks any more.
                None => std::future::pending().await,
            }
        })
    }

    fn silent(&self) -> Option<Failure> {
        self.troubles.borrow().silent.clone()
    }

    fn close(self: Box<Self>) -> Later<()> {
        Box::pin(async move { self.node.close().await })
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

/// Asks each endpoint whether it can be used at all.
async fn examine(
    options: CheckedOptions,
    store: Store,
    elections: Vec<ElectionName>,
    explain: Explain,
    tell: watch::Sender<Troubles>,
) {
    match tenure_etcd::check(&options, &store.config, &elections).await {
        Ok(report) if !elections.is_empty() => unusable(&report),
        Ok(_) => {}
        Err(error) => {
            let (failure, passes) = explain.check(&error);
            tell.send_modify(|troubles| match passes {
                true => troubles.silent = Some(failure),
                false => troubles.hopeless = Some(failure),
            });
            if let CheckError::NoEndpoint { errors } = error
                && passes
                && !elections.is_empty()
            {
                let shown = errors.first().map(ToString::to_string).unwrap_or_default();
                failure::warn(&format!("no endpoint can be used yet: {shown}"));
            }
        }
    }
}

/// A candidate may need them all one day.
fn unusable(report: &Report) {
    for (_, found) in &report.endpoints {
        if let Err(error) = found {
            failure::warn(&format!("one of the endpoints cannot be used: {error}"));
        }
    }
}

/// Tells what an operator should hear of, each once until it changes.
async fn listen(
    mut notices: Receiver<Notice>,
    is_candidate: bool,
    explain: Explain,
    tell: watch::Sender<Troubles>,
) {
    let mut told: BTreeMap<String, String> = BTreeMap::new();
    loop {
        let notice = match notices.recv().await {
            Ok(notice) => notice,
            Err(RecvError::Lagged(_)) => continue,
            Err(RecvError::Closed) => return,
        };
        let text = notice.to_string();
        match &notice {
            Notice::Connected { endpoint, .. } => {
                told.remove(endpoint.as_str());
                tell.send_modify(|troubles| troubles.silent = None);
            }
            Notice::Disconnected { endpoint, .. } | Notice::Unreachable { endpoint, .. } => {
                // What was found out beside it says more.
                tell.send_modify(|troubles| {
                    troubles.silent.get_or_insert_with(|| explain.silent(&text));
                });
                if is_candidate {
                    warn_once(&mut told, endpoint.as_str(), &text);
                }
                continue;
            }
            Notice::Obstacle { doing, refusal, .. } => {
                let failure = explain.refusal(refusal);
                if let Some(failure) = failure.filter(|_| !is_candidate) {
                    tell.send_modify(|troubles| troubles.hopeless = Some(failure));
                } else {
                    warn_once(&mut told, doing, &text);
                }
                continue;
            }
            Notice::Opened { asked, granted, .. } if asked != granted => {
                let text = format!(
                    "etcd grants a lease of {granted} s at least, and {asked} s were asked for: \
                     taking over after a crash takes {granted} s"
                );
                warn_once(&mut told, "lease", &text);
            }
            Notice::EarlyRevocation { .. } if is_candidate => {
                warn_once(&mut told, "version", &text);
            }
            Notice::OtherCluster | Notice::Zombie { .. } => {
                failure::warn(&text);
            }
            _ => {}
        }
        tracing::debug!("{text}");
    }
}

fn warn_once(told: &mut BTreeMap<String, String>, about: &str, text: &str) {
    let before = told.insert(about.to_owned(), text.to_owned());
    if before.is_none_or(|before| before != text) {
        failure::warn(text);
    }
}
