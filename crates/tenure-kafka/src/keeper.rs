//! The end of clients: the library ends a client only after its look-ups of names, which takes
//! minutes where a name server never answers.

use std::convert::Infallible;
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

/// The wait for an end before a process may end: the resources of a client go away with the
/// process.
const MOMENT: Duration = Duration::from_millis(250);

/// Ends clients, by `ends`, on a thread of its own. Receive from the channel to wait for the end.
pub(crate) fn end(ends: impl FnOnce() + Send + 'static) -> Receiver<Infallible> {
    let (ending, ended) = channel();
    let run = move || {
        ends();
        drop(ending);
    };
    // Without a thread the clients end here, when `ends` is dropped.
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
