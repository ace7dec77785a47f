//! The supervisor's side: a handle to a guarded command.

use std::fmt;
use std::fs::File;
use std::io::{self, IsTerminal};
use std::os::fd::{AsFd, OwnedFd};
use std::path::{self, PathBuf};
use std::time::Duration;

use rustix::process::{Pid, getpid, set_child_subreaper};
use tenure::clock::{self, Alarm};
use tenure::driver::{SharedTime, Watched};
use tenure_core::Time;

use crate::begin::{Beginning, GuardStart, begin};
use crate::descend;
use crate::error::SuperviseError;
use crate::frame::{Ended, Failure, Order, Report, Why};
use crate::guards;
use crate::link::{Link, Reception};
use crate::plan::{Plan, check_proc};
use crate::strays::{Remains, Strays};
use crate::until_file::UntilFile;

/// The shortest pause between two passes over the remaining processes. Pauses grow up to
/// [`PAUSE_MAX`].
const PAUSE_MIN: Duration = Duration::from_millis(1);
const PAUSE_MAX: Duration = Duration::from_millis(50);

/// The end of a command of which no process is left.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Outcome {
    /// End of its first process; `None` if unseen, because the guard died between reaping and
    /// reporting.
    pub ended: Option<Ended>,
    pub why: Why,
}

impl Outcome {
    /// The code that `tenure run` passes on: the command's own, or 128 plus the signal; 137
    /// (SIGKILL) if unknown.
    #[must_use]
    pub fn exit_code(self) -> u8 {
        self.ended.unwrap_or(Ended::Signal(9)).exit_code()
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.ended {
            Some(ended) => write!(f, "{ended}, {}", self.why),
            None => write!(f, "unknown end, {}", self.why),
        }
    }
}

/// Killing must go on for this time before processes that never ran count as stuck.
const STUCK_MIN: Duration = Duration::from_secs(1);

/// Time of killing after which the supervisor no longer waits for a guard whose command has no
/// process left. After this time the supervisor also warns of other processes that do not end.
const REAPING_MAX: Duration = Duration::from_secs(5);

/// Longest wait for the spawning of another guard, before the processes of a lost guard are killed.
const SPAWNING_MAX: Duration = Duration::from_millis(100);

/// The guard of a stopped command counts as lost when the grace, the kill margin and this time have
/// passed since the stop.
const STOP_SLACK: Duration = Duration::from_secs(5);

/// A command that runs under a guard, until [`wait`](Self::wait) reports that no process is left.
///
/// Makes this process a child subreaper. Apart from guards this process should have no children.
/// When a guard is lost, all other children count as processes that it left behind, and are killed.
/// Two kinds of children are spared: children in this process's own session, and children that
/// existed when this process last started a command or called
/// [`reap_orphans`](crate::reap_orphans).
///
/// The command reads this process's standard input. If that is a terminal, and this process is in
/// the terminal's background when the command is started, the command reads `/dev/null`.
///
/// Dropping the handle stops the command as [`stop`](Self::stop) does, without waiting for the end,
/// and waits up to a second for the removal of the until file.
pub struct Supervised {
    link: Watched<Link>,
    alarm: Watched<Alarm>,
    deadline: SharedTime,
    program: PathBuf,
    grace: Duration,
    kill_margin: Duration,
    since: Time,
    until: Time,
    later: Option<Time>,
    stopped: Option<Time>,
    beginning: Option<Beginning>,
    until_file: Option<UntilFile>,
    guard: Option<Pid>,
    listening: bool,
    pid: Option<Pid>,
    ended: Option<Ended>,
    all_gone: Option<Why>,
    failure: Option<SuperviseError>,
    // Start of the wait for a guard whose command has no process left. Kept over calls of `wait`,
    // because a supervisor calls `wait` again after each renewal.
    reaping: Option<Time>,
    sweep: Option<Sweep>,
    strays: Strays,
    outcome: Option<Outcome>,
}

