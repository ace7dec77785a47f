//! A node of Nerio with the settings of a command.

use std::net::SocketAddr;
use std::time::Duration;

use tenure::nerio::state::MemoryError;
use tenure::nerio::survey::{Survey, Unsafe, survey};
use tenure::nerio::{Builder, Node, Notice, VerifyError};
use tenure::transport::UdpError;
use tenure::{ElectionName, LeaderView, NodeName, StartError};
use tenure_core::nerio::{self, MemberSet};
use tokio::sync::broadcast::Receiver;
use tokio::task::JoinSet;

use super::keys::{NAMES, follow};
use super::troubles::{self, Differing, Nobody};
use super::{Cluster, Seat, Service, Told};
use crate::control::Server;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::protocol::{
    AnyElection, Asks, Backend, Later, Member, Members, Participant, Started, Verified,
};
use crate::settings::Origins;

/// A cluster, and the place in it of a candidate that is a member, too.
#[derive(Debug)]
pub(crate) struct Grantors {
    pub(super) cluster: Cluster,
    pub(super) seat: Option<Seat>,
}

impl Backend for Grantors {
    fn grace(&self) -> Duration {
        self.cluster.config.grace
    }

    fn kill_margin(&self) -> Duration {
        self.cluster.config.kill_margin
    }

    /// Several questions to each grantor.
    fn patience(&self) -> Duration {
        self.cluster.config.round_trip * 20 + Duration::from_secs(1)
    }

    fn candidate<'a>(
        &'a self,
        id: &'a NodeName,
        _: &'a ElectionName,
        origins: &'a Origins,
    ) -> Started<'a> {
        Box::pin(async move {
            let (cluster, asks) = (&self.cluster, Asks::On);
            let builder = Node::builder(cluster.config.clone(), id.clone());
            let Some(seat) = &self.seat else {
                return Asker::meet(builder, cluster, asks, origins).map(Asker::boxed);
            };
            let control = Server::bind(&seat.control).await.map_err(|mut failure| {
                failure.fix += &format!(
                    ". It is that of the member {}, which is one process: tenure node, or tenure \
                     run --name",
                    seat.name
                );
                origins.explain(failure, &["name"])
            })?;
            let builder = builder.grantor(seat.storage.of_library());
            let mut asker = Asker::meet(builder, cluster, asks, origins)?;
            // Before anybody else listens: the first who does hears what was said at the start.
            let notices = asker.node.notices();
            asker.member.spawn(serve(asker.node.clone(), notices, control));
            Ok(asker.boxed())
        })
    }

    fn asker<'a>(&'a self, _: &'a ElectionName, asks: Asks, origins: &'a Origins) -> Started<'a> {
        Box::pin(async move {
            let random = format!("ask-{}", std::process::id());
            let name = NodeName::new(&random).map_err(|error| {
                Failure::new(Exit::Bug, format!("{random} is no name: {error}"), "report it")
            })?;
            let builder = Node::builder(self.cluster.config.clone(), name);
            Asker::meet(builder, &self.cluster, asks, origins).map(Asker::boxed)
        })
    }

    fn members<'a>(&'a self, origins: &'a Origins) -> Later<'a, Result<Members, Failure>> {
        Box::pin(members(&self.cluster, origins))
    }
}

async fn members(cluster: &Cluster, origins: &Origins) -> Result<Members, Failure> {
    let seen = ask_all(cluster, origins).await?;
    let (mut all, mut serving) = (Vec::new(), MemberSet::EMPTY);
    for (nth, member) in cluster.config.members.iter().enumerate() {
        let (name, address) = (member.name.clone(), member.address.to_string());
        let service = seen.members.get(&name).copied().flatten();
        let state = match service {
            Some(nerio::Service::Serving) => "serving",
            Some(nerio::Service::Quarantine { .. }) => "quarantine",
            Some(nerio::Service::Recovering { .. }) => "recovering",
            Some(nerio::Service::Failing) => "failing",
            Some(nerio::Service::Starting) => "starting",
            Some(nerio::Service::Founding) => "founding",
            None if seen.differing.contains(&name) => "differs",
            None => "silent",
        };
        let what = match service {
            Some(service) => Unsafe::NotServing { member: name.clone(), service },
            None if state == "differs" => Unsafe::Differs { member: name.clone() },
            None => Unsafe::Silent { member: name.clone() },
        };
        if state == "serving" {
            serving = serving.with(nth);
        }
        let text = what.to_string();
        let text = text.strip_prefix(&format!("{name} ")).unwrap_or(&text).to_owned();
        all.push(Member { name, address, state, text });
    }
    let quorum = cluster.config.quorums.is_quorum(serving);
    let failure = (!quorum).then(|| too_few(cluster, &seen, origins));
    Ok(Members { all, failure })
}

