//! A node: a participant, and its start.

use std::fmt;
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::Path;
use std::sync::Arc;

use tenure::driver::{Hold, Notices, Timing, random, seed, spawn};
use tenure::{AtMostOne, Election, SystemError};
use tenure_core::nerio::{Checked, Inc, Member, Membership, Nerio, Service, Start, Who};
use tenure_core::{ElectionName, NameError, NodeName};
use tokio::sync::broadcast;

use crate::counters::Counters;
use crate::driver::Wire;
use crate::error::{RekeyError, StartError};
use crate::keys::Keys;
use crate::notice::Notice;
use crate::request::{Ask, ClockAsk, Clocks};
use crate::seal::{Keyring, Seal};
use crate::sealed_transport::Line;
use crate::state::Grantor;
use crate::storage::{Records, Storage};
use crate::supervision::{Supervisor, SupervisorAt, Watched, Work, WorkError};
use crate::transport::{Transport, Udp, UdpError};

/// A participant of a Nerio cluster. Clones are the same participant.
///
/// When the last clone and the last handle of the node are gone, the node gives up every claim and
/// ends. [`close`](Self::close) does so at once and waits until others know of the end. The leases
/// of a process that ends without `close` run out.
#[derive(Clone)]
pub struct Node {
    shared: Arc<Shared>,
}

struct Shared {
    config: Checked,
    who: Who,
    address: SocketAddr,
    driver: Arc<Hold<AtMostOne, Ask>>,
    keys: Option<Keys>,
    /// Whether later keys may accept unsealed datagrams.
    unsealed: bool,
    notices: Notices<Notice>,
    watched: Option<Arc<Watched>>,
}

/// The settings with which a [`Node`] starts.
#[must_use]
pub struct Builder {
    config: Checked,
    name: NodeName,
    listen: Option<SocketAddr>,
    any_address: bool,
    keys: Option<Keys>,
    storage: Option<Storage>,
    supervisor: Option<SupervisorAt>,
}

impl Node {
    /// A participant called `name` in the cluster that `config` describes.
    ///
    /// ```
    /// use tenure_nerio::{Config, Member, Node, Opening, Storage};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() {
    /// // The smallest cluster there is: one grantor, which is also a candidate.
    /// # let free = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
    /// # let address = free.local_addr().unwrap();
    /// # drop(free);
    /// let member = Member::at("a".parse().unwrap(), address);
    /// let config = Config::new("example".parse().unwrap(), vec![member]).check().unwrap();
    /// let node = Node::builder(config, "a".parse().unwrap())
    ///     .grantor(Storage::Memory { opening: Opening::New })
    ///     .start()
    ///     .unwrap();
    ///
    /// let election = node.election("billing").unwrap();
    /// let leadership = election.campaign("127.0.0.1:8080").await.unwrap();
    /// assert!(leadership.is_current());
    /// node.close().await;
    /// assert!(!leadership.is_current());
    /// # }
    /// ```
    pub fn builder(config: Checked, name: NodeName) -> Builder {
        Builder {
            config,
            name,
            listen: None,
            any_address: false,
            keys: None,
            storage: None,
            supervisor: None,
        }
    }

    /// The election `name`. At most one leader exists at any instant, as long as clocks drift at
    /// most ρ and state directories are neither copied nor restored.
    pub fn election(&self, name: &str) -> Result<Election<AtMostOne>, NameError> {
        Ok(self.election_named(ElectionName::new(name)?))
    }

    /// The election with this name.
    #[must_use]
    pub fn election_named(&self, name: ElectionName) -> Election<AtMostOne> {
        self.shared.driver.election(name)
    }

    /// The name of this node.
    #[must_use]
    pub fn name(&self) -> &NodeName {
        &self.shared.who.name
    }

    /// The name and the incarnation of this node.
    #[must_use]
    pub fn who(&self) -> &Who {
        &self.shared.who
    }

