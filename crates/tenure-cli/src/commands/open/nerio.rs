//! Starting a node of Nerio with the settings of a command.

use tenure::nerio::{Builder, Node};
use tenure::state::StateError;
use tenure::transport::UdpError;
use tenure::{AtMostOne, Election, ElectionName, NodeName, StartError};

use super::troubles::{self, Differing, Nobody};
use super::{Asks, Later, Participant};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::settings::{Cluster, Ledger};

/// A participant that is no grantor, for commands that only ask.
pub(in crate::commands) fn asker(
    cluster: &Cluster,
    asks: Asks,
    ledger: &Ledger,
) -> Result<Grantors, Failure> {
    let random = format!("ask-{}", std::process::id());
    let name = NodeName::new(&random).map_err(|error| {
        Failure::new(Exit::Bug, format!("{random} is no name: {error}"), "report it")
    })?;
    Grantors::meet(name, cluster, asks, ledger)
}

/// A candidate that is no grantor.
pub(super) fn candidate(
    cluster: &Cluster,
    id: &NodeName,
    ledger: &Ledger,
) -> Result<Grantors, Failure> {
    Grantors::meet(id.clone(), cluster, Asks::On, ledger)
}

/// One that asks the grantors of a cluster.
pub(in crate::commands) struct Grantors {
    pub(in crate::commands) node: Node,
    cluster: Cluster,
    asks: Asks,
    ledger: Ledger,
    differing: Differing,
}

impl Grantors {
    fn meet(
        name: NodeName,
        cluster: &Cluster,
        asks: Asks,
        ledger: &Ledger,
    ) -> Result<Self, Failure> {
        let node = start(Node::builder(cluster.config.clone(), name), cluster, ledger)?;
        let (cluster, ledger) = (cluster.clone(), ledger.clone());
        Ok(Self { node, cluster, asks, ledger, differing: Differing::default() })
    }

    /// Why nobody is named as the leader.
    pub(in crate::commands) fn nobody(&self, election: &ElectionName) -> Later<Option<Nobody>> {
        let (cluster, ledger) = (self.cluster.clone(), self.ledger.clone());
        Box::pin(troubles::nobody(cluster, ledger, self.differing.clone(), election.clone()))
    }

    /// Says what keeps this one from being answered. Resolves when it is to end for that.
    pub(in crate::commands) fn troubles(&self) -> Later<Failure> {
        let (cluster, ledger) = (self.cluster.clone(), self.ledger.clone());
        let (notices, differing) = (self.node.notices(), self.differing.clone());
        let (asks, node) = (self.asks, self.node.clone());
        Box::pin(async move {
            let disagreement = async || node.disagreement().await;
            troubles::watch(notices, disagreement, cluster, asks, ledger, differing).await
        })
    }
}

impl Participant for Grantors {
    fn election(&self, name: &ElectionName) -> Election<AtMostOne> {
        self.node.election_named(name.clone())
    }

    fn hopeless(&self, _: &Ledger) -> Later<Failure> {
        self.troubles()
    }

    fn silent(&self, election: &ElectionName) -> Later<Option<Failure>> {
        let nobody = self.nobody(election);
        Box::pin(async { nobody.await.map(Nobody::unknown) })
    }

    fn vacant(&self, election: &ElectionName) -> Later<Option<String>> {
        let nobody = self.nobody(election);
        Box::pin(async { nobody.await.map(|nobody| nobody.why) })
    }

    fn close(self: Box<Self>) -> Later<()> {
        Box::pin(async move { self.node.close().await })
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
        StartError::System(_) => ("look at the limits of this process", &[]),
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
