//! Services of these worlds: foreign candidates, and etcd.

use tenure_core::{Deadline, Input, Time};

use super::foreign::Foreign;
use super::store::Cluster;
use super::words::{Out, Words};
use crate::world::node::Service;

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Outside {
    Foreign(Box<Foreign>),
    Store(Box<Cluster>),
}

impl Service<Words> for Outside {
    fn handle(&mut self, now: Time, input: Input<Words>, out: &mut Out) {
        match self {
            Self::Foreign(foreign) => foreign.handle(now, input, out),
            Self::Store(cluster) => cluster.handle(now, input, out),
        }
    }

    fn deadline(&self) -> Option<Deadline> {
        match self {
            Self::Foreign(foreign) => foreign.deadline(),
            Self::Store(cluster) => {
                cluster.due().map(|at| Deadline { at, why: "something in etcd" })
            }
        }
    }
}
