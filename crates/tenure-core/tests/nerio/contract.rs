//! Nerio under the suite: three grantors, which also contend, and two candidates.

use std::net::SocketAddr;
use std::sync::LazyLock;
use std::time::Duration;

use tenure_core::nerio::wire::{Envelope, Packer, VERSION, open};
use tenure_core::nerio::{
    Boot, CandidateHere, Candidates, CandidatesHere, Checked, ClockFault, Command, Config, Current,
    Detector, Document, DocumentPart, DocumentRead, ElectionHere, Elections, ElectionsHere, Entry,
    EpochId, Extra, FenceRead, FenceSeen, Gone, Granted, Holder, HolderHere, Inc, Instance, Kept,
    Leaving, Limits, List, Listed, Member, Memory, Message, Nerio, Order, Ordered, Passed, Query,
    Quorums, Raising, Recipient, Refusal, Refused, Release, Released, Remainder, Request,
    RingConfig, Roster, Sender, Service, Stamp, Start, State, StepDown, Supervisor, To, Verify,
    WallGrant, WallStart, Where, Which, Who,
};
use tenure_core::{ElectionName, Fence, NodeName, Time, Value, WallTime};

use tenure_testkit::Rng;
use tenure_testkit::contract::{Packets, Received, Subject};

const NAMES: [&str; 5] = ["a", "b", "c", "d", "e"];
const GRANTORS: usize = 3;

mod cores {
    tenure_testkit::contract!(nerio, crate::contract::NerioSubject);
}

/// The suite with a bound on skew.
mod wall_clocks {
    tenure_testkit::contract!(nerio, crate::contract::NerioSubject<true>);
}

mod of_epochs;

mod wires {
    tenure_testkit::packets!(nerio, crate::contract::NerioSubject);
}

struct NerioSubject<const SKEW: bool = false>;

/// Δ, in the suite with a bound on skew.
const SKEW: Duration = Duration::from_millis(100);

fn address(node: usize) -> SocketAddr {
    SocketAddr::from(([127, 0, 0, 1], 7_001 + node as u16))
}

fn config() -> Checked {
    let member = |node: usize| Member::at(NAMES[node].parse().unwrap(), address(node));
    let members = (0..GRANTORS).map(member).collect();
    let mut config = Config::new("suite".parse().unwrap(), members);
    config.lease = Duration::from_millis(1_000);
    config.delta_max = Duration::from_millis(2_000);
    config.verify_max = Duration::from_millis(500);
    config.refresh = Duration::from_millis(100);
    config.grace = Duration::from_millis(100);
    config.kill_margin = Duration::from_millis(10);
    config.limits = Limits { elections: 20, parked: 4, watermarks: 4, names: 20 };
    let ring =
        RingConfig { silence: Duration::from_millis(400), ..RingConfig::new(Detector::Accrual) };
    config.ring = Some(RingConfig { only_weak_leader: true, ..ring });
    config.check().unwrap()
}

fn with_skew() -> Checked {
    let mut config = Config::clone(&config());
    config.clock_skew_max = Some(SKEW);
    config.check().unwrap()
}

fn epoch() -> EpochId {
    static EPOCH: LazyLock<EpochId> = LazyLock::new(|| config().membership().id());
    *EPOCH
}

fn who(node: usize) -> Who {
    Who { name: NAMES[node].parse().unwrap(), inc: Inc(node as u128 + 1) }
}

fn sender(node: usize) -> Sender {
    Sender { who: who(node), address: address(node), proved: node < GRANTORS, epoch: epoch() }
}

impl<const SKEW: bool> Subject for NerioSubject<SKEW> {
    type Core = Nerio;
    type Store = ();

    const NODES: usize = 5;
    // Bound on the debug output: three times the bytes that remain after this flood. Without limits
    // in the core, megabytes would remain.
    const DEBUG_BYTES_MAX: usize = 60_000;

    /// The suite shows a node the same time on both clocks, so wall clocks agree only if all
    /// origins are equal.
    fn origin(node: usize) -> Time {
        let apart = if SKEW { 0 } else { node as u64 * 1_000 };
        Time::from_nanos(1_000_000_000 * (7 + apart))
    }

    fn core(node: usize) -> Nerio {
        let config = if SKEW { with_skew() } else { config() };
        Nerio::new(config, NAMES[node].parse().unwrap())
    }

