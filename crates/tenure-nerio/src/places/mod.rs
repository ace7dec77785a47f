//! Addresses of the members of a cluster, and recognition of senders as members.
//!
//! A member proves its name by its key. Without keys there is no proof: then a datagram must come
//! from an address of one of the member's hosts.

mod lives;
mod look_up;
mod seeker;

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tenure_core::nerio::{Checked, HostPort, Member, Membership, Who};
use tenure_core::{NodeName, Obstacle, Time, Waiting};
use tokio::sync::{Notify, mpsc};
use tokio::task::AbortHandle;

use self::lives::Lives;
pub(super) use self::look_up::LookUp;
pub(super) use self::seeker::LookUpResult;
use super::agreement::blame;
use super::notice::Notice;
use super::seal::Authority;

/// Silence of a member after which another of its addresses is tried.
const TRIED: Duration = Duration::from_millis(300);
/// Silence of a member after which its name is looked up again.
const SILENT: Duration = Duration::from_secs(1);

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Reach(SocketAddr);

impl Reach {
    /// The reach of a socket that is bound to `local`: the unspecified IPv6 address reaches both
    /// families.
    pub(super) const fn of(local: SocketAddr) -> Self {
        Self(local)
    }

    pub(super) fn filter(self, found: Vec<SocketAddr>) -> Result<Vec<SocketAddr>, String> {
        let local = self.0;
        let both = local.is_ipv6() && local.ip().is_unspecified();
        let fits = |at: &SocketAddr| both || at.is_ipv4() == local.is_ipv4();
        let (fit, others): (Vec<_>, Vec<_>) = found.into_iter().partition(fits);
        match (fit.is_empty(), others.first()) {
            (true, Some(other)) => Err(format!(
                "it gives {}, and a socket at {local} does not speak that IP version",
                other.ip()
            )),
            _ => Ok(fit),
        }
    }
}

/// Whether datagrams to `member` arrive at a socket bound to `here`. Looks up no name.
pub(super) fn receives(here: SocketAddr, member: &HostPort) -> bool {
    let ip = member.literal().map(|member| member.ip().to_canonical());
    let any = here.ip().is_unspecified() || ip.is_none_or(|ip| here.ip().to_canonical() == ip);
    any && here.port() == member.port()
}

#[derive(Debug)]
struct Place {
    hosts: Vec<Host>,
    /// Addresses of all hosts, in the order in which they are tried.
    addresses: Vec<SocketAddr>,
    current: usize,
    /// Start of the silence at the current address, on `CLOCK_BOOTTIME`.
    tried: Option<Time>,
    /// Start of the silence at all addresses.
    silent: Option<Time>,
    lives: Lives,
}

/// A host of a member. A document may name several hosts of one member.
#[derive(Debug)]
struct Host {
    at: HostPort,
    addresses: Vec<SocketAddr>,
    seeker: Option<Seeker>,
    /// Error of the last look-up, while the name gives no address.
    error: Option<String>,
}

/// The task that looks up the name of a member's host. The task ends with its place.
#[derive(Debug)]
struct Seeker {
    again: Arc<Notify>,
    task: AbortHandle,
}

impl Drop for Seeker {
    fn drop(&mut self) {
        self.task.abort();
    }
}

#[derive(Debug)]
pub(super) struct Places {
    all: BTreeMap<NodeName, Place>,
    /// Names in the settings. For such a name the host in the settings comes first, and the hosts
    /// in a document follow: the settings may be older or newer than the document.
    listed: BTreeSet<NodeName>,
    reach: Reach,
    looked: mpsc::UnboundedReceiver<LookUpResult>,
    /// The sender that each task clones. While it exists, the channel stays open, and a wait for a
    /// look-up never ends early.
    sender: mpsc::UnboundedSender<LookUpResult>,
}

impl Places {
    /// The places of the members of `config`, for a socket bound to `local`. Begins to look up
    /// names, which needs a runtime.
    pub(super) fn new(config: &Checked, local: SocketAddr) -> Self {
        let (sender, looked) = mpsc::unbounded_channel();
        let place = |member: &Member| {
            let hosts = std::slice::from_ref(&member.address);
            (member.name.clone(), Place::new(&member.name, hosts, &sender))
        };
        let all = config.members.iter().map(place).collect();
        let listed = config.members.iter().map(|member| member.name.clone()).collect();
        Self { all, listed, reach: Reach::of(local), looked, sender }
    }

