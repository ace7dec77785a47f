//! What the demo's candidates run while they lead: a line with the fence to a shared file.

use std::env;
use std::fs::OpenOptions;
use std::io::Write;
use std::path::Path;
use std::process::ExitCode;
use std::thread;
use std::time::Duration;

use tenure::clock;

/// The hidden subcommand that makes this binary the demo's worker.
pub(super) const WORKER: &str = "__demo-worker";
/// The pause between two lines.
const PAUSE: Duration = Duration::from_millis(20);

/// Plays the worker if this process was started as one.
#[must_use]
pub fn reenter_as_worker() -> Option<ExitCode> {
    let mut args = env::args_os().skip(1);
    if args.next()?.to_str()? != WORKER {
        return None;
    }
    let file = args.next()?;
    // Only the end of the process ends it: SIGTERM from its guard, or a full disk.
    Some(match write_on(Path::new(&file)) {
        Ok(never) => match never {},
        Err(_) => ExitCode::FAILURE,
    })
}

fn write_on(file: &Path) -> std::io::Result<std::convert::Infallible> {
    let mut file = OpenOptions::new().append(true).open(file)?;
    let variable = |name| env::var(name).unwrap_or_else(|_| "-".to_owned());
    let (fence, id) = (variable("TENURE_FENCE"), variable("TENURE_ID"));
    loop {
        let line = format!("{} {fence} {id}\n", clock::now().as_nanos());
        // One write, so that lines of two workers would never mix.
        file.write_all(line.as_bytes())?;
        thread::sleep(PAUSE);
    }
}
