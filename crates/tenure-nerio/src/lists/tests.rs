//! Lists of made-up members.

use std::sync::{Arc, Mutex};

use tenure_core::nerio::wire::{DATAGRAM_MAX, Envelope, Packer, open};
use tenure_core::nerio::{
    CandidatesHere, Config, ElectionHere, Elections, ElectionsHere, Inc, Listed, Message, ToGrantor,
};
use tenure_testkit::handles::soon;
use tokio::net::UdpSocket;
use tokio::task::JoinSet;

use super::*;
use crate::asker::TRIES;
use crate::latest_epoch::tests::current;
use crate::survey;

const FROM: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(std::net::Ipv4Addr::LOCALHOST), 0);
const NAMES: [&str; 3] = ["a", "b", "c"];
/// Round trip of the answering members. A silent member costs five tries of four round trips each.
const ROUND_TRIP: Duration = Duration::from_millis(150);
/// Rest of a lease: shorter than the time that a silent member costs, and longer than most
/// standstills of the machine.
const LEFT: Duration = Duration::from_millis(2_700);

fn who(name: &str, inc: u128) -> Who {
    Who { name: name.parse().unwrap(), inc: Inc(inc) }
}

/// The answer of the nth member to a question of an incarnation, and its sender.
type Play = dyn Fn(usize, Inc, Message) -> Option<(Who, Message)> + Send + Sync;

/// Three members that answer by `play`, as long as the set is kept.
async fn members(play: Arc<Play>) -> (Checked, JoinSet<()>) {
    let mut sockets = Vec::new();
    let mut list = Vec::new();
    for name in NAMES {
        let socket = UdpSocket::bind(FROM).await.unwrap();
        list.push(Member::at(name.parse().unwrap(), socket.local_addr().unwrap()));
        sockets.push(socket);
    }
    let mut config = Config::new("x".parse().unwrap(), list);
    config.round_trip = ROUND_TRIP;
    config.refresh = ROUND_TRIP * 2;
    let config = config.check().unwrap();
    let epoch = config.membership().id();
    let mut playing = JoinSet::new();
    for (nth, socket) in sockets.into_iter().enumerate() {
        let play = play.clone();
        let membership = Arc::clone(config.membership());
        playing.spawn(async move {
            let mut buffer = [0; DATAGRAM_MAX];
            loop {
                let (length, from) = socket.recv_from(&mut buffer).await.unwrap();
                let (envelope, messages) = open(&buffer[..length]).unwrap();
                for message in messages {
                    let inc = envelope.who.inc;
                    let answer = match message.unwrap() {
                        Message::Grantor(ToGrantor::Where(asked)) => {
                            Some((who(NAMES[nth], 7), current(&membership, inc, asked.start)))
                        }
                        message => play(nth, inc, message),
                    };
                    let Some((who, answer)) = answer else { continue };
                    let packer = Packer::new(&Envelope { epoch, who });
                    let mut datagram = packer.start();
                    assert!(packer.push(&mut datagram, &answer));
                    socket.send_to(&datagram, from).await.unwrap();
                }
            }
        });
    }
    (config, playing)
}

async fn list(
    play: impl Fn(usize, Inc, Message) -> Option<(Who, Message)> + Send + Sync + 'static,
) -> AllElections {
    let (config, _playing) = members(Arc::new(play)).await;
    elections(&config, None, FROM).await.unwrap()
}

/// A page with `size` of the elections `e00` to `e19`, each of which p holds.
fn page(asked: &Elections, asker: Inc, size: usize) -> ElectionsHere {
    let names = (0..20).map(|number| format!("e{number:02}").parse::<ElectionName>().unwrap());
    let mut left = names.filter(|name| Some(name) > asked.after.as_ref()).peekable();
    let holder =
        HolderHere { who: who("p", 1), fence: Some(Fence::new(7)), remaining: LEFT, leaving: None };
    let here = |election| ElectionHere { election, holder: Some(holder.clone()), waiting: 0 };
    let elections: Vec<_> = left.by_ref().take(size).map(here).collect();
    let last = elections.last().map(|here| here.election.clone());
    ElectionsHere {
        asker,
        start: asked.start,
        service: Service::Serving,
        elections,
        more_after: last.filter(|_| left.peek().is_some()),
    }
}

