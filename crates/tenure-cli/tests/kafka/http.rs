//! The essential answers on real Kafka.

use rustix::process::Signal;
use tenure_services::kafka;
use tenure_testkit::processes::{Machine, eventually};

use crate::answers::{leads, promtool_accepts, start, state};

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
    let (runner, web) = start(&machine, &more);
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
