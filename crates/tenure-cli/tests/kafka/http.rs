//! The essential answers over HTTP, on real Kafka.

use rustix::process::Signal;
use tenure_services::kafka;
use tenure_testkit::processes::{Machine, Web, addresses, eventually};

use crate::answers::{has_resigned, leads, promtool_accepts, start, state, text};
use crate::{STRICT, machine, run, shared_broker};

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
    // The process gives back all its partitions, and leads again once it has them back.
    let path = format!("/v1/elections/{election}%2F0");
    assert_eq!(machine.ask(&["resign", "--all"]).code, Some(0));
    eventually("it resigned", || has_resigned(web, &path).then_some(()));
    eventually("it leads again", || leads(web, &path).then_some(()));
    runner.signal(Signal::TERM);
    assert_eq!(runner.ended(), Some(143));
}

/// A process that has given back all its partitions listens for the longest time of a leadership
/// before it reports a vacancy, and the next leader comes sooner. A member that keeps a partition
/// hears of the end, and reports the vacancy.
#[test]
fn other_member_knows_the_vacancy() {
    let (broker, election, one) = shared_broker("vacant");
    let two = machine(&broker.addresses(), &election);
    let paths = ["0", "1"].map(|role| format!("/v1/elections/{election}%2F{role}"));
    let places = addresses::<2>();
    let start = |host: &Machine, id, place| {
        let http = text(place);
        let more = ["--partitions", "2", "--roles", "0..1", "--http", &http];
        host.start(id, &run(id, &STRICT, &more, "exec sleep 600"))
    };
    let [first, second] = places.map(Web);
    let _one = start(&one, "one", places[0]);
    paths.iter().for_each(|path| eventually(path, || leads(first, path).then_some(())));
    let _two = start(&two, "two", places[1]);
    let taken = eventually("a role", || paths.iter().position(|path| leads(second, path)));
    let kept = &paths[1 - taken];
    assert_eq!(state(second, kept, 200)["id"], "one");
    assert_eq!(one.ask(&["resign", "--all"]).code, Some(0));
    let vacant = state(second, kept, 404);
    assert!(vacant["age_ms"].is_u64() && vacant["here"]["state"] == "campaigning", "{vacant}");
    let unknown = state(first, kept, 503);
    assert_eq!(
        (&unknown["state"], &unknown["here"]["lost"]),
        (&"unknown".into(), &"the leader resigned".into()),
        "{unknown}"
    );
}

/// Before the first answer of a broker the state is unknown: a balancer must not see a vacancy.
#[test]
fn starting_process_knows_nothing() {
    let [place, silent] = addresses::<2>();
    let (http, silent) = (text(place), text(silent));
    let machine = Machine::new(env!("CARGO_BIN_EXE_tenure")).with("TENURE_PROTOCOL", "nele");
    let own = [
        "run",
        "--id",
        "p",
        "--brokers",
        &silent,
        "--election",
        "e",
        "--roles",
        "0..0",
        "--partitions",
        "1",
    ];
    let _runner = machine.start("p", &[&own[..], &["--http", &http, "--", "true"]].concat());
    let unknown = state(Web(place), "/v1/elections/e%2F0", 503);
    assert_eq!(unknown["state"], "unknown", "{unknown}");
    assert_eq!(Web(place).get("/v1/elections/e%2F0/leading").status, 503);
}
