//! A node of Nerio with the settings of a command.

use std::net::SocketAddr;
use std::time::Duration;

use serde_json::Value;
use tenure::{AtMostOne, ElectionName, Leader, LeaderView, NodeName, Waiting};
use tenure_core::nerio::{self, MemberSet};
use tenure_http::Health;
use tenure_nerio::keys::{Grant, Keys};
use tenure_nerio::state::{MemoryError, RecoveryError};
use tenure_nerio::supervision::SupervisorAt;
use tenure_nerio::survey::{NameServers, Survey, Unsafe, survey};
use tenure_nerio::transport::UdpError;
use tenure_nerio::{Builder, EdictText, Node, Notice, StartError, Verified, VerifyError};
use tokio::sync::broadcast::Receiver;
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use super::keys::{KeyFile, NAMES, follow, warn_if_open};
use super::membership::{fragile, unlisted};
use super::service::worth_a_look;
use super::too_long;
use super::troubles::{self, DifferingMembers, Nobody, NoticeReporter};
use super::{
    Cluster, Reaction, Seat, Service, changes, clocks, health, key_status, lists, orders, shown,
    silent, weak,
};
use crate::control::{Answer, Call, Server};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::protocol::{
    AnnouncedWork, AnyElection, AskMode, Backend, Later, MadeChange, Member, MemberChange, Members,
    MembersEpoch, Participant, StartedParticipant, Transport, WeakObserver,
};
use crate::settings::Origins;

/// A cluster, and the place of a candidate that is also a member.
#[derive(Debug)]
pub(crate) struct Grantors {
    pub(super) cluster: Cluster,
    pub(super) seat: Option<Seat>,
    /// Quorum system of the new members, if a change of members names one.
    pub(super) new_quorums: Option<String>,
    /// The member on this machine that watches a candidate's process.
    pub(super) supervisor: Option<SupervisorAt>,
}

impl Backend for Grantors {
    fn grace(&self) -> Duration {
        self.cluster.config.grace
    }

    fn kill_margin(&self) -> Duration {
        self.cluster.config.kill_margin
    }

    fn lease(&self) -> Option<Duration> {
        Some(self.cluster.config.lease)
    }

    fn binds(&self) -> Option<(SocketAddr, Transport)> {
        self.seat.as_ref().map(|_| (self.cluster.listen, Transport::Udp))
    }

    fn check_owner(&self, path: &std::path::Path, origins: &Origins) -> Result<(), Failure> {
        self.seat.as_ref().map_or(Ok(()), |seat| seat.check_owner(&self.cluster, path, origins))
    }

    /// Time for several questions to each grantor.
    fn patience(&self) -> Duration {
        self.cluster.config.round_trip * 20 + Duration::from_secs(1)
    }

    fn candidate<'a>(
        &'a self,
        id: &'a NodeName,
        _: &'a ElectionName,
        origins: &'a Origins,
    ) -> StartedParticipant<'a> {
        Box::pin(async move {
            let cluster = &self.cluster;
            let asks = AskMode::On;
            let mut builder = Node::builder(cluster.config.clone(), id.clone());
            if let Some(supervisor) = &self.supervisor {
                builder = builder.supervised_by(supervisor.clone());
            }
            let Some(seat) = &self.seat else {
                return Asker::meet(builder, cluster, asks, origins).map(Asker::boxed);
            };
            let control = Server::bind(&seat.control).await.map_err(|mut failure| {
                failure.fix += &format!(
                    ". The address belongs to member {}, which is one process: tenure node, or \
                     tenure run --name",
                    seat.name
                );
                origins.explain(failure, &["name"])
            })?;
            let builder = builder.grantor(seat.storage.of_library());
            let mut asker = Asker::meet(builder, cluster, asks, origins)?;
            // Subscribe before any other task does: only the first subscriber hears the notices of
            // the start.
            let notices = asker.node.notices();
            let service = Service::of(&asker.node, asker.key_file.clone(), too_long(cluster));
            asker.member.spawn(serve(service, asker.node.clone(), notices, control));
            Ok(asker.boxed())
        })
    }

    fn asker<'a>(
        &'a self,
        _: &'a ElectionName,
        asks: AskMode,
        origins: &'a Origins,
    ) -> StartedParticipant<'a> {
        Box::pin(async move { self.ask(asks, origins).map(Asker::boxed) })
    }

    fn weak_leaders<'a>(
        &'a self,
        origins: &'a Origins,
    ) -> Later<'a, Result<Box<dyn WeakObserver>, Failure>> {
        Box::pin(weak::observe(self, origins))
    }

    fn members<'a>(&'a self, origins: &'a Origins) -> Later<'a, Result<Members, Failure>> {
        Box::pin(members(&self.cluster, origins))
    }

    fn check_change(&self, change: &MemberChange, origins: &Origins) -> Result<(), Failure> {
        changes::check(self, change, origins)
    }

    fn change_members<'a>(
        &'a self,
        change: MemberChange,
        limit: Option<Duration>,
        origins: &'a Origins,
    ) -> Later<'a, Result<MadeChange, Failure>> {
        Box::pin(changes::change(self, change, limit, origins))
    }
}

