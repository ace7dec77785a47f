//! A made-up world for Tenure's cores: true time, drifting clocks, a network and disks that fail,
//! and checks that see all of it.
//!
//! | module | |
//! |---|---|
//! | [`world`] | time, machines, network and faults, for any [`System`] |
//! | [`scenario`] | what every protocol has in a world: applications, facts, history, promises |
//! | [`nerio`] | the scenario of Nerio: what a seed draws, its disks, its own checks |
//! | [`etcd`] | the scenario of elections on etcd: a store with etcd's semantics, and its clients |
//! | [`allcall`] | the scenario of ALLCALL: a bus of servers, and clients with the core in them |
//! | [`voter`] | the scenario of regional voters: HTTP exchanges, directories, regions |
//! | [`nele`] | the scenario of NELE: a broker with logs and a coordinator, and its clients |
//! | [`sweep`], [`shrink`], [`explain`] | many worlds; a failure with few faults; a failure as text |
//! | [`timeline`] | the picture of a run |
//! | [`forecast`] | what given settings will give, for users |
//!
//! `docs/internals/simulation.md` says what happens in these worlds, and what shows that the checks
//! notice faults.
//!
//! ```
//! use tenure_sim::nerio;
//! use tenure_sim::sweep::Sweep;
//!
//! let (first, worlds, events) = (1, 2, u64::MAX);
//! let source = nerio::Worlds::default();
//! let sweep = Sweep { first, worlds, events, source, threads: 1 };
//! let found = sweep.run();
//! assert_eq!(found.violation, None);
//! assert!(found.counts.common.elected > 0);
//! ```
//!
//! [`System`]: world::System

pub mod allcall;
#[cfg(all(not(test), debug_assertions))]
mod compiled;
pub mod etcd;
pub mod explain;
pub mod forecast;
pub mod nele;
pub mod nerio;
pub mod recorder;
pub mod rng;
pub mod scenario;
pub mod shrink;
pub mod sweep;
pub mod timeline;
pub mod violation;
pub mod voter;
pub mod world;

/// Passes each protocol with worlds to the macro `$then`: its module here and in the core, its
/// name, and a description. The command line and the tests of all protocols use this list.
#[macro_export]
macro_rules! protocols {
    ($then:ident) => {
        $then! {
            nerio Nerio "Quorum leases";
            etcd Etcd "Leases and creation revisions of etcd";
            allcall Allcall "Leased leaders on a bus";
            voter Voter "Regional voters over HTTP";
            nele Nele "Leaders that emerge from partition ownership";
        }
    };
}
