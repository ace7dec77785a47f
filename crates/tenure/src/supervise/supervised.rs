//! The supervisor's side: a handle to a guarded command.

use std::fmt;
use std::io;
use std::os::fd::AsFd;
use std::path;
use std::time::Duration;

use rustix::process::{Pid, getpid, set_child_subreaper};
use tenure_core::Time;

use super::error::SuperviseError;
use super::frame::{Ended, Failure, Order, Report, Why};
use super::guards;
use super::link::{Heard, Link};
use super::plan::Plan;
use super::until_file::UntilFile;
use crate::alarm::Alarm;
use crate::clock;
use crate::watched::Watched;

/// The pause between two looks at what is left grows from the first to the second of these.
const PAUSE_MIN: Duration = Duration::from_millis(1);
const PAUSE_MAX: Duration = Duration::from_millis(50);

/// What became of a command of which no process is left.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Outcome {
    /// How its first process ended; `None` when that was not seen, because the guard died
    /// between reaping and telling.
    pub ended: Option<Ended>,
    /// What made it end.
    pub why: Why,
}

impl Outcome {
    /// The code `tenure run` passes on: the command's own, or 128 plus the signal; 137 (SIGKILL)
    /// when it is not known.
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

/// A command that runs under a guard, until [`wait`](Self::wait) says that it is all gone.
///
/// Makes this process a child subreaper. Apart from guards the process should have no
/// children: when a guard is lost, all others are taken for what it left behind, and killed.
///
/// Dropping it stops the command as [`stop`](Self::stop) does, without waiting for the end, and
/// may wait for a write of the until file in progress.
pub struct Supervised {
    link: Watched<Link>,
    alarm: Watched<Alarm>,
    until_file: UntilFile,
    guard: Pid,
    kill_margin: Duration,
    until: Time,
    /// Whether the guard is still to be listened to.
    listening: bool,
    pid: Option<Pid>,
    ended: Option<Ended>,
    all_gone: Option<Why>,
    outcome: Option<Outcome>,
}

enum Event {
    Report(Report),
    GuardGone,
    Overdue,
}

impl Supervised {
    /// Starts the command of `plan` under a guard that ends it before `until`, and waits until
    /// it runs.
    ///
    /// Must be called in a tokio runtime with I/O and time. Blocks for as long as spawning a
    /// process and writing a small file take. When it returns an error nothing is left
    /// running. Dropping the future stops whatever was started.
    pub async fn start(plan: &Plan, until: Time) -> Result<Self, SuperviseError> {
        plan.check()?;
        let remaining = until.since(clock::now());
        if remaining <= plan.grace {
            return Err(SuperviseError::TooLate { remaining, grace: plan.grace });
        }
        let mut started = Self::spawn(plan, until)?;
        match started.started(plan).await {
            Ok(()) => Ok(started),
            Err(error) => {
                started.wait().await;
                Err(error)
            }
        }
    }

    fn spawn(plan: &Plan, until: Time) -> Result<Self, SuperviseError> {
        let step =
            |doing: &'static str| move |error: io::Error| SuperviseError::setup(doing, error);
        set_child_subreaper(Some(getpid()))
            .map_err(|error| SuperviseError::setup("becoming a subreaper", error))?;
        let path =
            path::absolute(&plan.until_file).map_err(step("finding out the current folder"))?;
        let until_file = UntilFile::create(&path, until)
            .map_err(|source| SuperviseError::UntilFile { path: path.clone(), source })?;
        let alarm = Alarm::new().and_then(Watched::new).map_err(step("creating a timer"))?;
        let (ours, theirs) = Link::pair().map_err(step("creating a socket"))?;
        ours.send_with(&Order::Deadline(until), io::stdin().as_fd())
            .map_err(step("handing on standard input"))?;
        let link = Watched::new(ours).map_err(step("watching a socket"))?;
        let guard = guards::spawn(&mut plan.guard(theirs, &path))
            .map_err(step("starting the guard process"))?;
        let supervised = Self {
            link,
            alarm,
            until_file,
            guard,
            kill_margin: plan.kill_margin,
            until,
            listening: true,
            pid: None,
            ended: None,
            all_gone: None,
            outcome: None,
        };
        supervised.set_alarm();
        Ok(supervised)
    }

    async fn started(&mut self, plan: &Plan) -> Result<(), SuperviseError> {
        match self.next().await {
            Event::Report(Report::Started(pid)) => {
                self.pid = Pid::from_raw(pid.max(0));
                Ok(())
            }
            Event::Report(Report::Failed(failure)) => Err(self.error(failure, plan)),
            Event::Report(_) | Event::GuardGone | Event::Overdue => {
                self.listening = false;
                Err(SuperviseError::GuardLost)
            }
        }
    }