#[derive(Clone, Copy)]
struct Sweep {
    begun: Time,
    /// Whether the guard that is being spawned may be our own.
    spawning: bool,
    /// Whether a warning about processes that do not end was logged.
    warned: bool,
}

enum Event {
    GuardStart(Result<GuardStart, SuperviseError>),
    Report(Report),
    GuardGone,
    Overdue,
}

impl Supervised {
    /// Begins to start the command of `plan` under a guard that ends it before `until`. Does not
    /// wait for the start: [`started`](Self::started) resolves when the command runs. `None` means
    /// no end: the command runs until it is [stopped](Self::stop), or its supervisor is gone.
    ///
    /// Must be called in a tokio runtime with I/O and time. Does not block. After an error nothing
    /// is left running. Dropping the handle stops everything that was started.
    pub fn start(plan: &Plan, until: impl Into<Option<Time>>) -> Result<Self, SuperviseError> {
        let until = until.into().unwrap_or(Time::MAX);
        plan.check()?;
        check_proc()?;
        let since = clock::now();
        let remaining = until.since(since);
        if remaining <= plan.grace {
            return Err(SuperviseError::TooLate { remaining, grace: plan.grace });
        }
        let step =
            |doing: &'static str| move |error: io::Error| SuperviseError::setup(doing, error);
        set_child_subreaper(Some(getpid()))
            .map_err(|error| SuperviseError::setup("becoming a subreaper", error))?;
        let file = (until != Time::MAX).then(|| path::absolute(&plan.until_file)).transpose();
        let file = file.map_err(step("finding out the current folder"))?;
        let deadline = SharedTime::create(until).map_err(step("sharing the deadline"))?;
        let alarm = Alarm::new().and_then(Watched::new).map_err(step("creating a timer"))?;
        let (ours, theirs) = Link::pair().map_err(step("creating a socket"))?;
        let input = input().map_err(step("opening /dev/null"))?;
        ours.send_with(&Order::Look, &[input.as_fd(), deadline.as_fd()])
            .map_err(step("handing on standard input"))?;
        if let Some(word) = &plan.last_word {
            let word = Order::LastWord(word.clone());
            ours.send(&word).map_err(step("handing on the last word"))?;
        }
        let link = Watched::new(ours).map_err(step("watching a socket"))?;
        let guard = plan.guard(theirs, file.as_deref()).map_err(step("handing on its output"))?;
        let beginning = begin(guard, file, until).map_err(step("starting a thread"))?;
        let supervised = Self {
            link,
            alarm,
            deadline,
            program: plan.program.clone(),
            grace: plan.grace,
            kill_margin: plan.kill_margin,
            since,
            until,
            later: None,
            stopped: None,
            beginning: Some(beginning),
            until_file: None,
            guard: None,
            listening: true,
            pid: None,
            ended: None,
            all_gone: None,
            failure: None,
            reaping: None,
            sweep: None,
            strays: Strays::default(),
            outcome: None,
        };
        supervised.set_alarm();
        Ok(supervised)
    }

    /// Waits until the command runs. Fails if it will not: then nothing is left running, except as
    /// [`SuperviseError::Stuck`] says. Takes as long as `execve` takes, but not longer than the
    /// lease under which the start began, and ends soon after [`stop`](Self::stop).
    ///
    /// Cancel safe. After an error everything is over: [`wait`](Self::wait) answers at once.
    pub async fn started(&mut self) -> Result<(), SuperviseError> {
        while self.pid.is_none() && self.listening {
            self.hear().await;
        }
        if self.pid.is_some() {
            return Ok(());
        }
        let Outcome { why, .. } = self.wait().await;
        Err(self.failure.take().unwrap_or_else(|| match why {
            Why::GuardLost => SuperviseError::GuardLost,
            why => self.hung(why),
        }))
    }

    fn hung(&self, why: Why) -> SuperviseError {
        let waited = clock::now().since(self.since);
        SuperviseError::Hung { path: self.program.clone(), waited, why }
    }

