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
        // An observer waits for this long, anew after each silence. A session, which ends no
        // leadership, fits into it twice.
        if C::MODE == Mode::AtLeastOne {
            config.takeover = Duration::from_secs(15);
            config.session_timeout = Duration::from_secs(5);
            config.max_poll_interval = config.session_timeout;
        }
        let addresses = self.addresses();
        // The caller cannot wait.
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
            alone => a_failure_ends_leaderships_before_their_leases;
            beside_others =>
                leaders_follow_each_other
                a_campaign_that_is_dropped_is_withdrawn
                a_leadership_that_is_dropped_is_resigned
                a_participant_campaigns_once_in_an_election
                values_that_nobody_could_read_are_refused
                resigning_twice_is_resigning_once
                a_leader_outlives_its_leadership_and_leads_no_more
                a_leadership_is_handed_over_or_that_is_not_supported
                observers_are_told_who_leads
                an_observer_that_is_slow_hears_that_it_missed_something
                closing_ends_everything
                work_that_ends_by_itself_resigns
                leading_again_and_again_nobody_works_beside_another
                work_that_panics_leaves_the_election_to_the_next
                a_shutdown_withdraws_one_who_waits;
        }
    };
}

pub(crate) mod at_most_one {
    promises!(tenure::AtMostOne);
}

pub(crate) mod at_least_one {
    promises!(tenure::MayOverlap);
}