impl Grantors {
    /// Starts a node that only asks.
    pub(crate) fn ask(&self, asks: AskMode, origins: &Origins) -> Result<Asker, Failure> {
        let random = format!("ask-{}", std::process::id());
        let name = NodeName::new(&random).map_err(|error| {
            Failure::new(Exit::Bug, format!("{random} is no name: {error}"), "report it")
        })?;
        let builder = Node::builder(self.cluster.config.clone(), name);
        Asker::meet(builder, &self.cluster, asks, origins)
    }
}

async fn members(cluster: &Cluster, origins: &Origins) -> Result<Members, Failure> {
    let seen: Survey = health::states(cluster, NameServers::Patiently, origins).await?.into();
    let mut all = Vec::new();
    let membership = &seen.membership;
    let mut serving = MemberSet::EMPTY;
    for member in &seen.seats {
        let name = member.name.clone();
        let address = member.address.to_string();
        let service = seen.members.get(&name).copied().flatten();
        let state = match service {
            Some(service) => one_word(service),
            None if seen.differing.contains(&name) => "differs",
            None if seen.unresolved.contains_key(&name) => "unresolved",
            None if seen.blank.contains(&name) => "blank",
            None => "silent",
        };
        let what = match service {
            Some(service) => Unsafe::NotServing { member: name.clone(), service },
            None if state == "differs" => Unsafe::Differs { member: name.clone() },
            None => seen.silent(&name),
        };
        if state == "serving" {
            serving = serving.or(membership.position(&name).into_iter().collect());
        }
        let text = behind(&name, &what);
        let cure = match service {
            Some(service) => cure(&name, service),
            None => lists::cure(state, &what),
        };
        all.push(Member { name, address, state, text, cure });
    }
    all.extend(lists::outside(cluster, membership));
    let quorum = membership.quorums().is_quorum(serving);
    let failure = (!quorum).then(|| troubles::too_few(cluster, &seen, origins));
    let epoch = membership.id();
    let epoch = Some(MembersEpoch { number: epoch.number, digest: epoch.digest });
    let (fragile, unlisted) = (fragile(membership), unlisted(&cluster.config.members, membership));
    Ok(Members { all, epoch, failure, fragile, unlisted })
}

/// The state of an answering member, one word for programs.
pub(super) const fn one_word(service: nerio::Service) -> &'static str {
    match service {
        nerio::Service::Serving => "serving",
        nerio::Service::Quarantine { .. } => "quarantine",
        nerio::Service::Recovering { .. } => "recovering",
        nerio::Service::Failing => "failing",
        nerio::Service::Starting => "starting",
        nerio::Service::Replaced => "replaced",
        nerio::Service::Wedged => "wedged",
        nerio::Service::Removed => "removed",
        nerio::Service::WrongClock => "wrong-clock",
    }
}

/// The state of a member for people, after its name.
pub(super) fn in_words(member: &NodeName, service: nerio::Service) -> String {
    behind(member, &Unsafe::NotServing { member: member.clone(), service })
}

/// The remedy for the state of an answering member, if neither time nor other members mend the
/// state.
pub(super) fn cure(member: &NodeName, service: nerio::Service) -> Option<String> {
    let lasts = matches!(
        service,
        nerio::Service::Failing
            | nerio::Service::Replaced
            | nerio::Service::Removed
            | nerio::Service::WrongClock
    );
    lasts.then(|| Unsafe::NotServing { member: member.clone(), service }.fix())
}

