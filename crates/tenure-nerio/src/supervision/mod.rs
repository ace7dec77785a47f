//! Supervised release: a member on the same machine watches a process, and reports its end to all
//! members. The members then free the elections of that process without waiting for its leases.
//!
//! ```text
//! candidate's process                                    member's process
//!   hello: who, key of the boot, page of promises  ──>   opens a pidfd of the sender
//!                                                  <──   nonce
//!   nonce, works that run, go                      ──>   the sender is still that process
//!                                                  <──   watching
//!   a promise: page first, then the answer
//!   work begins, work is over                      ──>
//!   (the guard of a work, when nothing is left)    ──>
//!                                                        pidfd readable, no work, promises over:
//!                                                        tells all members that `who` has gone
//! ```
//!
//! The rules, numbered as in the description of the protocol:
//!
//! 1. Only a readable pidfd proves the end of a process: its thread group is over. The end of the
//!    socket proves nothing, because a process may close its sockets and live on, for example as
//!    another program. The kernel names the sender of the hello and, after the pidfd was opened, of
//!    the nonce. So the pidfd belongs to the process that leads.
//! 2. Handles read "not leader" in a forked child. A work is anything else that acts under the
//!    authority of the process, such as a command and its children. The candidate names each work
//!    before the work begins. The guard of the work reports when no process of the work is left. A
//!    work that never ends keeps the supervisor silent, and the leases run out. All messages of a
//!    process are in the socket before its pidfd is readable. So the supervisor reads the socket to
//!    its end before it judges.
//! 3. The page is memory that outlives the process, and holds the end of the process's latest
//!    promise to a verifier, in nanoseconds of `CLOCK_BOOTTIME`. The supervisor refuses a hello of
//!    another boot or time namespace.
//! 4. The candidate names its supervisor to the grantors, which believe no other member.

mod line;
mod supervisor;
#[cfg(test)]
mod tests;
mod watched;

pub use self::supervisor::{Report, Supervisor};
pub use self::watched::{SupervisorAt, SupervisorAtError, Watched, Work, WorkError};
use serde::{Deserialize, Serialize};
use tenure_core::NodeName;
use tenure_core::nerio::Who;

/// Version of these frames. Both processes run on one machine, and may be of two versions.
const VERSION: u8 = 1;

/// A frame of the watched process, or of a guard.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
enum Said {
    /// The first frame. The page of promises is attached.
    Hello {
        version: u8,
        boot: String,
        who: Who,
    },
    Nonce(u128),
    /// The process has named all its running works, so the watch begins.
    Go,
    Begins(u128),
    /// No process of the work is left. A guard sends this frame alone.
    Over(u128),
    /// The process does not lead any more, and needs no supervisor.
    Bye,
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
enum Answer {
    Nonce(u128),
    Watching { by: NodeName },
    Refused(String),
}
