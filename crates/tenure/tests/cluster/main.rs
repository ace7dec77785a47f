//! The library on real sockets: three grantors and some candidates in one process.

mod handles;
mod restart;
mod setup;