pub(super) fn behind(member: &NodeName, what: &Unsafe) -> String {
    let text = what.to_string();
    text.strip_prefix(&format!("{member} ")).unwrap_or(&text).to_owned()
}

/// Asks each member of `cluster` for its state and its grants.
pub(crate) async fn ask_all(
    cluster: &Cluster,
    name_servers: NameServers,
    origins: &Origins,
) -> Result<Survey, Failure> {
    let from = SocketAddr::new(cluster.listen.ip(), 0);
    let seen = survey(&cluster.config, cluster.key(), from, name_servers).await;
    seen.map_err(|error| lists::no_socket(from, &error, origins))
}

/// Runs the member alongside the campaign: grants leases, and answers at its control socket. Leaves
/// out the warnings that the candidate prints.
async fn serve(service: Service, node: Node, notices: Receiver<Notice>, mut control: Server) {
    let hear = |service: &mut Service, notice: &Notice| {
        if !troubles::is_told(notice)
            && let Reaction::Changed { warned: false } = service.hear(notice)
        {
            tracing::info!("{notice}");
        }
        Ok(())
    };
    // `hear` never fails, and `serve` returns once the node has ended.
    let _ = service.serve(&node, notices, &mut control, hear).await;
}

pub(crate) struct Asker {
    node: Node,
    key_file: KeyFile,
    /// Dropping this ends the member's task.
    member: JoinSet<()>,
    cluster: Cluster,
    asks: AskMode,
    origins: Origins,
    differing: DifferingMembers,
}

impl Asker {
    fn meet(
        builder: Builder,
        cluster: &Cluster,
        asks: AskMode,
        origins: &Origins,
    ) -> Result<Self, Failure> {
        let (node, key_file) = start(builder, cluster, origins)?;
        let cluster = cluster.clone();
        let origins = origins.clone();
        let member = JoinSet::new();
        let differing = DifferingMembers::default();
        Ok(Self { node, key_file, member, cluster, asks, origins, differing })
    }

    pub(super) const fn node(&self) -> &Node {
        &self.node
    }

    fn boxed(self) -> Box<dyn Participant> {
        Box::new(self)
    }

    /// The reason why no member names a leader.
    fn nobody(&self, election: &ElectionName) -> Later<'static, Option<Nobody>> {
        let cluster = self.cluster.clone();
        let origins = self.origins.clone();
        Box::pin(troubles::nobody(cluster, origins, self.differing.clone(), election.clone()))
    }
}

impl Participant for Asker {
    fn election(&self, name: &ElectionName) -> AnyElection {
        AnyElection::AtMostOne(self.node.election_named(name.clone()))
    }

