//! Groups for the suite of handles of every driver.

use std::collections::BTreeMap;
use std::time::Duration;

use tenure::{Election, MayOverlap};
use tenure_nats::{Config, Node};
use tenure_services::nats::{Cluster, Version};
use tenure_testkit::handles::Group;

use crate::common::{config, start};

/// The test lets the machine stand still for this time at the moment when work must be dropped.
const MARGIN: Duration = Duration::from_millis(400);

/// The suite waits 60 s for a leader. A candidate listens for the time of a lease, and again after
/// each void round, so two void rounds fit.
const LEASE: Duration = Duration::from_secs(16);

pub(crate) struct Nats {
    cluster: Cluster,
    participants: BTreeMap<&'static str, Node>,
}

impl Nats {
    pub(crate) fn start(version: Version) -> Self {
        Self { cluster: Cluster::start(version, 1).unwrap(), participants: BTreeMap::new() }
    }
}

impl Group for Nats {
    type Class = MayOverlap;

    const NO_TRANSFER: Option<&'static str> = Some("allcall");

    fn election(&mut self, participant: &'static str, election: &str) -> Election<MayOverlap> {
        let begin = || {
            let config =
                Config { lease: LEASE, grace: MARGIN, kill_margin: MARGIN, ..config(participant) };
            start(config, &self.cluster.urls())
        };
        self.participants.entry(participant).or_insert_with(begin).election(election).unwrap()
    }

    async fn close(&mut self, participant: &'static str) {
        self.participants[participant].close().await;
    }

    async fn fail(&mut self) -> Option<Duration> {
        self.cluster.server(0).stop().unwrap();
        Some(MARGIN)
    }

    async fn mend(&mut self) {
        self.cluster.server(0).cont().unwrap();
    }
}
