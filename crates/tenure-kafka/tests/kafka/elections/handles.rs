//! The suite for the handles of every driver.

use std::collections::BTreeMap;
use std::time::Duration;

use tenure::{Election, Observer};
use tenure_core::nele::Mode;
use tenure_kafka::{Class, Node};
use tenure_services::kafka::{Cluster, Shared};
use tenure_testkit::handles::Group;

use crate::common::{cluster, quick, unique};
use crate::elections::node::{MARGIN, patient, short, start};

enum Broker {
    Shared(Shared),
    Own(Box<Cluster>),
}

/// Processes on one broker. Each election has a topic and a group of its own, and so each
/// participant has a process for each election.
struct Processes<C: Class> {
    broker: Broker,
    prefix: String,
    nodes: BTreeMap<(&'static str, String), Node<C>>,
    /// A process without partitions reads only for an observer.
    observers: Vec<Observer>,
}

impl<C: Class> Processes<C> {
    /// Processes on a shared broker.
    fn beside_others() -> Self {
        Self::on(Broker::Shared(cluster()))
    }

    /// Processes on a broker of their own.
    fn alone() -> Self {
        Self::on(Broker::Own(Box::new(quick().start().unwrap())))
    }

    fn on(broker: Broker) -> Self {
        Self { broker, prefix: unique("h"), nodes: BTreeMap::new(), observers: Vec::new() }
    }

    fn addresses(&self) -> String {
        match &self.broker {
            Broker::Shared(shared) => shared.addresses(),
            Broker::Own(cluster) => cluster.addresses(),
        }
    }

    fn own(&self) -> &Cluster {
        match &self.broker {
            Broker::Shared(_) => panic!("others use it as well"),
            Broker::Own(cluster) => cluster,
        }
    }

    fn begin(&self, participant: &str, election: &str) -> Node<C> {
        let name = format!("{}-{election}", self.prefix);
        let id = participant.parse().unwrap();
        let group = name.parse().unwrap();
        let mut config = patient(short(name.parse().unwrap(), group, id, 1, C::MODE));
        // An observer waits for `takeover`, and again after each silence. In this mode the end of a
        // session ends no leadership, so sessions may be short: two must fit into `takeover`.
        if C::MODE == Mode::AtLeastOne {
            config.takeover = Duration::from_secs(16);
            config.session_timeout = Duration::from_secs(5);
            config.max_poll_interval = config.session_timeout;
            // An observer begins anew after a silence of six intervals and two deliveries. A busy
            // broker may be silent for 5 s, so the interval is long.
            config.publish_interval = Duration::from_secs(1);
        }
        let addresses = self.addresses();
        // The caller is no async function, so another thread starts the process.
        let start = move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            runtime.unwrap().block_on(start(&addresses, &name, config))
        };
        std::thread::spawn(start).join().unwrap()
    }
}

impl<C: Class + tenure_testkit::handles::Class> Group for Processes<C> {
    type Class = C;

    const NO_TRANSFER: Option<&'static str> = Some("nele");

    fn election(&mut self, participant: &'static str, election: &str) -> Election<C> {
        let key = (participant, election.to_owned());
        if !self.nodes.contains_key(&key) {
            let node = self.begin(participant, election);
            self.observers.push(node.role(0).observe());
            self.nodes.insert(key.clone(), node);
        }
        self.nodes[&key].role(0)
    }

    async fn close(&mut self, participant: &'static str) {
        for ((of, _), node) in &self.nodes {
            if *of == participant {
                node.close().await;
            }
        }
    }

    async fn fail(&mut self) -> Option<Duration> {
        self.own().broker(0).stop().unwrap();
        Some(MARGIN)
    }

    async fn mend(&mut self) {
        self.own().broker(0).cont().unwrap();
    }
}

/// Lists the promises of handles, each for processes of this class.
macro_rules! promises {
    ($class:ty: $($processes:ident => $($promise:ident)*;)*) => {
        pub(crate) const TESTS: crate::common::Tests = &[$($((stringify!($promise), || {
            tenure_testkit::handles::run(async {
                let mut processes = super::Processes::<$class>::$processes();
                tenure_testkit::handles::$promise(&mut processes).await;
            });
        })),*),*];
    };
    ($class:ty) => {
        promises! { $class:
            alone => failures_end_leaderships_before_their_leases;
            beside_others =>
                leaders_follow_each_other
                a_dropped_campaign_is_withdrawn
                a_dropped_leadership_is_resigned
                a_participant_campaigns_once_per_election
                unreadable_values_are_refused
                a_second_resignation_does_nothing
                a_leader_handle_ends_with_leadership
                a_transfer_succeeds_or_is_unsupported
                observers_see_each_leader
                a_slow_observer_gets_a_reset
                closing_ends_everything
                finished_work_resigns
                two_leaders_never_work_at_once
                panicking_work_resigns
                a_shutdown_withdraws_a_waiting_candidate;
        }
    };
}

pub(crate) mod at_most_one {
    promises!(tenure::AtMostOne);
}

pub(crate) mod at_least_one {
    promises!(tenure::MayOverlap);
}
