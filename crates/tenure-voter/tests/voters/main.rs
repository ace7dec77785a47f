//! Voters of one process that elect over real HTTP on loopback, and what strangers send them.

mod common;
mod elects;
mod handles;
mod hostile;
mod protected;
