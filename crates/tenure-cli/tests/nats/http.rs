//! The essential answers on real NATS.

use tenure_services::nats;
use tenure_testkit::processes::{Machine, eventually};

use crate::answers::{leads_and_resigns, start};

#[test]
fn nats_answers() {
    let cluster = nats::Cluster::start(nats::Version::Newest, 1).unwrap();
    let machine = Machine::new(env!("CARGO_BIN_EXE_tenure"))
        .with("TENURE_PROTOCOL", "allcall")
        .with("TENURE_ELECTION", "billing")
        .with("TENURE_SERVERS", &cluster.urls().join(","));
    let times = ["--heartbeat", "500ms", "--lease", "10s", "--max-clock-skew", "100ms"];
    let (runner, web) = start(&machine, &times);
    leads_and_resigns(&machine, web, "/v1/elections/billing", &["resign"]);
    cluster.server(0).kill().unwrap();
    eventually("it is not ready", || (web.get("/readyz").status == 503).then_some(()));
    assert_eq!(web.get("/healthz").status, 200);
    drop(runner);
}
