//! Reasons for which a campaign waits, in the application and in its log.

use std::fmt::Write;
use std::sync::{Mutex, Once};
use std::time::Duration;

use tenure::{Waiting, clock};
use tenure_nerio::{Config, Member, Node, Opening, Storage};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Level, Metadata, Subscriber};

use crate::setup::{candidate, config, grantor, soon};

static LINES: Mutex<Vec<(Level, String)>> = Mutex::new(Vec::new());

/// Keeps every line that this process logs.
struct Lines;

struct Line(String);

impl Visit for Line {
    fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
        write!(self.0, "{}={value:?} ", field.name()).unwrap();
    }
}

impl Subscriber for Lines {
    fn enabled(&self, about: &Metadata<'_>) -> bool {
        about.target() == tenure::driver::LOG || about.target().starts_with("tenure")
    }
    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }
    fn record(&self, _: &Id, _: &Record<'_>) {}
    fn record_follows_from(&self, _: &Id, _: &Id) {}
    fn event(&self, event: &Event<'_>) {
        let mut line = Line(String::new());
        event.record(&mut line);
        LINES.lock().unwrap().push((*event.metadata().level(), line.0));
    }
    fn enter(&self, _: &Id) {}
    fn exit(&self, _: &Id) {}
}

fn listen() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| tracing::subscriber::set_global_default(Lines).unwrap());
}

/// The lines with this text, of any node.
fn logged(about: &str) -> Vec<(Level, String)> {
    LINES.lock().unwrap().iter().filter(|(_, line)| line.contains(about)).cloned().collect()
}

fn names(names: &[&str]) -> Vec<std::sync::Arc<str>> {
    names.iter().map(|name| (*name).into()).collect()
}

#[tokio::test]
async fn campaign_names_missing_grantors() {
    listen();
    let config = config();
    let one = candidate(&config, "one");
    let election = one.election("missing").unwrap();
    let mut campaign = election.campaign("1");
    let mut waits = campaign.waiting();
    let waiting = tokio::select! {
        _ = &mut campaign => panic!("won without grantors"),
        waiting = soon(waits.next()) => waiting,
    };
    let missing = names(&["a", "b", "c"]);
    assert_eq!(waiting, Some(Waiting::NoQuorum { missing }));
    assert_eq!(waits.latest(), waiting);

    let memory = || Storage::Memory { opening: Opening::New };
    let _nodes = [grantor(&config, "a", memory()), grantor(&config, "b", memory())];
    let leadership = soon(campaign).await.unwrap();
    while soon(waits.next()).await.is_some() {}
    soon(leadership.resign()).await;
    one.close().await;

    let lines = logged("missing");
    let (mut said, ended): (Vec<_>, Vec<_>) =
        lines.into_iter().partition(|(_, line)| line.contains("waiting: "));
    let first = "waiting: no quorum: no answer from a, b, c";
    assert!(said[0].0 == Level::INFO && said[0].1.contains(first), "{said:?}");
    let count = said.len();
    said.dedup();
    assert_eq!(said.len(), count, "a line for each change: {said:?}");
    for text in ["message=leading", "this candidate no longer leads: the leader resigned"] {
        let about = ended.iter().filter(|line| line.0 == Level::INFO && line.1.contains(text));
        assert_eq!(about.count(), 1, "{text}: {ended:?}");
    }
}

#[tokio::test]
async fn waiting_candidate_names_leader() {
    let config = config();
    let memory = || Storage::Memory { opening: Opening::New };
    let _nodes = ["a", "b", "c"].map(|name| grantor(&config, name, memory()));
    let one = candidate(&config, "one");
    let two = candidate(&config, "two");
    let leadership = soon(one.election("behind").unwrap().campaign("1")).await.unwrap();
    let mut campaign = two.election("behind").unwrap().campaign("2");
    let mut waits = campaign.waiting();
    let behind = Waiting::Behind { who: "one".into(), leading: true };
    tokio::select! {
        _ = &mut campaign => panic!("two leaders"),
        () = soon(async { while waits.next().await.unwrap() != behind {} }) => {}
    }
    soon(leadership.resign()).await;
    assert!(soon(campaign).await.unwrap().is_current());
}

#[tokio::test]
async fn old_leases_end_at_instant() {
    let config = config();
    let lost = || Storage::Memory { opening: Opening::Existing };
    let before = clock::now();
    let _nodes = ["a", "b", "c"].map(|name| grantor(&config, name, lost()));
    let one = candidate(&config, "one");
    let mut campaign = one.election("old").unwrap().campaign("1");
    let mut waits = campaign.waiting();
    let told = async {
        loop {
            let waiting = waits.next().await.unwrap();
            if let Waiting::OldLeases { at, until, missing } = waiting {
                return (at, until, missing);
            }
        }
    };
    let (at, until, missing) = tokio::select! {
        _ = &mut campaign => panic!("won in a quarantine"),
        told = soon(told) => told,
    };
    assert!(at.len() >= 2 && missing.len() <= 1, "{at:?} {missing:?}");
    assert!(until >= before.after(config.quarantine()), "{until} {before}");
}

/// A stranger sends many datagrams, and the node logs one line.
#[tokio::test]
async fn stranger_is_logged_once() {
    listen();
    let ours = config();
    let node = grantor(&ours, "a", Storage::Memory { opening: Opening::New });
    let members = ours.members.clone();
    let mut theirs = Config::new("elsewhere".parse().unwrap(), members).with_lease(ours.lease);
    theirs.refresh = Duration::from_millis(10);
    theirs.round_trip = Duration::from_millis(5);
    let stranger = candidate(&theirs.check().unwrap(), "stranger");
    let campaign = stranger.election("strange").unwrap().campaign("1");
    let ignored = async {
        // The node reports a stranger after one second, and 200 datagrams at 10 ms each take two
        // seconds.
        while node.counters().await.unwrap().ignored.get("epoch") < Some(&200) {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::select! {
        _ = campaign => panic!("won with another configuration"),
        () = soon(ignored) => {}
    }
    let lines = logged(&format!("stranger at {}", stranger.address()));
    assert_eq!(lines.len(), 1, "{lines:?}");
    assert_eq!(lines[0].0, Level::WARN);
}

/// Members are on other hosts. A candidate on a loopback socket could not reach them, would never
/// win, and no message would say why.
#[test]
fn candidate_binds_members_family() {
    let member =
        |address: &str| Member { name: "far".parse().unwrap(), address: address.parse().unwrap() };
    for (address, any) in [("192.0.2.1:7101", "0.0.0.0"), ("[2001:db8::1]:7101", "::")] {
        let config = Config::new("far".parse().unwrap(), vec![member(address)]).check().unwrap();
        let builder = || Node::builder(config.clone(), "one".parse().unwrap());
        let refused = builder().start().unwrap_err().to_string();
        assert!(refused.contains(any) && refused.contains("insecure_any_address"), "{refused}");
        let node = builder().insecure_any_address().start().unwrap();
        assert!(node.address().ip().is_unspecified(), "{}", node.address());
    }
}