    fn start(node: usize) -> Start {
        let begin = || Memory::begin(Instance(node as u128), Kept::New);
        let memory = (node < GRANTORS).then(begin);
        Start { inc: who(node).inc, seed: node as u64, memory }
    }

    fn send(
        (): &mut (),
        from: usize,
        to: &To,
        message: &Message,
        rng: &mut Rng,
    ) -> Vec<(usize, Received<Self>)> {
        let from = Sender { epoch: to.epoch, ..sender(from) };
        let to = match &to.recipient {
            Recipient::Member(name) => NAMES.iter().position(|known| *known == name.as_str()),
            Recipient::Address(to) => (0..NAMES.len()).find(|node| address(*node) == *to),
        };
        let to = to.filter(|_| !rng.once_in(10));
        to.map(|to| (to, (from, message.clone()))).into_iter().collect()
    }

    fn elections() -> Vec<ElectionName> {
        ["x", "y"].map(|name| name.parse().unwrap()).to_vec()
    }

    fn command(rng: &mut Rng) -> Command {
        let to = NAMES[rng.within(0..5) as usize];
        match rng.within(0..12) {
            0..=4 => Command::Campaign { value: to.parse().unwrap(), priority: 0 },
            5 if rng.once_in(4) => Command::Resign,
            5 | 6 => Command::Transfer { to: to.parse().unwrap(), probe: rng.once_in(2) },
            7 => Command::Observe { every: span(rng) },
            8 => Command::Unobserve,
            _ => Command::Extra(Extra::Verify { leader: address(rng.within(0..5) as usize) }),
        }
    }

    fn hostile(rng: &mut Rng) -> (Sender, Message) {
        (anybody(rng), anything(rng))
    }
}

impl Packets for NerioSubject {
    const CORPUS: &'static str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/nerio/corpus");

    fn seal(from: &Sender, message: &Message) -> Vec<u8> {
        let packer = Packer::new(&Envelope { epoch: from.epoch, who: from.who.clone() });
        let mut packet = packer.start();
        assert!(packer.push(&mut packet, message), "one message always fits: {message}");
        packet
    }

    fn adopt(packet: &mut [u8]) -> bool {
        if let Some([version, digest @ ..]) = packet.get_mut(4..13) {
            *version = VERSION;
            digest.copy_from_slice(&epoch().digest.to_le_bytes());
        }
        open(packet).is_ok()
    }

    fn open(packet: &[u8]) -> Vec<Received<Self>> {
        let Ok((envelope, messages)) = open(packet) else { return Vec::new() };
        let known = NAMES.iter().position(|name| *name == envelope.who.name.as_str());
        let address = address(known.unwrap_or(9));
        let proved = known.is_some_and(|node| node < GRANTORS);
        let from = Sender { who: envelope.who, address, proved, epoch: envelope.epoch };
        messages.flatten().map(|message| (from.clone(), message)).collect()
    }
}

fn anybody(rng: &mut Rng) -> Sender {
    let node = rng.within(0..8) as usize;
    match (rng.within(0..4), node) {
        (0, 0..5) => sender(node),
        (1, 0..5) => Sender { address: any_address(rng), ..sender(node) },
        _ => Sender {
            who: any_who(rng),
            address: any_address(rng),
            proved: rng.once_in(2),
            epoch: any_epoch(rng),
        },
    }
}

/// Mostly the epoch of the suite's nodes, otherwise another epoch.
fn any_epoch(rng: &mut Rng) -> EpochId {
    match rng.within(0..4) {
        0 => EpochId { number: number(rng), digest: rng.number() },
        1 => EpochId { number: number(rng), ..epoch() },
        _ => epoch(),
    }
}

fn any_address(rng: &mut Rng) -> SocketAddr {
    match rng.within(0..3) {
        0 => address(rng.within(0..5) as usize),
        1 => SocketAddr::from(([10, 0, 0, rng.number().to_le_bytes()[0]], 1)),
        _ => SocketAddr::from(([rng.number() as u16; 8], rng.number() as u16)),
    }
}

fn any_name(rng: &mut Rng) -> NodeName {
    match rng.within(0..3) {
        0 => NAMES[rng.within(0..5) as usize].parse().unwrap(),
        1 => format!("n{}", rng.within(0..5_000)).parse().unwrap(),
        _ => "n".repeat(NodeName::MAX_BYTES).parse().unwrap(),
    }
}

