//! Changes of made-up members.

use std::sync::Mutex;

use tenure_core::nerio::{NoVote, ToGrantor};
use tokio::net::UdpSocket;

use super::*;
use crate::keys::ClusterKey;
use crate::latest_epoch::tests::{changed, config, current, far, member, part, serve};

const FROM: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(std::net::Ipv4Addr::LOCALHOST), 0);
/// Longer than any test takes.
const PATIENCE: Duration = Duration::from_secs(60);

/// The answer of the nth member to a question.
type Play = dyn FnMut(usize, &Membership) -> Answer + Send;

/// An answer, and the members from then on.
struct Answer {
    state: Option<ChangeState>,
    members: Option<&'static str>,
}

fn says(state: ChangeState) -> Answer {
    Answer { state: Some(state), members: None }
}

fn silent() -> Answer {
    Answer { state: None, members: None }
}

fn refuses(why: ChangeError) -> Answer {
    says(ChangeState::Refused(why))
}

fn works(phase: ChangePhase) -> Answer {
    says(ChangeState::Working { phase, waits_for: vec![name("b")] })
}

/// An answer that names epoch 1. From then on these are the members.
fn decides(members: &'static str, state: fn(EpochId) -> ChangeState) -> Answer {
    let epoch = EpochId { number: 1, digest: 0 };
    Answer { state: Some(state(epoch)), members: Some(members) }
}

fn done(members: &'static str) -> Answer {
    decides(members, |epoch| ChangeState::Done { epoch })
}

fn name(text: &str) -> NodeName {
    text.parse().unwrap()
}

/// Three members and the numbers of the changes that each was asked for.
struct Cluster {
    config: Checked,
    asked: Arc<Mutex<Vec<(usize, u64)>>>,
    _playing: JoinSet<()>,
}

impl Cluster {
    async fn new(play: impl FnMut(usize, &Membership) -> Answer + Send + 'static) -> Self {
        let mut sockets = Vec::new();
        for member in ["a", "b", "c"] {
            sockets.push((member, UdpSocket::bind(FROM).await.unwrap()));
        }
        let all = sockets.iter().map(|(name, at)| member(name, at.local_addr().unwrap()));
        let config = config(all.collect(), "0.001");
        let now = Arc::new(Mutex::new(Arc::clone(config.membership())));
        let play: Arc<Mutex<Box<Play>>> = Arc::new(Mutex::new(Box::new(play)));
        let asked = Arc::default();
        let mut playing = JoinSet::new();
        for (nth, (_, socket)) in sockets.into_iter().enumerate() {
            let (config, now, play) = (config.clone(), Arc::clone(&now), Arc::clone(&play));
            let asked = Arc::clone(&asked);
            playing.spawn(answer(nth, config, socket, now, play, asked));
        }
        Self { config, asked, _playing: playing }
    }

    async fn change(&self, what: SeatChange) -> Result<Done, ChangeFailure> {
        self.change_within(what, PATIENCE).await
    }

    async fn change_within(
        &self,
        what: SeatChange,
        limit: Duration,
    ) -> Result<Done, ChangeFailure> {
        let wanted = Change::new(what, None).unwrap();
        let ended = change(&self.config, None, FROM, &wanted, limit, &|_| {}).await;
        let asked = self.asked.lock().unwrap();
        assert!(asked.iter().all(|(_, number)| *number == wanted.number), "one change: {asked:?}");
        ended
    }

    /// The members that were asked, without repetitions.
    fn asked(&self) -> Vec<usize> {
        let mut asked: Vec<_> = self.asked.lock().unwrap().iter().map(|(nth, _)| *nth).collect();
        asked.dedup();
        asked
    }
}

async fn answer(
    nth: usize,
    config: Checked,
    socket: UdpSocket,
    now: Arc<Mutex<Arc<Membership>>>,
    play: Arc<Mutex<Box<Play>>>,
    asked: Arc<Mutex<Vec<(usize, u64)>>>,
) {
    let says = |asker, message| {
        let mut now = now.lock().unwrap();
        match message {
            ToGrantor::Where(asked) => Some(current(&now, asker, asked.start)),
            ToGrantor::DocumentRead(read) => Some(part(now.document(), asker, &read)),
            ToGrantor::Change(change) => {
                asked.lock().unwrap().push((nth, change.number));
                let answer = (play.lock().unwrap().as_mut())(nth, &now);
                if let Some(members) = answer.members {
                    *now = successor(&config, members);
                }
                let (start, number, state) = (change.start, change.number, answer.state?);
                Some(Message::from(nerio::Changed { asker, start, number, state }))
            }
            _ => None,
        }
    };
    serve(config.members[nth].name.as_str(), socket, config.membership().id(), says).await;
}

