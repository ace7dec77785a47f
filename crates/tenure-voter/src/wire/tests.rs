use std::time::Duration;

use http::{HeaderMap, HeaderValue, StatusCode};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use tenure_core::voter::{
    AckDto, Answer, Ask, Ballot, BeatenDto, Change, Condition, ElectionDto, Electorate,
    ElectorateId, Fingerprint, FirstVoters, Header, HeartbeatDto, Identity, LeaderDto, Leadership,
    LeaseDto, Member, Mode, Participant, PromiseDto, Refusal, Role, StatusDto, Unchanged, VoteDto,
    VoterDto, VoterUrl,
};
use tenure_core::{Drift, NodeName, Value};

use super::*;
use crate::openapi::check;

fn id() -> impl Strategy<Value = NodeName> {
    "[A-Za-z0-9._-]{1,12}".prop_map(|id| id.parse().unwrap())
}

fn url() -> impl Strategy<Value = VoterUrl> {
    "https?://[a-zä0-9.]{1,20}(:[0-9]{1,4})?(/[a-z]{0,5})?".prop_map(|url| url.parse().unwrap())
}

fn value() -> impl Strategy<Value = Value> {
    "[ -~äß]{0,20}".prop_map(|value| value.parse().unwrap())
}

/// A span that JSON keeps exactly.
fn span() -> impl Strategy<Value = Duration> {
    any::<u64>().prop_map(Duration::from_nanos)
}

fn voter() -> impl Strategy<Value = VoterDto> {
    let role = prop_oneof![Just(Role::Leader), Just(Role::Follower), Just(Role::None)];
    (id(), url(), role, any::<bool>()).prop_map(|(voter_id, voter_url, role, on_line)| VoterDto {
        voter_id,
        voter_url,
        role,
        on_line,
    })
}

fn participant() -> impl Strategy<Value = Participant> {
    (id(), any::<u128>(), any::<u128>()).prop_map(|(id, identity, incarnation)| Participant {
        id,
        identity: Identity(identity),
        incarnation,
    })
}

fn ballot() -> impl Strategy<Value = Ballot> {
    (1..=Ballot::COUNTER_MAX, id(), 0..=Ballot::ATTEMPTS_MAX)
        .prop_map(|(counter, initiator, attempt)| Ballot { counter, initiator, attempt })
}

fn leadership() -> impl Strategy<Value = Leadership> {
    (participant(), ballot()).prop_map(|(leader, ballot)| Leadership { leader, ballot })
}

fn electorate_id() -> impl Strategy<Value = ElectorateId> {
    (0..=Ballot::COUNTER_MAX, 0..100_u64)
        .prop_map(|(counter, change)| ElectorateId { counter, change })
}

fn electorate() -> impl Strategy<Value = Electorate> {
    let members = vec((id(), any::<u128>()), 1..6);
    (electorate_id(), any::<u128>(), members).prop_map(|(id, founding, members)| {
        let member = |(id, identity)| Member { id, identity: Identity(identity) };
        let formed = Electorate::founded(members.into_iter().map(member).collect());
        Electorate { id, founding: Fingerprint(founding), ..formed }
    })
}

fn promise() -> impl Strategy<Value = PromiseDto> {
    (span(), 0..100_000_000_u32).prop_map(|(span, ppb)| PromiseDto {
        span,
        drift: Drift::from_parts_per_billion(ppb).unwrap(),
    })
}

fn vote() -> impl Strategy<Value = VoteDto> {
    (id(), option::of(any::<i64>()), ballot(), span(), electorate()).prop_map(
        |(voter_id, vote, ballot, lease, electorate)| VoteDto {
            voter_id,
            vote,
            ballot,
            lease,
            electorate,
        },
    )
}

fn election() -> impl Strategy<Value = ElectionDto> {
    let votes = vec((id(), option::of(any::<i64>())), 0..6);
    let promise = option::of(promise());
    let by = vec(participant(), 0..4);
    (ballot(), any::<bool>(), votes, participant(), promise, by).prop_map(
        |(ballot, certified, votes, new_leader, promise, endorsed_by)| ElectionDto {
            ballot,
            certified,
            votes,
            new_leader,
            promise,
            endorsed_by,
        },
    )
}

fn leader() -> impl Strategy<Value = LeaderDto> {
    (leadership(), url(), value(), option::of(span())).prop_map(
        |(leadership, url, value, remaining)| LeaderDto { leadership, url, value, remaining },
    )
}

