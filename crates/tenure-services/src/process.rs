//! Processes that end no later than this one.

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError, mpsc};
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process, waitid};
use rustix::time::{ClockId, clock_gettime};

use crate::error::Error;
use crate::place::file_error;
use crate::tool::shown;

const BETWEEN_LOOKS: Duration = Duration::from_millis(10);

/// The longest wait until a process stands still: one of its threads may wait for a slow disk.
const STANDSTILL: Duration = Duration::from_secs(60);

/// A running process. A drop kills the process by its pid.
///
/// `setpriv --pdeathsig KILL` starts the process, so the kernel also kills it when this process
/// ends in any other way. The kernel sends the death signal when the *thread* that started the
/// process ends. A thread of a test or of a runtime may end long before the test, so one thread
/// that never ends starts all processes.
#[derive(Debug)]
pub struct Process {
    child: Mutex<Child>,
    pid: u32,
}

impl Process {
    /// Starts `program` with `arguments`, in its own process group, so that Ctrl-C in our terminal
    /// does not reach it. Both outputs are appended to `log`. If `program` does not exist, the
    /// process ends at once, and its log says so.
    pub fn start<A: AsRef<OsStr>>(
        program: &OsStr,
        arguments: &[A],
        log: &Path,
    ) -> Result<Self, Error> {
        let out = File::options().create(true).append(true).open(log).map_err(file_error(log))?;
        let err = out.try_clone().map_err(file_error(log))?;
        let mut command = Command::new("setpriv");
        // Background processes of a shell ignore SIGINT, and their children would ignore SIGINT,
        // too.
        command.args(["--pdeathsig", "KILL", "--", "env", "--default-signal=INT,TERM"]);
        command.arg(program).args(arguments);
        command.stdin(Stdio::null()).stdout(out).stderr(err).process_group(0);
        clean_environment(&mut command);
        let what = shown(&command);
        let child = nursery(command).map_err(|source| match source.kind() {
            io::ErrorKind::NotFound => Error::Missing {
                what: "there is no `setpriv`, which ends services with the tests".into(),
                remedy: "Install it (Debian: package util-linux).".into(),
            },
            _ => Error::System { what, source },
        })?;
        let pid = child.id();
        Ok(Self { child: Mutex::new(child), pid })
    }

    /// The process id of the program, into which `setpriv` has turned.
    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// The exit status, or `None` while the process runs or is stopped.
    pub fn ended(&self) -> Result<Option<ExitStatus>, Error> {
        self.child().try_wait().map_err(|source| self.failed("waiting for", source))
    }

    /// Sends SIGKILL, also to a stopped process, and waits for the end. Has no effect on a process
    /// that has ended.
    pub fn kill(&self) -> Result<(), Error> {
        let mut child = self.child();
        child.kill().map_err(|source| self.failed("SIGKILL to", source))?;
        child.wait().map(drop).map_err(|source| self.failed("waiting for", source))
    }

    /// Sends SIGTERM, and SIGKILL after `within`; waits for the end.
    pub fn terminate(&self, within: Duration) -> Result<(), Error> {
        let limit = since_boot() + within;
        self.signal(Signal::TERM)?;
        while self.ended()?.is_none() {
            if since_boot() > limit {
                return self.kill();
            }
            thread::sleep(BETWEEN_LOOKS);
        }
        Ok(())
    }

    /// Sends SIGINT, as Ctrl-C does.
    pub fn interrupt(&self) -> Result<(), Error> {
        self.signal(Signal::INT)
    }

    /// Sends SIGSTOP, and waits until every thread stands still, or the process has ended.
    pub fn stop(&self) -> Result<(), Error> {
        let limit = since_boot() + STANDSTILL;
        self.signal(Signal::STOP)?;
        let look = WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        let states = look | WaitIdOptions::STOPPED | WaitIdOptions::EXITED;
        let Some(pid) = Pid::from_raw(self.pid.cast_signed()) else { return Ok(()) };
        loop {
            match waitid(WaitId::Pid(pid), states) {
                Ok(Some(_)) => return Ok(()),
                Ok(None) if since_boot() < limit => thread::sleep(BETWEEN_LOOKS),
                Ok(None) => {
                    let late = io::Error::from(io::ErrorKind::TimedOut);
                    return Err(self.failed("waiting for the standstill of", late));
                }
                Err(errno) => return Err(self.failed("waiting for", errno.into())),
            }
        }
    }

    /// Sends SIGCONT.
    pub fn cont(&self) -> Result<(), Error> {
        self.signal(Signal::CONT)
    }

    /// The lock keeps other threads from collecting the child, so the pid still belongs to it.
    pub(crate) fn signal(&self, signal: Signal) -> Result<(), Error> {
        let mut child = self.child();
        let sent = match (child.try_wait(), Pid::from_raw(self.pid.cast_signed())) {
            (Ok(None), Some(pid)) => kill_process(pid, signal).map_err(io::Error::from),
            (Ok(_), _) => Err(io::Error::new(io::ErrorKind::NotFound, "it has ended")),
            (Err(source), _) => Err(source),
        };
        sent.map_err(|source| self.failed(&format!("{signal:?} to"), source))
    }

