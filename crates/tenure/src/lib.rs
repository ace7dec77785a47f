//! Leader election that people can trust with their production systems.
//!
//! Somewhere several copies of a service run and exactly one must do the work. A [`nerio::Node`]
//! in each of them, three of them granting leases, and:
//!
//! - [`Election`]: campaign, observe, verify, find the leader.
//! - [`Leadership`]: ask whether it still holds at the moment of acting, with a fence that orders
//!   leaders, and a guarantee that work ends before the lease does.
//! - [`FenceGate`] and [`EdictGate`]: how a recipient refuses a leader that has been overtaken.
//! - [`supervise`]: a command that outlives neither its supervisor nor its lease.
//! - [`state`]: what a grantor remembers.
//!
//! The protocol itself, its guarantees and what it does *not* guarantee: [`nerio`].

#[cfg(not(target_os = "linux"))]
compile_error!(
    "tenure needs Linux: leases are timed on CLOCK_BOOTTIME, and supervision needs pidfds and \
     timerfds. What it needs of the system is in `clock`, `alarm`, `state` and `supervise`."
);

mod alarm;
mod cell;
pub mod clock;
mod election;
mod entropy;
mod error;
mod gate;
mod kind;
mod leadership;
pub mod nerio;
mod observe;
pub mod state;
pub mod supervise;
pub mod transport;
mod watched;

pub use election::{Election, Found, Verified};
pub use error::{
    CampaignError, FindError, Loss, NotLeading, StartError, TransferError, VerifyError,
};
pub use gate::{EdictGate, EdictRefused, FenceGate, Overtaken};
pub use kind::{AtMostOne, Kind, MayOverlap};
pub use leadership::Leadership;
pub use observe::{Change, Observer};
pub use tenure_core::{
    ClusterName, Drift, DriftError, ElectionName, Fence, NameError, NodeName, Time, Value,
};