    /// Takes the members of these epochs, each with its hosts in the latest epoch. For a member
    /// that the settings name, the host in the settings comes first. Forgets all places of other
    /// nodes.
    pub(super) fn know(&mut self, memberships: &[Arc<Membership>]) {
        let Self { all, listed, sender, .. } = self;
        let mut documents: Vec<_> = memberships.iter().map(|one| one.document()).collect();
        documents.sort_by_key(|document| Reverse(document.number));
        let seats = || documents.iter().flat_map(|document| &document.seats);
        all.retain(|name, _| listed.contains(name) || seats().any(|seat| seat.name == *name));
        let mut taken = BTreeSet::new();
        for document in &documents {
            for seat in &document.seats {
                if seat.hosts.is_empty() || !taken.insert(&seat.name) {
                    continue;
                }
                if listed.contains(&seat.name) {
                    // The hosts in the document of epoch 0 come from the settings of another
                    // process.
                    if let Some(place) = all.get_mut(&seat.name).filter(|_| document.number > 0) {
                        place.complete(&seat.name, &seat.hosts, sender);
                    }
                    continue;
                }
                // Copies of an upgraded document may differ in hosts, so keep the first ones. Other
                // documents cannot differ.
                let stays = |place: &Place| document.number == 0 || place.is_at(&seat.hosts);
                if !all.get(&seat.name).is_some_and(stays) {
                    all.insert(seat.name.clone(), Place::new(&seat.name, &seat.hosts, sender));
                }
            }
        }
    }

    pub(super) async fn looked(&mut self) -> LookUpResult {
        match self.looked.recv().await {
            Some(looked) => looked,
            None => std::future::pending().await,
        }
    }

    pub(super) fn try_looked(&mut self) -> Option<LookUpResult> {
        self.looked.try_recv().ok()
    }

    /// Takes the result of a look-up. Returns notices, and whether addresses have changed.
    pub(super) fn on_looked(&mut self, looked: LookUpResult) -> (Vec<Notice>, bool) {
        let reach = self.reach;
        let member = looked.member;
        let Some(place) = self.all.get_mut(&member) else { return (Vec::new(), false) };
        // A document may have replaced the host since the look-up began.
        let nth = place.hosts.iter().position(|host| host.at == looked.host);
        let Some((nth, host)) = nth.and_then(|nth| Some((nth, place.hosts.get_mut(nth)?))) else {
            return (Vec::new(), false);
        };
        match looked.found.and_then(|found| reach.filter(found)) {
            Ok(found) => {
                let failed = host.error.take().is_some();
                let was_found = !host.addresses.is_empty();
                host.addresses = found;
                let host = host.at.to_string();
                let mut found = place.found();
                let mut notices = Vec::new();
                let mut ours = place.addresses.clone();
                let mut theirs = found.clone();
                ours.sort_unstable();
                theirs.sort_unstable();
                if ours == theirs {
                    // A name server may rotate the addresses: keep the address in use.
                    found.clone_from(&place.addresses);
                }
                let changed = found != place.addresses;
                let is_news = failed || (changed && was_found);
                if changed {
                    place.take(found.clone());
                }
                if is_news {
                    let member = member.clone();
                    notices.push(Notice::Resolved { member, host, addresses: found });
                }
                if changed {
                    notices.extend(self.at_one_address(&member));
                }
                (notices, changed)
            }
            // The member may have left this host, which only the document names, for good.
            Err(_) if nth > 0 && self.listed.contains(&member) => (Vec::new(), false),
            Err(error) => {
                // The earlier addresses may still be right: the name server may be down.
                host.error = Some(error);
                (place.unresolved(&member, nth).into_iter().collect(), false)
            }
        }
    }

    /// A notice about another member at an address of this member.
    fn at_one_address(&self, member: &NodeName) -> Option<Notice> {
        let this = self.own_addresses(member, self.all.get(member)?);
        let mut others = self.all.iter().filter(|(name, _)| *name != member);
        others.find_map(|(name, other)| {
            let address = *self.own_addresses(name, other).iter().find(|at| this.contains(at))?;
            let mut members = [member.clone(), name.clone()];
            members.sort_unstable();
            Some(Notice::AtOneAddress { members, address })
        })
    }

