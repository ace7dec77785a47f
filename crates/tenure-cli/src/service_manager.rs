//! The service manager that started this process, if one did: systemd, by `sd_notify(3)`. A thread
//! of its own sends the messages: a manager that does not read them keeps no leader waiting.

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

/// Where it listens.
const SOCKET: &str = "NOTIFY_SOCKET";
/// The variables by which it is found: they are meant for this process, and not for CMD.
pub(crate) const VARIABLES: [&str; 3] = [SOCKET, "WATCHDOG_PID", "WATCHDOG_USEC"];

/// The number of messages that may wait. Later ones are lost.
const WAITING_MAX: usize = 64;

/// How long the end of this process waits for it to read.
const READS_WITHIN: Duration = Duration::from_secs(1);

/// No more often it is told that this process works, whatever it wants.
const OFTEN: Duration = Duration::from_millis(10);

/// The longest span that it can be told: 32 bits of microseconds, rounded down.
const SAID_MAX: Duration = Duration::from_secs(4_000);

/// Largest number of elections that a status names.
const NAMED_MAX: usize = 8;

/// Tells it how this process does. Clones are the same.
#[derive(Clone, Default)]
pub(crate) struct ServiceManager {
    words: Option<SyncSender<Word>>,
    /// The elections of this process, and whether each is led.
    elections: Arc<Mutex<BTreeMap<String, bool>>>,
}

enum Word {
    Ready,
    Status(String),
    /// And how long that takes at most.
    Stopping(Duration),
    /// The stop takes longer than the manager was told, and this from now on.
    StillStopping(Duration),
    Alive,
    /// The manager was told all messages before it.
    AllBefore(oneshot::Sender<()>),
}

impl ServiceManager {
    /// The manager that started this process. Without a manager all messages are dropped.
    pub(crate) fn of_this_process() -> Self {
        if env::var_os(SOCKET).is_none() {
            return Self::default();
        }
        let (words, to_tell) = sync_channel::<Word>(WAITING_MAX);
        let thread = thread::Builder::new().name("tenure-notify".to_owned());
        let thread = thread.spawn(move || tell_all(&to_tell));
        Self { words: thread.ok().map(|_| words), ..Self::default() }
    }

    /// Tells it as often as it wants to hear that (`WatchdogSec`) that this process `works`, as
    /// long as that answers. Resolves never.
    pub(crate) async fn hear_that(&self, works: impl AsyncFn() -> bool) -> Infallible {
        let within = self.words.as_ref().and_then(|_| sd_notify::watchdog_enabled());
        let within = within.filter(|within| !within.is_zero());
        let Some(within) = within else { return std::future::pending().await };
        // Twice as often, as its documentation has it.
        let mut due = tokio::time::interval((within / 2).max(OFTEN));
        loop {
            due.tick().await;
            if works().await {
                self.tell(Word::Alive);
            }
        }
    }

    /// This process does what it is for: it campaigns, or grants leases.
    pub(crate) fn ready(&self) {
        self.tell(Word::Ready);
    }

    /// Tells the manager the state of this process.
    pub(crate) fn status(&self, text: &str) {
        self.tell(Word::Status(one_line(text)));
    }

    /// Tells the manager the state of an election. If there are several, it hears which are led.
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

    /// This process was asked to end, and takes that long at most.
    pub(crate) fn stopping(&self, within: Duration) {
        self.tell(Word::Stopping(within));
    }

    /// Resolves when it has been told everything, or does not read. The thread that tells it ends
    /// with the process.
    pub(crate) async fn told_all(&self) {
        let (told, all) = oneshot::channel();
        self.tell(Word::AllBefore(told));
        let _ = tokio::time::timeout(READS_WITHIN, all).await;
    }

    fn tell(&self, word: Word) {
        if let Some(words) = &self.words {
            // A manager that does not read misses the message.
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

/// How long it takes to end, as far as there is room for that.
fn extend(within: Duration) -> NotifyState<'static> {
    let within = within.min(SAID_MAX);
    NotifyState::ExtendTimeoutUsec(u32::try_from(within.as_micros()).unwrap_or(u32::MAX))
}

/// Tells one word after the other, and again how long it takes to end where that is long.
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
