//! The views of an asker.

use std::time::Duration;

use tenure_core::contract::{Input, Protocol};
use tenure_core::voter::{
    Answer, Ask, Asker, AskerConfig, Ballot, Call, Condition, Effect, Electorate, Header, Identity,
    LeaderDto, Leadership, Member, Memory, Message, Mode, Participant, Peer, Role, Start,
    StatusDto, VoterDto, VoterUrl, Words,
};
use tenure_core::{Command, Event, Time, View};

const SECOND: Duration = Duration::from_secs(1);

fn url(id: &str) -> VoterUrl {
    format!("http://{id}").parse().unwrap()
}

fn who(id: &str) -> Participant {
    Participant { id: id.parse().unwrap(), identity: Identity(7), incarnation: 9 }
}

fn dto(id: &str) -> VoterDto {
    let (voter_id, voter_url) = (id.parse().unwrap(), url(id));
    VoterDto { voter_id, voter_url, role: Role::None, on_line: true }
}

/// The status of the voter with this id, in an electorate of a, b and c.
fn status(id: &str) -> StatusDto {
    let member = |id: &str| Member { id: id.parse().unwrap(), identity: Identity(7) };
    StatusDto {
        known_voters: ["a", "b", "c"].map(dto).into(),
        sender: dto(id),
        leader: None,
        electorate: Some(Electorate::founded(["a", "b", "c"].map(member).into())),
        endorsed: 0,
        free: None,
        reached: None,
        condition: Condition::default(),
    }
}

fn led_by(id: &str, counter: u64, remaining: Option<Duration>) -> LeaderDto {
    let ballot = Ballot { counter, initiator: id.parse().unwrap(), attempt: 0 };
    let leadership = Leadership { leader: who(id), ballot };
    LeaderDto { leadership, url: url(id), value: "there".parse().unwrap(), remaining }
}

/// An asker that knows only `a`, its questions and its views.
struct Scene {
    asker: Asker,
    mode: Mode,
    now: Time,
    /// Questions without an answer.
    asked: Vec<(VoterUrl, Call)>,
    said: Vec<View>,
}

impl Scene {
    fn begin(mode: Mode) -> Self {
        let election: tenure_core::ElectionName = "billing".parse().unwrap();
        let asker = Asker::new(AskerConfig {
            election: election.clone(),
            mode,
            urls: vec![url("a")],
            every: SECOND,
            within: SECOND / 2,
            drift: "0.001".parse().unwrap(),
        });
        let now = Time::from_nanos(1_000_000_000_000);
        let mut scene = Self { asker, mode, now, asked: Vec::new(), said: Vec::new() };
        let memory = Memory::begin(Identity(0));
        scene.input(Input::Start(Start { incarnation: 1, seed: 1, memory }));
        let command = Command::Observe { every: SECOND };
        scene.input(Input::Command { election, command });
        scene
    }

    fn input(&mut self, input: Input<Words>) {
        let mut out = Vec::new();
        self.asker.handle(self.now, input, &mut out);
        for effect in out {
            match effect {
                Effect::Send { to: Peer::At(to), message: Message::Request { call, ask, .. } } => {
                    assert_eq!(ask, Ask::Status { suspect: None });
                    self.asked.push((to, call));
                }
                Effect::Emit { event: Event::View(view), .. } => self.said.push(*view),
                _ => {}
            }
        }
    }

    /// This voter answers the oldest question to it.
    fn answers(&mut self, id: &str, status: StatusDto) {
        let at = self.asked.iter().position(|(to, _)| *to == url(id)).unwrap();
        let (to, call) = self.asked.remove(at);
        let header = Header {
            election: "billing".parse().unwrap(),
            mode: self.mode,
            sender: who(id),
            url: to.clone(),
            founding: None,
        };
        let message = Message::Answer { call, header, answer: Answer::Status(status) };
        self.input(Input::Message { from: Peer::At(to), message });
    }

    fn pass(&mut self, span: Duration) {
        let until = self.now.after(span);
        while let Some(due) = self.asker.deadline().filter(|due| due.at <= until) {
            self.now = due.at;
            self.input(Input::Timeout);
        }
        self.now = until;
    }
}

/// The rest of the lease counts from the send of the question, less the drift of clocks.
#[test]
fn leader_counts_while_lease_runs() {
    let mut scene = Scene::begin(Mode::Majority);
    let asked = scene.now;
    scene.pass(SECOND / 4);
    let leader = led_by("b", 5, Some(3 * SECOND));
    scene.answers("a", StatusDto { leader: Some(leader), ..status("a") });
    let Some(View::Leader(leader)) = scene.said.pop() else { panic!("{:?}", scene.said) };
    assert_eq!((&*leader.id, leader.fence.map(|fence| fence.number())), ("b", Some(5)));
    let until = leader.until.unwrap();
    assert!(until < asked.after(3 * SECOND) && until > asked.after(29 * SECOND / 10));
    // No voter answers any more.
    scene.asked.clear();
    scene.pass(5 * SECOND);
    assert!(matches!(scene.said[..], [View::Unknown { .. }]), "{:?}", scene.said);
}

/// The leader renews between the two answers.
#[test]
fn view_shows_present_lease() {
    let mut scene = Scene::begin(Mode::Majority);
    for pause in [SECOND, Duration::ZERO] {
        let leader = Some(led_by("b", 5, Some(3 * SECOND)));
        scene.answers("a", StatusDto { leader, ..status("a") });
        scene.pass(pause);
    }
    let [View::Leader(before), View::Leader(now)] = &scene.said[..] else {
        panic!("{:?}", scene.said)
    };
    assert!(now.until > before.until && now.heard > before.heard, "{now}");
}

