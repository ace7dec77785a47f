//! A process of a cluster, which can be killed, stopped and started again.

use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use crate::error::Error;
use crate::process::{Process, since_boot};
use crate::tool;

/// The longest wait for a start, and for an end: a busy machine may start many processes.
pub(crate) const PATIENCE: Duration = Duration::from_secs(120);

const BETWEEN_QUESTIONS: Duration = Duration::from_millis(50);

/// The number of attempts with other ports, when another process has taken a port first.
const ATTEMPTS: u32 = 5;

/// The complaint of a server about a taken port, in small letters.
const PORT_TAKEN: &str = "address already in use";

/// The place of a server, which may run or not. A drop kills the server.
#[derive(Debug)]
pub struct Daemon {
    name: String,
    url: String,
    log: PathBuf,
    command: Vec<String>,
    process: Mutex<Option<Process>>,
}

impl Daemon {
    pub(crate) fn new(name: String, url: String, log: PathBuf, command: Vec<String>) -> Self {
        Self { name, url, log, command, process: Mutex::new(None) }
    }

    pub fn url(&self) -> &str {
        &self.url
    }

    /// The process id; `None` once the server was killed or terminated.
    pub fn pid(&self) -> Option<u32> {
        self.process().as_ref().map(Process::pid)
    }

    pub fn log(&self) -> String {
        let bytes = std::fs::read(&self.log).unwrap_or_default();
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// Sends SIGKILL, also to a stopped server, and waits for the end. Has no effect on a server
    /// that has ended.
    pub fn kill(&self) -> Result<(), Error> {
        self.process().take().map_or(Ok(()), |process| process.kill())
    }

    /// Sends SIGTERM, and waits for the end.
    pub fn terminate(&self) -> Result<(), Error> {
        self.process().take().map_or(Ok(()), |process| process.terminate(PATIENCE))
    }

    /// Sends SIGSTOP, and waits until the server stands still.
    pub fn stop(&self) -> Result<(), Error> {
        self.running(Process::stop)
    }

    /// Sends SIGCONT.
    pub fn cont(&self) -> Result<(), Error> {
        self.running(Process::cont)
    }

    /// Starts the server again, with the same ports and data; kills a running server first. Does
    /// not wait for answers.
    pub fn restart(&self) -> Result<(), Error> {
        let (program, arguments) = self.command.split_first().expect("a program");
        let mut process = self.process();
        drop(process.take());
        *process = Some(Process::start(program.as_ref(), arguments, &self.log)?);
        Ok(())
    }

    pub(crate) fn running(
        &self,
        act: impl FnOnce(&Process) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let gone = || Error::Missing {
            what: format!("{} is not running", self.name),
            remedy: "`restart` it first.".into(),
        };
        act(self.process().as_ref().ok_or_else(gone)?)
    }

    /// Waits until `look` succeeds; the error of `look` says what is missing. Fails with
    /// [`Error::NotReady`] when the server ends, or after [`PATIENCE`].
    pub(crate) fn wait(&self, look: impl Fn() -> Result<(), String>) -> Result<(), Error> {
        let began = since_boot();
        loop {
            let found = look();
            // Check last whether the server has ended: the answer may come from another server, at
            // the port that this server wanted.
            let how = match (self.ended()?, found) {
                (Some(status), _) => format!("has ended ({status})"),
                (None, Ok(())) => return Ok(()),
                (None, Err(why)) if since_boot() > began + PATIENCE => why,
                (None, Err(_)) => {
                    thread::sleep(BETWEEN_QUESTIONS);
                    continue;
                }
            };
            let log = self.log();
            let who = format!("{} at {}", self.name, self.url);
            let waited = since_boot().saturating_sub(began);
            let last = tool::last_lines(&log);
            return Err(Error::NotReady {
                said: format!("{who} {how} (waited {waited:?}). The end of its log:\n{last}"),
                port_taken: log.to_lowercase().contains(PORT_TAKEN),
            });
        }
    }

    fn ended(&self) -> Result<Option<String>, Error> {
        match self.process().as_ref() {
            None => Ok(Some("killed".to_owned())),
            Some(process) => Ok(process.ended()?.map(|status| status.to_string())),
        }
    }

    fn process(&self) -> MutexGuard<'_, Option<Process>> {
        self.process.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The text for the user who has started the server.
    pub(crate) fn told(&self) -> String {
        format!("{} at {} (process {})\n", self.name, self.url, self.pid().unwrap_or_default())
    }
}

impl Drop for Daemon {
    /// Prints the last lines of the log during a panic: they may show why a test failed.
    fn drop(&mut self) {
        if thread::panicking() {
            eprintln!("the last lines of {} at {}:", self.name, self.url);
            eprintln!("{}", tool::last_lines(&self.log()));
        }
    }
}

/// Starts a cluster on free ports. Tries again when another process takes one of the ports first.
pub(crate) fn on_free_ports<C>(
    launch: impl Fn() -> Result<C, Error>,
    wait_ready: impl Fn(&C) -> Result<(), Error>,
) -> Result<C, Error> {
    let mut attempt = 1;
    loop {
        let cluster = launch()?;
        match wait_ready(&cluster) {
            Ok(()) => return Ok(cluster),
            Err(Error::NotReady { port_taken: true, .. }) if attempt < ATTEMPTS => attempt += 1,
            Err(error) => return Err(error),
        }
    }
}
