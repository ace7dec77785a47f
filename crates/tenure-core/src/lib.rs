//! Leader election protocols as pure state machines.
//!
//! Nothing here does I/O, reads a clock or draws a random number: a core is fed with inputs and the
//! time at which they were seen, and answers with effects that a driver carries out. The crate
//! never links `std`; a build for a bare-metal target proves it.
//!
//! - [`contract`]: what every core promises and what its driver owes it. Start here.
//! - [`nerio`]: quorum leases with ordered edicts, the embedded default.
//! - [`etcd`]: leases and creation revisions, beside `etcdctl elect` and Go's client.
//! - [`allcall`]: leased leaders on a broadcast bus, one in each part of a partition.
//! - [`voter`]: leaders by random draw, over HTTP between the voters themselves.
//! - [`nele`]: leaders that emerge from who owns the partitions of a shared ledger.
//! - The vocabulary all protocols share: [`Time`], [`Clocks`], [`Drift`], [`Fence`],
//!   [`Standing`], names.
#![no_std]
#![allow(missing_docs, reason = "fields whose names say enough")]

extern crate alloc;

pub mod allcall;
mod backoff;
mod by_election;
mod claim;
mod clocks;
mod command;
pub mod contract;
mod deadlines;
mod draw;
mod drift;
pub mod etcd;
mod event;
mod fence;
mod name;
pub mod nele;
pub mod nerio;
mod standing;
mod time;
mod timing;
mod value;
mod view;
pub mod voter;
mod waiting;

pub use backoff::Backoff;
pub use claim::Claim;
pub use clocks::{BothClocks, Clocks, Now};
pub use command::Command;
pub use contract::{Effect, Effects, Input, Protocol, Ticket, Words};
pub use draw::Draw;
pub use drift::{Drift, DriftError};
pub use event::{End, Event, Loss, TransferFailure};
pub use fence::Fence;
pub use name::{ClusterName, ElectionName, NameError, NodeName, Value};
pub use standing::Standing;
pub use time::{Deadline, Time, WallTime};
pub use timing::{LeaseBounds, LeaseTiming, RoundTrips, TimingError, TooShort};
pub use value::LeaderValue;
pub use view::{LeaderView, View};
pub use waiting::{Obstacle, Waiting};
