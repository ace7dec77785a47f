//! Addresses of the members of a cluster, and recognition of senders as members.
//!
//! A member proves itself by its key and its name. Without keys there is no proof: then a datagram
//! must come from an address of the member's host, by the members list or by DNS.

mod lives;
mod look_up;
mod seeker;

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tenure_core::nerio::{Checked, HostPort, Who};
use tenure_core::{NodeName, Obstacle, Time, Waiting};
use tokio::sync::{Notify, mpsc};

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
            (true, Some(other)) => {
                Err(format!("it gives {}, and {local} is of the other family", other.ip()))
            }
            _ => Ok(fit),
        }
    }
}

/// Whether datagrams to `member` arrive at a socket bound to `here`, without a look-up.
pub(super) fn receives(here: SocketAddr, member: &HostPort) -> bool {
    let ip = member.literal().map(|member| member.ip().to_canonical());
    let any = here.ip().is_unspecified() || ip.is_none_or(|ip| here.ip().to_canonical() == ip);
    any && here.port() == member.port()
}

#[derive(Debug)]
struct Place {
    name: NodeName,
    host: String,
    /// Addresses of the member, in the order in which they are tried.
    addresses: Vec<SocketAddr>,
    current: usize,
    /// Begin of the silence at this address, and in all, on `CLOCK_BOOTTIME`.
    tried: Option<Time>,
    silent: Option<Time>,
    lives: Lives,
    /// Wakes the task that looks the name up.
    again: Option<Arc<Notify>>,
    /// Error of the last look-up, while the name gives no address.
    error: Option<String>,
}

#[derive(Debug)]
pub(super) struct Places {
    all: Vec<Place>,
    reach: Reach,
    looked: mpsc::UnboundedReceiver<LookUpResult>,
    /// Kept so that waiting for a look-up never ends.
    _sender: mpsc::UnboundedSender<LookUpResult>,
}

impl Places {
    /// The places of the members of `config`, for a socket bound to `local`. Begins to look up
    /// names, which needs a runtime.
    pub(super) fn new(config: &Checked, local: SocketAddr) -> Self {
        let (sender, looked) = mpsc::unbounded_channel();
        let place = |(nth, member): (usize, &tenure_core::nerio::Member)| {
            let again = member.address.name().map(|name| {
                let again = Arc::<Notify>::default();
                let port = member.address.port();
                let look_up = LookUp::new(name.to_owned(), port);
                tokio::spawn(seeker::seek(nth, look_up, Arc::clone(&again), sender.clone()));
                again
            });
            Place {
                name: member.name.clone(),
                host: member.address.to_string(),
                addresses: member.address.literal().into_iter().collect(),
                current: 0,
                tried: None,
                silent: None,
                lives: Lives::default(),
                again,
                error: None,
            }
        };
        let all = config.members.iter().enumerate().map(place).collect();
        Self { all, reach: Reach::of(local), looked, _sender: sender }
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
        let Some(place) = self.all.get_mut(looked.member) else { return (Vec::new(), false) };
        let member = place.name.clone();
        let host = place.host.clone();
        match looked.found.and_then(|found| reach.filter(found)) {
            Ok(mut found) => {
                let failed = place.error.take().is_some();
                let mut notices = Vec::new();
                let mut ours = place.addresses.clone();
                let mut theirs = found.clone();
                ours.sort_unstable();
                theirs.sort_unstable();
                if ours == theirs {
                    // A name server may rotate the addresses: keep the one in use.
                    found.clone_from(&place.addresses);
                }
                let changed = found != place.addresses;
                let is_news = failed || (changed && !place.addresses.is_empty());
                if changed {
                    let used = place.addresses.get(place.current);
                    place.current =
                        used.and_then(|used| found.iter().position(|at| at == used)).unwrap_or(0);
                    place.addresses.clone_from(&found);
                    place.tried = None;
                }
                if is_news {
                    notices.push(Notice::Resolved { member, host, addresses: found });
                }
                if changed {
                    notices.extend(self.at_one_address(looked.member));
                }
                (notices, changed)
            }
            Err(error) => {
                // The earlier addresses may still be right: the name server may be down.
                place.error = Some(error);
                (place.unresolved().into_iter().collect(), false)
            }
        }
    }

    /// A notice about another member that shares an address with this one.
    fn at_one_address(&self, member: usize) -> Option<Notice> {
        let this = self.all.get(member)?;
        let others = self.all.iter().enumerate().filter(|(nth, _)| *nth != member);
        others.into_iter().find_map(|(_, other)| {
            let address = *other.addresses.iter().find(|at| this.addresses.contains(at))?;
            let mut members = [this.name.clone(), other.name.clone()];
            members.sort_unstable();
            Some(Notice::AtOneAddress { members, address })
        })
    }

    pub(super) fn troubles(&self) -> Vec<Notice> {
        let mut all: Vec<_> = self.all.iter().filter_map(Place::unresolved).collect();
        for notice in (0..self.all.len()).filter_map(|member| self.at_one_address(member)) {
            // Both members cause the same notice.
            if !all.contains(&notice) {
                all.push(notice);
            }
        }
        all
    }

