//! The watched side: a candidate that shows its process to a supervisor.

use std::collections::BTreeSet;
use std::fmt;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{self, PathBuf};
use std::str::FromStr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::thread;
use std::time::Duration;

use rustix::io::Errno;
use rustix::net::sockopt::{Timeout, set_socket_timeout};
use tenure::driver::{NOTICES, SharedTime, random};
use tenure::state::BootKey;
use tenure_core::nerio::Who;
use tenure_core::{NameError, NodeName, Time};
use tokio::sync::broadcast;

use super::{Answer, Said, VERSION, line};
use crate::notice::Notice;

/// Longest wait for an answer of the supervisor.
const PATIENCE: Duration = Duration::from_secs(2);
const AGAIN: Duration = Duration::from_secs(1);

/// A member on this machine that watches this process, and the socket through which the member
/// watches.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SupervisorAt {
    pub name: NodeName,
    pub socket: PathBuf,
}

/// The reason why a text names no supervisor.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum SupervisorAtError {
    #[error("{text:?} has no =; give the member's name and its socket: a=/run/tenure/a.watch")]
    NoSocket { text: String },
    #[error("{text:?} names no socket behind the =")]
    Empty { text: String },
    #[error("the name of the supervisor: {0}")]
    Name(#[from] NameError),
}

impl FromStr for SupervisorAt {
    type Err = SupervisorAtError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let no_socket = || SupervisorAtError::NoSocket { text: text.to_owned() };
        let (name, socket) = text.split_once('=').ok_or_else(no_socket)?;
        if socket.is_empty() {
            return Err(SupervisorAtError::Empty { text: text.to_owned() });
        }
        Ok(Self { name: NodeName::new(name)?, socket: socket.into() })
    }
}

impl fmt::Display for SupervisorAt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}={}", self.name, self.socket.display())
    }
}

/// The supervisor cannot be told that a work begins, because the supervisor has not read for long.
/// Then the work must not begin: it might outlast this process, and the supervisor would not know.
#[derive(Debug, thiserror::Error)]
#[error(
    "the supervisor {at} does not hear that work begins: {source}; check node {name}, or restart \
     that node", name = .at.name
)]
pub struct WorkError {
    at: SupervisorAt,
    source: io::Error,
}

/// The process of a candidate that has a supervisor, whether the supervisor watches it now or not.
#[derive(Debug)]
pub struct Watched {
    at: SupervisorAt,
    who: Who,
    page: SharedTime,
    /// The instant in `page`, in nanoseconds. A promise of an earlier instant needs no write.
    promised: AtomicU64,
    line: Mutex<Line>,
    notices: broadcast::Sender<Notice>,
}

#[derive(Debug, Default)]
struct Line {
    /// The connection of a watch that has begun.
    socket: Option<OwnedFd>,
    /// Whether the supervisor has said that it watches.
    is_watched: bool,
    /// Whether the supervisor may watch this process on a connection that was given up.
    is_unsure: bool,
    works: BTreeSet<u128>,
    /// The last report, while the process is not watched.
    trouble: Option<Notice>,
}

impl Watched {
    /// Begins to show this process to the supervisor. The supervisor may start later, and start
    /// again. Each change is reported to `notices`.
    pub fn begin(
        at: SupervisorAt,
        who: Who,
        notices: broadcast::Sender<Notice>,
    ) -> io::Result<Arc<Self>> {
        let boot = BootKey::current().map_err(io::Error::other)?;
        let socket = path::absolute(&at.socket)?;
        let at = SupervisorAt { socket, ..at };
        let page = SharedTime::create(Time::ZERO)?;
        let (promised, line) = (AtomicU64::new(0), Mutex::default());
        let this = Arc::new(Self { at, who, page, promised, line, notices });
        let watched = Arc::downgrade(&this);
        let name = "tenure-watched".to_owned();
        thread::Builder::new().name(name).spawn(move || stay_watched(&watched, &boot))?;
        Ok(this)
    }