fn heartbeat() -> impl Strategy<Value = HeartbeatDto> {
    let lease = (leadership(), value(), span(), electorate()).prop_map(
        |(leadership, value, span, electorate)| LeaseDto { leadership, value, span, electorate },
    );
    let lease = option::of(lease);
    let certificate = option::of(election());
    (any::<u64>(), voter(), vec(voter(), 0..5), lease, certificate, condition()).prop_map(
        |(seq, sender, known_voters, lease, certificate, condition)| HeartbeatDto {
            seq,
            sender,
            known_voters,
            lease,
            certificate,
            condition,
        },
    )
}

fn condition() -> impl Strategy<Value = Condition> {
    let listed = vec(id(), 0..4).prop_map(FirstVoters::Listed);
    let first = prop_oneof![listed, any::<u16>().prop_map(FirstVoters::Number)];
    (any::<bool>(), option::of(first)).prop_map(|(failing, first)| Condition { failing, first })
}

fn change() -> impl Strategy<Value = Change> {
    prop_oneof![id().prop_map(Change::Add), id().prop_map(Change::Remove)]
}

fn ask() -> impl Strategy<Value = Ask> {
    let remove = (id(), value()).prop_map(|(voter, reason)| Ask::Remove { voter, reason });
    prop_oneof![
        voter().prop_map(Ask::Register),
        remove,
        option::of(id()).prop_map(|suspect| Ask::Status { suspect }),
        heartbeat().prop_map(|heartbeat| Ask::Heartbeat(heartbeat.into())),
        vec(voter(), 0..6).prop_map(Ask::Reconcile),
        Just(Ask::Start),
        vote().prop_map(Ask::Cast),
        election().prop_map(Ask::Result),
        Just(Ask::LastResult),
        election().prop_map(Ask::Certify),
        leadership().prop_map(Ask::Release),
        change().prop_map(Ask::Change),
    ]
}

/// All refusals but `Malformed`, whose text is for people.
fn refusal() -> impl Strategy<Value = Refusal> {
    prop_oneof![
        Just(Refusal::OtherNetwork),
        any::<u128>().prop_map(|ours| Refusal::OtherFounding { ours: Fingerprint(ours) }),
        Just(Refusal::NotAllowed),
        Just(Refusal::Full),
        Just(Refusal::NotFounded),
        id().prop_map(|who| Refusal::NotAMember { who }),
        id().prop_map(|who| Refusal::EarlierRun { who }),
        leader().prop_map(|leader| Refusal::Leads(leader.into())),
        (id(), span()).prop_map(|(to, remaining)| Refusal::Promised { to, remaining }),
        span().prop_map(|remaining| Refusal::Quarantined { remaining }),
        (0..=Ballot::COUNTER_MAX).prop_map(|counter| Refusal::Endorsed { counter }),
        Just(Refusal::Left),
        electorate().prop_map(Refusal::OldElectorate),
        Just(Refusal::Released),
        Just(Refusal::OldHeartbeat),
        Just(Refusal::UnknownVoter),
        Just(Refusal::UnknownElection),
        option::of(leader()).prop_map(|leader| Refusal::NotLeading(leader.map(Box::new))),
        electorate_id().prop_map(|electorate| Refusal::ChangeRuns { electorate }),
        (0_usize..64, 0_usize..64).prop_map(|(able, needed)| Refusal::TooFewAble { able, needed }),
        Just(Refusal::NotWritten),
        Just(Refusal::NoChange(Unchanged::HasVote)),
        Just(Refusal::NoChange(Unchanged::HasNone)),
        Just(Refusal::NoChange(Unchanged::Leads)),
        Just(Refusal::NoChange(Unchanged::Returns)),
    ]
}

fn beaten() -> impl Strategy<Value = BeatenDto> {
    let ack = (leadership(), promise(), electorate_id())
        .prop_map(|(leadership, promise, stored)| AckDto { leadership, promise, stored });
    let ack = option::of(ack);
    let refused = option::of(refusal());
    let leader = option::of(leader());
    let electorate = option::of(electorate_id());
    (any::<u64>(), ack, refused, leader, option::of(span()), electorate).prop_map(
        |(seq, promise, refused, leader, free, electorate)| BeatenDto {
            seq,
            promise,
            refused,
            leader,
            free,
            electorate,
        },
    )
}

fn status() -> impl Strategy<Value = StatusDto> {
    let leader = option::of(leader());
    let electorate = option::of(electorate());
    let endorsed = 0..=Ballot::COUNTER_MAX;
    let says = (option::of(span()), option::of(any::<bool>()), condition());
    (vec(voter(), 0..5), voter(), leader, electorate, endorsed, says).prop_map(
        |(known_voters, sender, leader, electorate, endorsed, says)| StatusDto {
            known_voters,
            sender,
            leader,
            electorate,
            endorsed,
            free: says.0,
            reached: says.1,
            condition: says.2,
        },
    )
}

