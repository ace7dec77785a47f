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
//!    are sent and records written, and what the events of its core mean for the [`Seats`] and
//!    [`Boards`] of the [`Machine`]. The life of a seat:
//!
//!    ```text
//!    open ──raise──▶ elected ──▶ settled ──▶ raise … ──▶ lower ──▶ ended ──▶ released
//!      └────────────────── ended or refused ──────────────────────────────────▲
//!    ```
//!
//!    The loop opens, raises and lowers; the backend says the rest. While a seat is open,
//!    [`waits`](Seats::waits) says what it waits for, each time that changes.
//! 2. Something that lives as long as its handles, keeps the [`Hold`] that [`spawn`] gives, and
//!    implements [`Office`]; [`election`] makes handles of it.
//!
//! When the last `Hold` is gone nobody holds a handle: the loop gives everything up, waits until
//! others know, [`Backend::farewell`] at the longest, and ends.
//!
//! Leases are timed on [`crate::clock`], and waited for with a [`Timer`].

mod backend;
mod boards;
mod hold;
mod machine;
mod order;
mod run;
mod seats;
mod timer;
mod told;
mod turns;

use std::any::Any;
use std::sync::Arc;
use std::time::Duration;

use tenure_core::ElectionName;

pub use self::backend::{Address, Backend, Message, Record};
pub use self::boards::Boards;
pub use self::hold::{Begun, Hold, Notices, random, spawn};
pub use self::machine::Machine;
pub(crate) use self::order::{CampaignAnswer, Progress, Sight, Won};
pub use self::order::{CampaignReply, Elected, ObserveReply, Order, SeatId, TransferReply};
pub use self::seats::{Resign, Seats};
pub use self::timer::Timer;
pub use self::told::Told;
use crate::election::Election;
use crate::kind::Kind;
use crate::leader::Leader;

/// The target of what drivers log: who leads, why not, what is waited for, and what an operator
/// should hear of. Each change once, never a line for each message.
pub const LOG: &str = "tenure::events";

/// The side of a driver that handles hold on to.
pub trait Office<K: Kind>: Send + Sync + 'static {
    /// Passes an order on to the driver's loop, in the order of the calls. Must not block: it is
    /// called in destructors too. Once the loop has ended, the order is dropped, which tells
    /// whoever waits for an answer.
    fn order(&self, order: Order<K>);

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
pub fn election<K: Kind>(office: Arc<dyn Office<K>>, name: ElectionName) -> Election<K> {
    Election::new(office, name)
}

/// What the driver gave along as [`Elected::extra`], if it is a `T`: for what a protocol offers
/// its leaders beyond the handle.
#[must_use]
pub fn extra<T: Any + Send + Sync, K: Kind>(leader: &Leader<K>) -> Option<Arc<T>> {
    leader.extra().downcast().ok()
}
