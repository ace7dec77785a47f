//! Answers over HTTP.

#[path = "../shared/asks.rs"]
#[allow(dead_code, reason = "other tests use the rest")]
mod asks;

use tenure_services::nats;
use tenure_testkit::processes::{Machine, eventually};

use self::asks::{leads_and_resigns, runner};

#[test]
fn runner_answers_over_http() {
    let cluster = nats::Cluster::start(nats::Version::Newest, 1).unwrap();
    let machine = Machine::new(env!("CARGO_BIN_EXE_tenure"))
        .with("TENURE_PROTOCOL", "allcall")
        .with("TENURE_ELECTION", "billing")
        .with("TENURE_SERVERS", &cluster.urls().join(","));
    let times = ["--heartbeat", "500ms", "--lease", "10s", "--max-clock-skew", "100ms"];
    let (runner, web) = runner(&machine, &times);
    leads_and_resigns(&machine, web, "/v1/elections/billing", &["resign"]);
    cluster.server(0).kill().unwrap();
    eventually("it is not ready", || (web.get("/readyz").status == 503).then_some(()));
    assert_eq!(web.get("/healthz").status, 200);
    drop(runner);
}
