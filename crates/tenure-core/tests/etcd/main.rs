//! Stories about elections on etcd: a core, and an etcd that answers as the story wants.

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
