//! The larger explorations of Nerio's smallest clusters: millions of states each, which take
//! minutes on a busy machine. `model` has the rest.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a model is test code, inside its functions too"
)]
#![allow(dead_code, reason = "the smaller ones are explored elsewhere")]

#[path = "model/states/mod.rs"]
mod states;

use states::{cases, holds};

#[test]
fn drift_ends_hold() {
    holds(cases::drift);
}

#[test]
fn grantor_reboot_holds() {
    holds(cases::reboot);
}

#[test]
fn lost_directory_holds() {
    holds(cases::loss);
}

#[test]
fn candidate_rebirth_holds() {
    holds(cases::rebirth);
}

#[test]
fn repeated_release_holds() {
    holds(cases::late_release);
}