    /// The address at which the node receives.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.shared.address
    }

    /// The configuration of the node.
    #[must_use]
    pub fn config(&self) -> &Checked {
        &self.shared.config
    }

    /// Notices for an operator. The first listener receives all notices since the start, later
    /// listeners only new notices. Slow listeners miss the oldest notices.
    #[must_use]
    pub fn notices(&self) -> broadcast::Receiver<Notice> {
        self.shared.notices.listen()
    }

    /// The address at which this node asks that member. Other nodes may use another of the member's
    /// addresses. `None` if there is no such member, or the member has no address. Cancel safe.
    pub async fn place(&self, member: NodeName) -> Option<SocketAddr> {
        self.shared.driver.ask(|reply| Ask::Place { member, reply }).await.flatten()
    }

    /// Totals since the start; `None` once the node is closed. Cancel safe.
    pub async fn counters(&self) -> Option<Counters> {
        self.shared.driver.ask(Ask::Counters).await
    }

    /// The service of this grantor; `None` if the node is no grantor, or is closed. For listeners
    /// that have missed [`notices`](Self::notices). Cancel safe.
    pub async fn service(&self) -> Option<Service> {
        self.shared.driver.ask(Ask::Service).await.flatten()
    }

    /// The members of the latest epoch that this node knows: the members of its settings until it
    /// has heard of another epoch. `None` once the node is closed. Cancel safe.
    pub async fn membership(&self) -> Option<Arc<Membership>> {
        self.shared.driver.ask(Ask::Membership).await
    }

    /// Notices of all lasting troubles: that this node is no member any more, troubles with
    /// addresses of members, and troubles with datagrams that do not fit. A trouble with datagrams
    /// lasts for a minute after the last such datagram, or for the longest lease if that is longer.
    /// `None` once the node is closed. Cancel safe.
    pub async fn troubles(&self) -> Option<Vec<Notice>> {
        self.shared.driver.ask(Ask::Troubles).await
    }

    /// The clocks of members, compared with this node's clock, as far as their answers to requests
    /// have shown them; `None` once the node is closed. Cancel safe.
    pub async fn clocks(&self) -> Option<Clocks> {
        self.shared.driver.ask(|reply| Ask::OfClocks(ClockAsk::Show(reply))).await
    }

    /// Makes the node compare all clocks anew, after an operator has set the clocks right. True if
    /// the node had taken its own clock to be wrong; the node then leads and grants again. `None`
    /// once the node is closed. Cancel safe.
    pub async fn clear_breach(&self) -> Option<bool> {
        self.shared.driver.ask(|reply| Ask::OfClocks(ClockAsk::Clear(reply))).await
    }

    /// [`Notice::NoQuorumAgrees`], as long as it is true: for listeners that have missed notices.
    /// Cancel safe.
    pub async fn disagreement(&self) -> Option<Notice> {
        self.shared.driver.ask(Ask::Disagreement).await.flatten()
    }

    /// Gives up every claim, and waits until a quorum knows of that, or half a second has passed.
    /// Afterwards the address and the state directory are free for the next start. Only a write
    /// that hangs for longer than a second keeps the directory locked. From then on every handle of
    /// this node reports that it does not lead.
    ///
    /// Work under a leadership must have ended before this call. Dropping the future changes
    /// nothing: the node closes all the same.
    pub async fn close(&self) {
        self.shared.driver.close().await;
    }

    /// The keys that this node uses and accepts, and the nodes that have shown a key since the
    /// start. `None` if the node has no keys, or is closed. Each call makes a member ask all other
    /// members, so that the next call knows their answers. Cancel safe.
    pub async fn keyring(&self) -> Option<Keyring> {
        self.shared.driver.ask(Ask::Keyring).await.flatten()
    }

    /// Uses the first of `keys` from now on and accepts the other one, without an interruption for
    /// nodes that use either. Returns an error and changes nothing if
    ///
    /// - the keys are of another kind or cluster than those at the start,
    /// - the keys [accept unsealed datagrams](Keys::accept_unsealed), and a start without keys
    ///   would have been refused,
    /// - the node was started without keys, or is closed.
    ///
    /// Cancel safe.
    pub async fn rekey(&self, keys: Keys) -> Result<(), RekeyError> {
        let Shared { keys: before, unsealed, address, driver, .. } = &*self.shared;
        let before = before.as_ref().ok_or(RekeyError::NoKeys)?;
        if !before.may_become(&keys) {
            return Err(RekeyError::Others);
        }
        if keys.accepts_unsealed() && !unsealed {
            return Err(RekeyError::Unsealed { address: *address });
        }
        driver.ask(|done| Ask::Rekey { keys, done }).await.ok_or(RekeyError::NoKeys)
    }

    pub(crate) fn driver(&self) -> &Hold<AtMostOne, Ask> {
        &self.shared.driver
    }

    /// Watches processes on this machine that ask for it at the socket `path`. The end of such a
    /// process frees its elections at once. The watch lasts until the returned value is dropped.
    /// Call this on a member, as grantors believe no other node. A process asks by
    /// [`Builder::supervised_by`]. Users that may open the socket (mode 660) can free the elections
    /// of *every* process that names this node as its supervisor. After a start of this node, such
    /// a user can claim the incarnation of a process before the process connects again.
    pub fn supervise(&self, path: &Path) -> io::Result<Supervisor> {
        let Shared { config, who, driver, .. } = &*self.shared;
        let driver = Arc::downgrade(driver);
        let report = move |who| driver.upgrade().is_some_and(|driver| driver.tell(Ask::Gone(who)));
        let patience = config.drift.stretch(config.delta_max.max(config.verify_max));
        let pause = config.retry_after(config.round_trip);
        Supervisor::begin(path, who.name.clone(), patience, pause, Box::new(report))
    }

    /// Whether the [supervisor](Builder::supervised_by) watches this process now.
    #[must_use]
    pub fn is_watched(&self) -> bool {
        self.shared.watched.as_ref().is_some_and(|watched| watched.is_watched())
    }

    /// Announces work in other processes that acts under the leaderships of this process. Call this
    /// before the work begins. `None` without a [supervisor](Builder::supervised_by): then no
    /// announcement is needed.
    pub fn work(&self) -> Result<Option<Work>, WorkError> {
        self.shared.watched.as_ref().map(Watched::begins).transpose()
    }

    pub(crate) fn tell(&self, ask: Ask) -> bool {
        self.shared.driver.tell(ask)
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.shared.driver.is_closed()
    }
}