    /// The error for a failure; `None` if the reason is still to come.
    fn error(&self, failure: Failure) -> Option<SuperviseError> {
        Some(match failure {
            Failure::Hung => return None,
            Failure::Stopped => SuperviseError::Stopped,
            Failure::TooLate => SuperviseError::TooLate {
                remaining: self.until.since(clock::now()),
                grace: self.grace,
            },
            Failure::Exec(errno) => SuperviseError::Exec {
                path: self.program.clone(),
                source: io::Error::from_raw_os_error(errno),
            },
            Failure::Interpreter(why) => SuperviseError::no_interpreter(self.program.clone(), why),
            Failure::Setup { doing, errno: 0 } => {
                SuperviseError::setup(&doing, io::Error::other("nobody answered"))
            }
            Failure::Setup { doing, errno } => {
                SuperviseError::setup(&doing, io::Error::from_raw_os_error(errno))
            }
        })
    }

    /// The process id of the command's first process.
    #[must_use]
    pub fn pid(&self) -> Option<u32> {
        self.pid.and_then(|pid| u32::try_from(pid.as_raw_pid()).ok())
    }

    /// The process id of the guard, once the id is known.
    #[must_use]
    pub fn guard(&self) -> Option<u32> {
        self.guard.map(|guard| guard.as_raw_pid().unsigned_abs())
    }

    /// Sets a new end of the lease, later or earlier than before, or `None` for no end. Never
    /// blocks, and does not fail because the guard is stopped: a guard finds the newest end when it
    /// continues. Before the command runs, a later end does not count yet, because a start must end
    /// within the lease under which it began.
    ///
    /// After an error the guard keeps the old deadline until a later call succeeds.
    pub fn extend(&mut self, until: impl Into<Option<Time>>) -> Result<(), SuperviseError> {
        let until = until.into().unwrap_or(Time::MAX);
        if self.pid.is_none() && until > self.until {
            self.later = Some(until);
            return Ok(());
        }
        self.until = until;
        self.later = None;
        self.set_alarm();
        self.deadline.set(until).map_err(SuperviseError::Deadline)?;
        self.send(&Order::Look)?;
        // Write this after the guard's deadline: the command never reads a later end than the end
        // at which the guard acts.
        if let Some(file) = &self.until_file {
            file.set(until);
        }
        Ok(())
    }

    /// Ends the command gracefully: SIGTERM now, SIGKILL after the grace or, if that is sooner,
    /// before the lease ends. Never blocks; [`wait`](Self::wait) reports the end. Keep extending
    /// the lease meanwhile, if the command is to have all of the grace.
    pub fn stop(&mut self) {
        self.stopped.get_or_insert(clock::now());
        self.set_alarm();
        let sent = self.link.inner().send(&Order::Stop);
        if sent.is_err_and(|error| error.kind() == io::ErrorKind::WouldBlock) {
            // If there is no room for an order, the guard still sees the end of the link.
            self.link.inner().finish().ok();
        }
    }

    /// Waits until no process of the command is left, and returns its end. Callers must always
    /// await this call while a command runs: it kills the remaining processes if the guard dies or
    /// hangs.
    ///
    /// Cancel safe. Further calls return the same answer.
    pub async fn wait(&mut self) -> Outcome {
        if let Some(outcome) = self.outcome {
            return outcome;
        }
        // The report of a guard may come before its id, so wait for the id, too.
        while self.listening || (self.all_gone.is_some() && self.beginning.is_some()) {
            self.hear().await;
        }
        let why = match (self.all_gone, self.guard) {
            // Nothing was started.
            (None, None) if self.failure.is_some() => Why::Itself,
            (Some(why), Some(guard)) => {
                let give_up = self.reaping.get_or_insert_with(clock::now).after(REAPING_MAX);
                let mut pause = PAUSE_MIN;
                while !guards::end(guard) {
                    if clock::now() >= give_up {
                        warn_of_unreaped(guard);
                        break;
                    }
                    rest(&mut pause).await;
                }
                why
            }
            _ => {
                let sweep = self.sweep.unwrap_or_else(|| self.begin_sweep());
                self.sweep(sweep).await;
                Why::GuardLost
            }
        };
        let outcome = Outcome { ended: self.ended, why };
        self.outcome = Some(outcome);
        outcome
    }

