//! Quorum systems other than majorities, on real nodes.
//!
//! In each test, at first more than half of the members run, and are no quorum. Then a smallest
//! quorum runs, and then one member fewer.

use serde_json::Value;
use tenure_testkit::processes::{Cluster, eventually};

/// Nodes and a candidate under one quorum system.
struct Stage<const N: usize> {
    names: [&'static str; N],
    cluster: Cluster,
    running: Vec<&'static str>,
}

impl<const N: usize> Stage<N> {
    fn new(names: [&'static str; N], quorums: &str) -> Self {
        let settings = format!("election = \"e\"\nlease = \"6s\"\nquorums = \"{quorums}\"");
        let mut cluster = Cluster::new(env!("CARGO_BIN_EXE_tenure"), names, &settings);
        let work = ["sh", "-c", "echo works with $TENURE_FENCE; exec sleep 1000000"];
        cluster.candidate("one", &[], &work);
        Self { names, cluster, running: Vec::new() }
    }

    fn start(&mut self, names: &[&'static str]) {
        for name in names {
            self.cluster.node(name, &["--new"]);
            self.running.push(name);
        }
    }

    fn kill(&mut self, names: &[&'static str]) {
        for name in names {
            self.cluster.kill(name);
            self.running.retain(|running| running != name);
        }
    }

    /// Waits until the members and the candidate report that the running nodes are no quorum.
    fn elects_nobody(&self, leaderships: usize) {
        self.serve(false);
        let silent: Vec<_> =
            self.names.into_iter().filter(|name| !self.running.contains(name)).collect();
        let silent = silent.join(", ");
        self.cluster
            .says("one", &format!("no quorum: no answer from {silent}; this process asks "));
        let log = self.cluster.log("one");
        assert_eq!(log.matches("works with").count(), leaderships, "{log}");
        assert_eq!(self.cluster.leader(&[]), None);
    }

    /// Waits until the candidate leads for the `leaderships`-th time.
    fn elects(&self, leaderships: usize) {
        self.serve(true);
        self.cluster.says_times("one", "works with", leaderships);
        eventually("the leader is known", || self.cluster.leader(&[]));
    }

    /// Waits until all running nodes serve, and checks whether they are a quorum.
    fn serve(&self, is_quorum: bool) {
        let told = eventually("the running nodes serve", || {
            let answer = self.cluster.ask(&["members", "--json"]);
            let told: Value = serde_json::from_str(answer.out.lines().next()?).ok()?;
            let serves = |name: &str| {
                let mut all = told["members"].as_array().into_iter().flatten();
                all.any(|member| member["name"] == name && member["state"] == "serving")
            };
            let expected = |name: &&str| serves(name) == self.running.contains(name);
            self.names.iter().all(expected).then_some(told)
        });
        assert_eq!(told["quorum"], is_quorum, "{told}");
    }
}

/// A quorum weighs more than half of 6: `a` weighs as much as all others together.
#[test]
fn weights_decide_who_elects() {
    let mut stage = Stage::new(["a", "b", "c", "d"], "weights:a=3,b=1,c=1,d=1");
    stage.start(&["b", "c", "d"]);
    stage.elects_nobody(0);
    stage.kill(&["c", "d"]);
    stage.start(&["a"]);
    stage.elects(1);
    stage.kill(&["b"]);
    stage.elects_nobody(1);
}

/// A quorum has all of `a b c` or of `d e f`, and one of the others.
#[test]
fn grid_decides_who_elects() {
    let mut stage = Stage::new(["a", "b", "c", "d", "e", "f"], "grid:2x3");
    stage.start(&["a", "b", "d", "e"]);
    stage.elects_nobody(0);
    stage.kill(&["e"]);
    stage.start(&["c"]);
    stage.elects(1);
    stage.kill(&["d"]);
    stage.elects_nobody(1);
}

/// A quorum contains one of the listed sets; `e` is in none of them.
#[test]
fn listed_sets_decide_who_elects() {
    let mut stage = Stage::new(["a", "b", "c", "d", "e"], "sets:a+b,a+c+d,b+c+d");
    stage.start(&["c", "d", "e"]);
    stage.elects_nobody(0);
    stage.kill(&["c", "d", "e"]);
    stage.start(&["a", "b"]);
    stage.elects(1);
    stage.kill(&["b"]);
    stage.elects_nobody(1);
}
