//! Hand-overs to a candidate that is gone, while grantors still know it.

use serde_json::Value;

use crate::{Stage, wait};

/// `one` leads, and `others` wait behind it.
fn stage(others: &[&str]) -> Stage {
    led(Stage::new(), others)
}

fn led(mut stage: Stage, others: &[&str]) -> Stage {
    stage.found();
    stage.candidate("one", &[]);
    stage.says("one", "CMD runs");
    for other in others {
        stage.candidate(other, &[]);
        stage.says(other, "behind one, which leads");
    }
    stage
}

/// The result of a transfer to a candidate that was just killed. On a machine that stood still the
/// candidate is forgotten already and the transfer refused; then another candidate is killed.
fn transfer(stage: &mut Stage, more: &[&str]) -> (String, Option<i32>, String) {
    let mut nth = 0;
    wait::eventually("a transfer to one that is gone", || {
        nth += 1;
        let gone = format!("gone{nth}");
        stage.candidate(&gone, &[]);
        stage.says(&gone, "behind one, which leads");
        stage.kill(&gone);
        let args = [&["transfer", "--to", &gone], more].concat();
        let (code, said) = stage.tenure(&args, Some("one"));
        (code != Some(6)).then_some((gone, code, said))
    })
}

#[test]
fn unexpected_successor_is_named() {
    let mut stage = stage(&["three"]);
    let (gone, code, said) = transfer(&mut stage, &["--wait", "50s"]);
    let begin = format!("one gave way to {gone} (e), which was not seen to lead: ");
    let leads = said.lines().find_map(|line| line.strip_prefix(&begin)).expect(&said);
    let (who, fence) = leads.split_once(" leads now, fence ").expect(&said);
    assert!(["one", "three"].contains(&who), "{said}");
    assert_eq!(code, Some(1), "{said}");
    let leader = wait::eventually("the grantors name it", || {
        let (_, leader) = stage.tenure(&["leader", "--json"], None);
        let leader: Value = serde_json::from_str(leader.lines().next()?).ok()?;
        (leader["state"] == "leader").then_some(leader)
    });
    assert_eq!((&leader["id"], leader["fence"].to_string()), (&who.into(), fence.to_owned()));
}

/// The old leader is the only candidate left: it campaigns while the client waits for an answer.
#[test]
fn lone_runner_leads_again() {
    let mut stage = stage(&[]);
    let (gone, code, said) = transfer(&mut stage, &["--wait", "50s", "--json"]);
    let answer: Value = serde_json::from_str(said.lines().next().unwrap()).unwrap();
    assert_eq!(
        (&answer["seen"], &answer["leader"]),
        (&false.into(), &"one".into()),
        "{gone} {said}"
    );
    assert!(answer["fence"].as_u64().is_some_and(|fence| fence > 1), "{said}");
    assert_eq!(code, Some(1), "{said}");
}

#[test]
fn transfer_without_successor_says_so() {
    let stage = Stage::new();
    // Grantors know a killed candidate for 10 s, so they do not refuse the transfer after the
    // client has left.
    stage.set("round-trip", "refresh = \"5s\"\nround-trip");
    let mut stage = led(stage, &[]);
    let (gone, code, said) = transfer(&mut stage, &["--wait", "1ms"]);
    let text = format!(
        "one gave way to {gone} (e); neither {gone} nor anybody else has been seen to lead\n"
    );
    // On a busy machine CMD may not have ended a second later.
    let early = said.contains(&format!("error: {gone} cannot lead e yet after 1ms: "));
    assert!(said.starts_with(&text) || early, "{said}");
    assert_eq!(code, Some(4), "{said}");
    wait::eventually("it campaigns meanwhile", || {
        (stage.log("one").matches("one campaigns for e").count() == 2).then_some(())
    });
}
