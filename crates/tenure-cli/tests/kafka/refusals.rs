//! Wrong settings that only a broker can detect: each is refused with the numbers, and the remedy.

use std::fs;

use rustix::process::{Pid, Signal};
use tenure_services::kafka::{SHARED_VERSION, quick};
use tenure_testkit::processes::Machine;
use tenure_testkit::processes::wait::eventually as soon;

use crate::{STRICT, machine, run, shared_broker, words};

const WORK: &str = "echo works; exec sleep 600";

/// Runs a command to its end, and expects exit code 2 and all `parts` in its output.
fn refused(host: &Machine, words: &[&str], parts: &[&str]) {
    let answer = host.ask(words);
    assert_eq!(answer.code, Some(2), "{}{}", answer.out, answer.err);
    for part in parts {
        assert!(answer.err.contains(part), "{part}: {}", answer.err);
    }
    let labels = ["error: ", "origin: ", "fix: ", "warning: "];
    let is_labelled = |line: &str| labels.iter().any(|label| line.starts_with(label));
    assert!(answer.err.lines().all(is_labelled), "{}", answer.err);
}

#[test]
fn missing_or_wrong_topic_is_refused() {
    let (_broker, election, host) = shared_broker("topics");
    let missing = words("leader", &STRICT, &["--partitions", "1"]);
    refused(
        &host,
        &missing,
        &[
            &format!("error: there is no topic {election}"),
            &format!("--create --topic {election} --partitions 1 --replication-factor 1"),
        ],
    );
    // Another command made the topic, with two partitions.
    assert_eq!(host.ask(&run("one", &STRICT, &["--partitions", "2"], "exit 9")).code, Some(9));
    refused(
        &host,
        &missing,
        &[
            &format!(
                "error: topic {election} cannot be used: the topic has 2 partitions, and 1 are set"
            ),
            "origin: partitions 1, flag --partitions",
            "give --partitions 2",
        ],
    );
}

/// The leader ends its CMD, and the process prints the remedy.
#[test]
fn changed_partition_count_ends_runner() {
    let (broker, election, host) = shared_broker("grown");
    let one = host.start("one", &run("one", &STRICT, &["--partitions", "1"], WORK));
    one.line("works", 1);
    broker.set_partitions(&election, 2).unwrap();
    assert_eq!(one.ended(), Some(6), "{}", host.log("one"));
    let log = host.log("one");
    assert!(log.contains("partitions") && log.contains("CMD ended"), "{log}");
    assert!(log.contains("fix: stop all processes, remove the cause"), "{log}");
}

/// Without the topic nobody can lead, and only this warning says so. If a broker creates the topic
/// again, all processes end.
#[test]
fn deleted_topic_is_reported() {
    let config = quick(SHARED_VERSION).setting("auto.create.topics.enable=false");
    let cluster = config.start().unwrap();
    let host = machine(&cluster.addresses(), "deleted");
    let one = host.start("one", &run("one", &STRICT, &["--partitions", "1"], WORK));
    one.line("works", 1);
    cluster.delete_topic("deleted").unwrap();
    one.line("topic deleted is not there any more: no process becomes leader", 1);
    one.signal(Signal::TERM);
    assert_eq!(one.ended(), Some(143), "{}", host.log("one"));
}

/// The process waits neither for a broker nor for its own limit.
#[test]
fn signal_ends_runner_without_broker() {
    let host = Machine::new(env!("CARGO_BIN_EXE_tenure"))
        .with("TENURE_PROTOCOL", "nele")
        .with("TENURE_ELECTION", "nowhere")
        .with("TENURE_BROKERS", "127.0.0.1:1");
    for (command, own) in [("run", &["--", "true"][..]), ("leader", &[]), ("observe", &[])] {
        let more = [&["--partitions", "1"][..], own].concat();
        let one = host.start(command, &words(command, &STRICT, &more));
        // A one-shot asker leaves signals to the system.
        let asks = command == "leader";
        if !asks {
            soon("it takes SIGTERM", || takes(one.pid(), Signal::TERM).then_some(()));
        }
        one.signal(Signal::TERM);
        let ended = one.ended();
        let right = if asks { None } else { Some(143) };
        assert_eq!(ended, right, "{command}: {}", host.log(command));
        assert!(!host.log(command).contains("error: "), "{command}: {}", host.log(command));
    }
}

/// Whether a process handles this signal.
fn takes(process: Pid, signal: Signal) -> bool {
    let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:"));
    let caught = caught.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    caught.is_some_and(|mask| mask >> (signal.as_raw() - 1) & 1 == 1)
}

/// A secret that is given as a property is never printed, whatever the error and the log level.
#[test]
fn secret_property_is_never_printed() {
    let (_broker, _, host) = shared_broker("secrets");
    let host = host.with("TENURE_LOG", "trace");
    let more = ["--partitions", "1", "--json", "--kafka-property"];
    let secret = "client.rack=b,ssl.keystore.password=S3cret,S3cret,x=S3cret";
    let control = host.path("c.sock");
    let control = ["--control", control.to_str().unwrap()];
    let more = [&more[..], &[secret], &control].concat();
    let one = host.start("one", &run("one", &STRICT, &more, WORK));
    one.line("works", 1);
    let status = host.ask(&["node", "status", control[0], control[1], "--json"]);
    assert_eq!(status.code, Some(0), "{}", status.err);
    one.signal(Signal::TERM);
    assert_eq!(one.ended(), Some(143));
    let shown = host.ask(&words(
        "leader",
        &STRICT,
        &[&more[..2], &more[3..5], &["--show-settings"]].concat(),
    ));
    assert!(shown.out.contains("ssl.keystore.password=(not shown)"), "{}{}", shown.out, shown.err);
    for said in [host.log("one"), status.out, status.err, shown.out, shown.err] {
        assert!(!said.contains("S3cret"), "{said}");
    }
}

/// The secret also stays hidden when another protocol does not use the property.
#[test]
fn unused_secret_property_is_not_shown() {
    let members = "a=127.0.0.1:7101,b=127.0.0.1:7102,c=127.0.0.1:7103";
    for (given, shown) in [
        ("client.rack=b,ssl.key.password=S3cret,x.y=S3cret", "ssl.key.password=(not shown),(not"),
        ("S3cret", "(not shown)"),
    ] {
        let host = Machine::new(env!("CARGO_BIN_EXE_tenure")).with("TENURE_KAFKA_PROPERTY", given);
        for json in [&[][..], &["--json"]] {
            let words = ["leader", "--election", "x", "--members", members, "--show-settings"];
            let answer = host.ask(&[&words[..], json].concat());
            assert_eq!(answer.code, Some(0), "{}", answer.err);
            assert!(answer.out.contains(shown), "{}", answer.out);
            assert!(!answer.out.contains("S3cret"), "{}", answer.out);
        }
    }
}

/// The group would give a static member the same partitions back.
#[test]
fn static_member_resigns_nothing() {
    let (_broker, _, host) = shared_broker("static");
    let more = ["--partitions", "1", "--kafka-property", "group.instance.id=one"];
    let one = host.start("one", &run("one", &STRICT, &more, WORK));
    one.line("works", 1);
    for words in [&["resign", "--all"][..], &["resign"]] {
        let refused = host.ask(words);
        assert_eq!(refused.code, Some(6), "{}", refused.err);
        for part in [
            "group.instance.id is one, so this process cannot give its roles back: the group keeps",
            "fix: end this process and wait",
        ] {
            assert!(refused.err.contains(part), "{part}: {}", refused.err);
        }
    }
    one.signal(Signal::TERM);
    assert_eq!(one.ended(), Some(143));
}
