//! The essential answers over HTTP, on real etcd.

use tenure_services::etcd;
use tenure_testkit::processes::{Machine, eventually};

use crate::answers::{has_resigned, here, leads, leads_and_resigns, resign, start, state};

#[test]
fn etcd_answers() {
    let cluster = etcd::Cluster::start(etcd::Version::Newest, 1).unwrap();
    let machine = Machine::new(env!("CARGO_BIN_EXE_tenure"))
        .with("TENURE_PROTOCOL", "etcd")
        .with("TENURE_ELECTION", "billing")
        .with("TENURE_ENDPOINTS", &cluster.endpoints().join(","));
    let (_runner, web) = start(&machine, &[]);
    let path = "/v1/elections/billing";
    leads_and_resigns(&machine, web, path, &["resign"]);
    // The candidate waits behind a key that has no lease, and nobody leads.
    cluster.etcdctl(&["put", "billing/note", "hello"]).unwrap();
    resign(web, path);
    let vacant = state(web, path, 404);
    assert_eq!((&vacant["state"], vacant.get("id")), (&"vacant".into(), None), "{vacant}");
    assert!(vacant["age_ms"].is_u64() && has_resigned(web, path), "{vacant}");
    cluster.etcdctl(&["del", "billing/note"]).unwrap();
    eventually("it leads after the key", || leads(web, path).then_some(()));
    cluster.member(0).kill().unwrap();
    state(web, path, 503);
    let lost = here(web, path, "campaigning");
    assert!(lost["here"]["lost"].is_string() && !leads(web, path), "{lost}");
    eventually("it is not ready", || (web.get("/readyz").status == 503).then_some(()));
}
