//! Waits, with a bound that only an unusable machine reaches.

use std::io::{Read, Seek};
use std::process::{Child, Command, ExitStatus, Output};
use std::thread::sleep;
use std::time::Duration;

use tenure::clock;

/// Bound on any wait in these tests, on a usable machine.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// Waits until `look` returns a value.
#[track_caller]
pub fn eventually<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let give_up = clock::now().after(PATIENCE);
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(clock::now() < give_up, "in {PATIENCE:?} this did not come: {what}");
        sleep(Duration::from_millis(2));
    }
}

/// Waits until a process ends.
#[track_caller]
pub fn ended(what: &str, child: &mut Child) -> ExitStatus {
    eventually(what, || child.try_wait().unwrap())
}

/// Runs `command` to its end; kills it after [`PATIENCE`]. Does not wait for other processes that
/// inherited its outputs.
#[track_caller]
pub fn output(command: &mut Command) -> Output {
    let [mut out, mut err] = [(); 2].map(|()| tempfile::tempfile().unwrap());
    command.stdout(out.try_clone().unwrap()).stderr(err.try_clone().unwrap());
    let mut child = command.spawn().unwrap();
    let give_up = clock::now().after(PATIENCE);
    let status = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        if clock::now() > give_up {
            child.kill().unwrap();
            child.wait().unwrap();
            panic!("in {PATIENCE:?} this did not end: {command:?}");
        }
        sleep(Duration::from_millis(2));
    };
    let [stdout, stderr] = [&mut out, &mut err].map(|file| {
        let mut said = Vec::new();
        file.rewind().unwrap();
        file.read_to_end(&mut said).unwrap();
        said
    });
    Output { status, stdout, stderr }
}