    /// A notice about a sender with the name of a member that is not at the member's address;
    /// `keyed` if its key proves the name.
    pub(super) fn contradicts(
        &self,
        name: &NodeName,
        address: SocketAddr,
        keyed: bool,
    ) -> Option<Notice> {
        let place = self.all.iter().find(|place| place.name == *name)?;
        // A name that was not looked up yet proves nothing.
        if place.addresses.contains(&address) || !place.is_known() {
            return None;
        }
        let member = name.clone();
        let host = place.host.clone();
        match self.at(address).and_then(|other| self.name(other)) {
            Some(of) => Some(Notice::Exchanged { member, host, address, of: of.clone() }),
            // A sender with the key may be anywhere.
            None if keyed => None,
            None => Some(Notice::Moved { member, host, address }),
        }
    }

    /// The notice that a message for `member` came from `peer` to `own`.
    pub(super) fn for_another(
        &self,
        peer: &NodeName,
        address: SocketAddr,
        member: usize,
        own: &NodeName,
    ) -> Option<Notice> {
        let place = self.all.get(member)?;
        let peer = peer.clone();
        let own = own.clone();
        let member = place.name.clone();
        let host = place.host.clone();
        Some(Notice::ForAnother { peer, address, member, host, own })
    }

    pub(super) fn addresses(&self) -> BTreeSet<SocketAddr> {
        self.all.iter().flat_map(|place| place.addresses.iter().copied()).collect()
    }

    pub(super) fn name(&self, member: usize) -> Option<&NodeName> {
        self.all.get(member).map(|place| &place.name)
    }

    /// The member that may be at `address`; only a hint.
    pub(super) fn at(&self, address: SocketAddr) -> Option<usize> {
        self.all.iter().position(|place| place.addresses.contains(&address))
    }

    /// The member that `who` is: by its name and its key; without keys by its address, too.
    pub(super) fn member(
        &self,
        who: &Who,
        address: SocketAddr,
        shown: Option<&Authority>,
    ) -> Option<usize> {
        let named = self.all.iter().position(|place| place.name == who.name)?;
        let is_it = match shown {
            Some(authority) => *authority == Authority::Cluster,
            None => self.all.get(named)?.addresses.contains(&address),
        };
        is_it.then_some(named)
    }

    /// The address at which this node asks the member with this name, if there is one.
    pub(super) fn place(&self, name: &NodeName) -> Option<SocketAddr> {
        let place = self.all.iter().find(|place| place.name == *name)?;
        place.addresses.get(place.current).copied()
    }

    /// The address for datagrams to `member`. A silent member's name is looked up again.
    pub(super) fn address(&mut self, now: Time, member: usize) -> Option<SocketAddr> {
        let place = self.all.get_mut(member)?;
        let silent = *place.silent.get_or_insert(now);
        if now.since(silent) >= SILENT
            && let Some(again) = &place.again
        {
            again.notify_one();
        }
        if now.since(*place.tried.get_or_insert(now)) >= TRIED {
            place.turn(now);
        }
        place.addresses.get(place.current).copied()
    }

    /// Tries another address of `member`, since the system cannot send to the present one.
    pub(super) fn refused(&mut self, now: Time, member: usize) {
        if let Some(place) = self.all.get_mut(member) {
            place.turn(now);
        }
    }

    /// Notes a datagram of `who`, which is `member`, from `address`. Returns a notice if the member
    /// is two processes.
    pub(super) fn heard(
        &mut self,
        now: Time,
        member: usize,
        who: &Who,
        address: SocketAddr,
    ) -> Option<Notice> {
        let place = self.all.get_mut(member)?;
        // A member that has moved can send, but receives nothing at its old address.
        if place.addresses.contains(&address) {
            place.silent = None;
        }
        if place.addresses.get(place.current) == Some(&address) {
            place.tried = None;
        }
        let addresses = place.lives.heard(now, who.inc, address)?;
        Some(Notice::MemberTwice { member: place.name.clone(), addresses })
    }

    /// All addresses of a member that has several, each of which may be another process.
    pub(super) fn several(&self, member: usize) -> Vec<SocketAddr> {
        let all = self.all.get(member).map(|place| place.addresses.clone());
        all.filter(|all| all.len() > 1).unwrap_or_default()
    }

    /// Names the silent members whose names give no address: an operator must mend these first.
    pub(super) fn explain(&self, waiting: Waiting) -> Waiting {
        blame(waiting, |silent| {
            let unknown = |place: &&Place| place.name.as_str() == silent && !place.is_known();
            let place = self.all.iter().find(unknown)?;
            let error = place.error.as_deref()?;
            let why = format!("{} does not resolve ({error})", place.host);
            Some(Obstacle::new(silent, "unresolved", why))
        })
    }
}

impl Place {
    fn is_known(&self) -> bool {
        !self.addresses.is_empty()
    }

    fn unresolved(&self) -> Option<Notice> {
        let member = self.name.clone();
        let host = self.host.clone();
        let error = self.error.clone()?;
        Some(Notice::Unresolved { member, host, error, known: self.is_known() })
    }

    fn turn(&mut self, now: Time) {
        self.tried = Some(now);
        if !self.addresses.is_empty() {
            self.current = (self.current + 1) % self.addresses.len();
        }
    }
}

#[cfg(test)]
mod tests;