    fn error(&self, failure: Failure, plan: &Plan) -> SuperviseError {
        match failure {
            Failure::TooLate => SuperviseError::TooLate {
                remaining: self.until.since(clock::now()),
                grace: plan.grace,
            },
            Failure::Exec(errno) => SuperviseError::Exec {
                path: plan.program.clone(),
                source: io::Error::from_raw_os_error(errno),
            },
            Failure::Setup { doing, errno: 0 } => {
                SuperviseError::setup(&doing, io::Error::other("nobody answered"))
            }
            Failure::Setup { doing, errno } => {
                SuperviseError::setup(&doing, io::Error::from_raw_os_error(errno))
            }
        }
    }

    /// The process number of the command's first process.
    #[must_use]
    pub fn pid(&self) -> Option<u32> {
        self.pid.and_then(|pid| u32::try_from(pid.as_raw_pid()).ok())
    }

    /// The process number of the guard.
    #[must_use]
    pub fn guard(&self) -> u32 {
        self.guard.as_raw_pid().unsigned_abs()
    }

    /// Hands a new end of the lease on, later or earlier than the one before. Never blocks.
    ///
    /// After an error the guard keeps the deadline it has; the next call brings the newest.
    pub fn extend(&mut self, until: Time) -> Result<(), SuperviseError> {
        self.until = until;
        self.set_alarm();
        self.send(&Order::Deadline(until))?;
        // After the guard: what the command reads is never later than what ends it.
        self.until_file.set(until);
        Ok(())
    }

    /// Has the command ended gracefully: SIGTERM now, SIGKILL after the grace or, if that is
    /// sooner, before the lease ends. Never blocks; [`wait`](Self::wait) tells when it is done.
    /// Keep extending the lease meanwhile, if it is to have all of the grace.
    pub fn stop(&mut self) {
        if let Err(SuperviseError::GuardBehind) = self.send(&Order::Stop) {
            // No room for an order, but the end of the link is heard without any.
            self.link.inner().finish().ok();
        }
    }

    /// Waits until no process of the command is left, and says how it ended. The guard may
    /// have died or hung: then what is left is killed here, so somebody must be waiting.
    ///
    /// Cancel safe: may be called again, and gives the same answer again once there is one.
    pub async fn wait(&mut self) -> Outcome {
        if let Some(outcome) = self.outcome {
            return outcome;
        }
        while self.listening {
            match self.next().await {
                Event::Report(Report::Ended(ended)) => self.ended = Some(ended),
                Event::Report(Report::AllGone(why)) => self.all_gone = Some(why),
                Event::Report(Report::Started(_) | Report::Failed(_)) => {}
                Event::GuardGone | Event::Overdue => self.listening = false,
            }
        }
        let why = match self.all_gone {
            Some(why) => {
                let mut pause = PAUSE_MIN;
                while !guards::end(self.guard) {
                    rest(&mut pause).await;
                }
                why
            }
            None => {
                tracing::warn!(guard = %self.guard, "guard lost, killing what is left");
                self.sweep().await;
                Why::GuardLost
            }
        };
        let outcome = Outcome { ended: self.ended, why };
        self.outcome = Some(outcome);
        outcome
    }

    /// Kills the guard and all it left behind, until two looks in a row find nothing.
    async fn sweep(&mut self) {
        let mut empty = 0;
        let mut pause = PAUSE_MIN;
        while empty < 2 {
            let (first, ended) = (self.pid, &mut self.ended);
            let mut note = |pid, how| {
                if Some(pid) == first {
                    ended.get_or_insert(how);
                }
            };
            match guards::sweep(self.guard, &mut note) {
                Ok(false) => empty += 1,
                Ok(true) => empty = 0,
                Err(error) => {
                    tracing::error!(%error, "cannot see the command's processes");
                    empty = 0;
                }
            }
            rest(&mut pause).await;
        }
    }

    /// Cancel safe. What the guard said counts before the clock: a supervisor that was itself
    /// stopped finds both.
    async fn next(&self) -> Event {
        let overdue = |_: &Alarm| match clock::now() >= self.overdue_at() {
            true => Ok(()),
            false => Err(io::Error::from(io::ErrorKind::WouldBlock)),
        };
        tokio::select! {
            biased;
            heard = self.link.read(Link::receive) => match heard {
                Ok(Heard::Frame(report)) => Event::Report(report),
                Ok(Heard::End) | Err(_) => Event::GuardGone,
            },
            _ = self.alarm.read(overdue) => Event::Overdue,
        }
    }

    /// When the guard should long have done its work.
    fn overdue_at(&self) -> Time {
        self.until.before(self.kill_margin / 2)
    }

    fn set_alarm(&self) {
        if let Err(error) = self.alarm.inner().set(self.overdue_at()) {
            tracing::error!(%error, "the guard is not watched");
        }
    }

    fn send(&self, order: &Order) -> Result<(), SuperviseError> {
        self.link.inner().send(order).map_err(|error| match error.kind() {
            io::ErrorKind::WouldBlock => SuperviseError::GuardBehind,
            _ => SuperviseError::GuardGone,
        })
    }
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
