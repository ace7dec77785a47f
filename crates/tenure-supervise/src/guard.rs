//! The guard: the process that ends the command in time.

use std::ffi::OsString;
use std::io::{self, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::process::ExitCode;
use std::time::Duration;

use nix::sys::signal::SigSet;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{
    Pid, Signal, WaitId, WaitIdOptions, WaitOptions, getpid, kill_process_group,
    set_child_subreaper, setsid, wait, waitid,
};
use signal_hook::iterator::backend::SignalDelivery;
use signal_hook::iterator::exfiltrator::SignalOnly;
use tenure::clock::{self, Alarm};
use tenure::driver::SharedTime;
use tenure_core::Time;

use crate::descend;
use crate::frame::{Ended, Failure, Order, Report, Why};
use crate::last_word::LastWord;
use crate::launcher::{self, Launch};
use crate::link::{Link, Reception};
use crate::roles::GUARD;
use crate::signals::ending_signals;
use crate::timeline::{Due, Timeline};

/// The shortest pause between rounds of killing. Pauses grow up to [`PAUSE_MAX`], and end early
/// when a child ends.
const PAUSE_MIN: Duration = Duration::from_millis(1);
const PAUSE_MAX: Duration = Duration::from_millis(50);

/// The maximum number of orders that the guard reads before it looks at deadline and clock again.
const ORDERS_AT_ONCE: usize = 64;

struct Task {
    grace: Duration,
    kill_margin: Duration,
    program: OsString,
    name: OsString,
    args: Vec<OsString>,
}

impl Task {
    fn parse(mut args: impl Iterator<Item = OsString>) -> Option<Self> {
        let mut nanos = || Some(Duration::from_nanos(args.next()?.to_str()?.parse().ok()?));
        let grace = nanos()?;
        let kill_margin = nanos()?;
        let program = args.next()?;
        let name = args.next()?;
        Some(Self { grace, kill_margin, program, name, args: args.collect() })
    }
}

pub(crate) fn main(args: impl Iterator<Item = OsString>) -> ExitCode {
    let (Some(task), Ok(link)) = (Task::parse(args), Link::from_stdin()) else {
        return refuse(GUARD);
    };
    // Without a first order there is no supervisor to answer and nothing to guard.
    let Ok((Order::Look, [stdin, deadline])) = link.receive_with() else {
        return refuse(GUARD);
    };
    let deadline = SharedTime::from(deadline);
    let Some(until) = deadline.newest() else { return refuse(GUARD) };
    let mut last_word = None;
    let code = match Guard::launch(task, &link, deadline, until, &stdin, &mut last_word) {
        Ok(guard) => {
            // The command has a copy of standard input. A writer notices that the command has
            // closed its copy only when this copy is closed, too.
            drop(stdin);
            guard.watch()
        }
        Err(failure) => {
            let why = if failure == Failure::Stopped { Why::Stopped } else { Why::Itself };
            link.send(&Report::Failed(failure)).ok();
            link.send(&Report::AllGone(why)).ok();
            ExitCode::FAILURE
        }
    };
    last_word.iter().for_each(LastWord::say);
    code
}

/// Refuses a hidden subcommand that a user started by hand.
pub(crate) fn refuse(role: &str) -> ExitCode {
    let sentence = format!("{role} is a part of this command that it starts by itself\n");
    io::stderr().write_all(sentence.as_bytes()).ok();
    ExitCode::from(2)
}

/// Reads all available orders; true if the command must not be started any more.
fn is_over(link: &Link, last_word: &mut Option<LastWord>) -> bool {
    loop {
        match link.receive() {
            Ok(Reception::Frame(Order::Look)) => {}
            Ok(Reception::Frame(Order::LastWord(word))) => *last_word = Some(word),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return false,
            Ok(Reception::Frame(Order::Stop) | Reception::End) | Err(_) => return true,
        }
    }
}

struct Guard<'a> {
    link: &'a Link,
    deadline: SharedTime,
    listening: bool,
    /// `None` once the outcome of the launch is known.
    launch: Option<Link>,
    signals: Signals,
    alarm: Alarm,
    timeline: Timeline,
    main: Pid,
    /// Whether the first process had become the command when it died.
    became: Option<bool>,
    ended: Option<Ended>,
    pause: Duration,
}

