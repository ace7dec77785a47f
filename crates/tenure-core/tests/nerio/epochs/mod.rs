//! Epochs, section 10.6: how members decide the successor of an epoch, and what they inherit.

mod account;
mod claims;
mod foundings;
mod paxos;
mod proposer;
mod rests;
mod vote;

use std::sync::Arc;

use tenure_core::nerio::epoch::{Ballot, Membership};
use tenure_core::nerio::{Inc, Who};

use crate::story::{config, name};

/// Members by their names, one letter each, with majority quorums.
fn membership(names: &str) -> Arc<Membership> {
    let names: Vec<&str> = names.split_whitespace().collect();
    Arc::clone(config(&names).check().unwrap().membership())
}

/// A ballot with a proposer of its own.
fn ballot(counter: u64) -> Ballot {
    Ballot { counter, inc: Inc(counter.into()) }
}

fn who(text: &str) -> Who {
    Who { name: name(text), inc: Inc(1) }
}
