//! The command on real etcd.

#![expect(clippy::unwrap_used, reason = "a test says what went wrong by panicking")]

#[path = "../shared/answers.rs"]
mod answers;
#[path = "../errors/case.rs"]
mod case;
mod certificates;
mod doctor;
mod errors;
mod foreign;
#[path = "../errors/golden.rs"]
mod golden;
mod http;
mod leases;
mod names;
mod old;
mod page;
mod runner;
mod runs;
#[path = "../shared/silent_names.rs"]
mod silent_names;
#[path = "../errors/stage.rs"]
mod stage;
mod troubles;