fn any_who(rng: &mut Rng) -> Who {
    Who { name: any_name(rng), inc: Inc(u128::from(number(rng))) }
}

fn any_election(rng: &mut Rng) -> ElectionName {
    match rng.within(0..4) {
        0 | 1 => ["x", "y"][rng.within(0..2) as usize].parse().unwrap(),
        2 => format!("e{}", rng.within(0..5_000)).parse().unwrap(),
        _ => format!("{:>064}", rng.within(0..5_000)).parse().unwrap(),
    }
}

/// A small, a huge or any number.
fn number(rng: &mut Rng) -> u64 {
    match rng.within(0..6) {
        0 => 0,
        1 => rng.within(0..4),
        2 => u64::MAX - rng.within(0..3),
        3 => 1 << rng.within(0..64),
        4 => 7_000_000_000 + rng.within(0..9_000_000_000),
        _ => rng.number(),
    }
}

fn time(rng: &mut Rng) -> Time {
    Time::from_nanos(number(rng))
}

fn span(rng: &mut Rng) -> Duration {
    match rng.within(0..4) {
        0 => Duration::MAX,
        1 => Duration::from_nanos(number(rng)),
        _ => Duration::from_millis(rng.within(0..2_100)),
    }
}

fn fence(rng: &mut Rng) -> Fence {
    Fence::new(number(rng))
}

fn flag(rng: &mut Rng) -> bool {
    rng.once_in(2)
}

fn some_name(rng: &mut Rng) -> Option<NodeName> {
    flag(rng).then(|| any_name(rng))
}

fn any_value(rng: &mut Rng) -> Value {
    "v".repeat(rng.within(0..129) as usize).parse().unwrap()
}

fn holder(rng: &mut Rng) -> Holder {
    Holder {
        who: any_who(rng),
        address: any_address(rng),
        value: any_value(rng),
        remaining: span(rng),
        start: time(rng),
        priority: rng.number().to_le_bytes()[0],
        leading: flag(rng),
        next: flag(rng),
        fence: flag(rng).then(|| fence(rng)),
        leaving: flag(rng).then(|| span(rng)),
        lease: span(rng),
    }
}

fn service(rng: &mut Rng) -> Service {
    match rng.within(0..9) {
        0 => Service::Serving,
        1 => Service::Quarantine { remaining: span(rng) },
        2 => Service::Failing,
        3 => Service::Starting,
        4 => Service::Replaced,
        5 => Service::Wedged,
        6 => Service::Removed,
        7 => Service::WrongClock,
        _ => Service::Recovering { known: flag(rng) },
    }
}

fn refusal(rng: &mut Rng) -> Refusal {
    match rng.within(0..13) {
        0 | 1 => Refusal::Held { holder: Box::new(holder(rng)), parked: flag(rng) },
        2 => Refusal::Quarantine { remaining: span(rng) },
        3 => Refusal::Recovering { known: flag(rng) },
        4 => Refusal::TooLong { lease: span(rng), delta_max: span(rng) },
        5 => Refusal::FenceTooFar,
        6 => Refusal::OtherAddress { holder: any_address(rng) },
        7 => Refusal::Starting,
        8 => Refusal::Wedged { next: number(rng) },
        9 => Refusal::Removed { epoch: number(rng) },
        10 => Refusal::Clock(clock_fault(rng)),
        11 => Refusal::WrongClock,
        _ => Refusal::Disk,
    }
}

fn clock_fault(rng: &mut Rng) -> ClockFault {
    let (by, skew) = (span(rng), skew(rng));
    match rng.within(0..4) {
        0 => ClockFault::Ahead { by, skew },
        1 => ClockFault::Behind { by, skew },
        2 => ClockFault::Late { by },
        _ => ClockFault::OtherBound { candidate: Some(by), grantor: None },
    }
}

/// Usually the incarnation of a node of the suite: nodes drop messages for other incarnations at
/// once.
fn asker(rng: &mut Rng) -> Inc {
    match rng.within(0..4) {
        0 => any_who(rng).inc,
        _ => who(rng.within(0..NAMES.len() as u64) as usize).inc,
    }
}

fn instance(rng: &mut Rng) -> Instance {
    Instance(u128::from(number(rng)) << (80 * rng.within(0..2)))
}

