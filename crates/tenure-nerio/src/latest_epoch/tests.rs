//! Made-up members in another epoch than that of the settings.

use tenure_core::nerio::wire::{DATAGRAM_MAX, Envelope, Packer, open};
use tenure_core::nerio::{
    Config, Current, Document, DocumentPart, DocumentRead, Inc, Instance, Message, Origin, Quorums,
    Service, ToAsker, ToGrantor, Who,
};
use tenure_core::{Drift, Time};
use tokio::net::UdpSocket;

use super::*;

const FROM: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(std::net::Ipv4Addr::LOCALHOST), 0);

/// The answer of a member of `membership` that is asked for its epoch.
pub(crate) fn current(membership: &Membership, asker: Inc, start: Time) -> Message {
    Message::from(Current {
        asker,
        start,
        epoch: membership.id(),
        founding: membership.founding(),
        before: membership.document().before,
        instance: Instance(1),
        entered: true,
        service: Service::Serving,
        length: 0,
    })
}

/// The answer of a blank, whose settings have the members of `line`.
pub(crate) fn blank(line: &Membership, asker: Inc, start: Time) -> Message {
    let told = current(line, asker, start);
    let Message::Asker(ToAsker::Current(told)) = told else { unreachable!() };
    Message::from(Current { entered: false, ..told })
}

pub(crate) fn member(name: &str, address: SocketAddr) -> Member {
    Member::at(name.parse().unwrap(), address)
}

pub(crate) fn far(name: &str) -> Member {
    member(name, ([127, 0, 0, 1], u16::from(name.as_bytes()[0])).into())
}

pub(crate) fn config(members: Vec<Member>, drift: &str) -> Checked {
    let mut config = Config::new("x".parse().unwrap(), members);
    config.drift = drift.parse::<Drift>().unwrap();
    config.round_trip = std::time::Duration::from_millis(30);
    config.check().unwrap()
}

/// The document of epoch 1 with these members, which follows the epoch 0 of `before`.
pub(crate) fn changed(before: &Checked, members: Vec<Member>) -> Document {
    let mut document = Document::of_line(&config(members, "0.001"));
    document.number = 1;
    document.before = before.membership().id();
    document.founding = before.membership().founding();
    document.origin = Origin::Changed;
    for (number, seat) in (1..).zip(&mut document.seats) {
        seat.instance = Some(Instance(number));
    }
    document
}

/// The next bytes of a document, at most 100, from the offset in the question.
pub(crate) fn part(document: &Document, asker: Inc, read: &DocumentRead) -> Message {
    let document = document.encode().unwrap();
    let rest = &document[usize::try_from(read.offset).unwrap()..];
    Message::from(DocumentPart {
        asker,
        start: read.start,
        epoch: read.epoch,
        offset: read.offset,
        total: u32::try_from(document.len()).unwrap(),
        bytes: rest[..rest.len().min(100)].to_vec(),
    })
}

/// Answers at `socket` as member a of `membership`, for ever; sends documents in short parts.
pub(crate) async fn answer(socket: UdpSocket, membership: &Membership) {
    answer_as("a", socket, membership, membership.document()).await;
}

/// Answers as a member whose document is `copy`.
async fn answer_as(name: &str, socket: UdpSocket, membership: &Membership, copy: &Document) {
    let says = |asker, message| match message {
        ToGrantor::Where(asked) => Some(current(membership, asker, asked.start)),
        ToGrantor::DocumentRead(read) => Some(part(copy, asker, &read)),
        _ => None,
    };
    serve(name, socket, membership.id(), says).await;
}

/// Answers at `socket` as node b, a blank, for ever.
async fn answer_blank(socket: UdpSocket, line: &Membership) {
    let says = |asker, message| match message {
        ToGrantor::Where(asked) => Some(blank(line, asker, asked.start)),
        _ => None,
    };
    serve("b", socket, line.id(), says).await;
}

/// Answers at `socket` as the member `name` in `epoch`, for ever: `says` has the answer to each
/// message of an asker.
pub(crate) async fn serve(
    name: &str,
    socket: UdpSocket,
    epoch: EpochId,
    mut says: impl FnMut(Inc, ToGrantor) -> Option<Message>,
) {
    let who = Who { name: name.parse().unwrap(), inc: Inc(7) };
    let packer = Packer::new(&Envelope { epoch, who });
    let mut buffer = [0; DATAGRAM_MAX];
    loop {
        let (length, from) = socket.recv_from(&mut buffer).await.unwrap();
        let (envelope, messages) = open(&buffer[..length]).unwrap();
        let asker = envelope.who.inc;
        for message in messages {
            let Message::Grantor(message) = message.unwrap() else { continue };
            let Some(answer) = says(asker, message) else { continue };
            let mut datagram = packer.start();
            assert!(packer.push(&mut datagram, &answer));
            socket.send_to(&datagram, from).await.unwrap();
        }
    }
}

