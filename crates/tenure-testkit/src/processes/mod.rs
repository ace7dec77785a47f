//! Real processes of the command `tenure`, real faults, and one judge.
//!
//! Three nodes (a protocol's members or servers) and three runners with a worker as CMD. All CMDs
//! write to one journal, on one clock. After each fault the judge reads the journal, and a
//! candidate must lead again ([`rounds::play`]). The [`Deployment`] of a protocol starts its
//! processes and lists its faults.
//!
//! A test binary that starts runners is also their CMD, so its `main` is [`main`].

pub mod rounds;

mod clock_rate;
mod cluster;
mod deployment;
mod dns;
mod faults;
mod fleet;
mod hanging;
mod host;
mod journal;
mod judge;
#[cfg(test)]
mod judge_tests;
mod line;
mod machine;
mod marked;
mod members;
mod named;
mod namespaces;
mod network;
mod proxy;
#[cfg(test)]
mod proxy_tests;
mod systemd;
mod trials;
mod udp;
pub mod wait;
mod web;
mod worker;

pub use clock_rate::ClockRate;
pub use cluster::Cluster;
pub use deployment::{Deployment, Timing};
pub(crate) use deployment::{in_millis, span_flags};
pub use faults::Fault;
pub use fleet::{ELECTION, Fleet};
pub use hanging::{Hanging, HangingLibrary};
pub use host::Host;
pub(crate) use host::{NODES, RUNNERS};
pub use journal::Journal;
pub use judge::{Judge, Leadership, Tallies, Violation, ViolationKind};
pub use line::{Line, Step};
pub use machine::{Answer, Machine, RunningCommand};
pub use marked::{MARK, Marked, is_stopped};
pub use members::Members;
pub use named::NamedHosts;
pub use namespaces::Namespaces;
pub(crate) use network::PORT;
pub use network::{Network, Weather, loopback, own_net};
pub use proxy::{Proxy, Traffic};
pub use systemd::Systemd;
pub use tenure_services::addresses;
pub use trials::{Tests, trials};
pub use udp::{UdpSocketState, udp_sockets};
pub use wait::{PATIENCE, ended, eventually, output};
pub use web::{Web, WebAnswer, WebEvent, WebEvents, exchange};
pub use worker::{Manner, PACE, ROLE, main};
