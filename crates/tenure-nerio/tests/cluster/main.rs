//! The library on real sockets: three grantors and some candidates in one process.

#![allow(clippy::unwrap_used, reason = "a test that cannot set up should end there")]

mod agree;
mod busy;
mod everywhere;
mod handles;
mod lead;
mod lists;
mod orders;
mod overload;
mod restart;
mod sealed;
mod setup;
mod waiting;
mod weak;