impl fmt::Debug for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Node")
            .field("who", &self.shared.who)
            .field("address", &self.shared.address)
            .finish_non_exhaustive()
    }
}

impl Builder {
    /// Makes this node a grantor, with this storage for its grants. Exactly the nodes in the
    /// members list are grantors.
    pub fn grantor(mut self, storage: Storage) -> Self {
        self.storage = Some(storage);
        self
    }

    /// Receives on `address` instead of the [default](address_to_bind). Others must still reach a
    /// grantor at its host and port in the list. An IPv4 or IPv6 address reaches members of its
    /// family only, and `[::]` reaches both.
    pub fn listen(mut self, address: SocketAddr) -> Self {
        self.listen = Some(address);
        self
    }

    /// Makes the node seal every datagram and read only sealed ones. A grantor needs the cluster's
    /// key, other nodes may have an application's key. With keys, addresses need not be on
    /// loopback. With keys that [accept unsealed datagrams](Keys::accept_unsealed) the node reads
    /// unsealed datagrams, too, and addresses must be on loopback.
    pub fn keys(mut self, keys: Keys) -> Self {
        self.keys = Some(keys);
        self
    }

    /// Allows addresses other than loopback without keys, or with keys that [accept unsealed
    /// datagrams](Keys::accept_unsealed), at the start and [later](Node::rekey). Nothing is
    /// authenticated then: use this only where every host that reaches the node is trusted.
    pub fn insecure_any_address(mut self) -> Self {
        self.any_address = true;
        self
    }

    /// Lets a member on this machine watch this process, if that member
    /// [supervises](Node::supervise). If this process then crashes, its elections are free at once,
    /// not only after its leases have run out. The member may start later than this process.
    ///
    /// Work of the application in other processes, such as children, must end with this process or
    /// be [announced](Node::work). Do not use this otherwise.
    pub fn supervised_by(mut self, supervisor: SupervisorAt) -> Self {
        self.supervisor = Some(supervisor);
        self
    }

    /// Starts the node on UDP. Blocks while a socket and a state directory are opened.
    pub fn start(self) -> Result<Node, StartError> {
        let address = self.address()?;
        let sealed = self.keys.as_ref().is_some_and(|keys| !keys.accepts_unsealed());
        let transport =
            if self.any_address || sealed { Udp::any(address)? } else { Udp::loopback(address)? };
        let own = self.config.members.iter().find(|member| member.name == self.name);
        let own = own.and_then(|own| own.address.literal()).map(|own| own.ip());
        self.start_on(transport.speaking_from(own))
    }

