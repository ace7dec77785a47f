//! Nerio's smallest clusters, exhaustively: three grantors and two candidates, the real cores,
//! true time in ticks, clocks at both ends of ρ, and every order of what can happen.
//!
//! Each configuration allows some kinds of trouble, a few times each, and is explored to the
//! end: the smaller ones here, the larger ones in `model_long`. `TESTS_LONG=1` allows more of it:
//! `TESTS_LONG=1 cargo test -p tenure-sim --release --test model -- --nocapture`.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a model is test code, inside its functions too"
)]
#![allow(dead_code, reason = "the larger ones are explored elsewhere")]

mod states;

mod every_state {
    use crate::states::{cases, holds};

    #[test]
    fn of_a_hand_over() {
        holds(cases::hand_over);
    }

    #[test]
    fn with_one_delay() {
        holds(cases::delay);
    }

    #[test]
    fn with_many_delays_of_one_candidate() {
        holds(cases::alone);
    }

    #[test]
    fn with_a_crash_of_a_grantor() {
        holds(cases::crash);
    }

    #[test]
    fn with_a_request_that_comes_again() {
        holds(cases::late_request);
    }
}

/// Clocks that are worse than nodes take them to be are outside of what is promised, and what that
/// costs one leader that pauses is found: a model that finds nothing proves nothing.
#[test]
fn clocks_beyond_the_bound_are_found() {
    use states::grantors::config;
    use states::setting::{Budget, Setting};

    let case = states::cases::drift(false);
    let config = config(tenure_core::Drift::DEFAULT);
    let budget = Budget { campaigns: [1, 0], ..case.budget };
    let setting = Setting { config, budget, ..case };
    assert!(states::finds(&setting, 3_000_000, "equation 14"), "no state shows it");
}
