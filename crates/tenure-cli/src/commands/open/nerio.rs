//! Starting a node of Nerio with the settings of a command.

use tenure::nerio::{Builder, Node, Notice};
use tenure::state::StateError;
use tenure::transport::UdpError;
use tenure::{AtMostOne, Election, ElectionName, NodeName, StartError};
use tokio::sync::broadcast;

use super::{Later, Participant};
use crate::exit::Exit;
use crate::failure::{self, Failure};
use crate::settings::{Cluster, Ledger};

/// A participant that is no grantor, for commands that only ask.
pub(in crate::commands) fn asker(cluster: &Cluster, ledger: &Ledger) -> Result<Node, Failure> {
    let random = format!("ask-{}", std::process::id());
    let name = NodeName::new(&random).map_err(|error| {
        Failure::new(Exit::Bug, format!("{random} is no name: {error}"), "report it")
    })?;
    start(Node::builder(cluster.config.clone(), name), cluster, ledger)
}

/// A candidate that is no grantor.
pub(super) fn candidate(
    cluster: &Cluster,
    id: &NodeName,
    ledger: &Ledger,
) -> Result<Node, Failure> {
    start(Node::builder(cluster.config.clone(), id.clone()), cluster, ledger)
}

impl Participant for Node {
    fn election(&self, name: &ElectionName) -> Election<AtMostOne> {
        self.election_named(name.clone())
    }

    fn hopeless(&self, ledger: &Ledger) -> Later<Failure> {
        let (mut notices, ledger) = (self.notices(), ledger.clone());
        Box::pin(async move { mismatch(&mut notices, &ledger).await })
    }

    fn close(self: Box<Self>) -> Later<()> {
        Box::pin(async move { Self::close(&self).await })
    }
}

/// Starts `builder` on the address of the settings.
pub(in crate::commands) fn start(
    builder: Builder,
    cluster: &Cluster,
    ledger: &Ledger,
) -> Result<Node, Failure> {
    // Other addresses than loopback were refused already, unless the user insisted.
    let builder = builder.listen(cluster.listen).insecure_any_address();
    builder.start().map_err(|error| explain(&error, ledger))
}

fn explain(error: &StartError, ledger: &Ledger) -> Failure {
    let (fix, names): (&str, &[&str]) = match error {
        StartError::Transport(UdpError::InUse { .. }) => (
            "end the process that has it (ss -ulpn tells which), or give another address",
            &["listen", "members"],
        ),
        StartError::Transport(_) => ("give an address of this machine", &["listen", "members"]),
        StartError::State(error) => return state(error, ledger),
        StartError::IsAMember { .. } => {
            ("give another --id; members run as tenure node", &["id", "members"])
        }
        StartError::NotAMember { .. } => ("give the name of a member", &["name", "members"]),
        StartError::System { .. } => ("look at the limits of this process", &[]),
    };
    let exit = match error {
        StartError::IsAMember { .. } | StartError::NotAMember { .. } => Exit::Usage,
        _ => Exit::System,
    };
    ledger.explain(Failure::new(exit, chain(error), fix), names)
}

fn state(error: &StateError, ledger: &Ledger) -> Failure {
    // What a state directory has to say ends with what to do.
    let text = chain(error);
    let (what, fix) = match text.split_once("; ") {
        Some((what, fix)) => (what.to_owned(), fix.to_owned()),
        None => (text, "look at the state directory".to_owned()),
    };
    ledger.explain(Failure::new(Exit::System, what, fix), &["state"])
}

/// An error with all that caused it.
fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(source) = cause {
        let more = source.to_string();
        if !text.contains(&more) {
            text = format!("{text}: {more}");
        }
        cause = source.source();
    }
    text
}

/// Resolves when a member turns out to run with another configuration: nothing that is asked
/// of it will ever be answered.
pub(in crate::commands) async fn mismatch(
    notices: &mut broadcast::Receiver<Notice>,
    ledger: &Ledger,
) -> Failure {
    loop {
        match notices.recv().await {
            Ok(Notice::Mismatch { peer, address, .. }) => {
                let what = format!("{peer} at {address} runs with another configuration");
                let fix = "give all nodes and candidates the same cluster, members, quorums, \
                           drift and lease-max";
                let names = ["cluster", "members", "quorums", "drift", "lease-max"];
                return ledger.explain(Failure::usage(what, fix), &names);
            }
            // What a leader should know, too.
            Ok(
                notice @ (Notice::Obstacle { .. }
                | Notice::NameShared { .. }
                | Notice::AddressContested { .. }),
            ) => failure::warn(&notice.to_string()),
            Ok(_) | Err(broadcast::error::RecvError::Lagged(_)) => {}
            Err(broadcast::error::RecvError::Closed) => std::future::pending().await,
        }
    }
}
