//! Files for operators: the page, alert rules and the dashboard.

use std::collections::BTreeSet;
use std::process::Command;

use serde_json::Value;
use tenure_http::{Kind, TABLE};

const RULES: &str = include_str!("../../../packaging/prometheus/tenure.rules.yml");
const RULE_TESTS: &str = include_str!("../../../packaging/prometheus/tenure.rules.test.yml");
const DASHBOARD: &str = include_str!("../../../packaging/grafana/tenure.json");

const PAGE: [(&str, &str); 3] = [
    ("index.html", include_str!("../src/page/index.html")),
    ("page.css", include_str!("../src/page/page.css")),
    ("page.js", include_str!("../src/page/page.js")),
];

/// Names that Prometheus has for the metrics of the table.
fn series() -> BTreeSet<String> {
    let names = TABLE.iter().flat_map(|metric| match metric.kind {
        Kind::Histogram => {
            ["bucket", "count", "sum"].map(|part| format!("{}_{part}", metric.name)).to_vec()
        }
        _ => vec![metric.name.to_owned()],
    });
    names.collect()
}

/// The words of a text that are names of metrics.
fn named(text: &str) -> BTreeSet<String> {
    let words = text.split(|letter: char| letter != '_' && !letter.is_ascii_alphanumeric());
    let ours = |word: &&str| word.starts_with("tenure_") || word.starts_with("leader_election_");
    words.filter(ours).map(str::to_owned).collect()
}

#[track_caller]
fn are_known(text: &str) {
    let named = named(text);
    assert!(named.len() > 10, "{named:?}");
    let unknown: Vec<_> = named.difference(&series()).cloned().collect();
    assert!(unknown.is_empty(), "not in the table of metrics: {unknown:?}");
}

#[test]
fn rules_and_their_tests_pass() {
    let promtool = tenure_services::monitoring::promtool().unwrap();
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../packaging/prometheus");
    for words in
        [["check", "rules", "tenure.rules.yml"], ["test", "rules", "tenure.rules.test.yml"]]
    {
        let output = Command::new(&promtool).args(words).current_dir(folder).output().unwrap();
        let said = [output.stdout, output.stderr].concat();
        assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&said));
    }
}

/// Without a test that fires it, an alert could be silent for ever.
#[test]
fn tests_fire_each_alert() {
    let alerts = RULES.lines().filter_map(|line| line.trim().strip_prefix("- alert: "));
    let alerts: Vec<_> = alerts.collect();
    assert!(alerts.len() > 10, "{alerts:?}");
    for alert in alerts {
        let fired = format!("- {{labels: 'ALERTS{{alertname=\"{alert}\", alertstate=\"firing\"");
        assert!(RULE_TESTS.contains(&fired), "no test fires {alert}");
    }
}

#[test]
fn rules_name_known_metrics() {
    are_known(RULES);
    are_known(RULE_TESTS);
}

#[test]
fn dashboard_names_known_metrics() {
    are_known(DASHBOARD);
    let told: Value = serde_json::from_str(DASHBOARD).unwrap();
    let panels = told["panels"].as_array().unwrap();
    let graphs = panels.iter().filter(|panel| panel["type"] != "row");
    for panel in graphs {
        let targets = panel["targets"].as_array().unwrap();
        let expressions = targets.iter().map(|target| target["expr"].as_str().unwrap());
        for expression in expressions {
            assert!(!named(expression).is_empty(), "{}: {expression}", panel["title"]);
        }
        // The person that imports the dashboard chooses the source of its data.
        assert_eq!(panel["datasource"]["uid"], "${datasource}", "{}", panel["title"]);
    }
}

/// Ways in which a text becomes markup or a script, and in which a browser asks another host.
const WRONG: &str = "innerHTML outerHTML insertAdjacentHTML document.write createContextual \
                     setHTML DOMParser eval( Function( javascript: http: https: url( @import \
                     style= onclick= onload= onerror= setAttribute(\"on";

/// Names and values come from outside, so the page shows them only as text. The policy in the
/// answers makes a browser refuse all else.
#[test]
fn page_writes_text_alone() {
    for (name, text) in PAGE {
        let found: Vec<_> = WRONG.split_whitespace().filter(|word| text.contains(word)).collect();
        assert!(found.is_empty(), "{name} has {found:?}");
    }
    assert!(PAGE[2].1.contains(".textContent = text"));
}