fn all_in_one(nth: usize, asker: Inc, message: Message) -> Option<(Who, Message)> {
    let Message::Grantor(ToGrantor::Elections(asked)) = message else { return None };
    Some((who(NAMES[nth], 1), Message::from(page(&asked, asker, 20))))
}

fn heard(list: &AllElections) -> Vec<Heard> {
    list.members.iter().map(|(_, heard)| heard.clone()).collect()
}

const SERVES: Heard = Heard::Said(Service::Serving);

/// Member c is silent for 3 s. The grants of a and b end earlier, so both must be asked again.
#[tokio::test]
async fn silent_member_ages_no_answer() {
    let list =
        list(|nth, asker, message| all_in_one(nth, asker, message).filter(|_| nth < 2)).await;
    assert_eq!(heard(&list), [SERVES, SERVES, Heard::Silent]);
    assert!(list.quorum && list.elections.len() == 20);
    let named = list.elections.iter().filter(|one| one.leader.is_some());
    assert_eq!(named.count(), 20);
}

/// The members send pages of different lengths.
#[tokio::test]
async fn pages_of_all_are_joined() {
    let list = list(move |nth, asker, message| {
        let Message::Grantor(ToGrantor::Elections(asked)) = message else { return None };
        let here = page(&asked, asker, [4, 7, 50][nth]);
        Some((who(NAMES[nth], 1), Message::from(here)))
    })
    .await;
    assert_eq!(list.elections.len(), 20);
    assert!(list.elections.iter().all(|one| one.granted.len() == 3), "{list:?}");
}

/// Member a answers in the name of b, b answers another asker, and c answers another question.
#[tokio::test]
async fn foreign_answers_do_not_count() {
    let wrong = |nth, asker: Inc, message| {
        let Message::Grantor(ToGrantor::Elections(asked)) = message else { return None };
        let right = page(&asked, asker, 20);
        let (name, here) = match nth {
            0 => ("b", right),
            1 => ("b", ElectionsHere { asker: Inc(asker.0 ^ 1), ..right }),
            _ => ("c", ElectionsHere { start: asked.start.next(), ..right }),
        };
        Some((who(name, 1), Message::from(here)))
    };
    let list = list(wrong).await;
    assert_eq!((heard(&list), list.elections.len()), (vec![Heard::Silent; 3], 0));

    let other = |nth: usize, asker, message| match message {
        Message::Grantor(ToGrantor::Candidates(asked)) => {
            let election = if nth == 0 { "e".parse().unwrap() } else { asked.election };
            let start = asked.start;
            let here = CandidatesHere {
                election,
                asker,
                start,
                service: Service::Serving,
                holder: None,
                waiting: Vec::new(),
                more: false,
            };
            Some((who(NAMES[nth], 1), Message::from(here)))
        }
        // In a survey, too, member a answers in the name of b.
        Message::Grantor(ToGrantor::List(asked)) => {
            let start = asked.start;
            let listed = Message::from(Listed {
                start,
                service: Service::Serving,
                names: Vec::new(),
                more: false,
            });
            Some((who(["b", "b", "c"][nth], 1), listed))
        }
        _ => None,
    };
    let (config, _playing) = members(Arc::new(other)).await;
    let of = candidates(&config, None, FROM, &"f".parse().unwrap()).await.unwrap();
    let heard = of.members.iter().map(|(_, heard)| heard.clone());
    assert_eq!(heard.collect::<Vec<_>>(), [Heard::Silent, SERVES, SERVES]);
    let seen = survey::survey(&config, None, FROM, survey::NameServers::Patiently).await.unwrap();
    let said = seen.members.values().map(Option::is_some).collect::<Vec<_>>();
    assert_eq!(said, [false, true, true]);
}

