//! Limits connections from others: in all, and from one address.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Arc, Mutex, PoisonError};

use rustix::process::{Resource, getrlimit};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// The maximum number of connections at a time.
const CONNECTIONS_MAX: u64 = 1_024;
/// The smallest limit, however few descriptors the system allows.
const CONNECTIONS_MIN: u64 = 16;

/// A limited number of places for connections. Clones share the places.
#[derive(Clone, Debug)]
pub struct Room {
    all: Arc<Semaphore>,
    each: usize,
    by_address: Arc<Mutex<BTreeMap<IpAddr, usize>>>,
}

/// The place of one connection. Dropping it makes room for another connection.
#[derive(Debug)]
pub struct Place {
    _of_all: OwnedSemaphorePermit,
    from: IpAddr,
    by_address: Arc<Mutex<BTreeMap<IpAddr, usize>>>,
}

impl Room {
    /// Makes room for as many connections as half of this process's descriptors, from 16 to 1,024.
    /// The other half is for this process's own requests, its files, and the application.
    #[must_use]
    pub fn of_this_process() -> Self {
        // An address may have half of this room, so a single client leaves the other half free.
        // Voters that all share one address still fit.
        Self::new(descriptors(2, CONNECTIONS_MAX), 2)
    }

    /// Uses a quarter of the descriptors of this process, and at most `most`, for a server that is
    /// not the main work of the process. An address has an eighth of this room.
    #[must_use]
    pub fn beside_work(most: u64) -> Self {
        Self::new(descriptors(4, most), 8)
    }

    /// Makes room for `all` connections, of which an address may have the part `1 / shares`.
    fn new(all: usize, shares: usize) -> Self {
        Self {
            all: Arc::new(Semaphore::new(all)),
            each: all.div_ceil(shares),
            by_address: Arc::default(),
        }
    }

    /// Waits until there is room for another connection.
    pub async fn one(&self) -> Option<OwnedSemaphorePermit> {
        // The semaphore is never closed.
        self.all.clone().acquire_owned().await.ok()
    }

    /// The number of connections that have a place now.
    #[must_use]
    pub fn held(&self) -> usize {
        self.by_address.lock().unwrap_or_else(PoisonError::into_inner).values().sum()
    }

    /// Gives the room to a connection from this address, unless the address has used its share.
    pub fn take(&self, permit: OwnedSemaphorePermit, from: IpAddr) -> Option<Place> {
        let from = network(from);
        // The map has no half-done changes, so a panic elsewhere leaves it complete.
        let mut held = self.by_address.lock().unwrap_or_else(PoisonError::into_inner);
        let of_this = held.entry(from).or_default();
        if *of_this >= self.each {
            return None;
        }
        *of_this += 1;
        Some(Place { _of_all: permit, from, by_address: self.by_address.clone() })
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut held = self.by_address.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(of_this) = held.get_mut(&self.from) {
            *of_this -= 1;
            if *of_this == 0 {
                held.remove(&self.from);
            }
        }
    }
}

/// A part of the descriptors of this process, within bounds.
fn descriptors(part: u64, most: u64) -> usize {
    let files = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
    usize::try_from((files / part).clamp(CONNECTIONS_MIN, most)).unwrap_or(usize::MAX)
}

/// The network of a host: its IPv4 address, or the first 64 bits of its IPv6 address.
fn network(from: IpAddr) -> IpAddr {
    match from.to_canonical() {
        IpAddr::V6(address) => {
            Ipv6Addr::from_bits(address.to_bits() & !u128::from(u64::MAX)).into()
        }
        v4 => v4,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn address_takes_half_the_room() {
        let room = Room::new(4, 2);
        let one = "10.0.0.1".parse().unwrap();
        let other = "10.0.0.2".parse().unwrap();
        let mapped = "::ffff:10.0.0.1".parse().unwrap();
        let two = ["2001:db8::1", "2001:db8::2:1:7"].map(|address| address.parse().unwrap());
        assert_eq!(network(two[0]), network(two[1]));
        assert_ne!(network(two[0]), network("2001:db8:0:1::1".parse().unwrap()));
        let take = async |from: IpAddr| {
            let permit = room.one().await.unwrap();
            room.take(permit, from)
        };
        let first = take(one).await;
        let second = take(mapped).await;
        assert!(first.is_some() && second.is_some());
        assert!(take(one).await.is_none());
        let others = (take(other).await, take(other).await);
        assert!(others.0.is_some() && others.1.is_some());
        // No room is left now, until a connection ends.
        assert_eq!((room.held(), room.all.try_acquire().is_err()), (4, true));
        drop(first);
        assert!(take(one).await.is_some());
        drop((second, others));
        assert!(room.by_address.lock().unwrap().is_empty());
    }

    #[test]
    fn descriptors_are_left_for_others() {
        let files = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
        let room = Room::of_this_process().all.available_permits() as u64;
        assert!(room <= files / 2 && (CONNECTIONS_MIN..=CONNECTIONS_MAX).contains(&room));
        let beside = Room::beside_work(64);
        let all = beside.all.available_permits() as u64;
        assert!(all <= files / 4 && (CONNECTIONS_MIN..=64).contains(&all));
        assert_eq!(beside.each as u64, all.div_ceil(8));
    }
}
