//! The picture as a parser and a person see it.

use super::*;
use crate::timeline::{Arrow, Lane, Mark, Span, SpanKind};

mod story;

use story::{crowd, delayed_release};

/// Draws to files for a person to look at: `TENURE_PICTURES=DIR cargo test -p tenure-sim`.
#[test]
fn pictures() {
    if let Some(folder) = std::env::var_os("TENURE_PICTURES") {
        let folder = std::path::PathBuf::from(folder);
        for (name, timeline) in [
            ("release", delayed_release()),
            ("paused", story::paused_leader()),
            ("crowd200", crowd(9, 200)),
            ("crowd60", crowd(4, 60)),
            ("crowd5000", crowd(9, 5_000)),
            ("empty", Timeline::default()),
        ] {
            std::fs::write(folder.join(format!("{name}.svg")), draw(&timeline)).unwrap();
        }
    }
}
