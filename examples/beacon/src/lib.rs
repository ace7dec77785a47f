//! An example of your own protocol, which you can read in ten minutes. Never shipped.
//!
//! Processes of one machine send each other datagrams. A candidate listens for a second, and leads
//! if it has heard no leader. A leader sends beats to all other processes, and gives way to a
//! leader whose name comes before its own. So several leaders may overlap for a moment, or for as
//! long as datagrams are lost. Leaders have no fences.
//!
//! 1. `core.rs` is the protocol, pure, with the promises of [`tenure_core::contract`].
//! 2. `node.rs` is the driver of the protocol, on real sockets, implemented against
//!    [`tenure::driver`].
//! 3. `main.rs` is the command with this protocol, by [`tenure_cli::protocol`].
//! 4. `tests/suites.rs` calls the suites for cores and for handles, and `tenure run`. Run the
//!    command yourself:
//!
//! ```text
//! cargo run -p beacon -- run --protocol beacon --beacons 127.0.0.1:7001,127.0.0.1:7002 \
//!     --election e -- sleep 60
//! ```

mod core;
mod node;

pub use crate::core::{Beacon, Beat, LEASE, Words};
pub use crate::node::{Node, TIMING, start};
