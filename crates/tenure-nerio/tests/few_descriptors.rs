//! Errors of a process that may open no more files. The test is a program of its own, because the
//! limit holds for the whole process.

#![expect(clippy::unwrap_used, reason = "a test says what went wrong by panicking")]

use rustix::process::{Resource, getrlimit, setrlimit};
use tenure_nerio::{Config, Member, Node, StartError};

/// Leaves room for this number of further files. The limit is a file number, and the caller of this
/// process may have left files with high numbers open.
fn leave(room: usize) {
    let is_free = |number: &u64| !std::path::Path::new(&format!("/proc/self/fd/{number}")).exists();
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = (0..).filter(is_free).nth(room);
    setrlimit(Resource::Nofile, limit).unwrap();
}

#[tokio::test]
async fn missing_descriptor_is_an_error() {
    let limit = getrlimit(Resource::Nofile);
    let members = vec![Member::at("a".parse().unwrap(), ([127, 0, 0, 1], 7_999).into())];
    let config = Config::new("c".parse().unwrap(), members).check().unwrap();
    let mut refused = Vec::new();
    for room in 0..32 {
        leave(room);
        let started = Node::builder(config.clone(), "candidate".parse().unwrap()).start();
        setrlimit(Resource::Nofile, limit).unwrap();
        match started {
            Err(StartError::System(error)) => refused.push(error.doing),
            Err(StartError::Transport(_)) => refused.push("binding a socket"),
            Err(other) => panic!("with room for {room}: {other}"),
            Ok(_) => break,
        }
    }
    refused.dedup();
    assert!(
        refused.contains(&"making a runtime") && refused.contains(&"making a timer"),
        "{refused:?}"
    );
}