    /// Starts the node on a transport of the caller's. Keys that [accept unsealed
    /// datagrams](Keys::accept_unsealed) are refused where the transport is not on loopback, unless
    /// [that is allowed](Self::insecure_any_address).
    pub fn start_on(self, transport: impl Transport) -> Result<Node, StartError> {
        self.address()?;
        self.check_keys()?;
        let address = transport.local_address();
        let unsealed = self.any_address || address.ip().to_canonical().is_loopback();
        if !unsealed && self.keys.as_ref().is_some_and(Keys::accepts_unsealed) {
            return Err(UdpError::NotLoopback { address }.into());
        }
        let Self { config, name, storage, keys, supervisor, .. } = self;
        let (records, flushed, memory) = match &storage {
            Some(storage) => {
                let cluster = config.cluster.clone();
                let node = name.clone();
                let grantor = Grantor { cluster, node };
                let (records, flushed, memory) = Records::open(storage, &grantor, &config)?;
                (records, flushed, Some(memory))
            }
            None => {
                let (records, flushed) = Records::none();
                (records, flushed, None)
            }
        };
        let mut seal = keys.clone().map(Seal::new).transpose()?;
        if storage.is_none() {
            seal = seal.map(Seal::of_no_member);
        }
        let inc = seal.as_ref().map_or_else(|| random().map(Inc), |seal| Ok(seal.inc()))?;
        let start = Start { inc, seed: seed()?, memory };
        let transport = Line::new(transport, seal);
        let who = Who { name: name.clone(), inc: start.inc };
        let (notices, said) = Notices::new();
        let watched =
            supervisor.map(|at| Watched::begin(at, who.clone(), said.clone())).transpose();
        let watched = watched.map_err(|source| {
            StartError::System(SystemError { doing: "preparing to be watched", source })
        })?;
        let supervisor = watched.as_ref().map(|watched| watched.supervisor().clone());
        let core = Nerio::new(config.clone(), name).supervised_by(supervisor);
        let of_driver = watched.clone();
        let settings = config.clone();
        let own = who.clone();
        // A lease that follows the network is at most as long as the longest lease.
        let longest = if config.lease_auto { config.delta_max } else { config.lease };
        let longest = longest.max(config.lease);
        let resignation_max = config.drift.stretch(longest) + config.lease_first();
        let grace = config.grace;
        let kill_margin = config.kill_margin;
        let begin = move || {
            let wire = Wire::new(settings, &own.name, &start, transport, records, flushed, said);
            (wire.watched_as(of_driver), core, start)
        };
        let driver = spawn(begin, move || Timing { grace, kill_margin, resignation_max })?;
        let shared = Shared { config, who, address, driver, keys, unsealed, notices, watched };
        Ok(Node { shared: Arc::new(shared) })
    }

    fn check_keys(&self) -> Result<(), StartError> {
        let Some(keys) = &self.keys else { return Ok(()) };
        let ours = &self.config.cluster;
        if let Some(theirs) = keys.cluster().filter(|theirs| *theirs != ours) {
            let theirs = theirs.clone();
            let ours = ours.clone();
            return Err(StartError::OtherCluster { theirs, ours });
        }
        match keys.application() {
            Some(grant) if self.storage.is_some() => {
                let application = grant.application.clone();
                Err(StartError::NotAMembersKey { name: self.name.clone(), application })
            }
            _ => Ok(()),
        }
    }

    /// The address to receive on; an error if name and role do not fit together.
    fn address(&self) -> Result<SocketAddr, StartError> {
        let name = self.name.clone();
        let member = self.config.members.iter().find(|member| member.name == name);
        match (member, &self.storage) {
            (Some(_), Some(_)) | (None, None) => {
                let members = &self.config.members;
                Ok(self.listen.unwrap_or_else(|| address_to_bind(members, member)))
            }
            (Some(_), None) => Err(StartError::IsAMember { name }),
            (None, Some(_)) => {
                let names: Vec<_> = self.config.names().iter().map(ToString::to_string).collect();
                Err(StartError::NotAMember { name, members: names.join(", ") })
            }
        }
    }
}

/// The default address on which a node receives. The member `own` receives on its address in the
/// list or, if its host is a name, on its port at all addresses of its machine. Other nodes receive
/// on a port of the system's choice. They use loopback if all members are on loopback, since a
/// loopback socket reaches no other host. They use all IPv4 addresses if all members have such
/// addresses, and otherwise `[::]`.
#[must_use]
pub fn address_to_bind(members: &[Member], own: Option<&Member>) -> SocketAddr {
    if let Some(own) = own {
        let all = || SocketAddr::from((Ipv6Addr::UNSPECIFIED, own.address.port()));
        return own.address.literal().unwrap_or_else(all);
    }
    let all = |is: fn(SocketAddr) -> bool| {
        members.iter().all(|member| member.address.literal().is_some_and(is))
    };
    let near = all(|address| address.ip().to_canonical().is_loopback());
    match (near, all(|address| address.is_ipv4())) {
        (true, true) => (Ipv4Addr::LOCALHOST, 0).into(),
        (true, false) => (Ipv6Addr::LOCALHOST, 0).into(),
        (false, true) => (Ipv4Addr::UNSPECIFIED, 0).into(),
        (false, false) => (Ipv6Addr::UNSPECIFIED, 0).into(),
    }
}
