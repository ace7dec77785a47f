//! Three hosts and their processes.

use tenure_testkit::processes::{Answer, Host, Machine, NamedHosts, Network, RunningCommand};

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
        let (key, around) = (self.hosts.key(host).display().to_string(), self.hosts.around(host));
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

    /// Runs a command to its end, on the host of the last runner.
    pub(crate) fn ask(&self, words: &[&str]) -> Answer {
        let host = Host::runner(2);
        let (key, around) = (self.hosts.key(host).display().to_string(), self.hosts.around(host));
        let around: Vec<_> = around.iter().map(String::as_str).collect();
        Answer::of(&mut self.machine.command_in(&around, &Self::words(words, &key)))
    }
}