/// Fewer members serve than an election needs.
fn too_few(cluster: &Cluster, seen: &Survey, origins: &Origins) -> Failure {
    if let Some(failure) = troubles::ends_for(cluster, seen, origins) {
        return failure;
    }
    let what = "fewer members serve than an election needs";
    let silent = seen.members.iter().any(|(name, service)| {
        service.is_none_or(|service| service != nerio::Service::Serving)
            && !seen.differing.contains(name)
    });
    match (seen.differing.is_empty(), silent) {
        (true, _) => {
            Failure::new(Exit::Unknown, what, "look at the others and the way to them, or wait")
        }
        (false, true) => {
            let mut failure = troubles::mismatch(what.to_owned(), Exit::Unknown, origins);
            failure.fix += "; look at the others and the way to them, or wait";
            failure
        }
        (false, false) => troubles::mismatch(what.to_owned(), Exit::Unknown, origins),
    }
}

/// Asks each member of `cluster` how it does, and what it holds.
pub(crate) async fn ask_all(cluster: &Cluster, origins: &Origins) -> Result<Survey, Failure> {
    let from = SocketAddr::new(cluster.listen.ip(), 0);
    survey(&cluster.config, cluster.key(), from).await.map_err(|error| {
        let what = format!("the members cannot be asked from {from}: {error}");
        let fix = "give --listen with an address of this machine";
        origins.explain(Failure::new(Exit::System, what, fix), &["listen"])
    })
}

/// Grants leases beside campaigning, and answers those that ask how that goes.
async fn serve(node: Node, notices: Receiver<Notice>, mut control: Server) {
    // The candidate's side warns of what comes from members.
    let is_told = |notice: &Notice| match notice {
        Notice::Mismatch { address, .. } | Notice::Key { address, .. } => {
            node.config().position_at(*address).is_some()
        }
        Notice::AddressContested { .. } => true,
        _ => false,
    };
    let hear = |service: &mut Service, notice: &Notice| {
        if !is_told(notice)
            && let Told::Changed { warned: false } = service.hear(notice)
        {
            tracing::info!("{notice}");
        }
        Ok(())
    };
    // What is heard fails nowhere, and the node has ended.
    let _ = Service::default().serve(&node, notices, &mut control, hear).await;
}

/// One that asks the grantors of a cluster.
struct Asker {
    node: Node,
    /// Ends when it is dropped.
    member: JoinSet<()>,
    cluster: Cluster,
    asks: Asks,
    origins: Origins,
    differing: Differing,
}

impl Asker {
    fn meet(
        builder: Builder,
        cluster: &Cluster,
        asks: Asks,
        origins: &Origins,
    ) -> Result<Self, Failure> {
        let node = start(builder, cluster, origins)?;
        let (cluster, origins) = (cluster.clone(), origins.clone());
        let (member, differing) = (JoinSet::new(), Differing::default());
        Ok(Self { node, member, cluster, asks, origins, differing })
    }

    fn boxed(self) -> Box<dyn Participant> {
        Box::new(self)
    }

    /// Why no member names a leader.
    fn nobody(&self, election: &ElectionName) -> Later<'static, Option<Nobody>> {
        let (cluster, origins) = (self.cluster.clone(), self.origins.clone());
        Box::pin(troubles::nobody(cluster, origins, self.differing.clone(), election.clone()))
    }
}

impl Participant for Asker {
    fn election(&self, name: &ElectionName) -> AnyElection {
        AnyElection::AtMostOne(self.node.election_named(name.clone()))
    }

