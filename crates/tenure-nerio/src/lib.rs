//! Nerio: elections among the users' own processes, with nothing else to run.
//!
//! Each copy of a program starts a [`Node`]. Three or five of these nodes are grantors. They give
//! one candidate at a time a lease: the right to lead, which ends by itself unless it is renewed.
//! The node drives [`tenure_core::nerio`] on a thread of its own, so that a blocked application
//! cannot starve a renewal. The node hands out the same [`tenure`] handles as the other protocols.
//!
//! # A tour
//!
//! Three members that grant leases, and two candidates, all in one process for the example:
//!
//! ```
//! use std::time::Duration;
//! use tenure::{Change, FenceGate, Loss, View};
//! use tenure_nerio::{Config, EdictGate, Member, Node, Opening, Storage};
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
//! // A quorum reports a vacancy.
//! let mut observer = one.election("billing")?.observe();
//! assert_eq!(observer.next().await, Some(Change::View(View::Vacant)));
//!
//! // The node `one` leads, and `two` waits.
//! let leadership = one.election("billing")?.campaign("10.0.0.7:8080").await?;
//! let election = two.election("billing")?;
//! let waiting = tokio::spawn(async move { election.campaign("10.0.0.8:8080").await });
//!
//! // Before each act ask whether the leadership still holds. A fence guards the resource.
//! assert!(leadership.is_current() && leadership.remaining() > Some(Duration::ZERO));
//! let mut gate = FenceGate::default();
//! gate.admit(leadership.fence())?;
//! // Nerio also has edicts, which put all orders of one leader in order, too.
//! let mut edict_gate = EdictGate::new();
//! let edict = one.edicts(&leadership)?.create()?;
//! edict_gate.admit(&edict)?;
//!
//! // The leader itself confirms that it leads, and promises to lead until `asked.until`.
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
//! // The work is dropped before the lease ends; the leader resigns only after the work has ended.
//! // The work asks through a handle of its own.
//! let leader = successor.leader();
//! let done = successor.run(async move { leader.is_current() }).await;
//! assert_eq!(done, Ok(true));
//!
//! // Campaign and work again and again, until the process is to end.
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
//! [`tenure_core::nerio`] has the protocol itself, its guarantees and their limits, [`state`] the
//! memory of a grantor, and [`keys`] the keys of datagrams.

mod agreement;
mod asker;
pub mod changes;
mod counters;
mod driver;
mod edict_gate;
mod edict_text;
mod edicts;
mod enough_answers;
mod error;
mod first_start;
mod key_trouble;
pub mod keys;
mod lasting_troubles;
mod latest_epoch;
mod leader_questions;
pub mod lists;
mod log;
mod node;
mod notice;
pub mod orders;
mod outbox;
mod places;
mod request;
mod seal;
mod sealed_transport;
pub mod state;
mod storage;
pub mod supervision;
pub mod survey;
pub mod transport;
mod verifications;
mod weak_leaders;

pub use tenure::driver::NOTICES;
pub use tenure::state::Opening;
pub use tenure_core::nerio::*;

pub use self::counters::Counters;
pub use self::edict_gate::{EdictGate, EdictRefused};
pub use self::edict_text::{EdictText, NoEdict};
pub use self::edicts::Edicts;
pub use self::error::{
    FindError, NodeClosed, NotLeading, NotWonHere, RekeyError, StartError, VerifyError,
};
pub use self::leader_questions::{Found, Verified};
pub use self::node::{Builder, Node, address_to_bind};
pub use self::notice::{Forgot, KeyTrouble, Notice};
pub use self::request::Clocks;
pub use self::seal::{Authority, Keyring, Peer, Unsealed};
pub use self::storage::Storage;
pub use self::weak_leaders::WeakLeaders;

/// The examples of the README compile and run.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;

#[cfg(doctest)]
#[doc = include_str!("../../../docs/start/tutorial-rust.md")]
struct Tutorial;

#[cfg(doctest)]
#[doc = include_str!("../../../docs/howto/protect-data.md")]
struct ProtectData;