/// The membership of epoch 1, with these names.
fn successor(config: &Checked, names: &str) -> Arc<Membership> {
    let known = |name: &str| config.members.iter().find(|member| member.name.as_str() == name);
    let members = names.split(' ').map(|name| known(name).cloned().unwrap_or_else(|| far(name)));
    let document = changed(config, members.collect());
    Membership::read(Arc::new(document), config).unwrap()
}

fn add(new: &str) -> SeatChange {
    SeatChange::Add { name: name(new), hosts: vec![far(new).address] }
}

fn remove(gone: &str) -> SeatChange {
    SeatChange::Remove { name: name(gone) }
}

/// The replacement of a member by a node at other hosts.
fn move_to(moved: &str, hosts: Vec<HostPort>) -> SeatChange {
    SeatChange::Replace { name: name(moved), hosts, instance: None }
}

fn members_of(done: Result<Done, ChangeFailure>) -> String {
    match done {
        Ok(Done::Changed { members, .. }) => list(members.names()),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn one_member_carries_change_out() {
    let mut questions = 0;
    let cluster = Cluster::new(move |_, _| {
        questions += 1;
        match questions {
            1 => works(ChangePhase::Finding),
            2 => works(ChangePhase::Deciding),
            _ => done("a b c d"),
        }
    });
    let cluster = cluster.await;
    assert_eq!(members_of(cluster.change(add("d")).await), "a, b, c, d");
    assert_eq!(cluster.asked(), [0]);
}

#[tokio::test]
async fn refusal_ends_change() {
    let cluster = Cluster::new(|_, _| refuses(ChangeError::NotMember { name: name("x") })).await;
    let ended = cluster.change(remove("x")).await;
    let Err(ChangeFailure::Denied { by, why }) = ended else { panic!("{ended:?}") };
    assert_eq!((by, why), (name("a"), ChangeError::NotMember { name: name("x") }));
    assert_eq!(cluster.asked(), [0]);
}

#[tokio::test]
async fn member_without_vote_is_passed_over() {
    let cluster = Cluster::new(|nth, _| match nth {
        0 => refuses(ChangeError::NoVote { why: NoVote::Starts }),
        1 => refuses(ChangeError::Outside),
        _ => done("a b"),
    });
    let cluster = cluster.await;
    assert_eq!(members_of(cluster.change(remove("c")).await), "a, b");
    assert_eq!(cluster.asked(), [0, 1, 2]);

    let none = Cluster::new(|_, _| refuses(ChangeError::NoVote { why: NoVote::Starts })).await;
    let ended = none.change(remove("c")).await;
    let Err(ChangeFailure::Denied { by, .. }) = ended else { panic!("{ended:?}") };
    assert_eq!(by, name("a"));
}

/// The list of the first member has another spelling of the host of c.
#[tokio::test]
async fn next_member_may_find_the_node() {
    let address = ([10, 0, 0, 9], 7103).into();
    let elsewhere = move || refuses(ChangeError::Elsewhere { name: name("c"), address });
    let first = move |questions: &mut u32| {
        *questions += 1;
        if questions.is_multiple_of(2) { elsewhere() } else { works(ChangePhase::Finding) }
    };
    let mut questions = 0;
    let cluster = Cluster::new(move |nth, _| match nth {
        0 => first(&mut questions),
        _ => done("a b c"),
    });
    let cluster = cluster.await;
    assert_eq!(members_of(cluster.change(move_to("c", vec![])).await), "a, b, c");
    assert_eq!(cluster.asked(), [0, 1]);

    let mut questions = 0;
    let none = Cluster::new(move |nth, _| match nth {
        0 => first(&mut questions),
        _ => elsewhere(),
    });
    let ended = none.await.change(move_to("c", vec![])).await;
    let Err(ChangeFailure::Denied { by, why }) = ended else { panic!("{ended:?}") };
    assert_eq!((by, why), (name("a"), ChangeError::Elsewhere { name: name("c"), address }));
}

/// The first member decided the change and died. The second member knows the new members.
#[tokio::test]
async fn change_of_silent_member_is_seen() {
    let cluster = Cluster::new(|nth, now| match (nth, now.id().number) {
        (0, _) => silent(),
        (_, 0) => Answer {
            members: Some("a b c d"),
            ..refuses(ChangeError::Deciding { before: 0, next: 1 })
        },
        _ => refuses(ChangeError::Member { name: name("d") }),
    });
    let cluster = cluster.await;
    assert_eq!(members_of(cluster.change(add("d")).await), "a, b, c, d");
}

/// Member b is a member already. The silent member cannot have added b, so the refusal is final.
#[tokio::test]
async fn refusal_counts_beside_silent_member() {
    let cluster = Cluster::new(|nth, _| match nth {
        0 => silent(),
        _ => refuses(ChangeError::Member { name: name("b") }),
    });
    let cluster = cluster.await;
    let ended = cluster.change(add("b")).await;
    assert!(matches!(ended, Err(ChangeFailure::Denied { .. })), "{ended:?}");
}

#[tokio::test]
async fn unfinished_change_is_unknown() {
    let cluster = Cluster::new(|nth, _| match nth {
        0 => silent(),
        _ => works(ChangePhase::Asking),
    });
    let cluster = cluster.await;
    let ended = cluster.change_within(remove("c"), Duration::from_secs(2)).await;
    let Err(ChangeFailure::Unknown(known)) = ended else { panic!("{ended:?}") };
    let worker = Worker { name: name("b"), phase: ChangePhase::Asking, waits_for: vec![name("b")] };
    assert_eq!((known.worker, known.silent), (Some(worker), vec![name("a")]));
    assert_eq!((known.decided, known.denied), (None, None));
}

/// The list names a and x, but a is in a cluster with b and c. No quorum of the list is in that
/// cluster, so no member is asked.
#[tokio::test]
async fn old_list_asks_no_member() {
    let cluster = Cluster::new(|_, _| done("a b c d")).await;
    let members = vec![cluster.config.members[0].clone(), far("x")];
    let old = Cluster { config: config(members, "0.001"), ..cluster };
    let ended = old.change(add("d")).await;
    let Err(ChangeFailure::OldList(old_list)) = ended else { panic!("{ended:?}") };
    assert_eq!(
        (list(&old_list.by), list(old_list.members.names())),
        ("a".into(), "a, b, c".into())
    );
    assert!(old.asked().is_empty());
}

/// Member a is in another cluster. An operator of this cluster must not remove members there.
#[tokio::test]
async fn stray_member_is_not_asked() {
    let cluster = Cluster::new(|_, _| done("b c")).await;
    let socket = UdpSocket::bind(FROM).await.unwrap();
    let mut members = cluster.config.members.clone();
    members[0] = member("a", socket.local_addr().unwrap());
    let cluster = Cluster { config: config(members, "0.001"), ..cluster };
    let elsewhere = changed(&config(vec![far("x")], "0.001"), vec![far("a"), far("e")]);
    let elsewhere = Membership::read(Arc::new(elsewhere), &cluster.config).unwrap();
    let says = |asker, message| match message {
        ToGrantor::Where(asked) => Some(current(&elsewhere, asker, asked.start)),
        ToGrantor::DocumentRead(read) => Some(part(elsewhere.document(), asker, &read)),
        ToGrantor::Change(_) => panic!("a is asked"),
        _ => None,
    };
    let done = tokio::select! {
        done = cluster.change(remove("a")) => done,
        () = serve("a", socket, elsewhere.id(), says) => unreachable!("it answers for ever"),
    };
    assert_eq!(members_of(done), "b, c");
    assert_eq!(cluster.asked(), [1]);
}

/// No member answers the question for its epoch, so no member is asked for the change.
#[tokio::test]
async fn unheard_change_is_certain() {
    let config = config(vec![far("x"), far("y")], "0.001");
    let (limit, wanted) = (Duration::from_secs(2), Change::new(remove("x"), None).unwrap());
    let told = Mutex::new(Vec::new());
    let silence = |members: &[NodeName]| told.lock().unwrap().push(list(members));
    let ended = change(&config, None, FROM, &wanted, limit, &silence).await;
    let Err(ChangeFailure::Unheard { members }) = ended else { panic!("{ended:?}") };
    assert_eq!((list(&members), told.into_inner().unwrap()), ("x, y".into(), vec!["x, y".into()]));
}

#[tokio::test]
async fn other_decision_supersedes() {
    let cluster = Cluster::new(|_, _| decides("a b", |epoch| ChangeState::Superseded { epoch }));
    let ended = cluster.await.change(add("d")).await.unwrap_err();
    let expected = "another change was decided instead: epoch 1 has the members a, b";
    assert_eq!(ended.to_string(), expected);

    let same = Cluster::new(|_, _| decides("a b c d", |epoch| ChangeState::Superseded { epoch }));
    assert_eq!(members_of(same.await.change(add("d")).await), "a, b, c, d", "the same change");
}

#[tokio::test]
async fn every_member_is_asked_to_cancel() {
    let nothing = || refuses(ChangeError::NothingRuns);
    let cluster = Cluster::new(move |nth, _| match nth {
        1 => says(ChangeState::Cancelled),
        _ => nothing(),
    });
    let cluster = cluster.await;
    let ended = cluster.change(SeatChange::Cancel).await.unwrap();
    assert_eq!(ended, Done::Cancelled { by: name("b") });
    assert_eq!(cluster.asked(), [0, 1, 2]);

    let cluster = Cluster::new(move |_, _| nothing()).await;
    let ended = cluster.change(SeatChange::Cancel).await;
    let Err(ChangeFailure::Denied { why: ChangeError::NothingRuns, .. }) = ended else {
        panic!("{ended:?}");
    };

    let cluster = Cluster::new(|nth, _| match nth {
        0 => refuses(ChangeError::Begun),
        _ => silent(),
    });
    let ended = cluster.await.change(SeatChange::Cancel).await;
    let Err(ChangeFailure::Denied { why: ChangeError::Begun, .. }) = ended else {
        panic!("{ended:?}");
    };

    let cluster = Cluster::new(move |nth, _| if nth == 2 { silent() } else { nothing() }).await;
    let ended = cluster.change(SeatChange::Cancel).await;
    let Err(ChangeFailure::Unknown(known)) = ended else { panic!("{ended:?}") };
    assert_eq!(known.silent, [name("c")]);
}

#[test]
fn replacement_is_another_memory() {
    let config = config(vec![far("a"), far("b")], "0.001");
    let (before, now) = (config.membership(), successor(&config, "a b"));
    let seen = |what| Change { what, quorums: None, number: 1 }.is_seen(before, &now);
    let replace = |who: &str, instance: Option<u128>| SeatChange::Replace {
        name: name(who),
        hosts: Vec::new(),
        instance: instance.map(nerio::Instance),
    };
    assert!(seen(replace("a", None)) && seen(replace("a", Some(1))));
    assert!(!seen(replace("a", Some(9))) && !seen(replace("x", None)));
    assert!(seen(move_to("a", vec![far("b").address])));
    assert!(!seen(SeatChange::Cancel) && !seen(remove("a")) && seen(remove("x")));
    let change = Change { what: remove("x"), quorums: None, number: 1 };
    assert!(!change.is_seen(before, before), "in a later epoch only");
}

/// Without keys, any sender that reaches a member could remove members.
#[test]
fn change_needs_keys_or_loopback() {
    let (near, away) = (far("a"), member("a", ([10, 0, 0, 1], 7101).into()));
    let here = config(vec![near], "0.001");
    let there = config(vec![away.clone()], "0.001");
    assert_eq!(check(&here, None, &add("d")), Ok(()));
    let member = away.clone();
    assert_eq!(check(&there, None, &remove("a")), Err(Refusal::Unsealed { member }));
    let what = SeatChange::Add { name: name("d"), hosts: vec![away.address] };
    assert!(!has_near_hosts(&what) && has_near_hosts(&add("d")) && has_near_hosts(&remove("a")));
    let why = check(&here, None, &what).unwrap_err().to_string();
    assert!(why.starts_with("the cluster has no keys, and d is at 10.0.0.1:7101"), "{why}");
    let moved = move_to("a", vec![far("d").address, "a.internal:7101".parse().unwrap()]);
    assert!(!has_near_hosts(&moved) && has_near_hosts(&move_to("a", Vec::new())));
    let why = check(&here, None, &moved).unwrap_err().to_string();
    assert!(why.starts_with("the cluster has no keys, and a is at a.internal:7101"), "{why}");

    let key = ClusterKey::generate("x".parse().unwrap()).unwrap();
    let of = |rights: &str| -> Keys {
        let grant = Grant {
            application: name("operator"),
            elections: "*".parse().unwrap(),
            rights: rights.parse().unwrap(),
        };
        key.issue_with(grant).unwrap().into()
    };
    assert_eq!(check(&there, Some(&key.clone().into()), &what), Ok(()));
    assert_eq!(check(&there, Some(&of("ask,members")), &what), Ok(()));
    let why = check(&there, Some(&of("ask,resign")), &what).unwrap_err().to_string();
    let expected = "the key of application operator for * with the rights ask,resign does not \
                    allow changes of members";
    assert_eq!(why, expected);
}
