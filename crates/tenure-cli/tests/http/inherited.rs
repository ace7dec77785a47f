//! Descriptors that CMD gets from its runner.

use std::fs;
use std::os::unix::net::UnixStream;

use tenure_testkit::processes::{Machine, Members, eventually, exchange};

/// CMD may run as another user. So CMD must not answer in place of its runner, or keep the runner's
/// socket.
#[test]
fn cmd_inherits_no_socket() {
    let machine = Machine::new(env!("CARGO_BIN_EXE_tenure"));
    let members = Members::new(["a"]).to_string();
    let (socket, shown) = (machine.path("http.sock"), machine.path("shown"));
    let (http, shown_at) = (socket.display().to_string(), shown.display().to_string());
    // `ls` inherits no descriptor that only the shell itself uses.
    let script = format!(
        "ls -l /proc/self/fd >{shown_at}.new; mv {shown_at}.new {shown_at}; \
                          exec sleep 600"
    );
    let own = ["run", "--members", &members, "--name", "a", "--state", "state", "--new"];
    let more = ["--election", "billing", "--grace", "300ms", "--http", &http];
    let _runner = machine.start("a", &[&own[..], &more, &["--", "sh", "-c", &script]].concat());
    let shown = eventually("CMD shows its descriptors", || fs::read_to_string(&shown).ok());
    let fds = shown.lines().filter_map(|line| line.split_once(" -> "));
    let fds: Vec<_> = fds
        .map(|(left, to)| (left.rsplit(' ').next().unwrap().parse::<u32>().unwrap(), to))
        .filter(|(fd, _)| *fd > 2)
        .collect();
    assert!(!fds.is_empty(), "the lister has its own: {shown}");
    // Other descriptors may come from the process that runs the tests.
    let folder = machine.path("").display().to_string();
    let is_ours = |to: &str| to.starts_with("socket:") || to.starts_with(&folder);
    let inherited: Vec<_> = fds.iter().filter(|(_, to)| is_ours(to)).collect();
    assert!(inherited.is_empty(), "{inherited:?}");
    let stream = UnixStream::connect(&socket).unwrap();
    assert_eq!(exchange(stream, "GET", "/healthz", "Host: any\r\n", "").unwrap().status, 200);
}
