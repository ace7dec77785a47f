//! Wrong settings that show only at a broker: each is refused with the numbers, and what to do.

use std::fs;
use std::net::TcpListener;

use rustix::process::{Pid, Signal};
use tenure_services::kafka::{Operation, Resource, SHARED_VERSION, Shared, quick, shared, unique};
use tenure_testkit::processes::Machine;
use tenure_testkit::processes::wait::eventually as soon;

use crate::{STRICT, machine, run, shared_broker, words};

const WORK: &str = "echo works; exec sleep 600";

/// Runs it to its end, and says what it ended with and what it said, which has all of `parts`.
fn refused(host: &Machine, words: &[&str], code: i32, parts: &[&str]) {
    let answer = host.ask(words);
    assert_eq!(answer.code, Some(code), "{}{}", answer.out, answer.err);
    for part in parts {
        assert!(answer.err.contains(part), "{part}: {}", answer.err);
    }
    // A runner says what it does before something turns out to be wrong.
    let labels = ["error: ", "origin: ", "fix: ", "warning: ", "tenure: "];
    let is_labelled = |line: &str| labels.iter().any(|label| line.starts_with(label));
    assert!(answer.err.lines().all(is_labelled), "{}", answer.err);
}

#[test]
fn a_session_timeout_of_the_group_that_is_longer() {
    let (_broker, _, host) = shared_broker("longer");
    let more = ["--partitions", "1", "--group-protocol", "consumer"];
    refused(
        &host,
        &run("one", &STRICT, &more, WORK),
        2,
        &[
            "the session timeout is the group's, 45s",
            "the settings count on 8s and 2s",
            "fix: give --session-timeout 45s",
        ],
    );
}

#[test]
fn a_topic_that_is_not_there_or_is_wrong() {
    let (_broker, election, host) = shared_broker("topics");
    let missing = words("leader", &STRICT, &["--partitions", "1"]);
    refused(
        &host,
        &missing,
        2,
        &[
            &format!("error: there is no topic {election}"),
            &format!("--create --topic {election} --partitions 1 --replication-factor 1"),
        ],
    );
    // Made by another command, with two partitions.
    assert_eq!(host.ask(&run("one", &STRICT, &["--partitions", "2"], "exit 9")).code, Some(9));
    refused(
        &host,
        &missing,
        2,
        &[
            &format!("error: topic {election} cannot be used: it has 2 partitions, and 1 are set"),
            "origin: partitions 1, flag --partitions",
            "give --partitions 2",
        ],
    );
}

/// The leader ends its CMD, and the process says what to do.
#[test]
fn a_number_of_partitions_that_changes_while_running() {
    let (broker, election, host) = shared_broker("grown");
    let one = host.start("one", &run("one", &STRICT, &["--partitions", "1"], WORK));
    one.line("works", 1);
    broker.set_partitions(&election, 2).unwrap();
    assert_eq!(one.ended(), Some(6), "{}", host.log("one"));
    let log = host.log("one");
    assert!(log.contains("partitions") && log.contains("CMD ended"), "{log}");
    assert!(log.contains("fix: mend that with all processes stopped"), "{log}");
}

/// Nobody can lead without it, and nothing else says so. Where brokers make it anew, all end.
#[test]
fn a_topic_that_is_deleted_while_running() {
    let config = quick(SHARED_VERSION).setting("auto.create.topics.enable=false");
    let cluster = config.start().unwrap();
    let host = machine(&cluster.addresses(), "deleted");
    let one = host.start("one", &run("one", &STRICT, &["--partitions", "1"], WORK));
    one.line("works", 1);
    cluster.delete_topic("deleted").unwrap();
    one.line("topic deleted is not there any more: nobody becomes leader", 1);
    one.signal(Signal::TERM);
    assert_eq!(one.ended(), Some(143), "{}", host.log("one"));
}

