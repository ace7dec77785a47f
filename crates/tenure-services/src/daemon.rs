//! A process of a cluster, which can be killed, stopped and started again.

use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use crate::error::Error;
use crate::process::{Process, since_boot};
use crate::tool;

/// How long it may take to come up: a busy machine on which many do may need long. As long gets it
/// to end by itself.
pub(crate) const PATIENCE: Duration = Duration::from_secs(120);

const BETWEEN_QUESTIONS: Duration = Duration::from_millis(50);

/// How often other ports are tried, when somebody was faster.
const ATTEMPTS: u32 = 5;

/// Complaint of a server about a taken port, in small letters.
const PORT_TAKEN: &str = "address already in use";

/// A server's place, whether it runs or not. Dropping it kills the server.
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

    /// Its URL for clients.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Its process id, unless it was killed or terminated.
    pub fn pid(&self) -> Option<u32> {
        self.process().as_ref().map(Process::pid)
    }

    /// Its log so far.
    pub fn log(&self) -> String {
        let bytes = std::fs::read(&self.log).unwrap_or_default();
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// SIGKILL, also when it is stopped; it is gone on return. No harm if it is gone already.
    pub fn kill(&self) -> Result<(), Error> {
        self.process().take().map_or(Ok(()), |process| process.kill())
    }

    /// SIGTERM; it is gone on return.
    pub fn terminate(&self) -> Result<(), Error> {
        self.process().take().map_or(Ok(()), |process| process.terminate(PATIENCE))
    }

    /// SIGSTOP; it stands still on return.
    pub fn stop(&self) -> Result<(), Error> {
        self.running(Process::stop)
    }

    /// SIGCONT.
    pub fn cont(&self) -> Result<(), Error> {
        self.running(Process::cont)
    }

    /// Starts it again, with the same ports and data; kills it first if it runs. Does not wait
    /// until it answers.
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

    /// Waits until something is so, of which `look` says otherwise what is wrong:
    /// [`Error::NotReady`] when it ends, or when that takes longer than two.
    pub(crate) fn wait(&self, look: impl Fn() -> Result<(), String>) -> Result<(), Error> {
        let began = since_boot();
        loop {
            let found = look();
            // Asked last: whoever answered may be somebody else, at the port that ours wanted.
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

    /// For the person who started it.
    pub(crate) fn told(&self) -> String {
        format!("{} at {} (process {})\n", self.name, self.url, self.pid().unwrap_or_default())
    }
}

impl Drop for Daemon {
    /// The last lines of the log may show why a test failed.
    fn drop(&mut self) {
        if thread::panicking() {
            eprintln!("the last lines of {} at {}:", self.name, self.url);
            eprintln!("{}", tool::last_lines(&self.log()));
        }
    }
}

/// A cluster on ports that were free: launched anew while somebody takes one of them first.
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