impl<'a> Guard<'a> {
    /// Starts the launcher. After an error nothing is left running.
    fn launch(
        task: Task,
        link: &'a Link,
        deadline: SharedTime,
        until: Time,
        stdin: &OwnedFd,
        last_word: &mut Option<LastWord>,
    ) -> Result<Self, Failure> {
        let step = |doing: &'static str| move |error: io::Error| Failure::setup(doing, &error);
        rustix::thread::set_name(c"tenure-guard").ok();
        setsid().map_err(io::Error::from).map_err(step("beginning a session"))?;
        set_child_subreaper(Some(getpid()))
            .map_err(io::Error::from)
            .map_err(step("becoming a subreaper"))?;
        descend::children(&|_| false)
            .map_err(step("reading /proc/self/task/*/children (CONFIG_PROC_CHILDREN)"))?;
        let mut signals = Signals::catch().map_err(step("catching signals"))?;
        let alarm = Alarm::new().map_err(step("creating a timer"))?;
        let (ours, theirs) = Link::pair().map_err(step("creating a socket"))?;
        launcher::go(&ours, stdin.as_fd()).map_err(step("handing on standard input"))?;

        // This process may first run long after it was spawned, so it may have to stop already.
        if signals.ask_to_stop() || is_over(link, last_word) {
            return Err(Failure::Stopped);
        }
        let until = deadline.newest().unwrap_or(until);
        let mut timeline = Timeline::new(task.grace, task.kill_margin, until);
        if timeline.due(clock::now()) != Due::Nothing {
            return Err(Failure::TooLate);
        }
        let Task { program, name, args, .. } = task;
        let launch = Launch { guard: getpid(), program, name, args };
        let child = launch.command(theirs).spawn().map_err(step("starting the launcher"))?;
        Ok(Self {
            link,
            deadline,
            listening: true,
            launch: Some(ours),
            signals,
            alarm,
            timeline,
            main: Pid::from_child(&child),
            became: None,
            ended: None,
            pause: PAUSE_MIN,
        })
    }

    /// Reads the clock first, and then the deadline. In the other order a guard that is stopped
    /// between the two would judge an old deadline by a newer time, and kill a healthy command. The
    /// next turn begins at once, and sees anything that became due meanwhile.
    fn watch(mut self) -> ExitCode {
        loop {
            self.sleep();
            let now = clock::now();
            self.take_orders();
            // Reap before reading the launcher's report. A launcher reports before it ends, so the
            // report of a reaped launcher is there.
            let left = self.reap();
            self.hear_launcher();
            if self.ended.is_some() {
                self.timeline.end(Why::Itself);
            }
            if !left {
                break;
            }
            match self.timeline.due(now) {
                Due::Nothing => {}
                Due::Terminate => self.terminate(),
                Due::Kill => self.kill(),
            }
        }
        if let Some(ended) = self.ended {
            self.report(&Report::Ended(ended));
        }
        self.report(&Report::AllGone(self.timeline.why().unwrap_or(Why::Itself)));
        ExitCode::SUCCESS
    }

    /// Sleeps until a frame comes, a child ends, or an action is due.
    fn sleep(&mut self) {
        let timeout = match self.timeline.next() {
            // If the timer cannot be set, the guard looks at the clock often instead.
            Some(at) => self.alarm.set(at).err().map(|_| PAUSE_MIN),
            None => {
                let pause = self.pause;
                self.pause = (pause * 2).min(PAUSE_MAX);
                Some(pause)
            }
        };
        let timeout = timeout.and_then(|pause| Timespec::try_from(pause).ok());
        let mut fds = vec![PollFd::new(self.signals.0.get_read(), PollFlags::IN)];
        if self.timeline.next().is_some() {
            fds.push(PollFd::new(&self.alarm, PollFlags::IN));
        }
        if self.listening {
            fds.push(PollFd::new(self.link, PollFlags::IN));
        }
        if let Some(launch) = &self.launch {
            fds.push(PollFd::new(launch, PollFlags::IN));
        }
        match poll(&mut fds, timeout.as_ref()) {
            Ok(_) | Err(Errno::INTR) => {}
            // The kernel lacks memory for `poll`, but the clock still runs.
            Err(_) => std::thread::sleep(PAUSE_MIN),
        }
    }

