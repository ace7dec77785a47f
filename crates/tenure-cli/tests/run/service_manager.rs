//! The messages to systemd, on a socket in its place.

use std::fs;
use std::os::unix::net::UnixDatagram;
use std::path::PathBuf;
use std::process::Command;
use std::thread;
use std::time::Duration;

use tenure::clock;
use tenure_testkit::processes::wait;

use super::Stage;

/// Plays systemd.
pub(super) struct Manager {
    socket: UnixDatagram,
    path: PathBuf,
    told: Vec<String>,
}

impl Manager {
    pub(super) fn new(stage: &Stage) -> Self {
        let path = stage.path("notify");
        let socket = UnixDatagram::bind(&path).unwrap();
        socket.set_read_timeout(Some(wait::PATIENCE)).unwrap();
        Self { socket, path, told: Vec::new() }
    }

    /// Waits for a message like this, and returns it.
    pub(super) fn hears(&mut self, like: &str) -> String {
        let give_up = clock::now().after(wait::PATIENCE);
        let mut buffer = [0; 4_096];
        while clock::now() < give_up {
            let Ok(count) = self.socket.recv(&mut buffer) else { break };
            let told = String::from_utf8(buffer[..count].to_vec()).unwrap();
            self.told.push(told.clone());
            if told.contains(like) {
                return told;
            }
        }
        panic!("no {like} in {:?}", self.told);
    }
}

const CMD: &str = r#"env >"$0/env.part"; mv "$0/env.part" "$0/env"; exec sleep 600"#;

impl Stage {
    /// Starts a process as a manager does.
    pub(super) fn managed(&mut self, name: &str, manager: &Manager, mut command: Command) {
        command.env("NOTIFY_SOCKET", &manager.path);
        self.spawn(name, command);
    }

    fn managed_runner(&mut self, manager: &Manager, watchdog_us: u32) {
        let directory = self.directory();
        let own = ["run", "--id", "ann", "--grace", "3s", "--kill-margin", "1s"];
        let words = [&own[..], &["--", "sh", "-c", CMD, &directory]].concat();
        let mut command = self.tenure("ann", &words);
        command.env("WATCHDOG_USEC", watchdog_us.to_string());
        self.managed("ann", manager, command);
    }
}

#[test]
fn service_manager_follows_a_runner() {
    let mut stage = Stage::new();
    let mut manager = Manager::new(&stage);
    stage.managed_runner(&manager, 400_000);
    manager.hears("READY=1");
    manager.hears("STATUS=ann leads e, fence ");
    (0..3).for_each(|_| drop(manager.hears("WATCHDOG=1")));
    stage.has("env");
    let environment = fs::read_to_string(stage.path("env")).unwrap();
    assert!(environment.contains("TENURE_FENCE="), "{environment}");
    for ours in ["NOTIFY_SOCKET", "WATCHDOG_USEC"] {
        assert!(!environment.contains(ours), "CMD is not the service: {environment}");
    }
    stage.asked_to_end("ann");
    let told = manager.hears("STOPPING=1");
    // Grace, kill margin, and the time until other nodes know.
    assert!(told.contains("EXTEND_TIMEOUT_USEC=14000000"), "{told}");
    stage.ended("ann");
}

#[test]
fn unread_service_manager_delays_nothing() {
    let mut stage = Stage::new();
    let manager = Manager::new(&stage);
    // A thousand messages a second are many times the socket's capacity.
    stage.managed_runner(&manager, 2_000);
    stage.has("env");
    thread::sleep(Duration::from_secs(1));
    stage.asked_to_end("ann");
    let status = stage.ended("ann");
    assert_eq!(status.code(), Some(128 + 15), "{}", stage.log("ann"));
    assert_eq!(stage.log("ann").matches("ann leads e").count(), 1, "{}", stage.log("ann"));
}

#[test]
fn service_manager_follows_a_node() {
    let mut stage = Stage::new();
    let mut manager = Manager::new(&stage);
    stage.kill("n");
    let mut node = stage.tenure("n", &["node", "--name", "n", "--state", "state-n"]);
    node.env("WATCHDOG_USEC", "400000");
    stage.managed("n", &manager, node);
    manager.hears("READY=1");
    // The node had written no table of grants before it was killed, so it starts in quarantine.
    manager.hears("STATUS=this node grants nothing for ");
    manager.hears("WATCHDOG=1");
    stage.asked_to_end("n");
    manager.hears("STOPPING=1");
    stage.ended("n");
}
