//! Three hosts and their processes.

use tenure_testkit::processes::{
    Answer, Host, Machine, NamedHosts, Network, RunningCommand, eventually,
};

pub(crate) struct Stage {
    pub(crate) hosts: NamedHosts,
    pub(crate) machine: Machine,
}

impl Stage {
    pub(crate) fn new() -> Self {
        let hosts = NamedHosts::create(crate::TENURE);
        let members = hosts.members();
        let machine = Machine::new(crate::TENURE)
            .with("TENURE_CLUSTER", "chaos")
            .with("TENURE_MEMBERS", &members)
            .with("TENURE_ELECTION", "billing");
        Self { hosts, machine }
    }

    fn words<'a>(words: &[&'a str], key: &'a str) -> Vec<&'a str> {
        let flags = words.iter().position(|word| *word == "--").unwrap_or(words.len());
        [&words[..flags], &["--key-file", key], &words[flags..]].concat()
    }

    /// Starts a command on `host`; its log has that name.
    pub(crate) fn start(&self, host: Host, log: &str, words: &[&str]) -> RunningCommand {
        self.start_with(host, host, log, words)
    }

    /// Starts a command on `host`, with the key of another host.
    fn start_with(&self, key: Host, host: Host, log: &str, words: &[&str]) -> RunningCommand {
        let (key, around) = (self.hosts.key(key).display().to_string(), self.hosts.around(host));
        let around: Vec<_> = around.iter().map(String::as_str).collect();
        self.machine.spawn(log, self.machine.command_in(&around, &Self::words(words, &key)))
    }

    pub(crate) fn node(&self, host: Host) -> RunningCommand {
        let state = self.machine.path(&format!("state-{host}")).display().to_string();
        let words = ["node", "--name", host.name(), "--new", "--state", &state];
        self.start(host, host.name(), &words)
    }

    /// Starts a candidate whose CMD runs until it is ended.
    pub(crate) fn runner(&self, host: Host) -> RunningCommand {
        let words = ["run", "--id", host.name(), "--", "sleep", "1000000"];
        self.start(host, host.name(), &words)
    }

    /// Starts a node on the host of a runner, to be added to the members.
    pub(crate) fn blank(&self, host: Host) -> RunningCommand {
        let state = self.machine.path(&format!("state-{host}")).display().to_string();
        let members = format!("{},{}", self.hosts.members(), NamedHosts::entry(host));
        let words = ["node", "--name", host.name(), "--state", &state, "--members", &members];
        self.start_with(Host::node(0), host, host.name(), &words)
    }

    /// Runs a command to its end, on the host of the last runner.
    pub(crate) fn ask(&self, words: &[&str]) -> Answer {
        self.ask_with(Host::runner(2), words)
    }

    /// Changes the members, with the key of the cluster. Repeats the command while the members have
    /// not heard of a node that has just started.
    pub(crate) fn change(&self, words: &[&str]) -> String {
        let words = [&["members"], words].concat();
        let answer = eventually(&format!("{words:?} is done"), || {
            let answer = self.ask_with(Host::node(0), &words);
            let is_early = answer.err.contains("asks to be let in");
            (!is_early).then_some(answer)
        });
        assert_eq!(answer.code, Some(0), "{words:?}: {answer:?}");
        answer.out
    }

    fn ask_with(&self, key: Host, words: &[&str]) -> Answer {
        self.ask_with_key(&self.hosts.key(key).display().to_string(), words)
    }

    /// Runs a command on the host of the last runner, with the key in this file, or the key of the
    /// cluster.
    pub(crate) fn ask_as_operator(&self, words: &[&str], key: Option<&str>) -> Answer {
        match key {
            Some(key) => self.ask_with_key(key, words),
            None => self.ask_with(Host::node(0), words),
        }
    }

    fn ask_with_key(&self, key: &str, words: &[&str]) -> Answer {
        let around = self.hosts.around(Host::runner(2));
        let around: Vec<_> = around.iter().map(String::as_str).collect();
        Answer::of(&mut self.machine.command_in(&around, &Self::words(words, key)))
    }
}
