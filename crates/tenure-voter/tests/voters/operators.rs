//! Requests of operators, and voters behind one shared address.

use std::collections::BTreeSet;
use std::time::Duration;

use tenure::AtMostOne;
use tenure_voter::{
    Config, Founding, Node, Operator, OperatorError, Options, Refusal, Secrets, Seeds, VoterUrl,
};

use crate::common::{ELECTION, Network, PATIENCE, bind, config, run, shared, soon};

const SECRET: &str = "one secret of sixteen bytes and more";
const OTHER: &str = "another secret of sixteen bytes";

fn with(secret: &str, options: Options) -> Options {
    Options { secrets: Some(Secrets::parse(secret).unwrap()), ..options }
}

fn operator(secret: Option<&str>) -> Operator {
    let options = Options::new("127.0.0.1:0".parse().unwrap());
    let options = match secret {
        Some(secret) => with(secret, options),
        None => options,
    };
    Operator::new(&options.check().unwrap(), None, PATIENCE).unwrap()
}

fn url(network: &Network, n: usize) -> VoterUrl {
    format!("http://{}", network.addresses[n]).parse().unwrap()
}

async fn again() {
    tokio::time::sleep(Duration::from_millis(50)).await;
}

/// The leader obeys: it leads to the end of its lease, and then another voter wins. Followers name
/// the leader, and a caller without the secret changes nothing.
#[test]
fn leader_obeys_a_start() {
    run(async {
        let short = |config| Config { tolerance: 5, ..config };
        let network = Network::of(3, short, |options| with(SECRET, options));
        let election = |n: usize| network.voters[n].election(ELECTION).unwrap();
        // A standstill of the machine may end a leadership before the request to start. A follower
        // may learn of the leader later than that.
        let (leadership, next) = loop {
            let leadership = soon(election(0).campaign("a")).await.unwrap();
            for secret in [Some(OTHER), None] {
                let refused = operator(secret).start(&url(&network, 0)).await.unwrap_err();
                let is_unknown = matches!(refused, OperatorError::Unauthenticated { .. });
                assert!(is_unknown, "{refused}");
            }
            let refused = operator(Some(SECRET)).start(&url(&network, 1)).await;
            let next = election(1).campaign("b");
            let obeyed = operator(Some(SECRET)).start(&url(&network, 0)).await;
            let Err(OperatorError::Refused { refusal: Refusal::Leads(leader), .. }) = refused
            else {
                continue;
            };
            if obeyed.is_ok() && leadership.is_current() {
                assert_eq!(leader.url, url(&network, 0));
                break (leadership, next);
            }
        };
        let fence = leadership.fence();
        soon(leadership.lost()).await;
        let next = soon(next).await.unwrap();
        assert!(next.fence() > fence, "{next:?} after {fence:?}");
    });
}

/// An operator asks any voter of a vacant network, and then all voters draw.
#[test]
fn any_voter_starts_the_first_election() {
    run(async {
        let network = Network::with(3, |options| with(SECRET, options));
        let draws = async {
            loop {
                // Until the founding the voter refuses.
                let started = operator(Some(SECRET)).start(&url(&network, 2)).await;
                let counters = network.voters[2].counters().await.unwrap();
                if counters.sent.get("election/cast").is_some_and(|casts| *casts >= 2) {
                    return started.unwrap();
                }
                again().await;
            }
        };
        soon(draws).await;
    });
}

/// A registered voter is known, and stays known as long as it answers.
#[test]
fn operator_registers_and_removes() {
    run(async {
        let network = Network::with(1, |options| with(SECRET, options));
        let (founder, by) = (url(&network, 0), operator(Some(SECRET)));
        let newcomer = |config: Config| Config {
            id: "z".parse().unwrap(),
            founding: Founding::Expected(9),
            ..config
        };
        let other = Network::of(1, newcomer, |options| with(SECRET, options));
        let name = || "z".parse().unwrap();
        let unknown = by.remove(&founder, name(), "gone".parse().unwrap()).await.unwrap_err();
        let OperatorError::Refused { refusal, .. } = &unknown else { panic!("{unknown}") };
        assert_eq!(*refusal, Refusal::UnknownVoter);
        let denied = operator(None).register(&founder, name(), url(&other, 0)).await.unwrap_err();
        assert!(matches!(denied, OperatorError::Unauthenticated { .. }), "{denied}");
        let status = by.register(&founder, name(), url(&other, 0)).await.unwrap();
        assert_eq!(status.sender.voter_id.as_str(), "a");
        let is_known = async || {
            let (_, status) = by.status(&founder).await.unwrap();
            status.known_voters.iter().any(|voter| voter.voter_id == name())
        };
        let known = async {
            while !is_known().await {
                again().await;
            }
        };
        soon(known).await;
        by.remove(&founder, name(), "gone".parse().unwrap()).await.unwrap();
        assert!(is_known().await, "it answers the founder");
        let (_, status) = by.status(&founder).await.unwrap();
        assert!(status.electorate.is_none_or(|votes| votes.members.len() == 1), "without a vote");
    });
}

/// Three voters know only one address, which leads to each of them in turn. They find each other
/// and elect. At this address any voter gives its status, and refuses a request that is meant for
/// one voter.
#[test]
fn voters_share_a_seed_address() {
    run(async {
        let directory = tempfile::tempdir().unwrap();
        let bound: Vec<_> = (0..3).map(|_| bind()).collect();
        let all: Vec<_> = bound.iter().map(|(_, address)| *address).collect();
        let (_tasks, balancer) = shared(all, Duration::ZERO).await;
        let start = |(listener, address), id: &str| -> Node<AtMostOne> {
            let config = Config { founding: Founding::Expected(3), ..config(id, address) };
            let options = Options {
                state: Some(directory.path().join(id)),
                seeds: Some(Seeds::new(&balancer.to_string(), "").unwrap()),
                ..with(SECRET, Options::new(address))
            };
            let builder = Node::builder(config.check().unwrap(), options.check().unwrap());
            builder.listener(listener).start().unwrap()
        };
        let names = ["a", "b", "c"];
        let voters: Vec<_> = bound.into_iter().zip(names).map(|(at, id)| start(at, id)).collect();
        let election = voters[0].election(ELECTION).unwrap();
        assert!(soon(election.campaign("a")).await.unwrap().is_current());

        let url = format!("http://{balancer}").parse().unwrap();
        let each = async {
            let mut seen = BTreeSet::new();
            while seen.len() < 3 {
                // A new operator opens a new connection.
                let (header, _) = operator(Some(SECRET)).status(&url).await.unwrap();
                seen.insert(header.sender.id);
            }
        };
        soon(each).await;
        let refused = operator(Some(SECRET)).start(&url).await.unwrap_err().to_string();
        for part in ["421", &*format!("Tenure-To names {url}"), "write this voter's own voter-url"]
        {
            assert!(refused.contains(part), "{part}: {refused}");
        }
    });
}
