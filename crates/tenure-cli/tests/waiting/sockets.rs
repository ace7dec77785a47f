//! Reports when the control socket of a running process is removed, and when its process is stopped
//! or killed.

use std::fs;

use rustix::process::Signal;

use crate::{Stage, wait};

impl Stage {
    fn candidate_in(&mut self, directory: &str, name: &str) {
        let socket = self.path(directory).join("one.sock");
        let words = ["run", "--id", "one", "--control", socket.to_str().unwrap()];
        let command = self.command(&[&words[..], &["--", "sleep", "1000"]].concat());
        self.spawn(name, command);
    }

    /// The answer of a command to the runner in `directory`.
    fn ask_in(&self, directory: &str, args: &[&str]) -> (Option<i32>, String) {
        let socket = self.path(directory).join("one.sock");
        self.tenure(&[args, &["--control", socket.to_str().unwrap()]].concat(), None)
    }
}

/// A cleaner of temporary files removes the socket and the lock.
#[test]
fn removed_socket_directory_is_made_again() {
    let mut stage = Stage::new();
    stage.candidate_in("sockets", "one");
    stage.says("one", "one waits: no quorum");
    for times in 1..=2 {
        fs::remove_dir_all(stage.path("sockets")).unwrap();
        wait::eventually("it says so", || {
            let log = stage.log("one");
            (log.matches("was removed, and tenure has made it again: ").count() == times)
                .then_some(())
        });
        let (code, said) = stage.ask_in("sockets", &["node", "status"]);
        assert!(code == Some(0) && said.starts_with("id: one\n"), "{said}");
    }
    // A second process with the same name is refused.
    stage.candidate_in("sockets", "second");
    stage.says("second", "error: another process has the control socket ");
}

#[test]
fn unmakeable_socket_is_reported() {
    let mut stage = Stage::new();
    stage.candidate_in("sockets", "one");
    stage.says("one", "one waits: no quorum");
    // A running runner would make the directory again before the test writes the file.
    stage["one"].signal(Signal::STOP);
    fs::remove_dir_all(stage.path("sockets")).unwrap();
    fs::write(stage.path("sockets"), "").unwrap();
    stage["one"].signal(Signal::CONT);
    stage.says("one", "or its lock is gone, so that no command reaches this process: ");
    let (code, said) = stage.ask_in("sockets", &["resign"]);
    assert!(said.contains("socket again within a second, or warns why it cannot"), "{said}");
    assert_eq!(code, Some(69));
    fs::remove_file(stage.path("sockets")).unwrap();
    stage.says("one", "was removed, and tenure has made it again: ");
    assert_eq!(stage.log("one").matches("so that no command reaches").count(), 1);
    let (code, said) = stage.ask_in("sockets", &["node", "status"]);
    assert_eq!(code, Some(0), "{said}");
}

#[test]
fn status_reports_stopped_node() {
    let mut stage = Stage::new();
    stage.node("a", &["--new"]);
    stage["a"].signal(Signal::STOP);
    // The node stays stopped until the command has ended: after a late answer the command would
    // succeed.
    let (code, said) = stage.tenure(&["node", "status"], Some("a"));
    stage["a"].signal(Signal::CONT);
    assert!(said.contains("does not answer within 5s: it is stopped, or hangs"), "{said}");
    assert_eq!(code, Some(69), "{said}");
}

/// No signal brings the runner back, and its lease runs out by itself.
#[test]
fn killed_leaders_are_reported_with_lease() {
    let mut stage = Stage::new();
    stage.found();
    let command = stage.command(&["run", "--id", "one", "--", "sleep", "1000"]);
    stage.spawn("one", command);
    stage.says("one", "CMD runs");
    stage.kill("one");
    let mut files = fs::read_dir(stage.path("tenure")).unwrap().map(|file| file.unwrap().path());
    let socket = files.find(|file| file.extension().is_some_and(|end| end == "sock"));
    let socket = socket.unwrap().to_str().unwrap().to_owned();
    for args in [&["resign"][..], &["resign", "--control", &socket]] {
        let (code, said) = stage.tenure(args, None);
        let told = format!(
            "error: the runner at the control socket {socket} has ended without resigning: its \
             lease runs out by itself, in "
        );
        assert!(said.starts_with(&told), "{said}");
        assert!(said.ends_with("fix: wait, then ask tenure leader who leads\n"), "{said}");
        assert_eq!(code, Some(69));
    }
}
