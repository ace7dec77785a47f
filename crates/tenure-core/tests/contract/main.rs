//! What the contract promises of every core, as one suite (`tenure_core::contract`).
//!
//! A core joins by implementing [`Subject`](subject::Subject) and one line of [`suite`]. All
//! checks see a core through the trait `Protocol` only.

#![allow(clippy::unwrap_used, reason = "a stage is test code, inside its functions too")]
#![cfg(not(tenure_planted))]

mod checks;
mod cluster;
mod etcd;
mod inputs;
mod nerio;
mod rng;
mod subject;

/// All checks for one subject.
macro_rules! suite {
    ($core:ident, $subject:ty) => {
        mod $core {
            use crate::checks;

            #[test]
            fn the_same_inputs_give_the_same_effects() {
                checks::determinism::<$subject>();
            }

            #[test]
            fn an_early_timeout_does_nothing() {
                checks::early_timeouts::<$subject>();
            }

            #[test]
            fn a_late_timeout_does_all_that_was_due() {
                checks::late_timeouts::<$subject>();
            }

            #[test]
            fn a_duplicate_changes_no_standing() {
                checks::duplicates::<$subject>();
            }

            #[test]
            fn memory_is_bounded_by_the_configuration() {
                checks::memory::<$subject>();
            }

            #[test]
            fn any_clock_is_survived() {
                checks::clocks::<$subject>();
            }

            #[test]
            fn effects_and_inputs_print_on_one_line() {
                checks::lines::<$subject>();
            }
        }
    };
}

/// The checks for one whose messages travel as packets.
macro_rules! packets {
    ($core:ident, $subject:ty) => {
        mod $core {
            use crate::inputs;

            #[test]
            fn random_bytes_are_survived() {
                inputs::random_bytes::<$subject>();
            }

            #[test]
            fn mutated_packets_are_survived() {
                inputs::mutated_packets::<$subject>();
            }

            #[test]
            fn what_was_found_is_replayed() {
                inputs::corpus::<$subject>();
            }
        }
    };
}

mod cores {
    suite!(nerio, crate::nerio::NerioSubject);
    suite!(etcd, crate::etcd::EtcdSubject);
}

mod wires {
    packets!(nerio, crate::nerio::NerioSubject);
}
