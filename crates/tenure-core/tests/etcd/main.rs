//! Stories about elections on etcd, told by hand: a core, and an etcd that says what the story
//! wants it to say.

#![allow(clippy::unwrap_used, reason = "a stage is test code, inside its functions too")]

mod campaign;
mod contract;
mod foreign;
mod leave;
mod observe;
mod session;
mod stage;
mod terms;
mod troubles;
