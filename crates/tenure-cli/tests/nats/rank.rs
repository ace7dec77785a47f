//! The rank that decides who leads, reported at the start and at the end of a leadership.

use serde_json::Value;
use tenure_services::nats::{Cluster, Version};

use crate::{candidate, machine, words};

/// The rank is in the first line and in the status, drawn or not, and a resigning candidate says
/// that the lowest leads next.
#[test]
fn rank_is_reported() {
    let cluster = Cluster::start(Version::Newest, 1).unwrap();
    let host = machine(&cluster).with("TENURE_CLUSTER", "ranks");
    let socket = host.path("one.sock");
    let socket = socket.to_str().unwrap();
    let mut given = candidate("one", "7");
    let at = given.iter().position(|word| *word == "--").unwrap();
    given.splice(at..at, ["--control", socket]);
    let one = host.start("one", &given);
    one.line("at once with allcall; its rank is 7", 1);
    let drawn = host.start("drawn", &words("run", &["--grace", "300ms", "--", "sleep", "600"]));
    drawn.line(", drawn", 1);
    one.line("fence <none>", 1);
    let status = host.ask(&["node", "status", "--control", socket, "--json"]);
    let status: Value = serde_json::from_str(&status.out).unwrap();
    assert_eq!(status["rank"], 7, "{status}");
    let control = ["--control", socket, "--election", "billing"];
    let resigned = host.ask(&[&["resign"][..], &control].concat());
    assert_eq!(resigned.code, Some(0), "{}", resigned.err);
    let next = "the candidate with the lowest rank leads next. This candidate has the rank 7,";
    assert!(resigned.out.contains(next), "{}", resigned.out);
    one.line("one leads billing", 2);
}

/// Both of two candidates with the same rank warn of it, and a candidate that gives way names the
/// other.
#[test]
fn equal_and_lower_ranks_are_reported() {
    let cluster = Cluster::start(Version::Newest, 1).unwrap();
    let host = machine(&cluster);
    let pair =
        [host.start("one", &candidate("one", "7")), host.start("two", &candidate("two", "7"))];
    pair[0].line("two has the same rank as this candidate", 1);
    pair[1].line("one has the same rank as this candidate", 1);
    let best = host.start("best", &candidate("best", "1"));
    best.line("fence <none>", 1);
    let next = "best takes precedence, and leads next";
    let told = pair.iter().filter(|one| one.log().contains(next));
    assert_eq!(told.count(), 1, "{}{}", pair[0].log(), pair[1].log());
}
