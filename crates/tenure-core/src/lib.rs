//! Leader election protocols as pure state machines.
//!
//! A core does no I/O, reads no clock and draws no random number. A driver hands it inputs, each
//! with the time of its arrival, and carries out the effects that the core returns. The crate never
//! links `std`; a build for a bare-metal target proves that.
//!
//! - [`contract`]: the promises of every core, and the duties of its driver. Start here.
//! - [`nerio`]: leases from quorums of the nodes themselves, and an order for the edicts of
//!   leaders. The default.
//! - [`etcd`]: leases and creation revisions, compatible with `etcdctl elect` and Go's client.
//! - [`allcall`]: leased leaders on a broadcast bus, one on each side of a network partition.
//! - [`voter`]: leaders by random draw, over HTTP between the voters themselves.
//! - [`nele`]: leaders that emerge from the owners of a shared ledger's partitions.
//! - The vocabulary that all protocols share: [`Time`], [`Clocks`], [`Drift`], [`Fence`],
//!   [`Standing`], names.
#![no_std]

extern crate alloc;

pub mod allcall;
mod backoff;
mod bounds;
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
pub use bounds::{Bounds, Checked, Fault, OutOfRange, Quantity, Range, SettingsError};
pub use claim::Claim;
pub use clocks::{BothClocks, Clocks, Now, Reading};
pub use command::Command;
pub use contract::{Effect, Effects, Input, Protocol, Ticket, Words};
pub use draw::Draw;
pub use drift::{Drift, DriftError};
pub use event::{End, Event, Loss, TransferFailure};
pub use fence::Fence;
pub use name::{ClusterName, ElectionName, NameError, NodeName, Text, Value};
pub use standing::Standing;
pub use time::{Deadline, Time, WallTime};
pub use timing::{LeaseBounds, LeaseTiming, RoundTrips, TimingError, TooShort};
pub use value::LeaderValue;
pub use view::{LeaderView, View};
pub use waiting::{Obstacle, Waiting};
