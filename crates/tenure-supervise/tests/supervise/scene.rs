//! A supervisor in a folder of its own, with a view of all processes that come from it.

use std::collections::BTreeMap;
use std::env;
use std::ffi::OsString;
use std::fs;
use std::io::{BufRead, BufReader, ErrorKind, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;
use tenure::clock;
use tenure_core::Time;
use tenure_testkit::processes::{MARK, Marked, PATIENCE, is_stopped};

use crate::{actor, worker};

pub(crate) const SECOND: Duration = Duration::from_secs(1);

/// Children in every place, which ignore SIGTERM.
pub(crate) const EVERYWHERE: &[&str] =
    &["stubborn/here", "stubborn/group", "stubborn/session", "stubborn/daemon"];

pub(crate) fn millis(count: u64) -> Duration {
    Duration::from_millis(count)
}

/// The lease of a command and its margins.
pub(crate) struct Lease {
    pub(crate) length: Duration,
    pub(crate) grace: Duration,
    pub(crate) kill_margin: Duration,
    pub(crate) fence: u64,
}

impl Lease {
    /// A lease that does not end during the test.
    pub(crate) fn long() -> Self {
        Self { length: 600 * SECOND, grace: 300 * SECOND, kill_margin: SECOND, fence: 42 }
    }

    /// A lease that ends soon: SIGTERM after 1 s, SIGKILL after 3 s, the end after a minute. The
    /// last two are so far apart that a machine may stand still for many seconds.
    pub(crate) fn short() -> Self {
        Self { length: 60 * SECOND, grace: 59 * SECOND, kill_margin: 57 * SECOND, fence: 42 }
    }

    /// A lease of a minute. If the guard is stopped, the supervisor acts instead after 3 s.
    pub(crate) fn without_guard() -> Self {
        let twice = 2 * 57 * SECOND;
        Self { length: 60 * SECOND, grace: twice, kill_margin: twice, fence: 42 }
    }

    /// The same lease with an end after the test, unless the lease is shortened.
    pub(crate) fn unending(&self) -> Self {
        Self { length: Self::long().length, ..*self }
    }
}

/// A line that a worker wrote.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stamp {
    pub(crate) pid: i32,
    pub(crate) at: Time,
    pub(crate) what: char,
}

pub(crate) struct Scene {
    folder: TempDir,
    /// The shell runs these commands before it becomes the supervisor.
    pub(crate) before: String,
    marked: Option<Child>,
    control: Option<BufReader<UnixStream>>,
    /// End of the lease at the start, or when it was shortened.
    pub(crate) until: Time,
    /// First process of the command, once it is started.
    pub(crate) command: i32,
    pub(crate) guard: i32,
    /// Time at which the supervisor knew that no process of the command was left.
    pub(crate) gone: Time,
}

impl Scene {
    pub(crate) fn empty() -> Self {
        Self {
            folder: tempfile::tempdir().unwrap(),
            before: r#"exec "$@""#.to_owned(),
            marked: None,
            control: None,
            until: Time::ZERO,
            command: 0,
            guard: 0,
            gone: Time::MAX,
        }
    }

    /// Starts a supervisor for `command` and does not wait for it.
    pub(crate) fn begin(
        lease: &Lease,
        command: &[OsString],
        adjust: impl FnOnce(&mut Command),
    ) -> Self {
        let mut scene = Self::empty();
        scene.supervise(lease, command, adjust);
        scene
    }

    /// Starts a supervisor in this scene's folder.
    pub(crate) fn supervise(
        &mut self,
        lease: &Lease,
        command: &[OsString],
        adjust: impl FnOnce(&mut Command),
    ) {
        let listener = UnixListener::bind(self.path("control")).unwrap();
        self.until = clock::now().after(lease.length);
        // The program that started the tests may ignore signals, as `nohup` and `&` in a script do.
        let mut actor = Command::new("env");
        actor.args(["--default-signal", "sh", "-c", &self.before, "sh"]);
        actor
            .arg(env::current_exe().unwrap())
            .arg(actor::ROLE)
            .arg(self.folder.path())
            .arg(self.until.as_nanos().to_string());
        actor.arg(lease.grace.as_nanos().to_string()).arg(lease.kill_margin.as_nanos().to_string());
        actor.arg(lease.fence.to_string()).args(command);
        actor.stdin(Stdio::null());
        adjust(&mut actor);
        self.spawn(&mut actor);
        listener.set_nonblocking(true).unwrap();
        let (control, _) = self.eventually("the supervisor connects", || listener.accept().ok());
        control.set_nonblocking(false).unwrap();
        control.set_read_timeout(Some(PATIENCE)).unwrap();
        self.control = Some(BufReader::new(control));
    }

