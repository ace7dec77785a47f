//! What a fact is.

use std::error::Error;
use std::pin::Pin;
use std::time::Duration;

use tenure_services::etcd::Version;

use crate::stage::Stage;

/// What a server showed, in a few words that are the same each time; or why it showed nothing.
pub(crate) type Seen = Result<String, Failure>;

/// Why nothing was seen.
pub(crate) type Failure = Box<dyn Error + Send + Sync>;

/// No fact takes longer, so a server that never answers is a failure.
pub(crate) const LIMIT: Duration = Duration::from_secs(150);

/// One sentence about etcd.
pub(crate) struct Fact {
    pub(crate) name: &'static str,
    pub(crate) sentence: &'static str,
    pub(crate) expected: Expected,
    pub(crate) check: fn(Stage) -> Pin<Box<dyn Future<Output = Seen>>>,
}

/// What has to be seen.
#[derive(Clone, Copy)]
pub(crate) enum Expected {
    /// On every version.
    Always(&'static str),
    /// What differs: on 3.4, and on the newest.
    Each(&'static str, &'static str),
}

impl Expected {
    pub(crate) fn on(self, version: Version) -> &'static str {
        match (self, version) {
            (Self::Always(seen) | Self::Each(seen, _), Version::Debian34)
            | (Self::Always(seen) | Self::Each(_, seen), Version::Newest) => seen,
        }
    }
}

/// A fact with the name of its function.
macro_rules! fact {
    ($name:ident, $expected:expr, $sentence:expr) => {
        $crate::fact::Fact {
            name: stringify!($name),
            sentence: $sentence,
            expected: $expected,
            check: |stage| Box::pin($name(stage)),
        }
    };
}
pub(crate) use fact;