    fn alive(&self) -> Later<'_, bool> {
        Box::pin(async { self.node.counters().await.is_some() })
    }

    fn health(&self) -> Later<'_, Health> {
        Box::pin(shown::health(&self.node))
    }

    fn work(&self) -> Result<Option<AnnouncedWork>, Failure> {
        let unheard = |what: String| {
            let fix = "check the node that --supervisor names, or leave --supervisor out";
            Failure::new(Exit::System, what, fix)
        };
        let work = self.node.work().map_err(|error| unheard(error.to_string()))?;
        let Some(work) = work else { return Ok(None) };
        let (socket, packet) = work.last_word().map_err(|error| unheard(error.to_string()))?;
        Ok(Some(AnnouncedWork { socket, packet, over: Box::new(move || work.over()) }))
    }

    fn permanent_failure(&self) -> Later<'static, Failure> {
        let cluster = self.cluster.clone();
        let origins = self.origins.clone();
        let notices = self.node.notices();
        let differing = self.differing.clone();
        let asks = self.asks;
        let node = self.node.clone();
        let alone = self.member.is_empty();
        let members = cluster.config.members.clone();
        Box::pin(async move {
            let disagreement = async || node.disagreement().await;
            let hears = NoticeReporter { differing, alone, members };
            troubles::watch(notices, disagreement, cluster, asks, origins, hears).await
        })
    }

    /// Leaves out troubles that strangers cause, because these do not concern a leader.
    fn worth_a_look(&self) -> Later<'static, Option<String>> {
        let node = self.node.clone();
        let key_file = self.key_file.clone();
        let shown = |notice: &Notice| match notice {
            Notice::Mismatch { is_member, .. } | Notice::Key { is_member, .. } => *is_member,
            _ => true,
        };
        let of_lease = (!self.member.is_empty()).then(|| too_long(&self.cluster)).flatten();
        Box::pin(async move { worth_a_look(&node, of_lease, &key_file, shown).await })
    }

    fn may_be(&self, waiting: &Waiting) -> Option<&'static str> {
        troubles::may_be_of_keys(&self.cluster, waiting)
    }

    fn asked_at(&self, waiting: &Waiting) -> String {
        silent::of_waiting(&self.cluster.config.members, waiting)
    }

    fn why_unknown(&self, election: &ElectionName) -> Later<'static, Option<Failure>> {
        let nobody = self.nobody(election);
        Box::pin(async { nobody.await.map(Nobody::unknown) })
    }

    fn why_vacant(&self, election: &ElectionName) -> Later<'static, Option<String>> {
        let nobody = self.nobody(election);
        Box::pin(async { nobody.await.map(|nobody| nobody.why) })
    }

    fn orders(
        &self,
        election: &ElectionName,
        asked: mpsc::Sender<Call>,
    ) -> Option<Later<'static, ()>> {
        Some(Box::pin(orders::hand_in(self.node.notices(), election.clone(), asked)))
    }

    fn edict(&self, leader: &Leader<AtMostOne>) -> Option<Result<String, Failure>> {
        let fix = "end this work, and ask tenure leader who leads";
        let refused = |why: String| Failure::new(Exit::Refused, why, fix);
        let edicts = self.node.edicts(leader).map_err(|why| refused(why.to_string()));
        let created =
            edicts.and_then(|edicts| edicts.create().map_err(|why| refused(why.to_string())));
        Some(created.map(|edict| EdictText(edict).to_string()))
    }

    fn clocks(&self) -> Later<'static, Option<Value>> {
        let node = self.node.clone();
        Box::pin(async move { clocks::of(&node).await })
    }

    fn clear_breach(&self) -> Option<Later<'static, Answer>> {
        let node = self.node.clone();
        Some(Box::pin(async move { clocks::clear(&node).await }))
    }

    fn keys(&self) -> Option<Later<'static, Answer>> {
        let node = self.node.clone();
        let is_member = !self.member.is_empty();
        is_member.then(|| -> Later<'static, Answer> {
            Box::pin(async move { key_status::of(&node).await })
        })
    }

    fn close(self: Box<Self>) -> Later<'static, ()> {
        Box::pin(async move { self.node.close().await })
    }
}

impl Asker {
    /// Asks `leader` itself whether it leads `election` (section 10.5).
    pub(crate) async fn verify(
        &self,
        election: &ElectionName,
        leader: &LeaderView,
        patience: Duration,
    ) -> Result<Verified, Failure> {
        let Some(address) = leader.address else {
            let what = format!("the grantors name {} as the leader, without an address", leader.id);
            return Err(Failure::new(Exit::Bug, what, "report it"));
        };
        // Prefer the address at which the leader has shown its key: the grantors may name another
        // address of the leader.
        let place = match NodeName::new(&leader.id) {
            Ok(member) => self.node.place(member).await,
            Err(_) => None,
        };
        let address = place.unwrap_or(address);
        self.node.verify(election, address, patience).await.map_err(|error| match error {
            VerifyError::DoesNotLead { .. } => {
                let fix = "ask again: the leader has stepped down meanwhile";
                Failure::new(Exit::Refused, error.to_string(), fix)
            }
            _ => {
                let what = format!("{} at {address}: {error}", leader.id);
                let whose = self.cluster.key().map(|keys| whose(keys, &leader.id));
                let whose = whose.unwrap_or_default();
                let fix = format!("check the leader and the network to it{whose}");
                Failure::new(Exit::Unreachable, what, fix)
            }
        })
    }
}

/// The end of a remedy, with the key of a question that `leader` did not answer. A leader is silent
/// if it does not accept the key.
fn whose(keys: &Keys, leader: &str) -> String {
    let used = keys.ids().first().map(ToString::to_string).unwrap_or_default();
    match keys.application() {
        Some(Grant { application, .. }) => format!(
            "; {leader} answers only processes whose key it accepts. This command uses {used} of \
             the application {application}; tenure keys status --name NODE says which key {leader} \
             uses. During an exchange of keys, also put {used} into the key file of {leader}, \
             below its own key. If {leader} belongs to another application, use a key of that \
             application"
        ),
        None => format!(
            "; {leader} answers only processes whose key it accepts. This command uses {used} of \
             the cluster; tenure keys status --name NODE says which key {leader} uses. If that key \
             belongs to an application, use a key of that application. During an exchange of keys, \
             also put {used} into the key file of {leader}"
        ),
    }
}

