//! An operator on a host of its own, with the members list and keys: no node and no candidate runs
//! there.

use serde_json::Value;
use tenure_testkit::processes::{Answer, Host, eventually};

use crate::moves::leads;
use crate::stage::Stage;

tenure_testkit::tests!(operator_works_from_elsewhere);

/// The host x leads, and y waits; the operator looks, hands over, and has the next leader resign. A
/// key for questions ends no leadership.
fn operator_works_from_elsewhere() {
    let stage = Stage::new();
    let _nodes = [0, 1, 2].map(|nth| stage.node(Host::node(nth)));
    let [x, y] = [0, 1].map(Host::runner);
    let first = stage.runner(x);
    assert!(leads(&stage).starts_with("leader x, "));
    let second = stage.runner(y);
    let issue = |app: &str, rights: &str| {
        let file = stage.machine.path(&format!("{app}.key")).display().to_string();
        let words = ["keys", "issue", "--app", app, "--elections", "*", "--rights", rights];
        let made = stage.ask_as_operator(&[&words[..], &["--out", &file]].concat(), None);
        assert_eq!(made.code, Some(0), "{made:?}");
        file
    };
    let (watcher, operator) = (issue("watcher", "ask"), issue("operator", "ask,resign"));
    let by = |key: &str, words: &[&str]| -> (Option<i32>, Value, String) {
        let words = [words, &["--json"]].concat();
        let Answer { code, out, err } = stage.ask_as_operator(&words, Some(key));
        (code, serde_json::from_str(&out).unwrap_or(Value::Null), err)
    };
    eventually("y waits everywhere", || {
        let (_, told, _) = by(&watcher, &["candidates"]);
        let all = told["candidates"].as_array()?.clone();
        let one = all.iter().find(|one| one["id"] == "y")?;
        (one["waits_at"].as_array()?.len() == 3).then_some(())
    });
    let (code, _, errors) = by(&watcher, &["resign", "--remote"]);
    assert_eq!(code, Some(2), "{errors}");
    assert!(errors.contains("not the right to resign"), "{errors}");

    let transfer = ["transfer", "--remote", "--to", "y", "--wait", "60s"];
    let (code, told, errors) = by(&operator, &transfer);
    assert_eq!(code, Some(0), "{errors}");
    assert_eq!((&told["id"], &told["leader"]), (&"x".into(), &"y".into()), "{told}");
    assert!(told["age_ms"].is_u64(), "{told}");
    let (_, led, errors) = by(&watcher, &["leader"]);
    assert_eq!((&led["id"], &led["fence"]), (&"y".into(), &told["fence"]), "{errors}");
    assert!(led["heard_ms"].is_u64(), "{led}");

    let (code, told, errors) = by(&operator, &["resign", "--remote"]);
    assert_eq!((code, &told["ended"]), (Some(0), &led["fence"]), "{errors}");
    eventually("a later one leads", || {
        let (_, elections, _) = by(&watcher, &["elections"]);
        let fence = elections["elections"][0]["fence"].as_u64();
        (fence > led["fence"].as_u64()).then_some(())
    });
    assert!(first.log().contains("CMD ended") && second.log().contains("CMD ended"));
}
