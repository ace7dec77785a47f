//! A machine with a user whose processes take part in elections on one etcd.

use std::fs;
use std::ops::Deref;

use tenure_services::etcd::Cluster;
pub(crate) use tenure_testkit::processes::wait::eventually as soon;
use tenure_testkit::processes::{Machine, RunningCommand};

pub(crate) struct Host(Machine);

impl Deref for Host {
    type Target = Machine;

    fn deref(&self) -> &Machine {
        &self.0
    }
}

impl Host {
    pub(crate) fn of(cluster: &Cluster) -> Self {
        let endpoints = cluster.endpoints().join(",");
        let machine = Machine::new(env!("CARGO_BIN_EXE_tenure"));
        Self(machine.with("TENURE_PROTOCOL", "etcd").with("TENURE_ENDPOINTS", &endpoints))
    }

    pub(crate) fn with(self, name: &str, value: &str) -> Self {
        Self(self.0.with(name, value))
    }

    /// The control socket of the only runner.
    pub(crate) fn socket(&self) -> String {
        let entries = fs::read_dir(self.path("tenure")).unwrap();
        let paths = entries.map(|entry| entry.unwrap().path().to_str().unwrap().to_owned());
        paths.into_iter().find(|path| path.ends_with(".sock")).unwrap()
    }

    pub(crate) fn run(&self, id: &str, flags: &[&str], cmd: &str) -> RunningCommand {
        let own = ["run", "--election", "billing", "--id", id, "--value", id];
        self.start(id, &[&own, flags, &["--", "sh", "-c", cmd]].concat())
    }
}