async fn find_at(config: &Checked, socket: UdpSocket, membership: &Membership) -> FoundMembers {
    tokio::select! {
        found = find(config, None, FROM) => found.unwrap(),
        () = answer(socket, membership) => unreachable!("it answers for ever"),
    }
}

fn names(members: &[Member]) -> Vec<&str> {
    members.iter().map(|member| member.name.as_str()).collect()
}

#[tokio::test]
async fn later_epoch_is_read() {
    let socket = UdpSocket::bind(FROM).await.unwrap();
    let a = member("a", socket.local_addr().unwrap());
    let config = config(vec![a.clone()], "0.001");
    let document = changed(&config, vec![far("c"), a.clone(), far("b")]);
    let membership = Membership::read(Arc::new(document), &config).unwrap();
    let found = find_at(&config, socket, &membership).await;
    assert_eq!(found.membership, membership);
    let seats: Vec<_> = found.seats.iter().map(|(member, _)| member.clone()).collect();
    assert_eq!(seats, [a, far("b"), far("c")]);
    let differs = |(member, asker): &(Member, Asker)| asker.differs(&member.name);
    assert!(!found.seats.iter().any(differs));
}

/// Member a sends a document with a forged host, which the digest does not cover. The document of b
/// is intact.
#[tokio::test]
async fn forged_host_hides_no_copy() {
    let sockets = [UdpSocket::bind(FROM).await.unwrap(), UdpSocket::bind(FROM).await.unwrap()];
    let [a, b] = &sockets;
    let members = vec![member("a", a.local_addr().unwrap()), member("b", b.local_addr().unwrap())];
    let here = config(members.clone(), "0.001");
    let there = config(members.iter().cloned().chain([far("c")]).collect(), "0.001");
    let whole = there.membership().document();
    let mut forged = whole.clone();
    forged.seats[2].hosts = vec!["0.0.0.0:7101".parse().unwrap()];
    let (epoch, founding) = (whole.id(), there.membership().founding());
    let mut listed = Vec::new();
    for member in members {
        let asker = Asker::new(&here, None, FROM).await.unwrap();
        let at = Some(Whereabouts { epoch, founding, entered: true, serves: true });
        listed.push(Listed { member, asker, at });
    }
    let [a, b] = sockets;
    let found = tokio::select! {
        found = read(&here, epoch, &mut listed) => found,
        () = answer_as("a", a, there.membership(), &forged) => unreachable!("it answers for ever"),
        () = answer_as("b", b, there.membership(), whole) => unreachable!("it answers for ever"),
    };
    assert_eq!(found.as_ref(), Some(there.membership()));
}

/// The list has b, c and d, the members of the present epoch 1. The cluster was founded with a in
/// the place of d. Only b answers.
#[tokio::test]
async fn right_list_needs_no_quorum() {
    let socket = UdpSocket::bind(FROM).await.unwrap();
    let b = member("b", socket.local_addr().unwrap());
    let founders = config(vec![far("a"), b.clone(), far("c")], "0.001");
    let list = vec![b, far("c"), far("d")];
    let here = config(list.clone(), "0.001");
    let document = changed(&founders, list);
    let present = Membership::read(Arc::new(document), &here).unwrap();
    let found = tokio::select! {
        found = find(&here, None, FROM) => found.unwrap(),
        () = answer_as("b", socket, &present, present.document()) => unreachable!("for ever"),
    };
    assert_eq!((found.old_list, &found.membership), (None, &present));
    let differs = |(member, asker): &(Member, Asker)| asker.differs(&member.name);
    assert!(!found.seats.iter().any(differs));
}

/// The document of the members does not fit the settings, so the settings are used.
#[tokio::test]
async fn other_drift_differs() {
    let socket = UdpSocket::bind(FROM).await.unwrap();
    let a = member("a", socket.local_addr().unwrap());
    let here = config(vec![a.clone()], "0.01");
    let there = config(vec![a, far("b")], "0.001");
    let found = find_at(&here, socket, there.membership()).await;
    assert_eq!(found.membership, *here.membership());
    let [(member, asker)] = &found.seats[..] else { panic!("{}", found.seats.len()) };
    assert!(asker.differs(&member.name));
}