fn exchange() -> impl Strategy<Value = (Ask, Answer)> {
    let done = prop_oneof![
        Just(Ask::Reconcile(Vec::new())),
        leadership().prop_map(Ask::Release),
        change().prop_map(Ask::Change),
    ];
    prop_oneof![
        status().prop_map(|status| (Ask::Status { suspect: None }, Answer::Status(status))),
        (heartbeat(), beaten()).prop_map(|(h, b)| (Ask::Heartbeat(h.into()), Answer::Heartbeat(b))),
        done.prop_map(|ask| (ask, Answer::Done)),
        option::of(ballot()).prop_map(|ballot| (Ask::Start, Answer::Started(ballot))),
        (vote(), vote()).prop_map(|(asked, vote)| (Ask::Cast(asked), Answer::Cast(vote))),
        (election(), any::<bool>())
            .prop_map(|(result, open)| (Ask::Result(result), Answer::Counted { open })),
        election().prop_map(|last| (Ask::LastResult, Answer::Election(last))),
        election().prop_map(|known| (Ask::Certify(known.clone()), Answer::Election(known))),
        status().prop_map(|s| (Ask::Register(s.sender.clone()), Answer::Status(s))),
        (ask(), refusal()).prop_map(|(ask, refusal)| (ask, Answer::Refused(refusal))),
    ]
}

fn header() -> impl Strategy<Value = Header> {
    let founding = option::of((any::<u128>().prop_map(Fingerprint), any::<bool>()));
    let mode = prop_oneof![Just(Mode::Majority), Just(Mode::Available)];
    ("[a-z/:@]{1,20}", mode, participant(), url(), founding).prop_map(
        |(election, mode, sender, url, founding)| Header {
            election: election.parse().unwrap(),
            mode,
            sender,
            url,
            founding,
        },
    )
}

fn received(outgoing: &Outgoing) -> Result<Ask, Unread> {
    let query = outgoing.path.split_once('?').map(|(_, query)| query);
    outgoing.route.read(query, &outgoing.body)
}

proptest! {
    #[test]
    fn requests_arrive(ask in ask()) {
        let outgoing = Outgoing::of(&ask);
        prop_assert!(outgoing.path.starts_with(outgoing.route.path()));
        prop_assert_eq!(outgoing.route.path().trim_start_matches('/'), ask.label());
        let described = check::request(&check::document(), outgoing.route, &outgoing.body);
        prop_assert_eq!(described, Ok(()));
        prop_assert_eq!(received(&outgoing), Ok(ask));
    }

    #[test]
    fn answers_arrive((ask, answer) in exchange()) {
        let (status, body) = write_answer(&answer);
        let route = Outgoing::of(&ask).route;
        let described = check::answer(&check::document(), route, status.as_u16(), &body);
        prop_assert_eq!(described, Ok(()));
        prop_assert_eq!(read_answer(&ask, status, &body), Ok(answer));
    }

    #[test]
    fn senders_arrive(header in header()) {
        let mut headers = HeaderMap::new();
        Head::write(&header, &mut headers);
        prop_assert_eq!(Head::read(&headers), Ok(Head::Voter(header)));
    }

    /// Each input is read or refused.
    #[test]
    fn nonsense_is_refused(
        body in prop_oneof![
            vec(any::<u8>(), 0..200),
            "[\\[{\"a-z0-9:,}\\]]{0,60}".prop_map(String::into_bytes),
        ],
        status in 100..600_u16,
    ) {
        for route in Route::ALL {
            let _ = route.read(std::str::from_utf8(&body).ok(), &body);
        }
        let status = StatusCode::from_u16(status).unwrap();
        for ask in [Ask::Start, Ask::Status { suspect: None }, Ask::LastResult] {
            let read = read_answer(&ask, status, &body);
            prop_assert!(!matches!(read, Ok(Answer::Done)));
        }
    }
}

/// The server sends these statuses without the core.
#[test]
fn every_status_is_described() {
    let document = check::document();
    let statuses = [400, 401, 403, 404, 405, 408, 413, 421, 503, 504];
    for (route, status) in
        Route::ALL.into_iter().flat_map(|route| statuses.map(|status| (route, status)))
    {
        let body = Problem::new(status, "unreadable", "line 1").body();
        let described = check::answer(&document, route, status, &body);
        assert_eq!(described, Ok(()), "{route:?} {status}");
    }
}

