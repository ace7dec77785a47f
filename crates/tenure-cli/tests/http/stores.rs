//! The essential answers on real etcd, NATS and Kafka.

use rustix::process::Signal;
use tenure_services::{etcd, kafka, nats};
use tenure_testkit::processes::{Machine, RunningCommand, Web, addresses, eventually};

use crate::{here, leads, promtool_accepts, state, text};

/// A runner with answers over HTTP, and where they are.
fn runner(machine: &Machine, more: &[&str]) -> (RunningCommand, Web) {
    let [place] = addresses::<1>();
    let http = text(place);
    let own = ["run", "--id", "p", "--grace", "300ms", "--http", &http];
    let words = [&own, more, &["--", "sh", "-c", "exec sleep 600"]].concat();
    (machine.start("p", &words), Web(place))
}

/// The runner leads, says so, and resigns.
fn leads_and_resigns(machine: &Machine, web: Web, path: &str, resign: &[&str]) {
    eventually("it leads", || leads(web, path).then_some(()));
    let led = state(web, path, 200);
    assert_eq!(led["here"]["id"], here(web, path, "leading")["here"]["id"], "{led}");
    let metrics = promtool_accepts(web);
    assert!(metrics.contains("leader_election_master_status{"), "{metrics}");
    assert_eq!(web.get("/readyz").status, 200);
    let terms = led["here"]["terms"].as_u64().unwrap();
    assert_eq!(machine.ask(resign).code, Some(0));
    eventually("it leads again", || {
        let one = web.get(path).json();
        (leads(web, path) && one["here"]["terms"].as_u64()? > terms).then_some(())
    });
}

#[test]
fn etcd_answers() {
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

#[test]
fn nats_answers() {
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

#[test]
fn kafka_answers() {
    let broker = kafka::shared().unwrap();
    let election = kafka::unique("http");
    let machine = Machine::new(env!("CARGO_BIN_EXE_tenure"))
        .with("TENURE_PROTOCOL", "nele")
        .with("TENURE_BROKERS", &broker.addresses())
        .with("TENURE_ELECTION", &election)
        .with("TENURE_ALLOW_UNREPLICATED", "true")
        .with("TENURE_SESSION_TIMEOUT", "8s")
        .with("TENURE_PUBLISH_INTERVAL", "200ms");
    let more = ["--takeover", "40s", "--create-topic", "--partitions", "2", "--roles", "0..1"];
    let (runner, web) = runner(&machine, &more);
    for role in ["0", "1"] {
        let path = format!("/v1/elections/{election}%2F{role}");
        eventually("it leads", || leads(web, &path).then_some(()));
        state(web, &path, 200);
    }
    let all = web.get("/v1/elections").json();
    assert_eq!(all["elections"].as_array().unwrap().len(), 2, "every role is an election: {all}");
    promtool_accepts(web);
    runner.signal(Signal::TERM);
    assert_eq!(runner.ended(), Some(143));
}
