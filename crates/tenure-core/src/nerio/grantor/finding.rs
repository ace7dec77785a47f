//! The memories that a change of members finds.
//!
//! Nodes look for a member at the hosts of its seat. A blank may send from anywhere, and only the
//! driver knows to which address a DNS name leads. So a grantor asks both at the hosts of the seat
//! and at the source of the blank's messages. The answer names the Start of its question, and so
//! shows which question arrived. The driver also asks at the host in the settings, where another
//! machine may be.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::net::SocketAddr;

use super::super::config::HostPort;
use super::super::epoch::{Seat, SeatChange};
use super::super::identity::{Inc, Instance};
use crate::name::NodeName;
use crate::time::Time;

/// Start of a question to the source of a blank's messages. A question to the hosts of a seat has
/// the present time.
pub(super) const TO_SOURCE: Time = Time::ZERO;

/// The memories of seats, as far as their nodes have named them.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Finding {
    /// Memories of present members that have entered the epoch. An upgraded epoch does not name
    /// them.
    pub(super) members: BTreeMap<NodeName, Instance>,
    /// Blanks with the name of the changed seat.
    pub(super) blanks: Vec<Blank>,
    /// Whether a blank has answered at the hosts of the changed seat.
    pub(super) is_at_hosts: bool,
    /// Whether the memory that leaves the members has answered.
    pub(super) is_gone_heard: bool,
    /// Time at which the questions are repeated.
    pub(super) again: Time,
}

/// A blank: its incarnation, its memory, and an address.
pub(super) type Blank = (Inc, Instance, SocketAddr);

impl Finding {
    pub(super) const fn new(now: Time) -> Self {
        Self {
            members: BTreeMap::new(),
            blanks: Vec::new(),
            is_at_hosts: false,
            is_gone_heard: false,
            again: now,
        }
    }

    /// Notes that a blank at `address` has answered a question to its member. The answer shows that
    /// the blank is at the hosts of the seat, unless the question went to another host in the
    /// settings, `listed`. The hosts in epoch 0 are those in the settings of its founder.
    pub(super) fn note_answer(
        &mut self,
        epoch: u64,
        seat: Option<&Seat>,
        listed: Option<&HostPort>,
        address: SocketAddr,
    ) {
        let is_of_seat = |listed: &HostPort| {
            let hosts = seat.map_or(&[][..], |seat| &seat.hosts);
            let is_named = hosts.is_empty() || hosts.iter().any(|host| host.is(listed));
            epoch == 0 || is_named || is_address(listed, address) == Some(false)
        };
        self.is_at_hosts |= listed.is_none_or(is_of_seat);
    }

    /// Notes the answer of a blank. Two processes with copies of one directory are two blanks. If a
    /// process answers from IPv4 and from IPv6, only its address in `hosts` counts.
    pub(super) fn note(&mut self, blank: Blank, hosts: &[HostPort]) {
        let (inc, memory, at) = blank;
        let is_same = |known: &&mut Blank| known.1 == memory && (known.0 == inc || known.2 == at);
        if let Some(known) = self.blanks.iter_mut().find(is_same) {
            known.2 = if may_be_at(hosts, at) { at } else { known.2 };
        } else if self.blanks.len() < 2 {
            self.blanks.push(blank);
        }
    }

    /// True while it is unknown whether the unchanged hosts of the seat lead to the blank at
    /// `address`. Only a DNS name among the hosts may lead there, and no blank has answered at the
    /// hosts.
    pub(super) fn is_unseen(
        &self,
        what: &SeatChange,
        hosts: &[HostPort],
        address: SocketAddr,
    ) -> bool {
        let keeps_hosts = match what {
            SeatChange::Replace { hosts: new, .. } => new.is_empty() || new == hosts,
            SeatChange::Add { .. } | SeatChange::Remove { .. } | SeatChange::Cancel => false,
        };
        let is_listed = hosts.iter().any(|host| is_address(host, address) == Some(true));
        keeps_hosts && !self.is_at_hosts && !is_listed && may_be_at(hosts, address)
    }
}

/// Whether a node that sends from `address` may be at one of these hosts: a name may resolve to it.
pub(super) fn may_be_at(hosts: &[HostPort], address: SocketAddr) -> bool {
    hosts.is_empty() || hosts.iter().any(|host| is_address(host, address) != Some(false))
}

/// Whether `host` is `address`; `None` if the host is a DNS name.
pub(super) fn is_address(host: &HostPort, address: SocketAddr) -> Option<bool> {
    let place = |at: SocketAddr| (at.ip().to_canonical(), at.port());
    host.literal().map(|at| place(at) == place(address))
}