/// Names and values may be written with escapes, as some writers of JSON do.
#[test]
fn escapes_are_read() {
    let body = br#"{"voterId":"\u0061","reason":"a \"b\" \u00e4"}"#;
    let Ok(Ask::Remove { voter, reason }) = Route::Remove.read(None, body) else { panic!() };
    assert_eq!((voter.as_str(), reason.as_str()), ("a", "a \"b\" ä"));
}

fn cast(vote: &str) -> String {
    let identity = "0".repeat(32);
    format!(
        r#"{{"voterId":"a","vote":{vote},"ballot":{{"counter":1,"initiator":"a","attempt":0}},
        "leaseNs":1,"electorate":{{"counter":0,"change":0,"founding":"{identity}",
        "members":[{{"voterId":"a","identity":"{identity}"}}]}},"unknown":[1,{{}}]}}"#
    )
}

#[test]
fn votes_are_signed_64_bits() {
    let read = |vote: &str| match Route::Cast.read(None, cast(vote).as_bytes()) {
        Ok(Ask::Cast(vote)) => Ok(vote.vote),
        Ok(other) => panic!("{other}"),
        Err(error) => Err(error.to_string()),
    };
    for (text, vote) in [
        ("0", Some(0)),
        ("-7", Some(-7)),
        ("9223372036854775807", Some(i64::MAX)),
        ("-9223372036854775808", Some(i64::MIN)),
        ("\"9223372036854775807\"", Some(i64::MAX)),
        ("\"-9223372036854775808\"", Some(i64::MIN)),
        ("null", None),
    ] {
        assert_eq!(read(text), Ok(vote), "{text}");
    }
    for text in [
        "9223372036854775808",
        "18446744073709551616",
        "-9223372036854775809",
        "1.5",
        "1e3",
        "1e400",
        "true",
        "[]",
        "{}",
        "\"\"",
        "\"1.5\"",
        "\"0x10\"",
        "\"9223372036854775808\"",
    ] {
        let told = read(text).expect_err(text);
        assert!(told.contains("64 bits") || told.contains("out of range"), "{text}: {told}");
    }
}

