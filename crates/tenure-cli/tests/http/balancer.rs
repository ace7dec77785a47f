//! A load balancer that follows the leader by `/leading`.

use std::fs;
use std::process::Command;

use rustix::process::Signal;
use tenure_services::monitoring;
use tenure_testkit::processes::{Web, addresses, eventually};

use crate::answers::PATH;
use crate::runner::Runners;

/// The configuration in docs/howto/monitor.md, with short pauses.
fn config(front: &str, servers: &[String]) -> String {
    let servers: String = servers
        .iter()
        .enumerate()
        .map(|(nth, server)| format!("  server s{nth} {server} check\n"))
        .collect();
    format!(
        "defaults\n  mode http\n  timeout connect 5s\n  timeout client 5s\n  timeout server 5s\n\
         frontend billing\n  bind {front}\n  default_backend leader\n\
         backend leader\n  option httpchk GET {PATH}/leading\n  http-check expect status 200\n  \
         default-server inter 250ms fall 1 rise 1\n{servers}"
    )
}

/// The process to which the balancer sends a request, if a process leads.
fn behind(front: Web) -> Option<String> {
    let answer = front.try_ask("GET", &format!("{PATH}/leading"), "", "").ok()?;
    let id = (answer.status == 200).then(|| answer.json())?;
    id["id"].as_str().map(ToOwned::to_owned)
}

#[test]
fn balancer_follows_the_leader() {
    let runners = Runners::start();
    let [front] = addresses::<1>();
    let path = runners.machine.path("haproxy.cfg");
    let servers = runners.places.map(|place| place.to_string());
    fs::write(&path, config(&front.to_string(), &servers)).unwrap();
    let mut haproxy = Command::new(monitoring::haproxy().unwrap());
    haproxy.args(["-db", "-f"]).arg(&path);
    let _haproxy = runners.machine.spawn("haproxy", haproxy);
    let first = eventually("the balancer finds a leader", || behind(Web(front)));
    let nth = ["a", "b", "c"].iter().position(|name| *name == first).unwrap();
    runners.all[nth].signal(Signal::KILL);
    let next =
        eventually("the balancer follows", || behind(Web(front)).filter(|next| *next != first));
    assert!(["a", "b", "c"].contains(&&*next), "{next}");
}
