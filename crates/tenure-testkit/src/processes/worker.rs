//! CMD: a worker that writes many lines a second to the journal, each with its time and leadership.

use std::env;
use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::process::{Command, ExitCode};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::sleep;
use std::time::Duration;

use rustix::process::{Signal, getpid, setpgid, setsid};
use tenure::clock;
use tenure_core::{Fence, Time};

use super::line::{Line, Step};

/// The first argument of a worker.
pub const ROLE: &str = "__worker";

/// The variable with the fence of a leadership, for CMD.
const FENCE: &str = "TENURE_FENCE";

/// Interval of a worker's lines, in milliseconds.
const TICK: u64 = 4;
/// The variable with another interval in milliseconds, for tests with many workers.
pub const PACE: &str = "CHAOS_TICK_MS";
/// Time for which a slow worker goes on after SIGTERM.
const TAIL: Duration = Duration::from_millis(150);

/// How a worker reacts to SIGTERM, and which children it starts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Manner {
    /// Ends at once.
    Polite,
    /// Works a little longer, then ends.
    Slow,
    /// Works on until it is killed.
    Stubborn,
    /// Ends at once, but leaves stubborn children: one in its group, one in a group of its own, one
    /// in a session of its own.
    Family,
}

impl Manner {
    /// All manners, each once.
    pub const ALL: [Self; 4] = [Self::Polite, Self::Slow, Self::Stubborn, Self::Family];

    /// The word of a manner on the command line.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Polite => "polite",
            Self::Slow => "slow",
            Self::Stubborn => "stubborn",
            Self::Family => "family",
        }
    }
}

/// The `main` of a test binary that starts runners: runs CMD if `tenure run` started the binary,
/// otherwise the tests.
pub fn main(tests: impl FnOnce() -> ExitCode) -> ExitCode {
    let mut args = env::args_os().skip(1);
    match args.next().as_deref().and_then(|role| role.to_str()) {
        Some(ROLE) => work(args),
        _ => tests(),
    }
}

/// Runs a worker with the arguments `journal manner [place]`; with a place (`here`, `group`,
/// `session`) the worker is a child.
fn work(args: impl Iterator<Item = OsString>) -> ExitCode {
    let args: Vec<String> = args.map(|arg| arg.into_string().unwrap()).collect();
    let (journal, manner, place) = match &args[..] {
        [journal, manner] => (journal, manner, None),
        [journal, manner, place] => (journal, manner, Some(place.as_str())),
        _ => return ExitCode::from(2),
    };
    let manner = Manner::ALL.into_iter().find(|known| known.word() == manner).unwrap();
    match place {
        Some("group") => setpgid(None, None).unwrap(),
        Some("session") => drop(setsid().unwrap()),
        _ => {}
    }
    let pace = env::var(PACE).ok().and_then(|pace| pace.parse().ok());
    let tick = Duration::from_millis(pace.unwrap_or(TICK));
    let told = Arc::new(AtomicBool::new(false));
    signal_hook::flag::register(Signal::TERM.as_raw(), Arc::clone(&told)).unwrap();
    let mut work = Work::open(journal);
    work.write(if place.is_none() { Step::Begin } else { Step::Child });
    if manner == Manner::Family {
        let fence = work.line.fence;
        ["here", "group", "session"].into_iter().for_each(|place| bring(journal, place, fence));
    }
    while !told.load(Ordering::Relaxed) || manner == Manner::Stubborn {
        sleep(tick);
        work.write(Step::Tick);
    }
    let end = clock::now().after(TAIL);
    while manner == Manner::Slow && clock::now() < end {
        sleep(tick);
        work.write(Step::Tick);
    }
    work.write(Step::End);
    ExitCode::SUCCESS
}

fn bring(journal: &str, place: &str, fence: Fence) {
    let mut child = Command::new("/proc/self/exe");
    child.args([ROLE, journal, Manner::Stubborn.word(), place]);
    child.env(FENCE, fence.number().to_string());
    #[expect(clippy::zombie_processes, reason = "as by a shell, nobody waits for it")]
    child.spawn().unwrap();
}

struct Work {
    journal: File,
    until_file: OsString,
    line: Line,
}

impl Work {
    fn open(journal: &str) -> Self {
        // Without fences, the start of a CMD identifies its leadership.
        let given = env::var(FENCE).ok().map(|fence| fence.parse().unwrap());
        let fence = given.unwrap_or_else(|| clock::now().as_nanos());
        Self {
            journal: OpenOptions::new().append(true).create(true).open(journal).unwrap(),
            until_file: env::var_os("TENURE_UNTIL_FILE").unwrap(),
            line: Line {
                what: Step::Begin,
                at: Time::ZERO,
                fence: Fence::new(fence),
                id: env::var("TENURE_ID").unwrap(),
                pid: getpid().as_raw_pid(),
                until: Time::ZERO,
            },
        }
    }

    /// Writes a line by one `write`, so that lines of several processes do not mix. Reads the clock
    /// last.
    fn write(&mut self, what: Step) {
        // The file is removed when its writer ends.
        let until = fs::read_to_string(&self.until_file).ok();
        if let Some(until) = until.and_then(|text| text.trim_end().parse().ok()) {
            self.line.until = Time::from_nanos(until);
        }
        self.line.what = what;
        self.line.at = clock::now();
        self.journal.write_all(format!("{}\n", self.line).as_bytes()).unwrap();
    }
}
