//! The interface that drivers implement, so that all protocols hand out the same handles.
//!
//! Authors of drivers need this module, as the crates `tenure-*` do; applications do not.
//!
//! A driver feeds one core from one outside system, in a loop on a thread of its own (see
//! [`tenure_core::contract`]). The loop is here, once for all protocols; a protocol brings:
//!
//! 1. A [`Backend`], which takes input from outside and questions of its node, sends messages, and
//!    writes records. The backend also applies its core's events to the [`Campaigns`] and
//!    [`Subscriptions`] of the [`Machine`]. The life of a campaign:
//!
//!    ```text
//!    open ──raise──▶ elected ──▶ settled ──▶ raise … ──▶ lower ──▶ ended ──▶ released
//!      └────────────────── ended or refused ──────────────────────────────────▲
//!    ```
//!
//!    The loop opens, raises and lowers; the backend reports the rest. While a campaign is open,
//!    [`waits`](Campaigns::waits) reports why it waits, each time that the reason changes. For a
//!    leader it reports why the lease is not renewed.
//! 2. A node: a type that keeps the [`Hold`] that [`spawn`] returns; [`Hold::election`] makes
//!    handles.
//!
//! When the last `Hold` is dropped, no handle is left. The loop then gives everything up, and
//! ends once others know of the end, or [`Backend::farewell`] later.
//!
//! Leases are timed on [`crate::clock`]; a [`Timer`] waits for instants, and [`Watched`] for
//! descriptors.

mod backend;
mod campaigns;
mod endpoint;
mod fair;
mod loop_thread;
mod machine;
mod repeats;
mod run;
mod subscriptions;
mod timer;

use std::any::Any;
use std::sync::Arc;

use tenure_core::ElectionName;

pub use self::backend::{Address, Backend, Message, Record};
pub use self::campaigns::{Campaigns, LOG, NOTICES, Resign};
pub use self::endpoint::{ServerUrl, UrlError, UrlForm, host_and_port};
pub use self::loop_thread::{Hold, HoldOf, LoopParts, Notices, random, seed, spawn};
pub use self::machine::Machine;
pub use self::repeats::Repeats;
pub use self::subscriptions::Subscriptions;
pub use self::timer::Timer;
use crate::election::Election;
use crate::leader::Leader;
pub use crate::request::{
    CampaignId, CampaignReply, DriverHandle, Elected, ObserveReply, Request, Timing, TransferReply,
};
use crate::safety::SafetyClass;
pub use crate::shared_time::SharedTime;
pub use crate::watched::Watched;

/// The handle of the election `name`.
#[must_use]
pub fn election<C: SafetyClass>(
    driver: Arc<dyn DriverHandle<C>>,
    name: ElectionName,
) -> Election<C> {
    Election::new(driver, name)
}

/// Returns [`Elected::extra`], a protocol's own object for its leaders, if it is a `T`.
#[must_use]
pub fn extra<T: Any + Send + Sync, C: SafetyClass>(leader: &Leader<C>) -> Option<Arc<T>> {
    leader.extra().downcast().ok()
}