/// Starts `builder` on the address of the settings, and follows its key file.
pub(crate) fn start(
    builder: Builder,
    cluster: &Cluster,
    origins: &Origins,
) -> Result<(Node, KeyFile), Failure> {
    let mut builder = builder.listen(cluster.listen);
    if cluster.permits_unsealed {
        builder = builder.insecure_any_address();
    }
    if let Some(keys) = cluster.key() {
        builder = builder.keys(keys.clone());
    }
    let node = builder.start().map_err(|error| explain(&error, origins))?;
    cluster.key().into_iter().for_each(warn_if_open);
    let key_file = follow(node.clone(), cluster);
    Ok((node, key_file))
}

fn explain(error: &StartError, origins: &Origins) -> Failure {
    let (fix, names): (&str, &[&str]) = match error {
        StartError::Transport(UdpError::InUse { .. }) => (
            "end the process that has this address (ss -ulpn shows the process), or give another \
             address; a member is one process: tenure node, or tenure run --name",
            &["listen", "members"],
        ),
        StartError::Transport(_) => ("give an address of this machine", &["listen", "members"]),
        StartError::State(error) => return state(error, origins),
        StartError::IsAMember { .. } => (
            "give another --id; or give --name and --state, to contend as that member",
            &["id", "members"],
        ),
        StartError::NotAMember { .. } => ("give the name of a member", &["name", "members"]),
        StartError::OtherCluster { .. } | StartError::NotAMembersKey { .. } => {
            ("give another key", &NAMES)
        }
        StartError::System(_) => ("check the limits of this process (ulimit -a)", &[]),
    };
    let exit = match error {
        StartError::IsAMember { .. } | StartError::NotAMember { .. } => Exit::Usage,
        _ => Exit::System,
    };
    origins.explain(Failure::new(exit, chain(error), fix), names)
}

pub(super) fn state(error: &MemoryError, origins: &Origins) -> Failure {
    in_two(Exit::System, chain(error), origins, &["state"])
}

pub(crate) fn unrecovered(error: &RecoveryError, origins: &Origins) -> Failure {
    let names: &[&str] = match error {
        RecoveryError::Memory(error) => return state(error, origins),
        RecoveryError::Whole { .. }
        | RecoveryError::Lost { .. }
        | RecoveryError::First { .. }
        | RecoveryError::Own { .. } => &["state", "lost"],
        RecoveryError::TooLow { .. } | RecoveryError::TooHigh { .. } => &["state", "fence-floor"],
        RecoveryError::Changed { .. } | RecoveryError::LeftOut { .. } | RecoveryError::Write(_) => {
            &["state"]
        }
        RecoveryError::Nothing { .. }
        | RecoveryError::Earlier { .. }
        | RecoveryError::Later { .. }
        | RecoveryError::Begun { .. } => &["state", "epoch"],
        RecoveryError::Differs { .. } => &["state", "epoch", "lost", "quorums"],
        RecoveryError::Settings { .. } => {
            let names = ["epoch", "members", "quorums", "drift"];
            return in_two(Exit::Usage, chain(error), origins, &names);
        }
        RecoveryError::OtherMembers { .. } | RecoveryError::Unknown { .. } => {
            return in_two(Exit::Usage, chain(error), origins, &["state", "members", "quorums"]);
        }
        RecoveryError::NoMember { .. } | RecoveryError::Quorum { .. } => {
            return in_two(Exit::Usage, chain(error), origins, &["state", "lost"]);
        }
        RecoveryError::Quorums { .. } | RecoveryError::Document { .. } => {
            return in_two(Exit::Usage, chain(error), origins, &["state", "lost", "quorums"]);
        }
    };
    in_two(Exit::System, chain(error), origins, names)
}

/// Splits an error that ends with the remedy.
fn in_two(exit: Exit, text: String, origins: &Origins, names: &[&str]) -> Failure {
    let (what, fix) = match text.split_once("; ") {
        Some((what, fix)) => (what.to_owned(), fix.to_owned()),
        None => (text, "check the state directory".to_owned()),
    };
    origins.explain(Failure::new(exit, what, fix), names)
}

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
