//! A made-up world for Tenure's cores: true time, drifting clocks, a network and disks that fail,
//! and judges that see all of it.
//!
//! | module | |
//! |---|---|
//! | [`world`] | time, machines, network and faults, for any protocol that is its [`Guest`] |
//! | [`nerio`] | Nerio as a guest: what a seed draws, its disks, its applications |
//! | [`etcd`] | elections on etcd as a guest: a store with etcd's semantics, and its clients |
//! | [`nerio::properties`], [`etcd::properties`] | what must hold, one file each |
//! | [`sweep`], [`shrink`], [`explain`] | many worlds; a failure made small; the same for people |
//! | [`timeline`] | the picture of a run |
//! | [`forecast`] | what given settings will give, for users |
//!
//! `docs/simulation.md` says what happens in these worlds, and how it is known that the judges
//! are awake.
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
//! assert!(found.counts.elected > 0);
//! ```
//!
//! [`Guest`]: world::Guest

pub mod etcd;
pub mod explain;
pub mod forecast;
mod handle;
pub mod nerio;
pub mod recorder;
pub mod rng;
pub mod shrink;
pub mod sweep;
pub mod timeline;
pub mod violation;
pub mod world;