    /// Starts a supervisor for `command`, which must succeed.
    pub(crate) fn start(lease: &Lease, command: &[OsString]) -> Self {
        let mut scene = Self::begin(lease, command, |_| {});
        scene.expect_started();
        scene
    }

    pub(crate) fn shell(lease: &Lease, script: &str) -> Self {
        Self::start(lease, &["sh", "-c", script].map(OsString::from))
    }

    /// Starts a supervisor for a worker, see [`worker::main`].
    pub(crate) fn worker(lease: &Lease, manner: &str, children: &[&str]) -> Self {
        let mut scene = Self::begin(lease, &Self::working(manner, children), |_| {});
        scene.expect_started();
        scene.expect_alive(1 + children.len());
        scene
    }

    /// Starts a supervisor for a worker. Once all processes work, sets an end of the lease that
    /// comes soon.
    pub(crate) fn ending(lease: &Lease, manner: &str, children: &[&str]) -> Self {
        let mut scene = Self::worker(&lease.unending(), manner, children);
        scene.shorten(lease);
        scene
    }

    /// Starts a supervisor for a shell script, and then sets an end of the lease that comes soon.
    pub(crate) fn ending_shell(lease: &Lease, script: &str) -> Self {
        let mut scene = Self::shell(&lease.unending(), script);
        scene.shorten(lease);
        scene
    }

    pub(crate) fn shorten(&mut self, lease: &Lease) {
        self.until = clock::now().after(lease.length);
        self.extend(self.until);
    }

    /// Makes the supervisor set a new end of the lease.
    pub(crate) fn extend(&mut self, until: Time) {
        self.say(&format!("extend {}", until.as_nanos()));
        assert_eq!(self.hear(), "ok");
    }

    /// The command line of a worker that writes to the folder of its scene.
    pub(crate) fn working(manner: &str, children: &[&str]) -> Vec<OsString> {
        let myself = env::current_exe().unwrap();
        let script = r#"role=$1; shift; exec "$0" "$role" "${TENURE_UNTIL_FILE%/*}/log" "$@""#;
        let mut line: Vec<OsString> = vec!["sh".into(), "-c".into(), script.into(), myself.into()];
        line.extend([worker::ROLE, manner, "here"].map(OsString::from));
        line.extend(children.iter().map(OsString::from));
        line
    }

    /// Starts `command` with the mark of this scene on it and on all its descendants.
    pub(crate) fn spawn(&mut self, command: &mut Command) {
        self.marked = Some(command.env(MARK, self.folder.path()).spawn().unwrap());
    }

    /// Waits for the end of the first started process.
    pub(crate) fn exit_code(&mut self) -> Option<i32> {
        let mut marked = self.marked.take().unwrap();
        let status = self.eventually("it exits", || marked.try_wait().unwrap());
        self.marked = Some(marked);
        status.code()
    }