    fn child(&self) -> MutexGuard<'_, Child> {
        self.child.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn failed(&self, what: &str, source: io::Error) -> Error {
        Error::System { what: format!("{what} process {}", self.pid), source }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // The kill fails if the process has ended; ignore it.
        let _ = self.kill();
    }
}

/// Removes the variables of this process that could be settings of a service: some programs read
/// every setting from the environment.
pub(crate) fn clean_environment(command: &mut Command) {
    for (name, _) in std::env::vars_os() {
        let shown = name.to_string_lossy();
        if crate::ALL.iter().any(|service| shown.starts_with(service.variables)) {
            command.env_remove(&name);
        }
    }
}

/// The time since the machine started; only differences have a meaning.
pub(crate) fn since_boot() -> Duration {
    let now = clock_gettime(ClockId::Boottime);
    Duration::new(now.tv_sec.try_into().unwrap_or(0), now.tv_nsec.try_into().unwrap_or(0))
}

type Order = (Command, mpsc::Sender<io::Result<Child>>);

/// Sends the command to the one thread that starts processes.
fn nursery(command: Command) -> io::Result<Child> {
    static NURSERY: OnceLock<mpsc::Sender<Order>> = OnceLock::new();
    let nursery = NURSERY.get_or_init(|| {
        let (orders, inbox) = mpsc::channel::<Order>();
        thread::spawn(move || {
            for (mut command, answer) in inbox {
                // The send cannot fail: the caller waits for the answer.
                let _ = answer.send(command.spawn());
            }
        });
        orders
    });
    let gone = || io::Error::other("the thread that starts processes has ended");
    let (answer, child) = mpsc::channel();
    nursery.send((command, answer)).map_err(|_| gone())?;
    child.recv().map_err(|_| gone())?
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::process::ExitStatusExt as _;
    use std::path::PathBuf;

    use super::*;

    fn sleeper(folder: &Path) -> Process {
        Process::start(OsStr::new("sleep"), &["600"], &folder.join("log")).unwrap()
    }

    /// The name of the program: `setpriv`, `env` and then the program have the same pid.
    fn name(pid: u32) -> Option<String> {
        Some(fs::read_to_string(format!("/proc/{pid}/comm")).ok()?.trim_end().to_owned())
    }

    fn state(pid: u32) -> Option<char> {
        let stat = fs::read_to_string(PathBuf::from(format!("/proc/{pid}/stat"))).ok()?;
        stat.rsplit(") ").next()?.chars().next()
    }

    #[test]
    fn processes_survive_the_asking_thread() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().to_path_buf();
        let process = thread::spawn(move || sleeper(&path)).join().unwrap();
        thread::sleep(Duration::from_millis(100));
        assert_eq!(process.ended().unwrap(), None);
        // Only a running process can be stopped.
        process.stop().unwrap();
        assert_eq!(state(process.pid()), Some('T'));
    }

    #[test]
    fn stopped_continued_killed_gone() {
        let folder = tempfile::tempdir().unwrap();
        let process = sleeper(folder.path());
        let pid = process.pid();
        for _ in 0..3 {
            process.stop().unwrap();
            assert_eq!(state(pid), Some('T'));
            process.cont().unwrap();
            assert_ne!(state(pid), Some('T'));
        }
        process.stop().unwrap();
        process.kill().unwrap();
        assert_eq!(state(pid), None);
        assert!(process.ended().unwrap().is_some());
        assert!(process.stop().is_err() && process.cont().is_err());
        assert!(process.kill().is_ok());
    }

    #[test]
    fn interrupted_as_by_ctrl_c() {
        let folder = tempfile::tempdir().unwrap();
        let process = sleeper(folder.path());
        let limit = since_boot() + Duration::from_secs(60);
        // Until `sleep` runs, the process may ignore the signal, because a child ignores the
        // signals that the caller of the tests ignores.
        while name(process.pid()).as_deref() != Some("sleep") && since_boot() < limit {
            thread::sleep(BETWEEN_LOOKS);
        }
        process.interrupt().unwrap();
        while process.ended().unwrap().is_none() && since_boot() < limit {
            thread::sleep(BETWEEN_LOOKS);
        }
        let status = process.ended().unwrap();
        assert_eq!(status.and_then(|status| status.signal()), Some(Signal::INT.as_raw()));
        assert!(process.interrupt().is_err());
    }

    #[test]
    fn panics_end_processes() {
        let folder = tempfile::tempdir().unwrap();
        let pid = Mutex::new(0);
        let panicked = std::panic::catch_unwind(|| {
            let process = sleeper(folder.path());
            *pid.lock().unwrap() = process.pid();
            assert_eq!(process.pid(), 0, "this panic is meant");
        });
        let pid = pid.into_inner().unwrap_or_else(PoisonError::into_inner);
        assert!(panicked.is_err() && pid != 0);
        assert_eq!(state(pid), None);
    }

    #[test]
    fn logs_name_missing_programs() {
        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().join("log");
        let process = Process::start::<&str>(OsStr::new("no-such-program"), &[], &log).unwrap();
        let limit = since_boot() + Duration::from_secs(60);
        while process.ended().unwrap().is_none() && since_boot() < limit {
            thread::sleep(BETWEEN_LOOKS);
        }
        assert!(!process.ended().unwrap().unwrap().success());
        let said = fs::read_to_string(&log).unwrap();
        assert!(said.contains("no-such-program"), "{said}");
    }
}
