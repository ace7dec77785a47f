//! Three members that contend, in one process each.

use std::net::SocketAddr;

use tenure_testkit::processes::{Machine, Members, RunningCommand, Web, addresses};

use crate::answers::{text, token_file};

const NAMES: [&str; 3] = ["a", "b", "c"];

/// Runners that are members of Nerio, each with answers over HTTP.
pub(crate) struct Runners {
    pub(crate) machine: Machine,
    pub(crate) all: Vec<RunningCommand>,
    pub(crate) webs: [Web; 3],
    pub(crate) places: [SocketAddr; 3],
}

impl Runners {
    pub(crate) fn start() -> Self {
        let machine = Machine::new(env!("CARGO_BIN_EXE_tenure"));
        let members = Members::new(NAMES).to_string();
        let places = addresses::<3>();
        let token = token_file(&machine);
        let start = |(name, place): (&str, &SocketAddr)| {
            let state = machine.path(&format!("state-{name}")).display().to_string();
            let http = text(*place);
            let words = [
                "run",
                "--members",
                &members,
                "--name",
                name,
                "--state",
                &state,
                "--new",
                "--election",
                "billing",
                "--value",
                name,
                "--grace",
                "300ms",
                "--http",
                &http,
                "--http-token-file",
                &token,
                "--",
                "sh",
                "-c",
                "exec sleep 600",
            ];
            machine.start(name, &words)
        };
        let all = NAMES.into_iter().zip(&places).map(start).collect();
        Self { all, webs: places.map(Web), places, machine }
    }
}
