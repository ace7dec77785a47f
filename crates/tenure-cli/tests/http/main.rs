//! Answers over HTTP of real processes, for every protocol that is built.

#![expect(clippy::unwrap_used, reason = "a test says what went wrong by panicking")]

mod balancer;
mod members;
mod node;
mod runner;
mod settings;
#[cfg(all(feature = "etcd", feature = "kafka", feature = "nats"))]
mod stores;
#[cfg(feature = "voter")]
mod voters;

use std::net::SocketAddr;
use std::process::Command;

use tenure_services::monitoring;
use tenure_testkit::processes::{Answer, Web, eventually};

/// The path of the election of the tests.
const PATH: &str = "/v1/elections/billing";

/// Waits until the answer for the leader has this status, and returns its state.
fn state(web: Web, path: &str, status: u16) -> serde_json::Value {
    let path = format!("{path}/leader");
    eventually(&format!("{path} {status}"), || {
        let answer = web.try_ask("GET", &path, "", "").ok()?;
        (answer.status == status).then(|| answer.json())
    })
}

/// Waits until the candidate at this address is in this state.
fn here(web: Web, path: &str, state: &str) -> serde_json::Value {
    eventually(state, || {
        let one = web.try_ask("GET", path, "", "").ok()?;
        let one = (one.status == 200).then(|| one.json())?;
        (one["here"]["state"] == state).then_some(one)
    })
}

/// The answer whether this process leads, at this moment.
fn leads(web: Web, path: &str) -> bool {
    web.try_ask("HEAD", &format!("{path}/leading"), "", "").is_ok_and(|it| it.status == 200)
}

/// Prometheus' own reader accepts the metrics.
fn promtool_accepts(web: Web) -> String {
    let metrics = web.get("/metrics").body;
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), &metrics).unwrap();
    let promtool = monitoring::promtool().unwrap();
    let mut check = Command::new("sh");
    check.args(["-c", "exec \"$0\" check metrics <\"$1\""]).arg(promtool).arg(file.path());
    let checked = Answer::of(&mut check);
    assert_eq!((checked.code, &*checked.err), (Some(0), ""), "{}{metrics}", checked.out);
    metrics
}

fn has_line(metrics: &str, line: &str) {
    assert!(metrics.lines().any(|found| found == line), "{line}: {metrics}");
}

fn text(address: SocketAddr) -> String {
    address.to_string()
}
