//! The service manager that started this process, such as systemd, by `sd_notify(3)`. A thread of
//! its own sends the messages, so a manager that does not read never delays a leader.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::env;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use sd_notify::NotifyState;
use tenure::{Time, clock};
use tokio::sync::oneshot;

use crate::failure::one_line;

const SOCKET: &str = "NOTIFY_SOCKET";
/// The variables that name the manager. CMD does not inherit these variables.
pub(crate) const VARIABLES: [&str; 3] = [SOCKET, "WATCHDOG_PID", "WATCHDOG_USEC"];

/// The number of queued messages. Later messages are lost.
const WAITING_MAX: usize = 64;

/// Bound on the wait for the manager to read, at the end of this process.
const READS_WITHIN: Duration = Duration::from_secs(1);

/// The shortest interval of watchdog messages, whatever the manager asks for.
const OFTEN: Duration = Duration::from_millis(10);

/// The longest span that a message can express: 32 bits of microseconds, rounded down.
const SAID_MAX: Duration = Duration::from_secs(4_000);

/// The largest number of elections that a status names.
const NAMED_MAX: usize = 8;

/// A handle for messages to the manager. Clones share the queue.
#[derive(Clone, Default)]
pub(crate) struct ServiceManager {
    words: Option<SyncSender<Word>>,
    /// Elections of this process; `true` for an election that this process leads.
    elections: Arc<Mutex<BTreeMap<String, bool>>>,
}

enum Word {
    Ready,
    Status(String),
    /// The process stops within this span.
    Stopping(Duration),
    /// The process still stops, and needs this span from now on.
    StillStopping(Duration),
    Alive,
    /// The manager has received all messages before this one.
    AllBefore(oneshot::Sender<()>),
}

impl ServiceManager {
    /// The manager that started this process; without a manager all messages are dropped.
    pub(crate) fn of_this_process() -> Self {
        if env::var_os(SOCKET).is_none() {
            return Self::default();
        }
        let (words, to_tell) = sync_channel::<Word>(WAITING_MAX);
        let thread = thread::Builder::new().name("tenure-notify".to_owned());
        let thread = thread.spawn(move || tell_all(&to_tell));
        Self { words: thread.ok().map(|_| words), ..Self::default() }
    }

    /// Sends watchdog messages (`WatchdogSec`) while `works` answers true. Never resolves.
    pub(crate) async fn hear_that(&self, works: impl AsyncFn() -> bool) -> Infallible {
        let within = self.words.as_ref().and_then(|_| sd_notify::watchdog_enabled());
        let within = within.filter(|within| !within.is_zero());
        let Some(within) = within else { return std::future::pending().await };
        // The documentation of the watchdog advises half its span.
        let mut due = tokio::time::interval((within / 2).max(OFTEN));
        loop {
            due.tick().await;
            if works().await {
                self.tell(Word::Alive);
            }
        }
    }

    /// Reports that this process campaigns, or grants leases.
    pub(crate) fn ready(&self) {
        self.tell(Word::Ready);
    }

    pub(crate) fn status(&self, text: &str) {
        self.tell(Word::Status(one_line(text)));
    }

    /// Records the state of one election, and reports the state of all elections of this process.
    pub(crate) fn of_election(&self, election: &str, leads: bool, text: &str) {
        if self.words.is_none() {
            return;
        }
        let mut elections = self.elections.lock().unwrap_or_else(PoisonError::into_inner);
        elections.insert(election.to_owned(), leads);
        let text = if elections.len() == 1 { one_line(text) } else { led(&elections) };
        drop(elections);
        self.tell(Word::Status(text));
    }

    /// Forgets an election in which this process takes part no more.
    pub(crate) fn forget(&self, election: &str) {
        self.elections.lock().unwrap_or_else(PoisonError::into_inner).remove(election);
    }

    /// Reports that this process was asked to end, and the longest time that it needs.
    pub(crate) fn stopping(&self, within: Duration) {
        self.tell(Word::Stopping(within));
    }

    /// Resolves when all messages are sent, or the manager does not read. The sending thread ends
    /// with the process.
    pub(crate) async fn told_all(&self) {
        let (told, all) = oneshot::channel();
        self.tell(Word::AllBefore(told));
        let _ = tokio::time::timeout(READS_WITHIN, all).await;
    }

    fn tell(&self, word: Word) {
        if let Some(words) = &self.words {
            // A full queue loses the message.
            let _ = words.try_send(word);
        }
    }
}

impl Word {
    fn tell(self) -> std::io::Result<()> {
        match self {
            Self::Ready => sd_notify::notify(&[NotifyState::Ready]),
            Self::Status(text) => sd_notify::notify(&[NotifyState::Status(&text)]),
            Self::Stopping(within) => sd_notify::notify(&[NotifyState::Stopping, extend(within)]),
            Self::StillStopping(within) => sd_notify::notify(&[extend(within)]),
            Self::Alive => sd_notify::notify(&[NotifyState::Watchdog]),
            Self::AllBefore(told) => {
                let _ = told.send(());
                Ok(())
            }
        }
    }
}

/// Asks for a later stop timeout, up to the largest span of a message.
fn extend(within: Duration) -> NotifyState<'static> {
    let within = within.min(SAID_MAX);
    NotifyState::ExtendTimeoutUsec(u32::try_from(within.as_micros()).unwrap_or(u32::MAX))
}

/// Sends the messages in order. Extends the stop timeout again and again if the stop takes long.
fn tell_all(words: &Receiver<Word>) {
    let mut ends = Time::ZERO;
    let mut again = None::<Time>;
    loop {
        let word = match again {
            None => words.recv().map_err(RecvTimeoutError::from),
            Some(again) => words.recv_timeout(again.since(clock::now())),
        };
        let now = clock::now();
        let word = match word {
            Ok(word) => word,
            Err(RecvTimeoutError::Timeout) => Word::StillStopping(ends.since(now)),
            Err(RecvTimeoutError::Disconnected) => return,
        };
        if let Word::Stopping(within) | Word::StillStopping(within) = word {
            ends = now.after(within);
            again = (within > SAID_MAX).then(|| now.after(SAID_MAX / 2));
        }
        if let Err(error) = word.tell() {
            tracing::debug!("messages to the service manager fail: {error}");
        }
    }
}

fn led(elections: &BTreeMap<String, bool>) -> String {
    let led: Vec<&str> =
        elections.iter().filter(|(_, leads)| **leads).map(|(name, _)| name.as_str()).collect();
    let count = led.len();
    let all = elections.len();
    let named = led.get(..NAMED_MAX).unwrap_or(&led).join(", ");
    match count {
        0 => format!("leads none of {all}"),
        _ if count > NAMED_MAX => format!("leads {count} of {all}: {named}, …"),
        _ => format!("leads {count} of {all}: {named}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn status_names_led_elections() {
        let mut elections: BTreeMap<_, _> =
            (0..20).map(|role| (format!("x/{role}"), false)).collect();
        assert_eq!(led(&elections), "leads none of 20");
        elections.insert("x/3".to_owned(), true);
        assert_eq!(led(&elections), "leads 1 of 20: x/3");
        elections.values_mut().for_each(|leads| *leads = true);
        assert!(led(&elections).starts_with("leads 20 of 20: x/0, "), "{}", led(&elections));
        assert!(led(&elections).ends_with(", …"), "{}", led(&elections));
    }
}
