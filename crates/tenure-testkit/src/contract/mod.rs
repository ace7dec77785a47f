//! Suite of the promises of every core ([`tenure_core::contract`]).
//!
//! A core brings a [`Subject`], which makes a node and its inputs. All checks use the node only
//! through the trait [`Protocol`](tenure_core::Protocol). A single line makes the tests, in a
//! module of this name:
//!
//! ```text
//! tenure_testkit::contract!(my_core, MySubject);
//! ```
//!
//! A core whose messages travel as packets also brings [`Packets`], which reads them:
//!
//! ```text
//! tenure_testkit::packets!(my_wire, MySubject);
//! ```

mod checks;
mod cluster;
mod inputs;
mod subject;

pub use checks::*;
pub use inputs::*;
pub use subject::{Packets, Received, Subject, Words};

/// All checks for one [`Subject`], in a module of this name.
#[macro_export]
macro_rules! contract {
    ($core:ident, $subject:ty) => {
        $crate::contract! { $core, $subject =>
            same_inputs_same_effects
            an_early_timeout_does_nothing
            a_late_timeout_leaves_nothing_due
            a_duplicate_changes_no_standing
            memory_is_bounded_by_the_configuration
            any_clock_is_survived
            effects_print_on_one_line
        }
    };
    ($core:ident, $subject:ty => $($promise:ident)*) => {
        mod $core {
            $(#[test]
            fn $promise() {
                $crate::contract::$promise::<$subject>();
            })*
        }
    };
}

/// The checks of a core whose messages are [`Packets`], in a module of this name.
#[macro_export]
macro_rules! packets {
    ($core:ident, $subject:ty) => {
        $crate::contract! { $core, $subject =>
            random_bytes_are_survived
            mutated_packets_are_survived
            the_corpus_is_replayed
        }
    };
}
