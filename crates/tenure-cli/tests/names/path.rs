//! The first steps of a user on three hosts with names.

use tenure_testkit::processes::{Host, eventually};

use crate::stage::Stage;

tenure_testkit::tests!(named_hosts_elect_a_leader);

/// Each of three hosts has the same command, except for the host's name.
fn named_hosts_elect_a_leader() {
    let stage = Stage::new();
    let run = |host: Host| {
        let state = stage.machine.path(&format!("state-{host}")).display().to_string();
        let own = ["run", "--name", host.name(), "--state", &state];
        let words = [&own[..], &["--value", host.name(), "--", "sleep", "1000000"]].concat();
        stage.start(host, host.name(), &words)
    };
    let members: Vec<_> = Host::nodes().map(run).collect();
    let leader = eventually("one of them leads", || {
        let answer = stage.ask(&["leader"]);
        answer.out.starts_with("leader ").then_some(answer.out)
    });
    let name = leader.split_whitespace().nth(1).unwrap();
    let (fence, _) = leader
        .strip_prefix(&format!("leader {name} ({name}), fence "))
        .and_then(|rest| rest.split_once(", for "))
        .unwrap_or_else(|| panic!("{leader}"));
    let nth = Host::nodes().position(|host| host.name() == name).unwrap();
    members[nth].line(&format!("tenure: {name} leads billing, fence {fence}"), 1);

    let all = eventually("all of them serve", || {
        let answer = stage.ask(&["members"]);
        (answer.out.matches("serves").count() == 3).then_some(answer.out)
    });
    assert_eq!(
        all,
        "a at a.tenure.test:7100 serves\nb at b.tenure.test:7100 serves\nc at c.tenure.test:7100 \
         serves\n"
    );
    let elections = stage.ask(&["elections"]);
    assert!(elections.out.contains("billing"), "{elections:?}");
    let proven = stage.ask(&["verify"]);
    assert_eq!(proven.code, Some(0), "{proven:?}");
}
