//! Orders to made-up members.

use std::sync::{Arc, Mutex};

use tenure_core::Time;
use tenure_core::nerio::wire::{DATAGRAM_MAX, Envelope, Packer, open};
use tenure_core::nerio::{Config, Inc, Instance, Service, State, Who};
use tokio::net::UdpSocket;

use super::*;
use crate::keys::ClusterKey;
use crate::latest_epoch::tests::{answer, current};

const FROM: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(std::net::Ipv4Addr::LOCALHOST), 0);

/// The answer of the nth member to a message of an incarnation.
type Play = dyn Fn(usize, Inc, Message) -> Option<Message> + Send + Sync;

async fn members(play: Arc<Play>) -> (Checked, JoinSet<()>) {
    let mut sockets = Vec::new();
    let mut list = Vec::new();
    for name in ["a", "b", "c"] {
        let socket = UdpSocket::bind(FROM).await.unwrap();
        list.push(Member::at(name.parse().unwrap(), socket.local_addr().unwrap()));
        sockets.push(socket);
    }
    let mut config = Config::new("x".parse().unwrap(), list);
    config.round_trip = std::time::Duration::from_millis(30);
    let config = config.check().unwrap();
    let epoch = config.membership().id();
    let mut playing = JoinSet::new();
    for (nth, socket) in sockets.into_iter().enumerate() {
        let play = play.clone();
        let membership = Arc::clone(config.membership());
        let name = config.members[nth].name.clone();
        playing.spawn(async move {
            let packer = Packer::new(&Envelope { epoch, who: Who { name, inc: Inc(7) } });
            let mut buffer = [0; DATAGRAM_MAX];
            loop {
                let (length, from) = socket.recv_from(&mut buffer).await.unwrap();
                let (envelope, messages) = open(&buffer[..length]).unwrap();
                for message in messages {
                    let inc = envelope.who.inc;
                    let answer = match message.unwrap() {
                        Message::Grantor(ToGrantor::Where(asked)) => {
                            Some(current(&membership, inc, asked.start))
                        }
                        message => play(nth, inc, message),
                    };
                    let Some(answer) = answer else { continue };
                    let mut datagram = packer.start();
                    assert!(packer.push(&mut datagram, &answer));
                    socket.send_to(&datagram, from).await.unwrap();
                }
            }
        });
    }
    (config, playing)
}

fn order(next: Option<&str>) -> Order {
    let next = next.map(|next| next.parse().unwrap());
    Order::new("billing".parse().unwrap(), Fence::new(7), next).unwrap()
}

/// The answers of a member of a version without orders.
fn state(question: nerio::Query, asker: Inc) -> Message {
    Message::from(State {
        election: question.election,
        asker,
        start: question.start,
        instance: Instance(0),
        memories: Vec::new(),
        service: Service::Serving,
        holder: None,
        free_for: std::time::Duration::ZERO,
        waiting: 0,
        seen: Fence::NONE,
        delta_max: std::time::Duration::ZERO,
        raise: None,
    })
}

#[tokio::test]
async fn order_keeps_its_number() {
    let heard = Arc::new(Mutex::new(Vec::new()));
    let told = Arc::clone(&heard);
    let (config, _playing) = members(Arc::new(move |nth, asker, message| match message {
        Message::Grantor(ToGrantor::Order(order)) => {
            let election = order.election.clone();
            let start = order.start;
            told.lock().unwrap().push((order.number, order.fence, order.next));
            let passed = if nth == 0 { Passed::On } else { Passed::NotHeld };
            (nth < 2).then_some(Message::from(Ordered { election, asker, start, passed }))
        }
        Message::Grantor(ToGrantor::Query(question)) => Some(state(question, asker)),
        _ => None,
    }))
    .await;
    let order = order(Some("web"));
    for _ in 0..2 {
        let said = give(&config, None, FROM, &order).await.unwrap();
        let said: Vec<_> = said.iter().map(|(member, did)| (member.name.as_str(), *did)).collect();
        let expected = [
            ("a", Answered::Did(Passed::On)),
            ("b", Answered::Did(Passed::NotHeld)),
            ("c", Answered::ElseOnly),
        ];
        assert_eq!(said, expected, "c knows no orders, and answers what it knows");
    }
    let heard = heard.lock().unwrap();
    assert!(heard.iter().all(|one| *one == (order.number, Fence::new(7), order.next.clone())));
}

