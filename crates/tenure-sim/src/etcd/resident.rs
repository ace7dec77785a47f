//! Who lives in these worlds: our processes, foreign candidates, and etcd.

use tenure_core::etcd::NoRecord;
use tenure_core::{Deadline, ElectionName, Input, Protocol, Standing, Time, contract};

use super::foreign::Foreign;
use super::packet::{Begin, Order, Packet, Place, Report};
use super::process::Process;
use super::store::Cluster;

/// What residents say and hear.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Words {}

impl contract::Words for Words {
    type Start = Begin;
    type Sender = Place;
    type Address = Place;
    type Message = Packet;
    type Record = NoRecord;
    type Command = Order;
    type Event = Report;
}

/// Effects of a resident.
pub(super) type Out = contract::Effects<Words>;

/// One node of the world.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Resident {
    /// One of our processes.
    Ours(Box<Process>),
    /// A process of somebody else's.
    Foreign(Box<Foreign>),
    /// All of etcd.
    Store(Box<Cluster>),
}

impl Protocol for Resident {
    type Words = Words;

    fn handle(&mut self, now: Time, input: Input<Words>, out: &mut Out) {
        match self {
            Self::Ours(process) => process.handle(now, input, out),
            Self::Foreign(foreign) => foreign.handle(now, input, out),
            Self::Store(cluster) => cluster.handle(now, input, out),
        }
    }

    fn deadline(&self) -> Option<Deadline> {
        match self {
            Self::Ours(process) => process.deadline(),
            Self::Foreign(foreign) => foreign.deadline(),
            Self::Store(cluster) => {
                cluster.due().map(|at| Deadline { at, why: "something in etcd" })
            }
        }
    }

    fn standing(&self, election: &ElectionName, now: Time) -> Standing {
        match self {
            Self::Ours(process) => process.core().standing(election, now),
            Self::Foreign(_) | Self::Store(_) => Standing::NotLeading,
        }
    }
}
