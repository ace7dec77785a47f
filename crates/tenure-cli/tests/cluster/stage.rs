//! Nodes, of which the first three are the first members, and a leader with its CMD.

use std::fs;
use std::net::SocketAddr;
use std::ops::{Deref, DerefMut};
use std::time::Duration;

use serde_json::Value;
use tenure_testkit::processes::{Answer, Cluster, eventually};

/// A lease that outlasts some seconds in which the machine stands still.
const LEASE: Duration = Duration::from_secs(12);

pub(crate) struct Stage {
    cluster: Cluster,
    /// Fence of the leader.
    fence: u64,
}

impl Deref for Stage {
    type Target = Cluster;

    fn deref(&self) -> &Cluster {
        &self.cluster
    }
}

impl DerefMut for Stage {
    fn deref_mut(&mut self) -> &mut Cluster {
        &mut self.cluster
    }
}

impl Stage {
    /// The members a, b and c, and the leader `one`. The settings list all `names`, because a node
    /// that is added must find itself in its list.
    pub(crate) fn new<const N: usize>(names: [&'static str; N]) -> Self {
        Self::with(names, "")
    }

    /// As [`new`](Self::new), with more lines in the settings.
    pub(crate) fn with<const N: usize>(names: [&'static str; N], more: &str) -> Self {
        Self::begin(names, more, &["--new"])
    }

    /// Three members that found the cluster by a document, and the leader `one`.
    pub(crate) fn founded(more: &str) -> Self {
        Self::begin(["a", "b", "c"], &format!("lease-max = \"12s\"\n{more}"), &[])
    }

    fn begin<const N: usize>(names: [&'static str; N], more: &str, words: &[&str]) -> Self {
        let lease = LEASE.as_secs();
        let settings =
            format!("election = \"billing\"\nlease = \"{lease}s\"\nround-trip = \"100ms\"\n{more}");
        let cluster = Cluster::new(env!("CARGO_BIN_EXE_tenure"), names, &settings);
        let mut stage = Self { cluster, fence: 0 };
        let first = stage.first_members();
        for node in ["a", "b", "c"] {
            stage.node(node, &[words, &["--members", &first]].concat());
        }
        let work = ["sh", "-c", "echo works with $TENURE_FENCE; exec sleep 1000000"];
        stage.candidate("one", &["--members", &first], &work);
        stage.says("one", "works with");
        let told = eventually("the leader is known", || stage.leader(&[]));
        stage.fence = told["fence"].as_u64().unwrap();
        stage
    }

    /// The first members, as settings list them.
    pub(crate) fn first_members(&self) -> String {
        let first = &self.addresses()[..3];
        let all: Vec<_> = first.iter().map(|(name, at)| format!("{name}={at}")).collect();
        all.join(",")
    }

    /// The node as `members add` takes it.
    pub(crate) fn with_address(&self, name: &str) -> String {
        format!("{name}={}", self.address(name))
    }

    pub(crate) fn address(&self, name: &str) -> SocketAddr {
        let (_, at) = self.addresses().iter().find(|(known, _)| *known == name).unwrap();
        *at
    }

    /// Changes the members. Repeats the command while the members have not heard of a node that has
    /// just started.
    pub(crate) fn change(&self, words: &[&str]) -> String {
        let Answer { code, out, err } = self.try_change(words);
        assert_eq!(code, Some(0), "{words:?}: {out}{err}");
        out
    }

    /// The answer to a change of members, which members may refuse.
    pub(crate) fn try_change(&self, words: &[&str]) -> Answer {
        let words = [&["members"], words, &["--timeout", "40s"]].concat();
        eventually(&format!("{words:?} is done"), || {
            let answer = self.ask(&words);
            let is_early = answer.err.contains("asks to be let in");
            (!is_early).then_some(answer)
        })
    }

    /// Waits until these nodes are the members of this epoch, and all of them serve.
    pub(crate) fn serve(&self, epoch: u64, names: &[&'static str]) {
        eventually(&format!("{names:?} serve in epoch {epoch}"), || {
            let answer = self.ask(&["members", "--json"]);
            let told: Value = serde_json::from_str(answer.out.lines().next()?).ok()?;
            let all = told["members"].as_array()?.iter();
            let members = all.filter(|member| member["state"] != "outside");
            let serving: Vec<_> =
                members.map(|member| (member["name"].as_str(), member["state"].as_str())).collect();
            let serves = |name: &&'static str| (Some(*name), Some("serving"));
            let expected: Vec<_> = names.iter().map(serves).collect();
            (told["epoch"]["number"] == epoch && serving == expected).then_some(())
        });
    }

    /// Checks that the leader has led all the time: it has its first fence, and CMD began once.
    pub(crate) fn leads_on(&self) {
        let told = eventually("the leader is known", || self.leader(&[]));
        let leader = (told["id"].as_str(), told["fence"].as_u64());
        assert_eq!(leader, (Some("one"), Some(self.fence)), "{}", self.log("one"));
        assert_eq!(self.log("one").matches("works with").count(), 1, "{}", self.log("one"));
    }

    /// Waits until the leader has renewed its lease among the present members.
    pub(crate) fn renews(&self) {
        let until = || fs::read_to_string(self.path("one.sock.until")).unwrap();
        // The first renewal may belong to a round that began before the change.
        for _ in 0..2 {
            let before = until();
            eventually("the lease is renewed", || (until() != before).then_some(()));
        }
        self.leads_on();
    }
}