/// Member a is in a later epoch. Node b is a blank, and names the epoch of the settings, which
/// proves nothing.
#[tokio::test]
async fn blank_names_no_epoch() {
    let sockets = [UdpSocket::bind(FROM).await.unwrap(), UdpSocket::bind(FROM).await.unwrap()];
    let [a, b] = [0, 1].map(|nth| sockets[nth].local_addr().unwrap());
    let config = config(vec![member("a", a), member("b", b)], "0.001");
    let line = Arc::clone(config.membership());
    let document = changed(&config, vec![member("a", a), member("b", b), far("c")]);
    let later = Membership::read(Arc::new(document), &config).unwrap();
    let [at_a, at_b] = sockets;
    let found = tokio::select! {
        found = find(&config, None, FROM) => found.unwrap(),
        () = answer(at_a, &later) => unreachable!("it answers for ever"),
        () = answer_blank(at_b, &line) => unreachable!("it answers for ever"),
    };
    assert_eq!(found.membership, later);
    let differs = |(member, asker): &(Member, Asker)| asker.differs(&member.name);
    assert!(!found.seats.iter().any(differs));
}

/// A new cluster is in epoch 0, and its document has the members of the settings. The blanks b and
/// c answer first, and are a quorum of the list. Member a has entered the epoch, and answers later.
#[tokio::test]
async fn blanks_hide_no_founded_epoch() {
    let sockets = [(); 3].map(|()| UdpSocket::bind(FROM));
    let mut bound = Vec::new();
    for socket in sockets {
        bound.push(socket.await.unwrap());
    }
    let members: Vec<_> = ["a", "b", "c"]
        .into_iter()
        .zip(&bound)
        .map(|(name, at)| member(name, at.local_addr().unwrap()))
        .collect();
    let config = config(members, "0.001");
    let line = Arc::clone(config.membership());
    let mut document = changed(&config, config.members.clone());
    (document.number, document.origin) = (0, Origin::Founded);
    (document.before, document.founding) = (EpochId::NONE, 0);
    let founded = Membership::read(Arc::new(document), &config).unwrap();
    let waits = |asker, message| match message {
        ToGrantor::Where(asked) => Some(blank(&line, asker, asked.start)),
        _ => None,
    };
    let [at_a, at_b, at_c] = <[UdpSocket; 3]>::try_from(bound).unwrap();
    let late = async {
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        answer(at_a, &founded).await;
    };
    let found = tokio::select! {
        found = find(&config, None, FROM) => found.unwrap(),
        () = late => unreachable!("it answers for ever"),
        () = serve("b", at_b, line.id(), waits) => unreachable!("it answers for ever"),
        () = serve("c", at_c, line.id(), waits) => unreachable!("it answers for ever"),
    };
    assert_eq!(found.membership, founded);
    let differs = |(member, asker): &(Member, Asker)| asker.differs(&member.name);
    assert!(!found.seats.iter().any(differs));
}

/// The list has a and b. Member a is in epoch 1 of another cluster, beside c. The answer of a alone
/// does not change the members, and the operator learns of it.
#[tokio::test]
async fn old_list_names_members() {
    let sockets = [UdpSocket::bind(FROM).await.unwrap(), UdpSocket::bind(FROM).await.unwrap()];
    let [a, b] = [0, 1].map(|nth| sockets[nth].local_addr().unwrap());
    let here = config(vec![member("a", a), member("b", b)], "0.001");
    let document = changed(&config(vec![far("x")], "0.001"), vec![member("a", a), far("c")]);
    let there = Membership::read(Arc::new(document), &here).unwrap();
    let [at_a, _silent] = sockets;
    let found = find_at(&here, at_a, &there).await;
    assert_eq!(found.membership, *here.membership());
    let old_list = found.old_list.unwrap();
    let told = "the members list here is old, or of another cluster: a is in epoch 1 with the \
                members a, c, and no other member of the list answers";
    assert_eq!((old_list.to_string().as_str(), &old_list.members), (told, &there));
    let list = format!("write its members into the list here: a={a},c=127.0.0.1:99;");
    assert!(old_list.fix().contains(&list), "{}", old_list.fix());
}