    fn take_orders(&mut self) {
        if let Some(until) = self.deadline.newest() {
            self.timeline.set_until(until);
        }
        if self.signals.ask_to_stop() {
            self.timeline.end(Why::Stopped);
        }
        for _ in 0..ORDERS_AT_ONCE {
            if !self.listening {
                return;
            }
            match self.link.receive() {
                Ok(Reception::Frame(Order::Look | Order::LastWord(_))) => {}
                Ok(Reception::Frame(Order::Stop)) => self.timeline.end(Why::Stopped),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Ok(Reception::End) | Err(_) => {
                    self.listening = false;
                    self.timeline.end(Why::Stopped);
                }
            }
        }
    }

    fn reap(&mut self) -> bool {
        if self.launch.is_some() && !self.is_launcher_dead() {
            return true;
        }
        loop {
            match wait(WaitOptions::NOHANG) {
                Ok(Some((pid, status))) if pid == self.main => {
                    self.ended = Ended::from_status(status);
                }
                Ok(Some(_)) | Err(Errno::INTR) => {}
                Ok(None) => return true,
                Err(_) => return false,
            }
        }
    }

    /// Checks the launcher before it is reaped: a dead process shows its name until it is reaped.
    fn is_launcher_dead(&mut self) -> bool {
        let how = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        match waitid(WaitId::Pid(self.main), how) {
            Ok(None) | Err(Errno::INTR) => false,
            Ok(Some(_)) | Err(_) => {
                self.became = Some(launcher::became_the_command(self.main));
                true
            }
        }
    }

    fn hear_launcher(&mut self) {
        let Some(launch) = &self.launch else { return };
        let report = match launch.receive() {
            Ok(Reception::Frame(report @ Report::Failed(_))) => report,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => return,
            // Either `execve` closed the link, or the launcher ended before `execve`.
            Ok(_) | Err(_) => {
                let became = || launcher::became_the_command(self.main);
                if self.became.unwrap_or_else(became) {
                    Report::Started(self.main.as_raw_pid())
                } else if self.timeline.why().is_some() {
                    Report::Failed(Failure::Hung)
                } else {
                    let doing = "becoming the command".to_owned();
                    Report::Failed(Failure::Setup { doing, errno: 0 })
                }
            }
        };
        self.launch = None;
        self.report(&report);
    }

    fn terminate(&self) {
        if descend::terminate(&|_| false).is_err() && self.ended.is_none() {
            kill_process_group(self.main, Signal::TERM).ok();
        }
    }

    fn kill(&self) {
        // If /proc cannot be read, kill at least the group of the first process. The id of the
        // group is certain until that process is reaped. The next round tries again.
        if descend::kill(&|_| false).is_err() && self.ended.is_none() {
            kill_process_group(self.main, Signal::KILL).ok();
        }
    }

    /// Sends a report, if the link has room: the supervisor may be gone, or stopped, and the guard
    /// never waits for it.
    fn report(&self, report: &Report) {
        self.link.send(report).ok();
    }
}

/// Signals to the guard. A signal that asks the guard to end is a stop; SIGCHLD wakes the guard up.
/// All other signals keep the disposition with which the supervisor was started, because the
/// command inherits it. No signal is blocked. A terminal sends no signals to the guard, because the
/// guard has a session of its own.
struct Signals(SignalDelivery<UnixStream, SignalOnly>);

impl Signals {
    fn catch() -> io::Result<Self> {
        let (woken, wake) = UnixStream::pair()?;
        let numbers = ending_signals().into_iter().chain([Signal::CHILD.as_raw()]);
        let signals = SignalDelivery::with_pipe(woken, wake, SignalOnly, numbers)?;
        // The guard has inherited the signals that the supervisor has blocked.
        SigSet::empty().thread_set_mask()?;
        Ok(Self(signals))
    }

    /// Whether a signal other than SIGCHLD has come since the last call.
    fn ask_to_stop(&mut self) -> bool {
        self.0.pending().filter(|number| *number != Signal::CHILD.as_raw()).count() > 0
    }
}
