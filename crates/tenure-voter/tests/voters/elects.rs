//! Elections: a voter leads, and then another one.

use std::net::{SocketAddr, TcpListener};
use std::time::Duration;

use tenure::{AtMostOne, Campaign, Election, Leadership, MayOverlap};
use tenure_voter::{Config, Counters, Founding, Listed, Mode, Node, Options, Seeds, StartError};

use crate::common::{ELECTION, Network, bind, config, run, soon};

/// Waits for the first of these campaigns that wins, and removes it.
async fn first(
    campaigns: &mut Vec<(usize, Campaign<AtMostOne>)>,
) -> (usize, Leadership<AtMostOne>) {
    let all = std::future::poll_fn(|context| {
        for at in 0..campaigns.len() {
            let (number, campaign) = &mut campaigns[at];
            if let std::task::Poll::Ready(won) = std::pin::Pin::new(campaign).poll(context) {
                let number = *number;
                drop(campaigns.remove(at));
                return std::task::Poll::Ready((number, won.unwrap()));
            }
        }
        std::task::Poll::Pending
    });
    soon(all).await
}

#[test]
fn resignation_elects_another() {
    run(async {
        let network = Network::start(3);
        let election = |n: usize| network.voters[n].election(ELECTION).unwrap();
        let mut campaigns: Vec<_> = (0..3)
            .map(|n| (n, election(n).campaign(network.voters[n].who().id.as_str())))
            .collect();
        let (one, leadership) = first(&mut campaigns).await;
        let fence = leadership.fence();
        assert!(leadership.is_current());

        let mut observer = election((one + 1) % 3).observe();
        let leader = network.voters[one].who().id.as_str();
        let seen = async {
            loop {
                let change = observer.next().await.unwrap();
                let leader = change.view().and_then(|view| view.leader());
                if let Some(leader) = leader {
                    return leader.value.text().into_owned();
                }
            }
        };
        assert_eq!(soon(seen).await, leader);

        soon(leadership.resign()).await;
        let (another, leadership) = first(&mut campaigns).await;
        assert_ne!(another, one, "it does not campaign any more");
        assert!(leadership.fence() > fence, "{:?} after {fence:?}", leadership.fence());

        let counters = network.voters[another].counters().await.unwrap();
        // A standstill may end a leadership, and then a candidate wins another.
        assert!(counters.elected >= 1, "{counters:?}");
        assert!(counters.sent["heartbeat"] > 0 && counters.heard["election/cast"] > 0);
        assert!(counters.refused.is_empty(), "{counters:?}");
    });
}

/// The second leader loses contact with the last other voter, so its lease runs out. The lease is
/// short to save time.
#[test]
fn lost_leader_is_replaced() {
    run(async {
        let short = |config| Config { tolerance: 5, ..config };
        let network = Network::of(3, short, |options| options);
        let election = |n: usize| network.voters[n].election(ELECTION).unwrap();
        let mut campaigns: Vec<_> = (0..3).map(|n| (n, election(n).campaign("x"))).collect();
        let (one, leadership) = first(&mut campaigns).await;
        network.voters[one].close().await;
        assert!(!leadership.is_current());
        let (two, leadership) = first(&mut campaigns).await;
        drop(campaigns);
        let other = (0..3).find(|n| *n != one && *n != two).unwrap();
        network.voters[other].close().await;
        soon(leadership.lost()).await;
        assert!(!leadership.is_current());
    });
}