/// A broker that others use as well, an election, and the machine of ann, who may do nothing.
fn ann(name: &str) -> (Shared, String, Machine) {
    let (broker, election) = (shared().unwrap(), unique(name));
    let host = machine(&broker.guarded(), &election).with("TENURE_USER", "ann");
    (broker, election, host.with("TENURE_PASSWORD", "secret"))
}

#[test]
fn no_right_to_make_a_topic() {
    let (broker, election, host) = ann("rights");
    // She hears that there is none, and may not make it.
    broker.permit(Resource::Topic(&election), Operation::Describe).unwrap();
    soon("the right to describe holds", || {
        let answer = host.ask(&run("one", &STRICT, &["--partitions", "1"], WORK));
        answer.err.contains("cannot be made").then_some(())
    });
    refused(
        &host,
        &run("one", &STRICT, &["--partitions", "1"], WORK),
        6,
        &[
            &format!("error: topic {election} cannot be made: TopicAuthorizationFailed"),
            "this user may not (kafka-acls.sh --operation Create --topic)",
            "origin: user ann, variable TENURE_USER",
            "fix: by hand, by a user who may: kafka-topics.sh",
        ],
    );
    // A password that is wrong.
    let host = host.with("TENURE_PASSWORD", "wrong");
    refused(
        &host,
        &words("leader", &STRICT, &["--partitions", "1"]),
        6,
        &["fix: check --user, --password-file and --sasl-mechanism"],
    );
}

/// Who may not write is told at the start, and not when somebody is to lead; who only asks need not
/// be allowed to.
#[test]
fn no_right_to_write_to_the_topic() {
    let (broker, election, host) = ann("silent");
    broker.make_topic(&election, 1, &[("message.timestamp.type", "LogAppendTime")]).unwrap();
    for operation in [Operation::Describe, Operation::DescribeConfigs, Operation::Read] {
        broker.permit(Resource::Topic(&election), operation).unwrap();
    }
    let words_of_runner = run("one", &STRICT, &["--partitions", "1"], WORK);
    soon("the rights hold", || {
        host.ask(&words_of_runner).err.contains("may not write to").then_some(())
    });
    refused(
        &host,
        &words_of_runner,
        6,
        &[
            &format!(
                "error: this user may not write to topic {election}, and a candidate reads and \
                 writes"
            ),
            "origin: user ann, variable TENURE_USER",
            "fix: this allows it: kafka-acls.sh --bootstrap-server",
            &format!("--operation Write --topic {election}"),
        ],
    );
    let asks = words("leader", &STRICT, &["--partitions", "1"]);
    soon("who only asks is told", || (host.ask(&asks).code == Some(3)).then_some(()));
    // In the newer protocol the session timeout is in the group's settings, which she cannot read.
    broker.permit(Resource::Topic(&election), Operation::Write).unwrap();
    let group = format!("{election}.{election}.m1");
    broker.permit(Resource::Group(&group), Operation::Read).unwrap();
    let newer = ["--partitions", "1", "--group-protocol", "consumer", "--session-timeout", "46s"];
    let one = host.start("one", &run("one", &STRICT, &newer, WORK));
    let warned = one.line("warning: the session timeout is the group's, and not known", 1);
    assert!(warned.contains(&format!("DescribeConfigs --group {group}")), "{warned}");
    one.signal(Signal::TERM);
    assert_eq!(one.ended(), Some(143));
}

