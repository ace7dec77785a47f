//! `tenure doctor` beside an etcd that is down.

use serde_json::Value;
use tenure_testkit::processes::{Machine, addresses};

#[test]
fn silent_service_is_named() {
    let machine = Machine::new(env!("CARGO_BIN_EXE_tenure"));
    let [endpoint] = addresses();
    let endpoint = format!("http://{endpoint}");
    let words = ["doctor", "--json", "--protocol", "etcd", "--endpoints", &endpoint];
    let answer = machine.ask(&[&words[..], &["--election", "e"]].concat());
    assert_eq!(answer.code, Some(1), "{answer:?}");
    let told: Value = serde_json::from_str(&answer.out).unwrap();
    let result = |subject: &str| {
        let checks = told["checks"].as_array().unwrap();
        let check = checks.iter().find(|check| check["check"] == subject);
        check.unwrap()["result"].as_str().unwrap().to_owned()
    };
    assert_eq!((result("names"), result("service")), ("ok".to_owned(), "fails".to_owned()));
}
