//! Nerio's smallest clusters, exhaustively: three grantors and two candidates, the real cores,
//! true time in ticks, clocks at both ends of ρ, and every order of what can happen.
//!
//! Each configuration allows some kinds of trouble, a few times each, and is explored to the
//! end. `TENURE_LONG=1` allows more of it:
//! `TENURE_LONG=1 cargo test -p tenure-sim --release --test model -- --nocapture`.

#![allow(clippy::unwrap_used, reason = "a model is test code, inside its functions too")]
#![allow(unreachable_pub, missing_docs)]
#![cfg_attr(tenure_planted, allow(dead_code, reason = "only the planted bugs are looked for"))]

mod cases;
mod grantors;
#[cfg(tenure_planted)]
mod planted;

#[cfg(not(tenure_planted))]
mod every_state {
    use tenure_testkit::model::Setting;

    use crate::cases;
    use crate::grantors::Grantors;

    fn holds(case: fn(bool) -> Setting<Grantors>) {
        let long = std::env::var_os("TENURE_LONG").is_some();
        tenure_testkit::model::holds(&case(long), if long { 50_000_000 } else { 5_000_000 });
    }

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
    fn at_both_ends_of_the_drift() {
        holds(cases::drift);
    }

    #[test]
    fn with_a_crash_of_a_grantor() {
        holds(cases::crash);
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

    #[test]
    fn with_a_request_that_comes_again() {
        holds(cases::late_request);
    }
}