    async fn hear(&mut self) {
        match self.next().await {
            Event::GuardStart(begun) => self.begun(begun),
            Event::Report(Report::Started(pid)) => {
                self.pid = Pid::from_raw(pid.max(0));
                match self.later.take().map(|later| self.extend(later)) {
                    // The command may have ended already, and its guard with it. Or the guard was
                    // lost. The next event shows which.
                    None | Some(Ok(()) | Err(SuperviseError::GuardGone)) => {}
                    Some(Err(error)) => {
                        tracing::warn!(%error, "the command keeps the end of the lease that it \
                                                knew at its start");
                    }
                }
            }
            Event::Report(Report::Failed(failure)) => self.failure = self.error(failure),
            Event::Report(Report::Ended(ended)) => self.ended = Some(ended),
            Event::Report(Report::AllGone(why)) => self.all_gone = Some(why),
            Event::GuardGone => match &mut self.beginning {
                // The thread reports the outcome of the start before it closes its copy of the
                // link.
                Some(beginning) => {
                    let begun = beginning.await;
                    self.begun(begun.unwrap_or(Err(SuperviseError::GuardLost)));
                }
                None => self.listening = false,
            },
            Event::Overdue => self.listening = false,
        }
    }

    fn begun(&mut self, begun: Result<GuardStart, SuperviseError>) {
        self.beginning = None;
        match begun {
            Ok(GuardStart { guard, until_file }) => {
                self.guard = Some(guard);
                if let Some(file) = &until_file {
                    file.set(self.until);
                }
                self.until_file = until_file;
            }
            Err(error) => {
                self.failure = Some(error);
                self.listening = false;
            }
        }
    }

    fn begin_sweep(&mut self) -> Sweep {
        tracing::warn!(guard = ?self.guard(), "the guard is lost: killing the processes of the \
                                               command that are left");
        // If the guard is not being spawned yet, it will not be. If the guard is being spawned now,
        // it will find the end of its link. In both cases it starts nothing.
        let spawning = self.beginning.take().is_some();
        self.link.inner().finish().ok();
        *self.sweep.insert(Sweep { begun: clock::now(), spawning, warned: false })
    }

    /// Kills the guard and everything that it left behind, until two passes in a row find nothing.
    /// Waits for processes that cannot be killed, with two exceptions. After the end of the lease
    /// this does not wait for processes that never became the command. When nothing else is left,
    /// this does not wait for the guard itself.
    async fn sweep(&mut self, Sweep { begun, spawning, mut warned }: Sweep) {
        let mut empty = 0;
        let mut pause = PAUSE_MIN;
        while empty < 2 {
            let now = clock::now();
            // If our own guard may be the process whose spawning hangs, kill at once. Otherwise
            // wait a moment for the spawning of another guard, unless the lease is nearly over.
            let nearly_over = now >= self.until.before(self.kill_margin / 2);
            let at_once = spawning || nearly_over || now >= begun.after(SPAWNING_MAX);
            let first = self.pid;
            let ended = &mut self.ended;
            let mut note = |pid, how| {
                if Some(pid) == first {
                    ended.get_or_insert(how);
                }
            };
            let left = match guards::sweep(self.guard, at_once, &mut note) {
                Ok(false) => {
                    empty += 1;
                    rest(&mut pause).await;
                    continue;
                }
                Ok(true) => self.strays.look(self.guard),
                Err(error) => Err(error),
            };
            empty = 0;
            match left {
                Ok(Remains::NeverRan)
                    if self.pid.is_none() && now >= self.until.max(begun.after(STUCK_MIN)) =>
                {
                    let path = self.program.clone();
                    let waited = now.since(self.since);
                    self.failure = Some(SuperviseError::Stuck { path, waited });
                    break;
                }
                Ok(Remains::GuardOnly) if now >= begun.after(REAPING_MAX) => {
                    // The next start of a guard reaps this guard.
                    return self.guard.map_or((), warn_of_unreaped);
                }
                Ok(Remains::Others) if !warned && now >= begun.after(REAPING_MAX) => {
                    warned = true;
                    self.sweep = Some(Sweep { begun, spawning, warned });
                    tracing::warn!(
                        left = ?self.strays.pids(),
                        "these processes were killed and do not end (they may run as another \
                         user). They may belong to the command, so this process waits for their \
                         end: end these processes"
                    );
                }
                Ok(_) => {}
                Err(error) => tracing::error!(%error, "cannot see the command's processes"),
            }
            rest(&mut pause).await;
        }
        guards::forget(self.guard);
    }

