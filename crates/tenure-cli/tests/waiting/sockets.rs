//! What is said when the control socket of a process that runs is removed, and when its process is
//! stopped or killed.

use std::fs;

use rustix::process::Signal;

use crate::{Stage, wait};

impl Stage {
    /// A candidate whose control socket is in a directory of its own.
    fn candidate_in(&mut self, directory: &str, name: &str) {
        let socket = self.path(directory).join("one.sock");
        let words = ["run", "--id", "one", "--control", socket.to_str().unwrap()];
        let command = self.command(&[&words[..], &["--", "sleep", "1000"]].concat());
        self.spawn(name, command);
    }

    /// What a command says of the runner there.
    fn ask_in(&self, directory: &str, args: &[&str]) -> (Option<i32>, String) {
        let socket = self.path(directory).join("one.sock");
        self.tenure(&[args, &["--control", socket.to_str().unwrap()]].concat(), None)
    }
}

/// Whoever cleans up temporary files takes the socket and the lock away.
#[test]
fn a_directory_of_sockets_that_is_removed_is_made_again() {
    let mut stage = Stage::new();
    stage.candidate_in("sockets", "one");
    stage.says("one", "one waits: no quorum");
    for times in 1..=2 {
        fs::remove_dir_all(stage.path("sockets")).unwrap();
        wait::eventually("it says so", || {
            let log = stage.log("one");
            (log.matches("was removed, and is made again: ").count() == times).then_some(())
        });
        let (code, said) = stage.ask_in("sockets", &["node", "status"]);
        assert!(code == Some(0) && said.starts_with("id: one\n"), "{said}");
    }
    // A second one of the name is not let in.
    stage.candidate_in("sockets", "second");
    stage.says("second", "error: another process has the control socket ");
}

#[test]
fn a_socket_that_cannot_be_made_again_is_told_with_what_to_do() {
    let mut stage = Stage::new();
    stage.candidate_in("sockets", "one");
    stage.says("one", "one waits: no quorum");
    // It must not make the directory again in between.
    stage["one"].signal(Signal::STOP);
    fs::remove_dir_all(stage.path("sockets")).unwrap();
    fs::write(stage.path("sockets"), "").unwrap();
    stage["one"].signal(Signal::CONT);
    stage.says("one", "or its lock is gone, so that no command reaches this process: ");
    let (code, said) = stage.ask_in("sockets", &["resign"]);
    assert!(said.contains("makes that again within a second, or warns why it cannot"), "{said}");
    assert_eq!(code, Some(69));
    fs::remove_file(stage.path("sockets")).unwrap();
    stage.says("one", "was removed, and is made again: ");
    assert_eq!(stage.log("one").matches("so that no command reaches").count(), 1);
    let (code, said) = stage.ask_in("sockets", &["node", "status"]);
    assert_eq!(code, Some(0), "{said}");
}

#[test]
fn a_stopped_node_is_told_as_silent_by_its_status() {
    let mut stage = Stage::new();
    stage.node("a", &["--new"]);
    stage["a"].signal(Signal::STOP);
    // Until its answer this command would wait, and then end well.
    let (code, said) = stage.tenure(&["node", "status"], Some("a"));
    stage["a"].signal(Signal::CONT);
    assert!(said.contains("does not answer within 5s: it is stopped, or hangs"), "{said}");
    assert_eq!(code, Some(69), "{said}");
}

/// No signal brings it back, and its lease is given back by nobody.
#[test]
fn killed_leaders_are_told_with_their_lease() {
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
        assert!(said.ends_with("fix: wait for that; tenure leader says who leads\n"), "{said}");
        assert_eq!(code, Some(69));
    }
}