    /// The member that watches.
    #[must_use]
    pub fn supervisor(&self) -> &NodeName {
        &self.at.name
    }

    /// Writes down that an answer promises a leadership until `until`. Must return before the
    /// answer leaves. Only one thread at a time may call this.
    pub fn promise(&self, until: Time) -> io::Result<()> {
        let nanos = until.as_nanos();
        if self.promised.load(Ordering::Acquire) < nanos {
            self.page.set(until)?;
            self.promised.store(nanos, Ordering::Release);
        }
        Ok(())
    }

    /// Announces a work that acts under the authority of this process, before it begins.
    pub fn begins(self: &Arc<Self>) -> Result<Work, WorkError> {
        let fails = |source| WorkError { at: self.at.clone(), source };
        let number = random().map_err(|error| fails(io::Error::other(error)))?;
        let mut line = self.line();
        if line.is_unsure {
            return Err(fails(io::Error::other("its queue was full when the watch ended")));
        }
        if let Some(socket) = &line.socket {
            match line::send(socket, &Said::Begins(number)) {
                Ok(()) => {}
                // The supervisor has ended, or no longer watches this process.
                Err(error) if is_over(&error) => line.socket = None,
                Err(error) => return Err(fails(error)),
            }
        }
        line.works.insert(number);
        Ok(Work { number, watched: Arc::clone(self) })
    }

    /// Whether the supervisor watches this process now.
    #[must_use]
    pub fn is_watched(&self) -> bool {
        self.line().is_watched
    }

    /// The reason why the supervisor does not watch this process, once an attempt has failed.
    #[must_use]
    pub fn trouble(&self) -> Option<Notice> {
        self.line().trouble.clone()
    }

    /// Reports that the supervisor watches this process, or does not for this reason.
    fn report(&self, unwatched: Option<String>) {
        let SupervisorAt { name: supervisor, socket } = self.at.clone();
        let notice = match unwatched {
            Some(why) => {
                let notice = Notice::Unwatched { supervisor, socket, why };
                tracing::warn!(target: NOTICES, "{notice}");
                self.line().trouble = Some(notice.clone());
                notice
            }
            None => {
                let notice = Notice::Watched { supervisor };
                tracing::info!(target: NOTICES, "{notice}");
                let mut line = self.line();
                (line.is_watched, line.trouble) = (true, None);
                notice
            }
        };
        // The send fails without listeners; ignore it.
        let _ = self.notices.send(notice);
    }

    fn line(&self) -> MutexGuard<'_, Line> {
        self.line.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Shows this process to the supervisor, up to the frame that begins the watch. Returns the
    /// connection.
    fn introduce(&self, boot: &BootKey) -> io::Result<OwnedFd> {
        let socket = line::dial(&self.at.socket, PATIENCE)?;
        let (boot, who) = (boot.as_str().to_owned(), self.who.clone());
        let hello = Said::Hello { version: VERSION, boot, who };
        line::send_with(&socket, &hello, &[self.page.as_fd()])?;
        match line::receive(&socket)? {
            Some(Answer::Nonce(nonce)) => line::send(&socket, &Said::Nonce(nonce))?,
            other => return Err(unexpected(other)),
        }
        let ours = socket.try_clone()?;
        set_socket_timeout(&socket, Timeout::Recv, None)?;
        // Hold the lock, so that a work that begins meanwhile is announced after the frames below.
        let mut line = self.line();
        for work in &line.works {
            line::send(&socket, &Said::Begins(*work))?;
        }
        line::send(&socket, &Said::Go)?;
        line.socket = Some(ours);
        Ok(socket)
    }

