//! Handles of an application: the suite for every driver, and the parts that only Nerio has.

use std::collections::BTreeMap;
use std::time::Duration;

use tempfile::TempDir;
use tenure::{AtMostOne, Election, FenceGate, Loss, clock};
use tenure_nerio::keys::Keys;
use tenure_nerio::{Checked, Config, EdictGate, Found, Node, NotWonHere, Opening, VerifyError};
use tenure_testkit::handles::Group;

use crate::setup::{PATIENCE, candidate, config, directory, grantors, soon};

/// Three grantors, and candidates beside them.
pub(crate) struct Nerio {
    config: Checked,
    key: Option<Keys>,
    folder: TempDir,
    grantors: Vec<Node>,
    candidates: BTreeMap<&'static str, Node>,
}

/// Longest standstill of the machine after which work is still dropped in time.
const MARGIN: Duration = Duration::from_secs(3);

impl Nerio {
    pub(crate) fn start(key: Option<Keys>) -> Self {
        let mut config = Config::clone(&config());
        config.grace = MARGIN;
        config.kill_margin = MARGIN;
        let config = config.check().unwrap();
        let folder = tempfile::tempdir().unwrap();
        let mut group =
            Self { config, key, folder, grantors: Vec::new(), candidates: BTreeMap::new() };
        group.grantors = ["a", "b", "c"].map(|name| group.grantor(name, Opening::New)).into();
        group
    }

    fn grantor(&self, name: &str, opening: Opening) -> Node {
        let builder = Node::builder(self.config.clone(), name.parse().unwrap());
        let builder = builder.grantor(directory(self.folder.path(), name, opening));
        let key = self.key.clone();
        key.into_iter().fold(builder, |builder, key| builder.keys(key)).start().unwrap()
    }

    /// Uses an application's key if there are keys.
    fn candidate(&self, name: &str) -> Node {
        let builder = Node::builder(self.config.clone(), name.parse().unwrap());
        let Some(key) = &self.key else { return builder.start().unwrap() };
        let key = key.issue("suite".parse().unwrap(), "*".parse().unwrap()).unwrap();
        builder.keys(key.into()).start().unwrap()
    }
}

impl Group for Nerio {
    type Class = AtMostOne;

    const NO_TRANSFER: Option<&'static str> = None;

    fn election(&mut self, participant: &'static str, election: &str) -> Election<AtMostOne> {
        if !self.candidates.contains_key(participant) {
            self.candidates.insert(participant, self.candidate(participant));
        }
        self.candidates[participant].election(election).unwrap()
    }

    async fn close(&mut self, participant: &'static str) {
        self.candidates[participant].close().await;
    }

    async fn fail(&mut self) -> Option<Duration> {
        for node in self.grantors.drain(1..) {
            node.close().await;
        }
        Some(MARGIN)
    }

    async fn mend(&mut self) {
        for name in ["b", "c"] {
            let back = self.grantor(name, Opening::Existing);
            self.grantors.push(back);
        }
    }

    async fn end(self) {
        for node in self.candidates.values().chain(&self.grantors) {
            node.close().await;
        }
    }
}

tenure_testkit::handles!(Nerio::start(None));

#[tokio::test]
async fn fence_grows_with_each_leadership() {
    let config = config();
    let nodes = grantors(&config);
    let mut gate = FenceGate::default();
    let mut edicts = EdictGate::new();
    let mut old = None;
    for round in 0..5 {
        let here = &nodes[round % 3];
        let elsewhere = &nodes[(round + 1) % 3];
        let election = here.election("billing").unwrap();
        let leadership = soon(election.campaign("10.0.0.7:8080")).await.unwrap();
        let orders = here.edicts(&leadership).unwrap();
        assert_eq!(elsewhere.edicts(&leadership).unwrap_err(), NotWonHere);
        assert!(leadership.is_current());
        assert!(leadership.remaining() > Some(Duration::ZERO));
        gate.admit(leadership.fence()).unwrap();
        edicts.admit(&orders.create().unwrap()).unwrap();
        let edict = here.edicts(&leadership).unwrap().create().unwrap();
        edicts.admit(&edict).unwrap();
        if let Some((fence, edict)) = old.replace((leadership.fence(), edict)) {
            assert!(gate.admit(fence).is_err(), "an old leader is refused");
            assert!(edicts.admit(&edict).is_err(), "an old edict is refused");
        }
        soon(leadership.settled()).await.unwrap();
        soon(leadership.resign()).await;
        assert!(!leadership.is_current());
        assert!(orders.create().is_err());
        assert_eq!(leadership.loss(), Some(Loss::Resigned));
    }
}

#[tokio::test]
async fn a_verified_leader_keeps_its_promise() {
    let config = config();
    let nodes = grantors(&config);
    let election = nodes[0].election("x").unwrap();
    let leadership = soon(election.campaign("")).await.unwrap();
    soon(leadership.settled()).await.unwrap();
    let asker = candidate(&config, "asker");
    let ask = |leader| asker.verify(election.name(), leader, PATIENCE);
    let asked = clock::now();
    let verified = soon(ask(nodes[0].address())).await.unwrap();
    assert!(verified.until > asked, "it promises nothing");
    assert_eq!(verified.fence, Some(leadership.fence()));
    assert_eq!(verified.leader.as_str(), "a");
    let waiting = nodes[1].election("x").unwrap();
    let next = tokio::spawn(async move {
        let next = waiting.campaign("").await.unwrap();
        (clock::now(), next)
    });
    soon(leadership.resign()).await;
    let (began, _next) = soon(next).await.unwrap();
    assert!(began >= verified.until, "a successor led before the promise had run out");
    let by = soon(ask(nodes[2].address())).await;
    assert!(matches!(by, Err(VerifyError::DoesNotLead { .. })), "{by:?}");
    let nobody = "127.0.0.1:9".parse().unwrap();
    let silent = asker.verify(election.name(), nobody, Duration::from_millis(100)).await;
    assert!(matches!(silent, Err(VerifyError::NoAnswer { .. })), "{silent:?}");
}

#[tokio::test]
async fn finding_a_leader_forwards_or_leads() {
    let config = config();
    let nodes = grantors(&config);
    let election = "x".parse().unwrap();
    let Ok(Found::Elected(leadership)) = soon(nodes[0].find(&election, "me", PATIENCE)).await
    else {
        panic!("nobody led, so it should have")
    };
    match soon(nodes[1].find(&election, "other", PATIENCE)).await {
        Ok(Found::Leader(leader)) => {
            assert_eq!(*leader.id, *leadership.id());
            assert_eq!(leader.incarnation, Some(nodes[0].who().inc.0));
            assert_eq!(leader.address, Some(nodes[0].address()));
            assert!(leader.until.is_some());
        }
        other => panic!("{other:?}"),
    }
    let lonely = candidate(&crate::setup::config(), "lonely");
    let error = lonely.find(&election, "me", Duration::from_millis(200)).await.unwrap_err();
    assert!(error.to_string().starts_with("x has no leader after 200ms"), "{error}");
}
