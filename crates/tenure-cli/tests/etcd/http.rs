//! Answers over HTTP.

#[path = "../shared/asks.rs"]
#[allow(dead_code, reason = "other tests use the rest")]
mod asks;

use tenure_services::etcd;
use tenure_testkit::processes::{Machine, eventually};

use self::asks::{here, leads, leads_and_resigns, runner, state};

#[test]
fn runner_answers_over_http() {
    let cluster = etcd::Cluster::start(etcd::Version::Newest, 1).unwrap();
    let machine = Machine::new(env!("CARGO_BIN_EXE_tenure"))
        .with("TENURE_PROTOCOL", "etcd")
        .with("TENURE_ELECTION", "billing")
        .with("TENURE_ENDPOINTS", &cluster.endpoints().join(","));
    let (_runner, web) = runner(&machine, &[]);
    let path = "/v1/elections/billing";
    leads_and_resigns(&machine, web, path, &["resign"]);
    cluster.member(0).kill().unwrap();
    state(web, path, 503);
    let lost = here(web, path, "campaigning");
    assert!(lost["here"]["lost"].is_string() && !leads(web, path), "{lost}");
    eventually("it is not ready", || (web.get("/readyz").status == 503).then_some(()));
}