    /// Ends the watch. If the supervisor cannot be told, no work may begin any more, because the
    /// supervisor would not know of that work.
    fn hang_up(&self) {
        let mut line = self.line();
        line.is_watched = false;
        let Some(socket) = line.socket.take() else { return };
        let told = line::send(&socket, &Said::Bye);
        line.is_unsure |= told.is_err_and(|error| !is_over(&error));
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        if let Some(socket) = &self.line().socket {
            // A supervisor that misses this watches on until the end of this process.
            line::send(socket, &Said::Bye).ok();
            rustix::net::shutdown(socket, rustix::net::Shutdown::Both).ok();
        }
    }
}

fn is_over(error: &io::Error) -> bool {
    let over = [Errno::PIPE, Errno::CONNRESET, Errno::NOTCONN];
    over.iter().any(|errno| error.raw_os_error() == Some(errno.raw_os_error()))
}

fn unexpected(answer: Option<Answer>) -> io::Error {
    io::Error::other(match answer {
        Some(Answer::Refused(why)) => why,
        Some(Answer::Watching { by }) => format!("the socket belongs to {by}"),
        Some(Answer::Nonce(_)) => "a second nonce came".to_owned(),
        None => "the other side has closed the connection".to_owned(),
    })
}

/// Keeps the process watched as long as its node exists. Reports each change once.
fn stay_watched(watched: &Weak<Watched>, boot: &BootKey) {
    let mut said = String::new();
    loop {
        let Some(this) = watched.upgrade() else { return };
        let introduced = this.introduce(boot);
        drop(this);
        let ended = introduced.and_then(|socket| be_watched(watched, &socket));
        let Some(this) = watched.upgrade() else { return };
        this.hang_up();
        let (is_over, why) = match ended {
            Ok(()) => (true, "the watch has ended, and this process asks for another".to_owned()),
            Err(error) => (false, error.to_string()),
        };
        if is_over || why != said {
            this.report(Some(why.clone()));
            said = why;
        }
        drop(this);
        thread::sleep(AGAIN);
    }
}

/// Waits for the end of the watch; an error if it did not begin.
fn be_watched(watched: &Weak<Watched>, socket: &OwnedFd) -> io::Result<()> {
    match line::receive(socket)? {
        Some(Answer::Watching { by }) => {
            let Some(this) = watched.upgrade() else { return Ok(()) };
            if by != this.at.name {
                return Err(unexpected(Some(Answer::Watching { by })));
            }
            this.report(None);
        }
        other => return Err(unexpected(other)),
    }
    while let Ok(Some(_)) = line::receive::<Answer>(socket) {}
    Ok(())
}

/// A work that acts under the authority of a watched process, such as a command and its children.
/// Until the work is [over](Self::over), the supervisor does not report the end of the process. A
/// work that is dropped counts as running, so the leases must run out.
#[derive(Debug)]
pub struct Work {
    number: u128,
    watched: Arc<Watched>,
}

impl Work {
    /// The socket and the packet for the guard of the work. If this process ends first, the guard
    /// sends the packet to the socket, to report that no process of the work is left.
    pub fn last_word(&self) -> io::Result<(PathBuf, Vec<u8>)> {
        let packet = line::encode(&Said::Over(self.number))?;
        Ok((self.watched.at.socket.clone(), packet))
    }

    /// Reports that no process of the work is left.
    pub fn over(self) {
        let mut line = self.watched.line();
        line.works.remove(&self.number);
        if let Some(socket) = &line.socket {
            line::send(socket, &Said::Over(self.number)).ok();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn text_names_member_and_socket() {
        let at: SupervisorAt = "a=/run/tenure/a=1.watch".parse().unwrap();
        assert_eq!(at.name.as_str(), "a");
        assert_eq!(at.socket, Path::new("/run/tenure/a=1.watch"));
        assert_eq!(at.to_string(), "a=/run/tenure/a=1.watch");
        for (text, what) in [("a", "has no ="), ("a=", "no socket"), ("=/x", "supervisor")] {
            let error = text.parse::<SupervisorAt>().unwrap_err().to_string();
            assert!(error.contains(what), "{error}");
        }
    }
}
