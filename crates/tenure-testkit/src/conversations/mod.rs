//! Golden conversations: stories told by real cores, as text that people review.
//!
//! A protocol brings a [`Cast`], and a folder with a `*.txt` for each story; how to read and how
//! to write them says `legend.md` beside those of Nerio, in
//! `crates/tenure-core/tests/nerio/conversations`. A difference is printed as a diff. `cargo xtask
//! bless` writes what the cores do now: read it before you keep it.
//!
//! ```text
//! tenure_testkit::conversations!(MyCast; first_election hand_over);
//! ```

mod cast;
mod directive;
mod golden;
mod network;
mod record;
mod script;
mod short;
mod stage;

pub use cast::{Beginning, Cast};
pub use directive::{Span, Words};
pub use golden::{check, every_story_can_be_reviewed, recorded, refusal};

/// Plays the stories of these names, and sees that they are all in the folder of this [`Cast`].
#[macro_export]
macro_rules! conversations {
    ($cast:ty; $($name:ident)*) => {
        $(#[test]
        fn $name() {
            $crate::conversations::check::<$cast>(stringify!($name));
        })*

        #[test]
        fn every_story_can_be_reviewed() {
            $crate::conversations::every_story_can_be_reviewed::<$cast>(&[$(stringify!($name)),*]);
        }
    };
}