fn roster(rng: &mut Rng) -> Roster {
    let entry = |rng: &mut Rng| {
        let known = flag(rng);
        known.then(|| Entry { instance: instance(rng), founder: flag(rng) })
    };
    Roster::new((0..rng.within(0..5)).map(|_| entry(rng)).collect())
}

fn granted(rng: &mut Rng) -> Granted {
    let (boot, clock) = (Boot(number(rng)), time(rng));
    Granted {
        election: any_election(rng),
        asker: asker(rng),
        start: time(rng),
        instance: instance(rng),
        memories: (0..rng.within(0..5)).map(|_| instance(rng).mark()).collect(),
        stamp: Stamp { boot, clock, counter: rng.number() as u32 },
        accepted: flag(rng),
        seen: fence(rng),
        waited: flag(rng),
        next_waits: flag(rng),
        waiting: some_name(rng),
        wall: flag(rng).then(|| WallGrant { rest: span(rng), skew: skew(rng) }),
    }
}

fn request(rng: &mut Rng) -> Request {
    Request {
        election: any_election(rng),
        start: time(rng),
        delta: span(rng),
        lease: span(rng),
        first: time(rng),
        fence: fence(rng),
        announced: flag(rng).then(|| fence(rng)),
        priority: rng.number().to_le_bytes()[0],
        leading: flag(rng),
        next: some_name(rng),
        value: any_value(rng),
        wall: flag(rng).then(|| WallStart { start: wall(rng), skew: skew(rng) }),
    }
}

fn wall(rng: &mut Rng) -> WallTime {
    WallTime::from_nanos(time(rng).as_nanos())
}

/// A bound on skew: usually that of the settings.
fn skew(rng: &mut Rng) -> Duration {
    if flag(rng) { SKEW } else { span(rng) }
}

fn which(rng: &mut Rng) -> Which {
    match rng.within(0..3) {
        0 => Which::All,
        1 => Which::Beginning(any_election(rng)),
        _ => Which::Only(any_election(rng)),
    }
}

fn elections_here(rng: &mut Rng) -> ElectionsHere {
    let holder = |rng: &mut Rng| HolderHere {
        who: any_who(rng),
        fence: flag(rng).then(|| fence(rng)),
        remaining: span(rng),
        leaving: flag(rng).then(|| span(rng)),
    };
    let here = |rng: &mut Rng| ElectionHere {
        election: any_election(rng),
        holder: flag(rng).then(|| holder(rng)),
        waiting: rng.number() as u16,
    };
    ElectionsHere {
        asker: asker(rng),
        start: time(rng),
        service: service(rng),
        elections: (0..3).map(|_| here(rng)).collect(),
        more_after: flag(rng).then(|| any_election(rng)),
    }
}

fn candidates_here(rng: &mut Rng) -> CandidatesHere {
    let here = |rng: &mut Rng| CandidateHere {
        who: any_who(rng),
        priority: rng.number().to_le_bytes()[0],
        leading: flag(rng),
        waited: span(rng),
    };
    CandidatesHere {
        election: any_election(rng),
        asker: asker(rng),
        start: time(rng),
        service: service(rng),
        holder: flag(rng).then(|| Box::new(holder(rng))),
        waiting: (0..3).map(|_| here(rng)).collect(),
        more: flag(rng),
    }
}

fn of_orders(rng: &mut Rng) -> Message {
    let (election, start, number) = (any_election(rng), time(rng), rng.number());
    match rng.within(0..3) {
        0 => {
            let (fence, next) = (fence(rng), some_name(rng));
            Message::from(Order { election, start, number, fence, next })
        }
        1 => {
            let passed = if flag(rng) { Passed::On } else { Passed::NotHeld };
            Message::from(Ordered { election, asker: asker(rng), start, passed })
        }
        _ => {
            let (holder, fence, next) = (asker(rng), fence(rng), some_name(rng));
            let from = any_address(rng);
            Message::from(StepDown { election, holder, fence, next, number, from })
        }
    }
}

/// The document of the nodes, or a document of two of its members.
fn any_document(rng: &mut Rng) -> &'static Document {
    static DOCUMENTS: LazyLock<[Document; 2]> = LazyLock::new(|| {
        let mut line = Config::clone(&config());
        line.members.pop();
        line.quorums = Quorums::majority(line.members.len()).unwrap();
        [config(), line.check().unwrap()].map(|config| config.membership().document().clone())
    });
    &DOCUMENTS[rng.within(0..2) as usize]
}