    pub(crate) fn marked(&mut self) -> &mut Child {
        self.marked.as_mut().unwrap()
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn supervisor(&self) -> i32 {
        i32::try_from(self.marked.as_ref().unwrap().id()).unwrap()
    }

    pub(crate) fn say(&mut self, line: &str) {
        writeln!(self.control.as_mut().unwrap().get_mut(), "{line}").unwrap();
    }

    pub(crate) fn hear(&mut self) -> String {
        let mut line = String::new();
        self.control.as_mut().unwrap().read_line(&mut line).expect("the supervisor says something");
        line.trim_end().to_owned()
    }

    pub(crate) fn outcome(&mut self) -> String {
        let line = self.hear();
        let said = line.strip_prefix("outcome ").and_then(|said| said.split_once(' '));
        let (gone, outcome) = said.expect(&line);
        self.gone = Time::from_nanos(gone.parse().unwrap());
        outcome.to_owned()
    }

    pub(crate) fn expect_started(&mut self) {
        let line = self.hear();
        let mut words = line.strip_prefix("started ").expect(&line).split(' ');
        let mut number = || words.next().unwrap().parse().unwrap();
        self.command = number();
        self.guard = number();
    }

    /// Asserts the end of the command, and that no process of it is left now.
    pub(crate) fn expect_outcome(&mut self, outcome: &str) {
        self.expect_outcome_beside(&[], outcome);
    }

    /// Asserts the end of a command beside `others`, which are none of its processes and live on.
    pub(crate) fn expect_outcome_beside(&mut self, others: &[i32], outcome: &str) {
        assert_eq!(self.outcome(), outcome);
        let supervisor = self.supervisor();
        let mut left = self.alive();
        left.retain(|pid| *pid != supervisor && !others.contains(pid));
        assert!(left.is_empty(), "all gone is said, but {left:?} are left");
        assert!(others.iter().all(|other| self.alive().contains(other)), "{others:?} live on");
    }

    /// Waits until `count` processes have written stamps.
    pub(crate) fn expect_alive(&self, count: usize) {
        self.eventually("workers begin", || {
            let begun = self.stamps().into_iter().filter(|stamp| stamp.what == 'B').count();
            (begun >= count).then_some(())
        });
    }

    /// Waits until no process of this scene is left but those `spared`.
    pub(crate) fn expect_gone_but(&self, spared: &[i32]) {
        self.eventually("everything ends", || {
            self.alive().iter().all(|pid| spared.contains(pid)).then_some(())
        });
    }

    pub(crate) fn eventually<T>(&self, what: &str, mut seen: impl FnMut() -> Option<T>) -> T {
        let give_up = clock::now().after(PATIENCE);
        loop {
            if let Some(seen) = seen() {
                return seen;
            }
            assert!(clock::now() < give_up, "waited for: {what}; alive: {:?}", self.alive());
            // A look goes through all processes of the machine.
            sleep(millis(5));
        }
    }

    pub(crate) fn stamps(&self) -> Vec<Stamp> {
        let text = fs::read_to_string(self.path("log")).unwrap_or_default();
        let whole = text.rfind('\n').map_or("", |end| &text[..end]);
        let parse = |line: &str| {
            let mut words = line.split(' ');
            let pid = words.next()?.parse().ok()?;
            let at = Time::from_nanos(words.next()?.parse().ok()?);
            Some(Stamp { pid, at, what: words.next()?.chars().next()? })
        };
        whole.lines().map(|line| parse(line).expect(line)).collect()
    }

    pub(crate) fn last_stamp(&self) -> Time {
        self.stamps().iter().map(|stamp| stamp.at).max().expect("a worker has worked")
    }

    /// The longest time between two stamps of a worker.
    pub(crate) fn lateness(&self) -> Duration {
        let mut before = BTreeMap::new();
        let mut worst = Duration::ZERO;
        for Stamp { pid, at, .. } in self.stamps() {
            if let Some(before) = before.insert(pid, at) {
                worst = worst.max(at.since(before));
            }
        }
        worst
    }

    /// All living processes that come from this scene, wherever they went.
    pub(crate) fn alive(&self) -> Vec<i32> {
        Marked::all(self.folder.path()).iter().map(|process| process.pid).collect()
    }

    pub(crate) fn signal(&self, pid: i32, signal: Signal) {
        kill_process(Pid::from_raw(pid).unwrap(), signal).unwrap();
    }

    /// Stops a process and waits until it stands still.
    pub(crate) fn freeze(&self, pid: i32) {
        self.signal(pid, Signal::STOP);
        self.eventually("a process stops", || is_stopped(pid).then_some(()));
    }
}

impl Drop for Scene {
    fn drop(&mut self) {
        // Find the first process by its handle: in the middle of `execve` a process shows no
        // environment, and so no mark.
        if let Some(marked) = &mut self.marked {
            marked.kill().ok();
            marked.wait().ok();
        }
        // Kill only processes with this scene's mark. Look several times, because a process in the
        // middle of `execve` shows no mark.
        let give_up = clock::now().after(PATIENCE);
        let mut nobody = 0;
        while nobody < 3 && clock::now() < give_up {
            let alive = Marked::all(self.folder.path());
            nobody = if alive.is_empty() { nobody + 1 } else { 0 };
            alive.iter().for_each(|process| process.signal(Signal::KILL));
            sleep(millis(2));
        }
    }
}

/// Whether a read failed only because no data came in time.
pub(crate) fn timed_out(error: &std::io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut)
}

/// Whether the process was started as this part of the command.
pub(crate) fn plays(pid: i32, role: &str) -> bool {
    fs::read_to_string(format!("/proc/{pid}/cmdline")).is_ok_and(|line| line.contains(role))
}

/// Waits until a launcher of this scene is at `execve`: it has taken over standard input.
pub(crate) fn launching(scene: &Scene) -> i32 {
    scene.eventually("a launcher opens the command", || {
        scene.alive().into_iter().find(|pid| {
            let stdin = fs::read_link(format!("/proc/{pid}/fd/0"));
            plays(*pid, "__launch") && stdin.is_ok_and(|stdin| stdin == Path::new("/dev/null"))
        })
    })
}