/// Nothing is waited for then: neither for a broker, nor until it gives up by itself.
#[test]
fn a_signal_ends_it_while_no_broker_is_there() {
    let host = Machine::new(env!("CARGO_BIN_EXE_tenure"))
        .with("TENURE_PROTOCOL", "nele")
        .with("TENURE_ELECTION", "nowhere")
        .with("TENURE_BROKERS", "127.0.0.1:1");
    for (command, own) in [("run", &["--", "true"][..]), ("leader", &[]), ("observe", &[])] {
        let more = [&["--partitions", "1"][..], own].concat();
        let one = host.start(command, &words(command, &STRICT, &more));
        // One that asks once leaves signals to the system.
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

/// Whether a process has a handler of its own for this signal.
fn takes(process: Pid, signal: Signal) -> bool {
    let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:"));
    let caught = caught.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    caught.is_some_and(|mask| mask >> (signal.as_raw() - 1) & 1 == 1)
}

/// A secret that is given as a property stands nowhere, whatever is wrong and however much is said.
#[test]
fn a_secret_property_is_said_nowhere() {
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

/// Nor is it where another protocol leaves it unused.
#[test]
fn a_secret_property_that_is_not_used_is_not_shown() {
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

#[test]
fn a_broker_that_is_not_there() {
    let host = Machine::new(env!("CARGO_BIN_EXE_tenure"))
        .with("TENURE_PROTOCOL", "nele")
        .with("TENURE_ELECTION", "nowhere")
        .with("TENURE_BROKERS", "127.0.0.1:1");
    let why = "topic nowhere cannot be looked at on 127.0.0.1:1: 127.0.0.1:1/bootstrap: Connect to";
    for command in ["leader", "observe", "run"] {
        let own: &[&str] = if command == "run" { &["--", "true"] } else { &[] };
        let more = [&["--partitions", "1"][..], own].concat();
        refused(
            &host,
            &words(command, &STRICT, &more),
            4,
            &[
                &format!("warning: {why}"),
                &format!("error: {why}"),
                "Connection refused",
                "origin: brokers 127.0.0.1:1, variable TENURE_BROKERS",
                "fix: check --brokers, that they run",
            ],
        );
    }
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = silent.local_addr().unwrap();
    let nobody = format!("topic nowhere cannot be looked at on {address}: brokers do not answer");
    let host = host.with("TENURE_PARTITIONS", "1");
    for (brokers, why) in [("127.0.0.1:1", why), (&*address.to_string(), &*nobody)] {
        let asks = ["--brokers", brokers, "--wait", "3s"];
        refused(&host, &words("leader", &STRICT, &asks), 4, &[&format!("error: {why}")]);
        let tries = ["--brokers", brokers, "--once", "--try", "3s", "--", "true"];
        refused(&host, &words("run", &STRICT, &tries), 7, &[&format!(" within 3s: {why}")]);
    }
}

/// In the newer protocol it is the second that is told, as is the first in the other one.
#[test]
fn two_processes_with_one_static_id_in_the_newer_protocol() {
    let (_broker, _, host) = shared_broker("newer");
    let host = host.with("TENURE_SESSION_TIMEOUT", "46s");
    let more = ["--partitions", "1", "--group-protocol", "consumer"];
    let more = [&more[..], &["--kafka-property", "group.instance.id=one"]].concat();
    let one = host.start("one", &run("one", &STRICT, &more, WORK));
    one.line("works", 1);
    let two = host.start("two", &run("two", &STRICT, &more, WORK));
    assert_eq!(two.ended(), Some(6), "{}", host.log("two"));
    for part in [
        "another member has the same group.instance.id, or had it when it was killed",
        "origin: kafka-property group.instance.id=one",
        "fix: each needs one of its own",
    ] {
        assert!(host.log("two").contains(part), "{part}: {}", host.log("two"));
    }
    assert!(!one.log().contains("CMD ended"), "{}", one.log());
    // Its group would give the same partitions back to it.
    for words in [&["resign", "--all"][..], &["resign"]] {
        let refused = host.ask(words);
        assert_eq!(refused.code, Some(6), "{}", refused.err);
        for part in ["group.instance.id is one: its group keeps", "fix: end this process and wait"]
        {
            assert!(refused.err.contains(part), "{part}: {}", refused.err);
        }
    }
    one.signal(Signal::TERM);
    assert_eq!(one.ended(), Some(143));
}
