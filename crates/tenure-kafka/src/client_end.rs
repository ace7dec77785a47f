//! Ends clients of the library. The library ends a client only after the client's look-ups of
//! names. These take minutes if a name server never answers.

use std::convert::Infallible;
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

/// The longest time for which a process waits for the end of its clients: the resources of a client
/// go away with the process.
const MOMENT: Duration = Duration::from_millis(250);

/// Runs `ends`, which ends clients, on a thread of its own. The channel closes when `ends` has
/// returned.
pub(crate) fn end(ends: impl FnOnce() + Send + 'static) -> Receiver<Infallible> {
    let (ending, ended) = channel();
    let run = move || {
        ends();
        drop(ending);
    };
    // If no thread starts, `ends` is dropped here, and the clients end.
    let _ = thread::Builder::new().name("tenure-end".into()).spawn(run);
    ended
}

/// Ends clients, and waits a moment.
pub(crate) fn end_soon(ends: impl FnOnce() + Send + 'static) {
    let _ = end(ends).recv_timeout(MOMENT);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_that_last_hold_up_nobody() {
        let (go, goes) = channel::<Infallible>();
        let (told, heard) = channel();
        end_soon(move || {
            let _ = goes.recv();
            let _ = told.send(());
        });
        assert!(heard.try_recv().is_err(), "it lasts");
        drop(go);
        assert_eq!(heard.recv(), Ok(()));
    }
}