/// A page of a member with a failed disk leaves holes in the list.
#[tokio::test]
async fn worst_service_counts() {
    let list = list(|nth, asker, message| {
        let Message::Grantor(ToGrantor::Elections(asked)) = message else { return None };
        let mut here = page(&asked, asker, 10);
        if nth == 2 && asked.after.is_none() {
            here.service = Service::Failing;
        }
        Some((who(NAMES[nth], 1), Message::from(here)))
    })
    .await;
    assert_eq!(heard(&list), [SERVES, SERVES, Heard::Said(Service::Failing)]);
    assert!(list.quorum && !Heard::Said(Service::Failing).counts());
}

/// Member c starts again before its second page, and member b before each page.
#[tokio::test]
async fn answers_of_earlier_life_are_dropped() {
    let lives = Mutex::new(0);
    let list = list(move |nth, asker, message| {
        let Message::Grantor(ToGrantor::Elections(asked)) = message else { return None };
        let mut here = page(&asked, asker, 10);
        let mut lives = lives.lock().unwrap();
        *lives += u128::from(nth == 1);
        let inc = match nth {
            0 => 1,
            1 => *lives,
            _ => 1 + u128::from(*lives > 1),
        };
        if nth == 2 && inc == 1 {
            here.elections.retain_mut(|one| one.holder.take().is_some());
        }
        Some((who(NAMES[nth], inc), Message::from(here)))
    })
    .await;
    assert_eq!(heard(&list), [SERVES, Heard::Silent, SERVES]);
    let grants = list.elections.iter().map(|one| one.granted.len()).collect::<Vec<_>>();
    assert_eq!(grants, [2; 20], "of a, and of c as it is now");
}

/// Member b announces more pages for ever, and c names one election in each page.
#[tokio::test]
async fn pages_without_end_come_to_one() {
    let list = list(|nth, asker, message| {
        let Message::Grantor(ToGrantor::Elections(asked)) = message else { return None };
        let mut here = page(&asked, asker, 20);
        let next = asked.after.as_ref().and_then(|after| after.as_str().get(1..)?.parse().ok());
        let next: u32 = next.unwrap_or(0) + 1;
        if nth > 0 {
            here.more_after = Some(format!("a{next:08}").parse().unwrap());
            here.elections.clear();
        }
        if nth == 2 {
            let election = format!("a{next:08}").parse().unwrap();
            here.elections.push(ElectionHere { election, holder: None, waiting: 1 });
        }
        Some((who(NAMES[nth], 1), Message::from(here)))
    })
    .await;
    assert_eq!(heard(&list), [SERVES, Heard::TooMany, Heard::TooMany]);
    assert!(!list.quorum);
}

/// The panel asks the old question together with the new question. So an old member takes no more
/// time than a silent member.
#[tokio::test]
async fn old_member_is_not_silent() {
    let questions = Arc::new(Mutex::new((0, 0)));
    let asked = questions.clone();
    let play = move |nth: usize, asker, message| match message {
        Message::Grantor(ToGrantor::List(list)) if nth == 0 => {
            asked.lock().unwrap().1 += 1;
            let start = list.start;
            let listed = Message::from(Listed {
                start,
                service: Service::Serving,
                names: Vec::new(),
                more: false,
            });
            Some((who("a", 1), listed))
        }
        message => {
            asked.lock().unwrap().0 += u32::from(nth == 0);
            all_in_one(nth, asker, message).filter(|_| nth == 1)
        }
    };
    let (config, _playing) = members(Arc::new(play)).await;
    let list = elections(&config, None, FROM).await.unwrap();
    assert_eq!(heard(&list), [Heard::ElseOnly, SERVES, Heard::Silent]);
    // A slow member may not have handled the last questions yet.
    let read = async {
        while *questions.lock().unwrap() != (TRIES, TRIES - 1) {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    soon(read).await;
}