fn current(rng: &mut Rng) -> Current {
    Current {
        asker: asker(rng),
        start: time(rng),
        epoch: if flag(rng) { any_document(rng).id() } else { any_epoch(rng) },
        founding: rng.number(),
        before: any_epoch(rng),
        instance: instance(rng),
        entered: !rng.once_in(4),
        service: service(rng),
        length: rng.number() as u32,
    }
}

/// A question for a document, or a part of a document; some parts are whole documents.
fn of_documents(rng: &mut Rng) -> Message {
    let document = any_document(rng);
    let (start, asker) = (time(rng), asker(rng));
    let epoch = if flag(rng) { document.id() } else { any_epoch(rng) };
    let whole = document.encode().unwrap();
    let any_offset = |rng: &mut Rng| rng.within(0..whole.len() as u64 + 2) as u32;
    if flag(rng) {
        return Message::from(DocumentRead { start, epoch, offset: any_offset(rng) });
    }
    let total = if flag(rng) { whole.len() as u32 } else { rng.number() as u32 };
    let mut bytes = whole.clone();
    bytes.truncate(DocumentPart::BYTES_MAX);
    if flag(rng) {
        bytes.truncate(rng.within(0..bytes.len() as u64) as usize);
    }
    let offset = if flag(rng) { 0 } else { any_offset(rng) };
    Message::from(DocumentPart { asker, start, epoch, offset, total, bytes })
}

fn fence_seen(rng: &mut Rng) -> FenceSeen {
    FenceSeen {
        asker: asker(rng),
        start: time(rng),
        seen: fence(rng),
        delta_max: span(rng),
        whole: flag(rng),
        leader: span(rng),
        roster: roster(rng),
    }
}

fn anything(rng: &mut Rng) -> Message {
    let (election, start, asker) = (any_election(rng), time(rng), asker(rng));
    match rng.within(0..31) {
        0..=4 => Message::from(request(rng)),
        5 => Message::from(granted(rng)),
        6 => {
            let (refusal, seen) = (refusal(rng), fence(rng));
            let name_shared = flag(rng).then(|| any_address(rng));
            Message::from(Refused { election, asker, start, refusal, seen, name_shared })
        }
        7 | 8 => Message::from(Release { election, start, next: some_name(rng) }),
        9 => Message::from(Released { election, asker, start }),
        10 => Message::from(Verify { election, start }),
        11 => {
            let remaining = span(rng);
            Message::from(Remainder { election, start, asker, remaining, fence: None })
        }
        12 => Message::from(Query { election, start }),
        13 => {
            let (service, seen, waiting) = (service(rng), fence(rng), rng.number() as u16);
            let holder = flag(rng).then(|| Box::new(holder(rng)));
            let free_for = span(rng);
            let delta_max = span(rng);
            Message::from(State {
                election,
                asker,
                start,
                service,
                instance: instance(rng),
                memories: vec![instance(rng).mark(); 3],
                holder,
                free_for,
                waiting,
                seen,
                delta_max,
                raise: flag(rng)
                    .then(|| Box::new(Raising { before: span(rng), remaining: span(rng) })),
            })
        }
        14 => Message::from(List { start, after: flag(rng).then_some(election) }),
        15 => {
            let (service, more) = (service(rng), flag(rng));
            Message::from(Listed { start, service, names: vec![election; 3], more })
        }
        16 => match rng.within(0..3) {
            0 => Message::from(Leaving { election, start, held: span(rng) }),
            1 => Message::from(Supervisor { name: any_name(rng) }),
            _ => Message::from(Gone { who: any_who(rng) }),
        },
        17 => Message::from(Elections {
            start,
            which: which(rng),
            after: flag(rng).then_some(election),
        }),
        18 => Message::from(elections_here(rng)),
        19 => {
            let after = flag(rng).then(|| any_who(rng));
            Message::from(Candidates { election, start, after })
        }
        20 => Message::from(candidates_here(rng)),
        21..=23 => of_orders(rng),
        24 => Message::from(Where { start }),
        25 => Message::from(current(rng)),
        26 => of_documents(rng),
        27..=29 => of_epochs::anything(rng),
        _ if flag(rng) => {
            Message::from(FenceRead { start, instance: instance(rng), record: flag(rng) })
        }
        _ => Message::from(fence_seen(rng)),
    }
}
