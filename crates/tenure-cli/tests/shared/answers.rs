//! Answers over HTTP of real processes, as tests of every protocol ask for them.

#![allow(dead_code, reason = "each program of tests uses a part")]

use std::fs;
use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use tenure_services::monitoring;
use tenure_testkit::processes::{Answer, Machine, RunningCommand, Web, addresses, eventually};

/// The path of the election of the tests.
pub(crate) const PATH: &str = "/v1/elections/billing";

/// Waits until the answer for the leader has this status, and returns its state.
pub(crate) fn state(web: Web, path: &str, status: u16) -> serde_json::Value {
    let path = format!("{path}/leader");
    eventually(&format!("{path} {status}"), || {
        let answer = web.try_ask("GET", &path, "", "").ok()?;
        (answer.status == status).then(|| answer.json())
    })
}

/// Waits until the candidate at this address is in this state.
pub(crate) fn here(web: Web, path: &str, state: &str) -> serde_json::Value {
    eventually(state, || {
        let one = web.try_ask("GET", path, "", "").ok()?;
        let one = (one.status == 200).then(|| one.json())?;
        (one["here"]["state"] == state).then_some(one)
    })
}

/// The answer whether this process leads, at this moment.
pub(crate) fn leads(web: Web, path: &str) -> bool {
    web.try_ask("HEAD", &format!("{path}/leading"), "", "").is_ok_and(|it| it.status == 200)
}

/// Prometheus' own reader accepts the metrics.
pub(crate) fn promtool_accepts(web: Web) -> String {
    let metrics = web.get("/metrics").body;
    let file = tempfile::NamedTempFile::new().unwrap();
    fs::write(file.path(), &metrics).unwrap();
    let promtool = monitoring::promtool().unwrap();
    let mut check = Command::new("sh");
    check.args(["-c", "exec \"$0\" check metrics <\"$1\""]).arg(promtool).arg(file.path());
    let checked = Answer::of(&mut check);
    assert_eq!((checked.code, &*checked.err), (Some(0), ""), "{}{metrics}", checked.out);
    metrics
}

pub(crate) fn has_line(metrics: &str, line: &str) {
    assert!(metrics.lines().any(|found| found == line), "{line}: {metrics}");
}

pub(crate) fn text(address: SocketAddr) -> String {
    address.to_string()
}

/// The header line of orders, with the token that [`token_file`] writes.
pub(crate) const TOKEN: &str = "Authorization: Bearer a-secret-of-operators\r\n";

/// The path of a file with the token.
pub(crate) fn token_file(machine: &Machine) -> String {
    let path = machine.path("token");
    fs::write(&path, "a-secret-of-operators\n").unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
    path.display().to_string()
}

/// Orders the leader at this address to resign. Only an answer that comes late leaves open whether
/// the order is carried out.
pub(crate) fn resign(web: Web, path: &str) {
    let answer = web.ask("POST", &format!("{path}/resign"), TOKEN, "");
    assert!([200, 503].contains(&answer.status), "{answer:?}");
}

/// Whether the process says over HTTP that it does not lead, with the reason of its last end.
pub(crate) fn has_resigned(web: Web, path: &str) -> bool {
    let leading = web.get(&format!("{path}/leading"));
    let one = web.get(path).json();
    leading.status == 503 && one["here"]["lost"] == "the leader resigned"
}

/// A runner with answers over HTTP, and where they are.
pub(crate) fn start(machine: &Machine, more: &[&str]) -> (RunningCommand, Web) {
    let [place] = addresses::<1>();
    let (http, token) = (text(place), token_file(machine));
    let own =
        ["run", "--id", "p", "--grace", "300ms", "--http", &http, "--http-token-file", &token];
    let words = [&own, more, &["--", "sh", "-c", "exec sleep 600"]].concat();
    (machine.start("p", &words), Web(place))
}

/// The runner leads, says so, and resigns.
pub(crate) fn leads_and_resigns(machine: &Machine, web: Web, path: &str, resign: &[&str]) {
    eventually("it leads", || leads(web, path).then_some(()));
    let led = state(web, path, 200);
    assert_eq!(led["here"]["id"], here(web, path, "leading")["here"]["id"], "{led}");
    let metrics = promtool_accepts(web);
    assert!(metrics.contains("leader_election_master_status{"), "{metrics}");
    eventually("it is ready", || (web.get("/readyz").status == 200).then_some(()));
    let terms = led["here"]["terms"].as_u64().unwrap();
    assert_eq!(machine.ask(resign).code, Some(0));
    eventually("it leads again", || {
        let one = web.get(path).json();
        (leads(web, path) && one["here"]["terms"].as_u64()? > terms).then_some(())
    });
}