/// The list has a and b. Member a is in epoch 1 of one cluster, and b in epoch 0 of another
/// cluster.
#[tokio::test]
async fn mixed_list_names_both_clusters() {
    let sockets = [UdpSocket::bind(FROM).await.unwrap(), UdpSocket::bind(FROM).await.unwrap()];
    let [a, b] = [0, 1].map(|nth| sockets[nth].local_addr().unwrap());
    let here = config(vec![member("a", a), member("b", b)], "0.001");
    let document = changed(&config(vec![far("x")], "0.001"), vec![member("a", a), far("c")]);
    let there = Membership::read(Arc::new(document), &here).unwrap();
    let alone = Arc::clone(config(vec![member("b", b)], "0.001").membership());
    let [at_a, at_b] = sockets;
    let found = tokio::select! {
        found = find(&here, None, FROM) => found.unwrap(),
        () = answer(at_a, &there) => unreachable!("it answers for ever"),
        () = answer_as("b", at_b, &alone, alone.document()) => unreachable!("it answers for ever"),
    };
    let old_list = found.old_list.unwrap();
    let told = "the members list here has members of two clusters, which were founded apart: a is \
                in epoch 1 with the members a, c, and b is in another cluster";
    assert_eq!(old_list.to_string(), told);
    let list =
        format!("the cluster of a has a={a},c=127.0.0.1:99. To make one cluster of both, stop");
    assert!(old_list.fix().contains(&list), "{}", old_list.fix());
}

/// The list has a and b, whose cluster was founded with other members. After the change that
/// removes b, no quorum of the list is left. A process that has found epoch 1 before uses the
/// members of that epoch instead.
#[tokio::test]
async fn found_epoch_outlives_list() {
    let sockets = [UdpSocket::bind(FROM).await.unwrap(), UdpSocket::bind(FROM).await.unwrap()];
    let [a, b] = [0, 1].map(|nth| sockets[nth].local_addr().unwrap());
    let here = config(vec![member("a", a), member("b", b)], "0.001");
    let first = config(vec![far("x")], "0.001");
    let read = |document| Membership::read(Arc::new(document), &here).unwrap();
    let known = read(changed(&first, here.members.clone()));
    let later = Document { number: 2, before: known.id(), ..changed(&first, vec![member("a", a)]) };
    let later = read(later);
    let [at_a, _silent] = sockets;
    let found = tokio::select! {
        found = find_after(&here, &known, None, FROM) => found.unwrap(),
        () = answer(at_a, &later) => unreachable!("it answers for ever"),
    };
    assert_eq!((found.membership, found.old_list), (later, None));
}

/// Otherwise a single stray member could tell an operator that a restart is safe.
#[test]
fn quorum_names_another_cluster() {
    let own = |names: &[&str]| config(names.iter().map(|name| far(name)).collect(), "0.001");
    let of = |names: &[&str], named: &[u64]| {
        let at = |founding: &u64| {
            let epoch = EpochId::NONE;
            Whereabouts { epoch, founding: *founding, entered: true, serves: true }
        };
        let named: Vec<_> = named.iter().map(at).enumerate().collect();
        let own = own(names);
        let meant = founding(own.membership(), &named);
        if meant == own.membership().founding() { None } else { Some(meant) }
    };
    assert_eq!(of(&["a", "b", "c"], &[2]), None, "b and c are silent");
    assert_eq!(of(&["a", "b", "c"], &[2, 3, 4]), None, "each is a cluster by itself");
    assert_eq!(of(&["a", "b", "c"], &[3, 2, 2]), Some(2));
    assert_eq!(of(&["a", "b"], &[2]), None, "half is no quorum");
    assert_eq!(of(&["a"], &[2]), Some(2));
    assert_eq!(of(&["a"], &[]), None);
}

/// The questions end once a quorum has answered, and the process judges by that quorum. Member a
/// has most of the weight.
#[tokio::test]
async fn quorum_ends_questions() {
    let mut weighted = Config::new("x".parse().unwrap(), ["a", "b", "c"].map(far).into());
    weighted.quorums = Quorums::weighted(&[3, 1, 1], None).unwrap();
    let config = weighted.check().unwrap();
    let own = config.membership();
    let (epoch, founding) = (own.id(), own.founding());
    let mut listed = Vec::new();
    for name in ["b", "c", "a"] {
        assert!(!is_enough(own, &listed), "without a");
        let asker = Asker::new(&config, None, FROM).await.unwrap();
        let at = Some(Whereabouts { epoch, founding, entered: true, serves: true });
        listed.push(Listed { member: far(name), asker, at });
    }
    assert!(is_enough(own, &listed));
    assert!(is_enough(own, &listed[2..]), "a alone");
}

#[test]
fn listed_host_is_asked() {
    let at = |name: &str, port: u16| member(name, ([10, 0, 0, 1], port).into());
    let listed = config(vec![at("d", 4), at("c", 3), at("a", 1)], "0.001");
    let document = changed(&listed, vec![far("b"), far("a"), far("c")]);
    let membership = Membership::read(Arc::new(document), &listed).unwrap();
    let seats = seats(&listed, &membership);
    assert_eq!(names(&seats), ["c", "a", "b"], "d is no member");
    assert_eq!(seats, [at("c", 3), at("a", 1), far("b")]);
}
