//! Signals that ask the process to end, and the end of children.

use std::convert::Infallible;
use std::future::poll_fn;
use std::io;
use std::task::Poll;
use std::time::Duration;

use tenure_supervise::{ending_signals, reap_orphans};
use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::exit::Exit;
use crate::failure::Failure;

/// The pause between two searches for orphans, if a guard was being spawned during the first.
const PAUSE: Duration = Duration::from_millis(100);

/// The longest pause between searches for orphans: an orphan may appear without a signal.
const LOOK: Duration = Duration::from_secs(1);

/// Receives the signals that ask this process to end, from the creation of this value on.
pub(super) struct Signals(Vec<(u8, Signal)>);

impl Signals {
    pub(super) fn new() -> Result<Self, Failure> {
        let listen = |number: i32| {
            let signal = signal(SignalKind::from_raw(number)).map_err(unheard)?;
            Ok((u8::try_from(number).unwrap_or(u8::MAX), signal))
        };
        ending_signals().into_iter().map(listen).collect::<Result<_, _>>().map(Self)
    }

    /// The number of the next signal. Cancel safe.
    pub(super) async fn next(&mut self) -> u8 {
        poll_fn(|context| {
            let mut signals = self.0.iter_mut();
            let came = signals.find_map(|(number, signal)| {
                signal.poll_recv(context).is_ready().then_some(*number)
            });
            came.map_or(Poll::Pending, Poll::Ready)
        })
        .await
    }
}

/// Does `work`, and meanwhile reaps orphans, which this process inherits if it is the first of its
/// PID namespace. All other children of this process must be guards.
pub(super) async fn beside_orphans(
    work: impl Future<Output = Result<Exit, Failure>>,
) -> Result<Exit, Failure> {
    let ends = signal(SignalKind::child()).map_err(unheard)?;
    tokio::select! {
        biased;
        ended = work => ended,
        never = reap(ends) => match never {},
    }
}

async fn reap(mut ends: Signal) -> Infallible {
    loop {
        match reap_orphans() {
            Ok(false) => tokio::time::sleep(PAUSE).await,
            // Without a readable /proc an orphan looks like a guard.
            Ok(true) | Err(_) => drop(tokio::time::timeout(LOOK, ends.recv()).await),
        }
    }
}

fn unheard(error: io::Error) -> Failure {
    let what = format!("signals cannot be received: {error}");
    Failure::new(Exit::System, what, "check the limits of this process (ulimit -a)")
}
