//! Nerio's smallest clusters, exhaustively: three grantors and two candidates, the real cores, true
//! time in ticks, clocks at both ends of ρ, and every order of events.
//!
//! Each configuration allows some kinds of fault, a few times each, and is explored to the end: the
//! smaller configurations here, the larger configurations in `model_long`. `TESTS_LONG=1` allows
//! more faults: `TESTS_LONG=1 cargo test -p tenure-sim --release --test model -- --nocapture`.

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
    fn hand_over_holds() {
        holds(cases::hand_over);
    }

    #[test]
    fn single_delay_holds() {
        holds(cases::delay);
    }

    #[test]
    fn many_delays_hold() {
        holds(cases::alone);
    }

    #[test]
    fn grantor_crash_holds() {
        holds(cases::crash);
    }

    #[test]
    fn repeated_request_holds() {
        holds(cases::late_request);
    }
}

/// Clocks that drift more than nodes assume are outside the promise. The model finds the violation
/// for one leader that pauses: a model without findings proves nothing.
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
