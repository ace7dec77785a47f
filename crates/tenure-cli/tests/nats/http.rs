//! The essential answers over HTTP, on real NATS.

use tenure_services::nats;
use tenure_testkit::processes::{Machine, eventually};

use crate::answers::{has_resigned, leads, leads_and_resigns, resign, start};

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
    // The next leader is elected a heartbeat or two later.
    let path = "/v1/elections/billing";
    let vacant = eventually("a look between leaderships", || {
        eventually("it leads", || leads(web, path).then_some(()));
        resign(web, path);
        let answer = web.get(&format!("{path}/leader"));
        (has_resigned(web, path) && answer.status == 404).then_some(answer)
    });
    assert_eq!(vacant.json()["state"], "vacant", "{vacant:?}");
    cluster.server(0).kill().unwrap();
    eventually("it is not ready", || (web.get("/readyz").status == 503).then_some(()));
    assert_eq!(web.get("/healthz").status, 200);
    drop(runner);
}
