//! Leader election for programs that run in several copies, of which exactly one must do the work.
//!
//! Each copy starts a [`nerio::Node`]. Three or five of these nodes are grantors: they give one
//! candidate at a time a lease, the right to lead, which ends by itself unless it is renewed. What
//! a program uses of it:
//!
//! - [`Election`]: campaign, observe, ask who leads.
//! - [`Leadership`]: hold it and give it up, with a guarantee that work ends before the lease
//!   does.
//! - [`Leader`]: for the work: ask whether it still holds at the moment of acting. Its fence, a
//!   number that grows with each leadership (a fencing token), orders leaders.
//! - [`FenceGate`] and [`nerio::EdictGate`]: how a recipient refuses a leader that has been superseded.
//! - [`state`]: directories for what a node must remember; [`nerio::state`] what a grantor does.
//!
//! These handles are the same whatever protocol they come from; what only Nerio has is had from
//! its node. [`driver`] is for those who add a protocol.
//!
//! # A tour
//!
//! Three members that grant leases, and two candidates, all in one process for the example's
//! sake:
//!
//! ```
//! use std::time::Duration;
//! use tenure::nerio::{Config, EdictGate, Member, Node, Storage};
//! use tenure::state::Opening;
//! use tenure::{Change, FenceGate, Loss, View};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let sockets: Vec<_> =
//! #     (0..3).map(|_| std::net::UdpSocket::bind("127.0.0.1:0")).collect::<Result<_, _>>()?;
//! # let addresses: Vec<_> =
//! #     sockets.iter().map(|socket| socket.local_addr()).collect::<Result<_, _>>()?;
//! # drop(sockets);
//! let mut members = Vec::new();
//! for (name, address) in ["a", "b", "c"].into_iter().zip(addresses) {
//!     members.push(Member::at(name.parse()?, address));
//! }
//! let config = Config::new("shop".parse()?, members).check()?;
//! let mut grantors = Vec::new();
//! for name in ["a", "b", "c"] {
//!     // In production: `Storage::Directory`. `New` is for the very first start of a cluster.
//!     let storage = Storage::Memory { opening: Opening::New };
//!     grantors.push(Node::builder(config.clone(), name.parse()?).grantor(storage).start()?);
//! }
//! let one = Node::builder(config.clone(), "one".parse()?).start()?;
//! let two = Node::builder(config.clone(), "two".parse()?).start()?;
//!
//! // Who leads? Nobody yet, and a quorum says so.
//! let mut observer = one.election("billing")?.observe();
//! assert_eq!(observer.next().await, Some(Change::View(View::Vacant)));
//!
//! // One leads, the other waits.
//! let leadership = one.election("billing")?.campaign("10.0.0.7:8080").await?;
//! let election = two.election("billing")?;
//! let waiting = tokio::spawn(async move { election.campaign("10.0.0.8:8080").await });
//!
//! // Before each act: does it still hold? And for the resource: a fence.
//! assert!(leadership.is_current() && leadership.remaining() > Some(Duration::ZERO));
//! let mut gate = FenceGate::default();
//! gate.admit(leadership.fence())?;
//! // With Nerio also edicts, which are in order with those of the same leader, too.
//! let mut edict_gate = EdictGate::new();
//! let edict = one.edicts(&leadership)?.create()?;
//! edict_gate.admit(&edict)?;
//!
//! // A leader's own word, which it keeps whatever happens to it.
//! let billing = leadership.election();
//! let asked = two.verify(billing, one.address(), Duration::from_secs(5)).await?;
//! assert_eq!(asked.leader.as_str(), "one");
//!
//! // Hand over. The successor's fence is greater, so the gates refuse the predecessor.
//! let fence = leadership.fence();
//! while leadership.transfer_to("two".parse()?).await.is_err() {}
//! assert_eq!(leadership.loss(), Some(Loss::Transferred));
//! let successor = waiting.await??;
//! gate.admit(successor.fence())?;
//! edict_gate.admit(&two.edicts(&successor)?.create()?)?;
//! assert!(gate.admit(fence).is_err() && edict_gate.admit(&edict).is_err());
//!
//! // Work that is dropped before the lease ends; resigned only after it has ended. It asks through
//! // a handle of its own.
//! let leader = successor.leader();
//! let done = successor.run(async move { leader.is_current() }).await;
//! assert_eq!(done, Ok(true));
//!
//! // All of that again and again, until the process is to end.
//! let (shut, shutdown) = tokio::sync::oneshot::channel();
//! let mut shut = Some(shut);
//! let billing = one.election("billing")?;
//! billing
//!     .lead("10.0.0.7:8080", shutdown, |leader| {
//!         assert!(leader.is_current());
//!         drop(shut.take()); // as a signal would
//!         std::future::pending()
//!     })
//!     .await?;
//! # let _: Option<tokio::sync::oneshot::Sender<()>> = shut;
//! # Ok(())
//! # }
//! ```
//!
//! The protocol itself, its guarantees and what it does *not* guarantee: [`nerio`].

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
pub mod driver;
mod election;
mod entropy;
mod error;
mod gate;
mod lead;
mod leader;
mod leadership;
pub mod nerio;
mod observe;
mod release;
mod request;
mod resignation;
mod safety;
pub mod settings;
pub mod state;
pub mod transport;
mod watched;

pub use campaign::{Campaign, Waits};
pub use election::Election;
pub use error::{CampaignError, SystemError, TransferError};
pub use gate::{FenceGate, Superseded};
pub use leader::Leader;
pub use leadership::Leadership;
pub use observe::{Change, Observer};
pub use safety::{AtMostOne, MayOverlap, SafetyClass};
pub use tenure_core::{
    ClusterName, Drift, DriftError, ElectionName, Fence, LeaderValue, LeaderView, Loss, NameError,
    NodeName, Obstacle, Time, Value, View, Waiting,
};

/// What the README shows compiles and runs.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;