/// The members answer an order for another election, of another time, or of another asker.
#[tokio::test]
async fn foreign_answers_do_not_count() {
    let (config, _playing) = members(Arc::new(|nth, asker, message| match message {
        Message::Grantor(ToGrantor::Order(order)) => {
            let mut election = order.election;
            let mut start = order.start;
            let mut asker = asker;
            match nth {
                0 => election = "audit".parse().unwrap(),
                1 => start = Time::from_nanos(1),
                _ => asker = Inc(1),
            }
            Some(Message::from(Ordered { election, asker, start, passed: Passed::On }))
        }
        _ => None,
    }))
    .await;
    let said = give(&config, None, FROM, &order(None)).await.unwrap();
    assert!(said.iter().all(|(_, did)| *did == Answered::Silent), "{said:?}");
}

fn at(name: &str, address: SocketAddr) -> Member {
    Member::at(name.parse().unwrap(), address)
}

fn cluster(members: Vec<Member>) -> Checked {
    Config::new("x".parse().unwrap(), members).check().unwrap()
}

/// The settings name one member, which is on loopback. The epoch of this member has another member,
/// which is not on loopback.
#[tokio::test]
async fn order_stays_on_loopback() {
    let socket = UdpSocket::bind(FROM).await.unwrap();
    let near = at("a", socket.local_addr().unwrap());
    let far = at("b", ([10, 0, 0, 1], 7102).into());
    let there = cluster(vec![near.clone(), far.clone()]);
    let (config, order) = (cluster(vec![near]), order(None));
    let given = tokio::select! {
        given = give(&config, None, FROM, &order) => given,
        () = answer(socket, there.membership()) => unreachable!("it answers for ever"),
    };
    match given {
        Err(GiveError::Refused(Refusal::Unsealed { member })) => assert_eq!(member, far),
        given => panic!("{given:?}"),
    }
}

#[test]
fn far_seat_obeys_no_unsealed_order() {
    let [here, far] = [([127, 0, 0, 1], 7101), ([10, 0, 0, 1], 7101)].map(SocketAddr::from);
    let config = cluster(vec![at("a", here)]);
    let obeys = |a, b| {
        let membership = Arc::clone(cluster(vec![at("a", a), at("b", b)]).membership());
        obeys_unsealed(&config, &[membership], here)
    };
    assert!(obeys(far, here), "the settings say where a is");
    assert!(!obeys(here, far));
    assert!(obeys_unsealed(&config, &[], here) && !obeys_unsealed(&config, &[], far));
}

#[test]
fn refused_order_is_not_sent() {
    let member =
        |address: &str| Member { name: "a".parse().unwrap(), address: address.parse().unwrap() };
    let config =
        |address| Config::new("x".parse().unwrap(), vec![member(address)]).check().unwrap();
    let near = config("127.0.0.1:7101");
    let far = config("10.0.0.1:7101");
    let key = ClusterKey::generate("x".parse().unwrap()).unwrap();
    let election = "billing/eu".parse().unwrap();
    let other = "audit".parse().unwrap();
    assert_eq!(check(&near, None, &election), Ok(()));
    let why = check(&far, None, &election).unwrap_err().to_string();
    assert!(why.starts_with("the cluster has no keys, and a is at 10.0.0.1:7101"), "{why}");
    assert_eq!(check(&far, Some(&key.clone().into()), &election), Ok(()));
    let of = |rights: &str| -> Keys {
        let grant = Grant {
            application: "billing".parse().unwrap(),
            elections: "billing/*".parse().unwrap(),
            rights: rights.parse().unwrap(),
        };
        key.issue_with(grant).unwrap().into()
    };
    let lacks = |rights, election| match check(&far, Some(&of(rights)), election) {
        Err(Refusal::NoRight { right, .. }) => Some(right),
        Err(other) => panic!("{other}"),
        Ok(()) => None,
    };
    assert_eq!(lacks("contend,ask,resign", &election), None);
    assert_eq!(lacks("ask,resign", &election), None);
    assert_eq!(lacks("contend,ask", &election), Some(Right::Resign));
    assert_eq!(lacks("ask,resign", &other), Some(Right::Ask), "another election");
    let why = check(&near, Some(&of("contend,ask")), &election).unwrap_err().to_string();
    let expected = "the key of application billing for billing/* does not allow to resign in \
                    billing/eu";
    assert_eq!(why, expected);
}