/// An answer that names a leader without the rest of its lease shows no leader, and one free voter
/// of three shows no vacancy.
#[test]
fn free_majority_means_vacancy() {
    let mut scene = Scene::begin(Mode::Majority);
    let uncertain = Some(led_by("c", 5, None));
    scene.answers("a", StatusDto { free: Some(60 * SECOND), leader: uncertain, ..status("a") });
    assert_eq!(scene.asked.len(), 2, "those that it was told of are asked at once");
    assert!(scene.said.is_empty(), "nothing is sure before they have answered");
    scene.answers("b", StatusDto { free: Some(60 * SECOND), ..status("b") });
    assert!(scene.said.is_empty());
    scene.pass(SECOND / 2);
    assert_eq!(scene.said, [View::Vacant]);
    // In the next round only a answers, and a is free.
    scene.pass(SECOND / 2);
    scene.answers("a", StatusDto { free: Some(60 * SECOND), ..status("a") });
    scene.pass(SECOND / 2);
    assert!(matches!(scene.said[1..], [View::Unknown { .. }]), "{:?}", scene.said);
}

/// a is free at its answer. b becomes free only later, and a may be bound by then.
#[test]
fn successive_freedom_makes_no_vacancy() {
    for (span, vacant) in [(SECOND / 100, false), (SECOND, true)] {
        let mut scene = Scene::begin(Mode::Majority);
        scene.answers("a", StatusDto { free: Some(60 * SECOND), ..status("a") });
        scene.pass(SECOND / 10);
        scene.answers("b", StatusDto { free: Some(span), ..status("b") });
        scene.pass(SECOND / 2);
        assert_eq!(scene.said == [View::Vacant], vacant, "{span:?}: {:?}", scene.said);
    }
}

/// Voters of another electorate, or with another identity, do not count.
#[test]
fn voter_without_vote_does_not_count() {
    let mut scene = Scene::begin(Mode::Majority);
    scene.answers("a", StatusDto { free: Some(60 * SECOND), ..status("a") });
    let (to, call) = scene.asked.remove(0);
    let lost = Participant { identity: Identity(8), ..who("b") };
    let header = Header {
        election: "billing".parse().unwrap(),
        mode: Mode::Majority,
        sender: lost,
        url: to.clone(),
        founding: None,
    };
    let answer = Answer::Status(StatusDto { free: Some(60 * SECOND), ..status("b") });
    scene.input(Input::Message {
        from: Peer::At(to),
        message: Message::Answer { call, header, answer },
    });
    scene.pass(SECOND / 2);
    assert!(matches!(scene.said[..], [View::Unknown { .. }]), "{:?}", scene.said);
}

/// Voters name several leaders, which have neither end nor fence.
#[test]
fn in_available_several_may_lead() {
    let mut scene = Scene::begin(Mode::Available);
    let says = |id, by| StatusDto { leader: Some(led_by(by, 5, None)), ..status(id) };
    scene.answers("a", says("a", "a"));
    scene.answers("b", says("b", "b"));
    scene.answers("c", says("c", "b"));
    let [View::Leaders { followed, others }] = &scene.said[..] else { panic!("{:?}", scene.said) };
    assert_eq!((&*followed.id, &*others[0].id, others.len()), ("b", "a", 1));
    assert_eq!((followed.fence, followed.until), (None, None));
    // b no longer answers, and c follows a.
    scene.pass(SECOND);
    scene.answers("a", says("a", "a"));
    scene.answers("c", says("c", "a"));
    scene.pass(SECOND / 2);
    let Some(View::Leader(leader)) = scene.said.last() else { panic!("{:?}", scene.said) };
    assert_eq!(&*leader.id, "a");
}

/// The only voter that answers names no leader. Later no voter answers.
#[test]
fn in_available_one_answer_shows_vacancy() {
    let mut scene = Scene::begin(Mode::Available);
    scene.answers("a", status("a"));
    scene.pass(SECOND / 2);
    assert_eq!(scene.said, [View::Vacant]);
    scene.pass(SECOND);
    assert!(matches!(scene.said[1..], [View::Unknown { .. }]), "{:?}", scene.said);
}

/// A stranger names many voters. The asker asks a limited number of them, and ignores an answer
/// without a question.
#[test]
fn stranger_cannot_flood_the_asker() {
    let mut scene = Scene::begin(Mode::Majority);
    for round in 0..3 {
        let known = (0..256).map(|nth| dto(&format!("x{round}-{nth}"))).collect();
        scene.answers("a", StatusDto { known_voters: known, ..status("a") });
        scene.pass(SECOND);
    }
    assert!(scene.asked.len() <= 4 * 257, "{}", scene.asked.len());
    let (to, _) = scene.asked[0].clone();
    let said = scene.said.len();
    let message = Message::Failed { call: Call(u64::MAX) };
    scene.input(Input::Message { from: Peer::At(to), message });
    assert_eq!(scene.said.len(), said);
}

/// An answer names as many voters as the asker can remember, and none of them answers.
#[test]
fn silent_addresses_are_forgotten() {
    let mut scene = Scene::begin(Mode::Majority);
    let gone = (0..1_000).map(|n| dto(&format!("x{n}"))).collect();
    scene.answers("a", StatusDto { known_voters: gone, ..status("a") });
    let asks_b = |scene: &Scene| scene.asked.iter().any(|(to, _)| *to == url("b"));
    for _ in 0..6 {
        assert!(!asks_b(&scene), "there was room");
        scene.pass(SECOND);
        scene.answers("a", status("a"));
        if asks_b(&scene) {
            return;
        }
    }
    panic!("it asks those that are gone");
}