/// Each document with a part of its error.
#[test]
fn bad_documents_are_told() {
    let zero = "0".repeat(32);
    let long = "x".repeat(100);
    let ballot = |fields: &str| {
        format!(
            r#"{{"leader":{{"voterId":"a","identity":"{zero}","incarnation":"{zero}"}},
            "ballot":{{{fields}}}}}"#
        )
    };
    let members = |members: &str| {
        cast("1").replace(&format!(r#"[{{"voterId":"a","identity":"{zero}"}}]"#), members)
    };
    let member = |id: &str| format!(r#"{{"voterId":"{id}","identity":"{zero}"}}"#);
    let many = |number: usize| {
        let all: Vec<_> = (0..number).map(|n| member(&format!("{n:03}"))).collect();
        members(&format!("[{}]", all.join(",")))
    };
    let voter = |id: &str, url: &str| format!(r#"{{"voterId":"{id}","voterUrl":"{url}"}}"#);
    let known: Vec<_> = (0..257).map(|n| voter(&format!("v{n}"), "http://a")).collect();
    let known = format!(r#"{{"knownVoters":[{}]}}"#, known.join(","));
    let table: [(Route, String, &str); 20] = [
        (Route::Register, String::new(), "EOF while parsing"),
        (Route::Register, "[]".into(), "invalid length 0"),
        (Route::Register, "{}".into(), "missing field `voterId`"),
        (Route::Register, "{\"voterId\":\"a\"}".into(), "missing field `voterUrl`"),
        (Route::Register, voter("a b", "http://a"), "' ' is not one of them"),
        (Route::Register, voter(&long, "http://a"), "at most"),
        (Route::Register, voter("a", "ftp://a"), "must begin with http:// or https://"),
        (Route::Register, voter("a", "http://a") + "x", "trailing characters"),
        (Route::Register, r#"{"voterId":"a","voterId":"b"}"#.into(), "duplicate field"),
        (Route::Reconcile, known, "knownVoters has 257 entries; at most 256"),
        (Route::Release, ballot(r#""counter":0,"initiator":"a","attempt":0"#), "a counter is 0"),
        (Route::Release, ballot(r#""counter":-1,"initiator":"a","attempt":0"#), "`-1`"),
        (Route::Release, ballot(r#""counter":1.5,"initiator":"a","attempt":0"#), "`1.5`"),
        (
            Route::Release,
            ballot(r#""counter":9007199254740992,"initiator":"a","attempt":0"#),
            "from 1 to 9007199254740991",
        ),
        (
            Route::Release,
            ballot(r#""counter":1,"initiator":"a","attempt":65"#),
            "attempt is 65; at most 64",
        ),
        (Route::Cast, many(65), "members has 65 entries; at most 64"),
        (Route::Cast, members("[]"), "members are none"),
        (Route::Cast, members(&format!("[{0},{0}]", member("a"))), "one is there twice"),
        (Route::Cast, cast("1").replace(&zero, "abc"), "32 hexadecimal digits"),
        (Route::Change, r#"{"add":"a","remove":"b"}"#.into(), "one change at a time"),
    ];
    for (route, body, part) in table {
        let told = route.read(None, body.as_bytes()).expect_err(&body).to_string();
        assert!(told.contains(part), "{route:?} {body}: {told}");
    }
    assert!(Route::Cast.read(None, many(64).as_bytes()).is_ok());
    let told = Route::Status.read(Some("suspect=a%20b"), b"").unwrap_err().to_string();
    assert!(told.contains("suspect: "), "{told}");
}

#[test]
fn a_voter_that_registers_is_there() {
    let body = br#"{"voterId":"a","voterUrl":"http://a","more":1}"#;
    let Ok(Ask::Register(voter)) = Route::Register.read(None, body) else { panic!() };
    assert_eq!((voter.role, voter.on_line), (Role::None, true));
}

#[test]
fn contradicting_headers_are_refused() {
    let zero = "0".repeat(32);
    let voter = format!("a~{zero}~{zero}");
    let head = |pairs: &[(&'static str, &str)]| {
        let mut headers = HeaderMap::new();
        for (name, value) in pairs {
            headers.append(*name, HeaderValue::from_str(value).unwrap());
        }
        Head::read(&headers).map_err(|error| error.to_string())
    };
    assert_eq!(head(&[]), Ok(Head::Other(None)));
    let billing = Some("billing".parse().unwrap());
    assert_eq!(head(&[("tenure-election", "billing")]), Ok(Head::Other(billing)));
    let all = [
        ("tenure-election", "billing"),
        ("tenure-mode", "majority"),
        ("tenure-voter", &*voter),
        ("tenure-voter-url", "http://a"),
    ];
    assert!(matches!(head(&all), Ok(Head::Voter(_))));
    for missing in [0, 1, 3] {
        let told = head(&[&all[..missing], &all[missing + 1..]].concat()).unwrap_err();
        assert_eq!(told, format!("the header {} is missing", all[missing].0));
    }
    let with = |name, value| head(&[&all[..], &[(name, value)]].concat()).unwrap_err();
    assert!(with("tenure-mode", "majority").contains("is there twice"));
    assert!(with("tenure-founding", "abc founded").contains("32 hexadecimal digits"));
    assert!(with("tenure-founding", &format!("{zero} maybe")).contains("accepted or founded"));
    for wrong in ["a", "a~1~2", &format!("{voter}~{zero}"), &format!("~{zero}~{zero}")] {
        let told = head(&[all[0], all[1], ("tenure-voter", wrong), all[3]]).unwrap_err();
        assert!(told.contains("ID~IDENTITY~INCARNATION"), "{wrong}: {told}");
    }
}

/// The sample of the protocol's own source, as it stands there.
#[test]
fn malformed_sample_shows_right_form() {
    let sample = concat!(
        r#"[{{"voterId":"region-one-voter"},"#,
        r#"{"voterUrl":"https://route.to.region-one-voter.instance"}},"#,
        r#"{{"voterId":"region-two-voter"},"#,
        r#"{"voterUrl":"https://route.to.region-two-voter.instance"}}]"#,
    );
    let told = read_voter_list(sample).unwrap_err().to_string();
    assert!(told.starts_with("the voter list must be as [{\"voterId\": \"west\","), "{told}");
    assert!(told.ends_with("key must be a string at line 1 column 3"), "{told}");
}

#[test]
fn problems_are_those_of_rfc_9457() {
    let refusal = Refusal::Endorsed { counter: 7 };
    let (status, body) = write_answer(&Answer::Refused(refusal));
    assert_eq!(status, StatusCode::CONFLICT);
    assert_eq!(
        String::from_utf8(body).unwrap(),
        concat!(
            r#"{"type":"urn:tenure:voter:endorsed","title":"endorsed","status":409,"#,
            r#""detail":"counter 7 was endorsed already","#,
            r#""refusal":{"reason":"endorsed","counter":7}}"#,
        )
    );
}