    /// Cancel safe. A report of the guard takes precedence over the clock: after a stop of its own,
    /// the supervisor finds both.
    async fn next(&mut self) -> Event {
        let overdue_at = self.overdue_at();
        let overdue = |_: &Alarm| {
            if clock::now() >= overdue_at {
                Ok(())
            } else {
                Err(io::Error::from(io::ErrorKind::WouldBlock))
            }
        };
        // The thread always sends an answer, unless it panics; then its end of the link is closed
        // as well.
        let begun = async {
            match &mut self.beginning {
                Some(beginning) => match beginning.await {
                    Ok(begun) => begun,
                    Err(_) => Err(SuperviseError::GuardLost),
                },
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            begun = begun => Event::GuardStart(begun),
            heard = self.link.read(Link::receive), if self.listening => match heard {
                Ok(Reception::Frame(report)) => Event::Report(report),
                Ok(Reception::End) | Err(_) => Event::GuardGone,
            },
            _ = self.alarm.read(overdue), if self.listening => Event::Overdue,
        }
    }

    /// The time by which the guard should have done its work.
    fn overdue_at(&self) -> Time {
        let lease = self.until.before(self.kill_margin / 2);
        match self.stopped {
            Some(at) => lease.min(at.after(self.grace + self.kill_margin + STOP_SLACK)),
            None => lease,
        }
    }

    fn set_alarm(&self) {
        if let Err(error) = self.alarm.inner().set(self.overdue_at()) {
            tracing::error!(%error, "the guard is not watched");
        }
    }

    /// Sends an order. If the link is full of earlier orders, this order is dropped: the guard
    /// reads the newest deadline after any order.
    fn send(&self, order: &Order) -> Result<(), SuperviseError> {
        match self.link.inner().send(order) {
            Err(error) if error.kind() != io::ErrorKind::WouldBlock => {
                Err(SuperviseError::GuardGone)
            }
            Ok(()) | Err(_) => Ok(()),
        }
    }
}

/// Standard input of the command. The command has a session of its own, so the kernel does not stop
/// it when it reads a terminal from the background. Such a command would take the input of the
/// group in the foreground, so it gets `/dev/null` instead.
fn input() -> io::Result<OwnedFd> {
    let stdin = io::stdin();
    if stdin.is_terminal() && descend::is_in_background() {
        return File::open("/dev/null").map(OwnedFd::from);
    }
    stdin.as_fd().try_clone_to_owned()
}

/// Warns of a killed guard that does not end: it is in uninterruptible sleep, or a tracer holds it.
fn warn_of_unreaped(guard: Pid) {
    tracing::warn!(
        guard = guard.as_raw_pid(),
        "no process of the command is left. Its guard was killed and does not end, and this \
         process does not wait for the guard"
    );
}

async fn rest(pause: &mut Duration) {
    tokio::time::sleep(*pause).await;
    *pause = (*pause * 2).min(PAUSE_MAX);
}

impl fmt::Debug for Supervised {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Supervised")
            .field("guard", &self.guard)
            .field("pid", &self.pid)
            .field("until", &self.until)
            .field("outcome", &self.outcome)
            .finish_non_exhaustive()
    }
}