    fn permanent_failure(&self) -> Later<'static, Failure> {
        let (cluster, origins) = (self.cluster.clone(), self.origins.clone());
        let (notices, differing) = (self.node.notices(), self.differing.clone());
        let (asks, node) = (self.asks, self.node.clone());
        Box::pin(async move {
            let disagreement = async || node.disagreement().await;
            troubles::watch(notices, disagreement, cluster, asks, origins, differing).await
        })
    }

    fn why_unknown(&self, election: &ElectionName) -> Later<'static, Option<Failure>> {
        let nobody = self.nobody(election);
        Box::pin(async { nobody.await.map(Nobody::unknown) })
    }

    fn why_vacant(&self, election: &ElectionName) -> Later<'static, Option<String>> {
        let nobody = self.nobody(election);
        Box::pin(async { nobody.await.map(|nobody| nobody.why) })
    }

    fn verify<'a>(
        &'a self,
        election: &'a ElectionName,
        leader: &'a LeaderView,
        patience: Duration,
    ) -> Later<'a, Result<Verified, Failure>> {
        let keyed = self.cluster.keys.is_some();
        Box::pin(verify((&self.node, keyed), election, leader, patience))
    }

    fn close(self: Box<Self>) -> Later<'static, ()> {
        Box::pin(async move { self.node.close().await })
    }
}

/// A leader's own promise that it leads (section 10.5).
async fn verify(
    (node, keyed): (&Node, bool),
    election: &ElectionName,
    leader: &LeaderView,
    patience: Duration,
) -> Result<Verified, Failure> {
    let Some(address) = leader.address else {
        let what = format!("the grantors name {} as the leader, without an address", leader.id);
        return Err(Failure::new(Exit::Bug, what, "report it"));
    };
    match node.verify(election, address, patience).await {
        Ok(verified) => {
            let (leader, fence, until) = (verified.leader, verified.fence, verified.until);
            Ok(Verified { leader, fence, until })
        }
        Err(error @ VerifyError::DoesNotLead { .. }) => {
            let fix = "ask again: it has stepped down since the nodes were asked";
            Err(Failure::new(Exit::Refused, error.to_string(), fix))
        }
        Err(error) => {
            let what = format!("{} at {address}: {error}", leader.id);
            let fix = match keyed {
                true => {
                    "look at the leader and the way to it; it answers only those that have a key \
                     of its own application"
                }
                false => "look at the leader and the way to it",
            };
            Err(Failure::new(Exit::Unreachable, what, fix))
        }
    }
}

/// Starts `builder` on the address of the settings.
pub(crate) fn start(
    builder: Builder,
    cluster: &Cluster,
    origins: &Origins,
) -> Result<Node, Failure> {
    // Other addresses than loopback were refused already without keys, unless the user insisted.
    let mut builder = builder.listen(cluster.listen).insecure_any_address();
    if let Some(keys) = cluster.key() {
        builder = builder.keys(keys.clone());
    }
    let node = builder.start().map_err(|error| explain(&error, origins))?;
    follow(node.clone(), cluster.keys.as_ref());
    Ok(node)
}

fn explain(error: &StartError, origins: &Origins) -> Failure {
    let (fix, names): (&str, &[&str]) = match error {
        StartError::Transport(UdpError::InUse { .. }) => (
            "end the process that has it (ss -ulpn shows which), or give another address; a member \
             is one process: tenure node, or tenure run --name",
            &["listen", "members"],
        ),
        StartError::Transport(_) => ("give an address of this machine", &["listen", "members"]),
        StartError::State(error) => return state(error, origins),
        StartError::IsAMember { .. } => (
            "give another --id; or give --name and --state, to be that member and contend",
            &["id", "members"],
        ),
        StartError::NotAMember { .. } => ("give the name of a member", &["name", "members"]),
        StartError::OtherCluster { .. } | StartError::NotAMembersKey { .. } => {
            ("give another key", &NAMES)
        }
        StartError::System(_) => ("look at the limits of this process", &[]),
    };
    let exit = match error {
        StartError::IsAMember { .. } | StartError::NotAMember { .. } => Exit::Usage,
        _ => Exit::System,
    };
    origins.explain(Failure::new(exit, chain(error), fix), names)
}

fn state(error: &MemoryError, origins: &Origins) -> Failure {
    // What a state directory has to say ends with what to do.
    let text = chain(error);
    let (what, fix) = match text.split_once("; ") {
        Some((what, fix)) => (what.to_owned(), fix.to_owned()),
        None => (text, "look at the state directory".to_owned()),
    };
    origins.explain(Failure::new(Exit::System, what, fix), &["state"])
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