    /// The addresses at which no other member may be. For a member that the settings name, these
    /// are the addresses of the host in the settings: the member may have left the hosts that a
    /// document names.
    fn own_addresses<'a>(&self, name: &NodeName, place: &'a Place) -> &'a [SocketAddr] {
        match place.hosts.first() {
            Some(host) if self.listed.contains(name) => &host.addresses,
            _ => &place.addresses,
        }
    }

    pub(super) fn troubles(&self) -> Vec<Notice> {
        let unresolved = self.all.iter().flat_map(|(name, place)| {
            (0..place.hosts.len()).filter_map(move |nth| place.unresolved(name, nth))
        });
        let mut all: Vec<_> = unresolved.collect();
        for notice in self.all.keys().filter_map(|member| self.at_one_address(member)) {
            // Both members cause the same notice.
            if !all.contains(&notice) {
                all.push(notice);
            }
        }
        all
    }

    /// A notice about a sender that has the name of a member, but not the member's address. `keyed`
    /// says that the sender's key proves the name.
    pub(super) fn contradicts(
        &self,
        name: &NodeName,
        address: SocketAddr,
        keyed: bool,
    ) -> Option<Notice> {
        let place = self.all.get(name)?;
        // A name that was not looked up yet proves nothing.
        if place.addresses.contains(&address) || !place.is_known() {
            return None;
        }
        let member = name.clone();
        let host = place.text();
        match self.at(address) {
            Some(of) => Some(Notice::Exchanged { member, host, address, of: of.clone() }),
            // A sender that has proved its name by a key may be anywhere.
            None if keyed => None,
            None => Some(Notice::Moved { member, host, address }),
        }
    }

    /// The notice that a message for `member` came from `peer` to `own`.
    pub(super) fn for_another(
        &self,
        peer: &NodeName,
        address: SocketAddr,
        member: &NodeName,
        own: &NodeName,
    ) -> Option<Notice> {
        let place = self.all.get(member)?;
        let peer = peer.clone();
        let own = own.clone();
        let member = member.clone();
        let host = place.text();
        Some(Notice::ForAnother { peer, address, member, host, own })
    }

    pub(super) fn addresses(&self) -> BTreeSet<SocketAddr> {
        self.all.values().flat_map(|place| place.addresses.iter().copied()).collect()
    }

    /// The member that may be at `address`; only a hint.
    pub(super) fn at(&self, address: SocketAddr) -> Option<&NodeName> {
        let mut all = self.all.iter();
        all.find(|(_, place)| place.addresses.contains(&address)).map(|(name, _)| name)
    }

    /// Whether the sender `who` is the node with its name. The cluster's key proves that. Without
    /// keys the sender's address proves it, if the node has that address.
    pub(super) fn proves(&self, who: &Who, address: SocketAddr, shown: Option<&Authority>) -> bool {
        match shown {
            Some(authority) => *authority == Authority::Cluster,
            None => {
                let place = self.all.get(&who.name);
                place.is_some_and(|place| place.addresses.contains(&address))
            }
        }
    }

    /// The address at which this node asks the member with this name, if there is one.
    pub(super) fn place(&self, name: &NodeName) -> Option<SocketAddr> {
        let place = self.all.get(name)?;
        place.addresses.get(place.current).copied()
    }

    /// The address for datagrams to `member`. A silent member's name is looked up again.
    pub(super) fn address(&mut self, now: Time, member: &NodeName) -> Option<SocketAddr> {
        let place = self.all.get_mut(member)?;
        let silent = *place.silent.get_or_insert(now);
        if now.since(silent) >= SILENT {
            let seekers = place.hosts.iter().filter_map(|host| host.seeker.as_ref());
            seekers.for_each(|seeker| seeker.again.notify_one());
        }
        // The member may have left the other hosts, those in a document, for good.
        let is_only = self.listed.contains(member) && place.is_at_only_address_of_first();
        let tried = if is_only { SILENT } else { TRIED };
        if now.since(*place.tried.get_or_insert(now)) >= tried {
            place.turn(now);
        }
        place.addresses.get(place.current).copied()
    }

    /// Tries another address of `member`, since the system cannot send to the present one.
    pub(super) fn refused(&mut self, now: Time, member: &NodeName) {
        if let Some(place) = self.all.get_mut(member) {
            place.turn(now);
        }
    }

    /// Notes a datagram of the member `who` from `address`. Returns a notice if the member is two
    /// processes.
    pub(super) fn heard(&mut self, now: Time, who: &Who, address: SocketAddr) -> Option<Notice> {
        let place = self.all.get_mut(&who.name)?;
        // A member that has moved can still send. But datagrams to its old address are lost, so the
        // old address stays silent.
        if place.addresses.contains(&address) {
            place.silent = None;
        }
        if place.addresses.get(place.current) == Some(&address) {
            place.tried = None;
        }
        let addresses = place.lives.heard(now, who.inc, address)?;
        Some(Notice::MemberTwice { member: who.name.clone(), addresses })
    }

    /// All addresses of a member that has several, each of which may be another process.
    pub(super) fn several(&self, member: &NodeName) -> Vec<SocketAddr> {
        let all = self.all.get(member).map(|place| place.addresses.clone());
        all.filter(|all| all.len() > 1).unwrap_or_default()
    }

    /// Lists silent members as obstacles if their host names give no address, because an operator
    /// must mend these names first.
    pub(super) fn explain(&self, waiting: Waiting) -> Waiting {
        blame(waiting, |silent| {
            let (_, place) = self.all.iter().find(|(name, _)| name.as_str() == silent)?;
            if place.is_known() {
                return None;
            }
            let (host, error) = place.hosts.iter().find_map(|host| {
                let error = host.error.as_deref()?;
                Some((&host.at, error))
            })?;
            let why = format!("{host} does not resolve ({error})");
            Some(Obstacle::new(silent, "unresolved", why))
        })
    }
}

