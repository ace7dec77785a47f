//! What a driver implements against, so that all protocols hand out the same handles.
//!
//! For authors of drivers, such as those of the crates `tenure-*`; an application needs none of
//! it. [`crate::nerio`] is a driver too, and uses nothing else of the handles.
//!
//! A driver feeds one core from one outside system, in a loop on a thread of its own
//! ([`tenure_core::contract`] says how). The loop is here, once for all protocols; a protocol
//! brings:
//!
//! 1. A [`Backend`]: what comes from outside, what its node asks beside its handles, how messages
//!    are sent and records written, and what the events of its core mean for the [`Campaigns`] and
//!    [`Subscriptions`] of the [`Machine`]. The life of a campaign:
//!
//!    ```text
//!    open ──raise──▶ elected ──▶ settled ──▶ raise … ──▶ lower ──▶ ended ──▶ released
//!      └────────────────── ended or refused ──────────────────────────────────▲
//!    ```
//!
//!    The loop opens, raises and lowers; the backend says the rest. While a campaign is open,
//!    [`waits`](Campaigns::waits) says what it waits for, each time that changes.
//! 2. A node: something that keeps the [`Hold`] that [`spawn`] gives; [`Hold::election`] makes
//!    handles.
//!
//! When the last `Hold` is gone nobody holds a handle: the loop gives everything up, waits until
//! others know, [`Backend::farewell`] at the longest, and ends.
//!
//! Leases are timed on [`crate::clock`], and waited for with a [`Timer`]; a descriptor is waited for
//! with [`Watched`].

mod backend;
mod campaigns;
mod endpoint;
mod fair;
mod hold;
mod machine;
mod repeats;
mod request;
mod run;
mod subscriptions;
mod timer;

use std::any::Any;
use std::sync::Arc;
use std::time::Duration;

use tenure_core::ElectionName;

pub use self::backend::{Address, Backend, Message, Record};
pub use self::campaigns::{Campaigns, Resign};
pub use self::endpoint::{host_and_port, on_one_line};
pub use self::hold::{Begun, Hold, HoldOf, Notices, random, seed, spawn};
pub use self::machine::Machine;
pub use self::repeats::Repeats;
pub(crate) use self::request::{CampaignAnswer, Progress, Versioned, Won};
pub use self::request::{CampaignId, CampaignReply, Elected, ObserveReply, Request, TransferReply};
pub use self::subscriptions::Subscriptions;
pub use self::timer::Timer;
use crate::election::Election;
use crate::leader::Leader;
use crate::safety::SafetyClass;
pub use crate::watched::Watched;

/// The target of what drivers log: who leads, why not, what is waited for, and what an operator
/// should hear of. Each change once, never a line for each message.
pub const LOG: &str = "tenure::events";

/// The side of a driver that its handles hold.
pub trait DriverHandle<C: SafetyClass>: Send + Sync + 'static {
    /// Passes a request on to the driver's loop, in the order of the calls. Must not block: it is
    /// called in destructors too. Once the loop has ended, the request is dropped, which tells
    /// its sender, if it waits for an answer.
    fn request(&self, request: Request<C>);

    /// The times a handle needs. Asked at each use, so they may change.
    fn timing(&self) -> Timing;
}

/// The times a handle needs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Timing {
    /// [`Leader::expiring`] resolves when no more is left than this.
    pub grace: Duration,
    /// [`Leadership::run`](crate::Leadership::run) drops its work when no more is left than this.
    pub kill_margin: Duration,
    /// [`Leadership::resign`](crate::Leadership::resign) waits no longer than this until others know.
    pub resignation_max: Duration,
}

/// The handle of the election `name`.
#[must_use]
pub fn election<C: SafetyClass>(
    driver: Arc<dyn DriverHandle<C>>,
    name: ElectionName,
) -> Election<C> {
    Election::new(driver, name)
}

/// What the driver gave along as [`Elected::extra`], if it is a `T`: for what a protocol offers
/// its leaders beyond the handle.
#[must_use]
pub fn extra<T: Any + Send + Sync, C: SafetyClass>(leader: &Leader<C>) -> Option<Arc<T>> {
    leader.extra().downcast().ok()
}
