//! The larger ones of Nerio's smallest clusters: millions of states each, which take minutes where
//! the machine is busy. All else about them is in `model`.

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
fn at_both_ends_of_the_drift() {
    holds(cases::drift);
}

#[test]
fn with_a_reboot_of_a_grantor() {
    holds(cases::reboot);
}

#[test]
fn with_a_lost_state_directory() {
    holds(cases::loss);
}

#[test]
fn with_a_rebirth_of_a_candidate() {
    holds(cases::rebirth);
}

#[test]
fn with_a_release_that_comes_again() {
    holds(cases::late_release);
}