/// Three voters know only one seed, the address of the first voter. This voter starts last.
#[test]
fn seed_finds_all_voters() {
    run(async {
        let directory = tempfile::tempdir().unwrap();
        let [a, b, c] = [(); 3].map(|()| bind().0);
        let seed = a.local_addr().unwrap().to_string();
        let start = |id: &str, listener: TcpListener| -> Node<AtMostOne> {
            let address = listener.local_addr().unwrap();
            let config = Config { founding: Founding::Expected(3), ..config(id, address) };
            let options = Options {
                state: Some(directory.path().join(id)),
                seeds: Some(Seeds::new(&seed, "").unwrap()),
                ..Options::new(address)
            };
            let builder = Node::builder(config.check().unwrap(), options.check().unwrap());
            builder.listener(listener).start().unwrap()
        };
        let b = start("b", b);
        let _c = start("c", c);
        let election = b.election(ELECTION).unwrap();
        let mut campaign = election.campaign("b");
        let silent = async {
            while b.counters().await.unwrap().failed.values().sum::<u64>() == 0 {
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        };
        tokio::select! {
            won = &mut campaign => panic!("two of three are not all that were expected: {won:?}"),
            () = soon(silent) => {}
        }
        let _a = start("a", a);
        assert!(soon(campaign).await.unwrap().is_current());
    });
}

/// A server among four accepts connections and never answers.
#[test]
fn hung_region_delays_no_other() {
    delays_nobody(None, "timeout");
}

/// A server among four answers with bytes that are no HTTP, or with JSON without meaning.
#[test]
fn senseless_answers_delay_no_other() {
    let json = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 19\r\n\r\n\
                {\"seq\":[-1,\"nobody\"]}";
    let json = json.replace("Content-Length: 19", "Content-Length: 20");
    delays_nobody(Some(vec!["\u{1}\u{2} nonsense\r\n\r\n".to_owned(), json]), "");
}

/// The voters elect another leader after this number of missed heartbeats.
const TOLERANCE: u32 = 5;

/// Three of four voters elect, whatever the fourth answers. The failed requests to the fourth voter
/// are counted under `reason`.
fn delays_nobody(answers: Option<Vec<String>>, reason: &str) {
    run(async {
        let hung = bind();
        if let Some(answers) = answers {
            let listener = hung.0.try_clone().unwrap();
            std::thread::spawn(move || {
                let all = answers.iter().cycle();
                for (stream, answer) in listener.incoming().map_while(Result::ok).zip(all) {
                    let mut stream: std::net::TcpStream = stream;
                    let _ = std::io::Write::write_all(&mut stream, answer.as_bytes());
                }
            });
        }
        let bound: Vec<_> = (0..3).map(|_| bind()).collect();
        let all: Vec<_> = bound.iter().map(|(_, address)| *address).collect();
        let listed = |(id, address): (&str, &SocketAddr)| Listed {
            id: id.parse().unwrap(),
            url: format!("http://{address}").parse().unwrap(),
        };
        let list: Vec<_> = ["a", "b", "c", "hung"]
            .into_iter()
            .zip(all.iter().chain([&hung.1]))
            .map(listed)
            .collect();
        let voters: Vec<Node<MayOverlap>> = bound
            .into_iter()
            .zip(["a", "b", "c"])
            .map(|((listener, address), id)| {
                let config = Config {
                    mode: Mode::Available,
                    tolerance: TOLERANCE,
                    founding: Founding::List(list.clone()),
                    ..config(id, address)
                };
                let options = Options::new(address);
                let builder = Node::builder(config.check().unwrap(), options.check().unwrap());
                builder.listener(listener).start().unwrap()
            })
            .collect();
        let election = voters[0].election(ELECTION).unwrap();
        let counters = soon(leads_on(&voters[0], &election)).await;
        let failed = counters.failed.iter().filter(|(why, _)| reason.is_empty() || **why == reason);
        assert!(failed.map(|(_, times)| times).sum::<u64>() > 0, "{counters:?}");
        drop(hung);
    });
}

/// Waits for a leadership that lasts for more heartbeats than followers tolerate without one. A
/// standstill of the machine may end a leadership; then the next leadership counts.
async fn leads_on(voter: &Node<MayOverlap>, election: &Election<MayOverlap>) -> Counters {
    let beats = async || {
        let counters = voter.counters().await.unwrap();
        (counters.sent.get("heartbeat").copied().unwrap_or_default(), counters)
    };
    loop {
        let leadership = election.campaign("a").await.unwrap();
        let enough = beats().await.0 + 3 * u64::from(TOLERANCE + 2);
        while beats().await.0 < enough && leadership.is_current() {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        if leadership.is_current() {
            return beats().await.1;
        }
    }
}

#[test]
fn failed_starts_are_explained() {
    let (_listener, address) = bind();
    let config = Config { founding: Founding::Expected(1), ..config("a", address) };
    let config = config.check().unwrap();
    let options = || Options::new(address).check().unwrap();
    let refused = Node::<MayOverlap>::builder(config.clone(), options()).start();
    assert!(matches!(refused, Err(StartError::Mode { mode: Mode::Majority, .. })));
    let refused = Node::<AtMostOne>::builder(config.clone(), options()).start();
    assert!(matches!(refused, Err(StartError::Listen { .. })), "{refused:?}");
    let free = Options::new("127.0.0.1:0".parse().unwrap()).check().unwrap();
    let refused = Node::<AtMostOne>::builder(config, free).start();
    assert!(matches!(refused, Err(StartError::NoState)));
}

#[test]
fn majority_directory_refuses_available() {
    let directory = tempfile::tempdir().unwrap();
    let begin = |mode| {
        let (listener, address) = bind();
        let config = Config { founding: Founding::Expected(1), mode, ..config("a", address) };
        let state = Some(directory.path().join("a"));
        let options = Options { state, ..Options::new(address) };
        (config.check().unwrap(), options.check().unwrap(), listener)
    };
    let (config, options, listener) = begin(Mode::Majority);
    drop(Node::<AtMostOne>::builder(config, options).listener(listener).start().unwrap());
    let (config, options, listener) = begin(Mode::Available);
    let refused = Node::<MayOverlap>::builder(config, options).listener(listener).start();
    assert!(matches!(refused, Err(StartError::Promised { .. })), "{refused:?}");
}
