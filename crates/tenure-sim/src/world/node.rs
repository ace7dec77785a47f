//! Nodes of a world: processes of the protocol, and services that processes need.

use std::convert::Infallible;
use std::fmt::Debug;
use std::hash::Hash;

use tenure_core::contract::{Effects, Words};
use tenure_core::{Deadline, ElectionName, Input, Now, Protocol, Standing, Time};

/// A service with an address: a store, a bus, a coordinator, an HTTP peer. A service has faults of
/// its own, which commands of its kind begin.
pub trait Service<W: Words>: Clone + Eq + Hash + Debug {
    /// Handles one input, and appends its effects.
    fn handle(&mut self, now: Time, input: Input<W>, out: &mut Effects<W>);

    /// The next time of [`Input::Timeout`].
    fn deadline(&self) -> Option<Deadline>;
}

/// A world without services.
impl<W: Words> Service<W> for Infallible {
    fn handle(&mut self, _: Time, _: Input<W>, _: &mut Effects<W>) {
        match *self {}
    }

    fn deadline(&self) -> Option<Deadline> {
        match *self {}
    }
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Node<P, V> {
    /// A process of the protocol.
    Process(P),
    Service(V),
}

impl<P: Protocol, V: Service<P::Words>> Protocol for Node<P, V> {
    type Words = P::Words;
    type Now = P::Now;

    #[inline]
    fn handle(&mut self, now: P::Now, input: Input<P::Words>, out: &mut Effects<P::Words>) {
        match self {
            Self::Process(process) => process.handle(now, input, out),
            Self::Service(service) => service.handle(now.since_boot(), input, out),
        }
    }

    #[inline]
    fn deadline(&self) -> Option<Deadline> {
        match self {
            Self::Process(process) => process.deadline(),
            Self::Service(service) => service.deadline(),
        }
    }

    fn standing(&self, election: &ElectionName, now: Time) -> Standing {
        match self {
            Self::Process(process) => process.standing(election, now),
            Self::Service(_) => Standing::NotLeading,
        }
    }
}