impl Place {
    /// The place of `member` at these hosts. Begins to look up names, which needs a runtime.
    fn new(
        member: &NodeName,
        hosts: &[HostPort],
        sender: &mpsc::UnboundedSender<LookUpResult>,
    ) -> Self {
        let hosts = hosts.iter().map(|at| Host::new(member, at, sender));
        let mut this = Self {
            hosts: hosts.collect(),
            addresses: Vec::new(),
            current: 0,
            tried: None,
            silent: None,
            lives: Lives::default(),
        };
        this.addresses = this.found();
        this
    }

    /// Adds these hosts behind the host in the settings.
    fn complete(
        &mut self,
        member: &NodeName,
        hosts: &[HostPort],
        sender: &mpsc::UnboundedSender<LookUpResult>,
    ) {
        let Some(first) = self.hosts.first().map(|host| host.at.clone()) else { return };
        let more = hosts.iter().filter(|host| **host != first).cloned();
        let all: Vec<_> = std::iter::once(first.clone()).chain(more).collect();
        if self.is_at(&all) {
            return;
        }
        self.hosts.truncate(1);
        self.hosts.extend(all.iter().skip(1).map(|at| Host::new(member, at, sender)));
        self.take(self.found());
    }

    /// Takes these addresses, and keeps to the address in use if it is one of them.
    fn take(&mut self, found: Vec<SocketAddr>) {
        let used = self.addresses.get(self.current);
        self.current = used.and_then(|used| found.iter().position(|at| at == used)).unwrap_or(0);
        self.addresses = found;
        self.tried = None;
    }

    /// The addresses of all hosts, each once.
    fn found(&self) -> Vec<SocketAddr> {
        let mut all = Vec::new();
        for at in self.hosts.iter().flat_map(|host| &host.addresses) {
            if !all.contains(at) {
                all.push(*at);
            }
        }
        all
    }

    fn is_at(&self, hosts: &[HostPort]) -> bool {
        self.hosts.iter().map(|host| &host.at).eq(hosts)
    }

    fn text(&self) -> String {
        let all: Vec<_> = self.hosts.iter().map(|host| host.at.to_string()).collect();
        all.join(" or ")
    }

    /// Whether the address in use is the only one of the first host.
    fn is_at_only_address_of_first(&self) -> bool {
        let first = self.hosts.first().map(|host| &host.addresses[..]);
        matches!(first, Some([one]) if self.addresses.get(self.current) == Some(one))
    }

    fn is_known(&self) -> bool {
        !self.addresses.is_empty()
    }

    fn unresolved(&self, member: &NodeName, nth: usize) -> Option<Notice> {
        let host = self.hosts.get(nth)?;
        let (member, error) = (member.clone(), host.error.clone()?);
        let host = host.at.to_string();
        Some(Notice::Unresolved { member, host, error, known: self.is_known() })
    }

    fn turn(&mut self, now: Time) {
        self.tried = Some(now);
        if !self.addresses.is_empty() {
            self.current = (self.current + 1) % self.addresses.len();
        }
    }
}

impl Host {
    /// A host of `member`. If the host is a name, begins to look it up.
    fn new(member: &NodeName, at: &HostPort, sender: &mpsc::UnboundedSender<LookUpResult>) -> Self {
        let seeker = at.name().map(|name| {
            let again = Arc::<Notify>::default();
            let look_up = LookUp::new(name.to_owned(), at.port());
            let (member, wake) = (member.clone(), Arc::clone(&again));
            let seek = seeker::seek(member, at.clone(), look_up, wake, sender.clone());
            Seeker { again, task: tokio::spawn(seek).abort_handle() }
        });
        let addresses = at.literal().into_iter().collect();
        Self { at: at.clone(), addresses, seeker, error: None }
    }
}

#[cfg(test)]
mod tests;
