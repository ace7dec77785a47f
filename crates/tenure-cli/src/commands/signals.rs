//! Being asked to end.

use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::exit::Exit;
use crate::failure::Failure;

/// SIGTERM, SIGINT and SIGHUP, from the moment it is made.
pub(super) struct Signals {
    term: Signal,
    int: Signal,
    hup: Signal,
}

impl Signals {
    pub(super) fn new() -> Result<Self, Failure> {
        let listen = |kind| {
            signal(kind).map_err(|error| {
                let what = format!("signals cannot be received: {error}");
                Failure::new(Exit::System, what, "look at the limits of this process")
            })
        };
        Ok(Self {
            term: listen(SignalKind::terminate())?,
            int: listen(SignalKind::interrupt())?,
            hup: listen(SignalKind::hangup())?,
        })
    }

    /// The number of the next one. Cancel safe.
    pub(super) async fn next(&mut self) -> u8 {
        tokio::select! {
            _ = self.term.recv() => 15,
            _ = self.int.recv() => 2,
            _ = self.hup.recv() => 1,
        }
    }
}
