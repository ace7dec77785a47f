//! `tenure simulate`, as people and programs start it.

use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

/// A short world with many events.
const WORLD: [&str; 10] = [
    "--hours",
    "1",
    "--seed",
    "5",
    "--loss",
    "5%",
    "--crash-every",
    "10m",
    "--rtt",
    "p50=1ms,p99=30ms",
];

/// Runs the command under `timeout`: a simulation that never ends then fails with a message, before
/// the test runner ends the test without a message.
fn simulate(args: &[&str], dir: &Path) -> Output {
    let mut command = Command::new("timeout");
    command.args(["400", env!("CARGO_BIN_EXE_tenure")]);
    for (name, _) in std::env::vars().filter(|(name, _)| name.starts_with("TENURE_")) {
        command.env_remove(name);
    }
    let output = command.arg("simulate").args(args).current_dir(dir).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{} {said}", output.status);
    assert_eq!(said, "");
    output
}

fn text(output: Output) -> String {
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn same_seed_gives_same_object() {
    let dir = tempfile::tempdir().unwrap();
    let args = [&WORLD[..], &["--json"]].concat();
    let object = || {
        let mut object: Value = serde_json::from_str(&text(simulate(&args, dir.path()))).unwrap();
        let run = object["run"].take();
        assert!(run["events"].as_u64().unwrap() > 500_000, "{run}");
        object
    };
    let one = object();
    assert_eq!(one, object());
    assert_eq!(one["failover_ms"]["crash"]["count"], 500);
    let [p50, p99] = ["p50", "p99"].map(|q| one["failover_ms"]["crash"][q].as_f64().unwrap());
    assert!(p50 > 3_300.0 && p50 < p99 && p99 < 5_200.0, "{p50} {p99}");
    assert!(one["availability"]["seen"].as_f64().unwrap() < 1.0);
    assert!(one["vacancies"][0]["lasted_ms"]["count"].as_u64().unwrap() > 3);
    let trials = one["trials"].as_array().unwrap();
    assert_eq!(trials.iter().filter(|trial| trial["asked"] == true).count(), 1);
    assert!(trials.len() > 3);
    assert!(!one["advice"].as_array().unwrap().is_empty());
}

#[test]
fn screen_is_narrow_and_repeatable() {
    let dir = tempfile::tempdir().unwrap();
    let seedless = ["--hours", "1", "--nodes", "2", "--lease", "3s", "--pause-every", "1h"];
    let args = [&seedless[..], &["--seed", "5"]].concat();
    let screen = text(simulate(&args, dir.path()));
    assert!(screen.lines().all(|line| line.chars().count() <= 100), "{screen}");
    assert!(screen.starts_with("2 nodes, lease 3s, "), "{screen}");
    assert!(screen.contains("with 2 nodes the loss of one node stops the election"), "{screen}");
    let again = screen.lines().last().unwrap().strip_prefix("again: tenure simulate ").unwrap();
    let again: Vec<&str> = again.split(' ').collect();
    assert!(again.contains(&"--seed") && !again.contains(&"--rtt"), "{again:?}");
    let same = text(simulate(&again, dir.path()));
    let lasting = |screen: &str| -> Vec<String> {
        screen.lines().filter(|line| !line.contains("million")).map(str::to_owned).collect()
    };
    assert_eq!(lasting(&screen), lasting(&same));
    // Without a seed the command draws one.
    let drawn = text(simulate(&seedless, dir.path()));
    assert!(drawn.lines().last().unwrap().contains(" --seed "), "{drawn}");
}

#[test]
fn page_is_complete_in_one_file() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("trips"), "1ms\n2ms\n3ms\n").unwrap();
    let args = ["--hours", "1", "--seed", "5", "--rtt", "@trips", "--html", "page.html", "--json"];
    let object: Value = serde_json::from_str(&text(simulate(&args, dir.path()))).unwrap();
    assert_eq!(object["question"]["round_trip_ms"]["max"], 3.0);
    let page = std::fs::read_to_string(dir.path().join("page.html")).unwrap();
    for outside in ["http:", "https:", "src=", "href=", "url(", "@import", "<script"] {
        assert!(!page.contains(outside), "{outside}");
    }
    assert!(page.len() < 100_000, "{} bytes", page.len());
    let count = |part: &str| page.matches(part).count();
    assert_eq!((count("<svg"), count("</svg>")), (count("<figure>"), count("</figure>")));
    assert!(count("<svg") >= 3);
    let p99 = object["failover_ms"]["crash"]["p99"].as_f64().unwrap() / 1e3;
    assert!(page.contains(&format!("p99 {p99:.2} s")), "{p99}");
    assert!(page.contains(object["again"].as_str().unwrap()));
}
