//! Voters on loopback.

use rustix::process::Signal;
use serde_json::Value;
use tenure_testkit::processes::wait::eventually;
use tenure_testkit::processes::{Answer, Machine, RunningCommand, loopback, own_net};

const ELECTION: &str = "billing";

/// A lease of 20 s, which outlasts a machine that stands still, with the longest requests that fit.
const TIMES: [&str; 6] = [
    "--heartbeat-interval",
    "2s",
    "--missed-heartbeat-tolerance",
    "9",
    "--request-timeout",
    "1800ms",
];

/// A lease of 3.5 s, for tests that wait for its end.
pub(crate) const SHORT: [&str; 6] = [
    "--heartbeat-interval",
    "500ms",
    "--missed-heartbeat-tolerance",
    "6",
    "--request-timeout",
    "300ms",
];

/// Prints its fence and the end of its lease, and keeps running.
const WORK: &str = "end=none; [ -z \"${TENURE_UNTIL_FILE+set}\" ] || end=$(sed \
                    's/[0-9][0-9]*/known/' \"$TENURE_UNTIL_FILE\"); echo \
                    \"fence <${TENURE_FENCE-none}> end <$end>\"; exec sleep 600";

pub(crate) const IDS: [&str; 25] = [
    "a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l", "m", "n", "o", "p", "q", "r", "s",
    "t", "u", "v", "w", "x", "y",
];

/// A machine with voters at addresses of its own.
pub(crate) struct Network {
    pub(crate) machine: Machine,
    net: [u8; 2],
    times: [&'static str; 6],
}

impl Network {
    pub(crate) fn new() -> Self {
        Self::of(Machine::new(env!("CARGO_BIN_EXE_tenure")))
    }

    pub(crate) fn of(machine: Machine) -> Self {
        let machine = machine.with("TENURE_PROTOCOL", "voter");
        let machine = machine.with("TENURE_ELECTION", ELECTION);
        Self { machine, net: own_net(), times: TIMES }
    }

    pub(crate) fn keeping(self, times: [&'static str; 6]) -> Self {
        Self { times, ..self }
    }

    /// `http://127.…:7100` of the nth voter.
    pub(crate) fn url(&self, nth: usize) -> String {
        format!("http://{}", self.address(nth))
    }

    /// `127.…:7100` of the nth voter.
    pub(crate) fn address(&self, nth: usize) -> String {
        loopback(self.net, nth).to_string()
    }

    /// The voter list of the first voters.
    pub(crate) fn list(&self, number: usize) -> String {
        let one = |nth: usize| format!("{}={}", IDS[nth], self.url(nth));
        (0..number).map(one).collect::<Vec<_>>().join(",")
    }

    /// The words of `tenure run` for the nth voter.
    pub(crate) fn words(&self, nth: usize, more: &[&str]) -> Vec<String> {
        let (listen, state) =
            (self.address(nth), self.machine.path(&format!("state-{}", IDS[nth])));
        let own = ["run", "--id", IDS[nth], "--listen", &listen, "--grace", "300ms"];
        let state = state.display().to_string();
        let words = [&own, &self.times[..], &["--state", &state], more, &["--", "sh", "-c", WORK]];
        words.concat().into_iter().map(str::to_owned).collect()
    }

    pub(crate) fn start(&self, nth: usize, more: &[&str]) -> RunningCommand {
        let words = self.words(nth, more);
        let words: Vec<_> = words.iter().map(String::as_str).collect();
        self.machine.start(IDS[nth], &words)
    }

    /// Starts the first voters, each with the list of all.
    pub(crate) fn listed(&self, number: usize) -> Vec<RunningCommand> {
        let list = self.list(number);
        (0..number).map(|nth| self.start(nth, &["--voter-list", &list])).collect()
    }

    /// The leader, from an asker that first asks the nth voter alone.
    pub(crate) fn leader(&self, nth: usize) -> Option<Value> {
        let list = format!("{}={}", IDS[nth], self.url(nth));
        let answer = self.machine.ask(&["leader", "--json", "--voter-list", &list]);
        let view: Value = serde_json::from_str(&answer.out).ok()?;
        (answer.code == Some(0)).then_some(view)
    }

    /// Waits for a leader with a fence above this one, and returns its name and fence.
    pub(crate) fn await_leader(&self, nth: usize, above: u64) -> (String, u64) {
        eventually("somebody leads", || {
            let view = self.leader(nth)?;
            let (id, fence) = (view["id"].as_str()?.to_owned(), view["fence"].as_u64()?);
            (fence > above).then_some((id, fence))
        })
    }

    /// Asks until a voter answers.
    pub(crate) fn told(&self, words: &[&str]) -> Answer {
        eventually("a voter answers", || {
            let answer = self.machine.ask(words);
            (answer.code != Some(4)).then_some(answer)
        })
    }
}

/// Ends all voters by SIGTERM in turn, so that each hands over.
pub(crate) fn end(voters: Vec<RunningCommand>) {
    voters.iter().for_each(|voter| voter.signal(Signal::TERM));
    for voter in voters {
        assert_eq!(voter.ended(), Some(143));
    }
}
