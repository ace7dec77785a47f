//! Leader election for programs that run in several copies, exactly one of which must do the work.
//!
//! Each copy starts a node of one protocol, from that protocol's own crate, `tenure-*`. The node
//! hands out the types of this crate, which are the same for all protocols:
//!
//! - [`Election`]: campaigns, observers, and the question which node leads.
//! - [`Leadership`]: a won election, held and given up, with a guarantee that work ends before the
//!   lease does.
//! - [`Leader`]: a handle for the work, to ask at the moment of acting whether the node still
//!   leads. Its fence, a number that grows with each leadership (a fencing token), orders leaders.
//! - [`FenceGate`]: a gate with which a recipient refuses superseded leaders.
//!
//! ```no_run
//! # use tenure::{AtMostOne, Election, FenceGate};
//! # async fn example(election: Election<AtMostOne>) -> Result<(), Box<dyn std::error::Error>> {
//! let leadership = election.campaign("10.0.0.7:8080").await?;
//! let (leader, mut gate) = (leadership.leader(), FenceGate::default());
//! let bill = async move {
//!     assert!(leader.is_current());
//!     gate.admit(leader.fence())
//! };
//! leadership.run(bill).await??;
//! # Ok(())
//! # }
//! ```
//!
//! [`driver`] and [`state`], the state directories of nodes, are for authors of protocols.

#[cfg(not(target_os = "linux"))]
compile_error!(
    "tenure needs Linux: leases are timed on CLOCK_BOOTTIME, and waited for with timerfds. What it \
     needs of the system is in `clock`, `alarm` and `state`."
);

mod alarm;
mod atomic;
mod campaign;
mod cell;
mod claim;
pub mod clock;
mod clock_set;
pub mod driver;
mod election;
mod entropy;
mod error;
mod gate;
mod lead;
mod leader;
mod leadership;
mod observe;
mod overdue;
mod request;
mod resignation;
mod safety;
pub mod serving;
pub mod settings;
mod shared_time;
pub mod state;
mod watched;

pub use campaign::{Campaign, Waits};
pub use election::Election;
pub use error::{CampaignError, SystemError, TransferError};
pub use gate::{FenceGate, Superseded};
pub use leader::Leader;
pub use leadership::Leadership;
pub use observe::{Change, Latest, Observer};
pub use overdue::Overdue;
pub use safety::{AtMostOne, MayOverlap, SafetyClass};
pub use tenure_core::{
    ClusterName, Drift, DriftError, ElectionName, Fence, LeaderValue, LeaderView, Loss, NameError,
    NodeName, Obstacle, Time, Value, View, Waiting,
};
