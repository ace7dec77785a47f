use http::{HeaderMap, HeaderValue, StatusCode};
use proptest::collection::vec;
use proptest::prelude::*;
use tenure_core::voter::{Answer, Ask, Mode, Refusal, Role};
use tenure_testkit::Rng;
use tenure_testkit::voter::arbitrary::{ask, exchange, header};

use super::*;
use crate::openapi::check;

/// Messages from the generator that the contract tests use.
fn drawn<T: std::fmt::Debug>(draw: fn(&mut Rng) -> T) -> impl Strategy<Value = T> {
    any::<u64>().prop_map(move |seed| draw(&mut Rng::new(seed)))
}

fn received(outgoing: &Outgoing) -> Result<Ask, Unread> {
    let query = outgoing.path.split_once('?').map(|(_, query)| query);
    outgoing.route.read(query, &outgoing.body)
}

proptest! {
    #[test]
    fn requests_arrive(ask in drawn(ask)) {
        let outgoing = Outgoing::of(&ask);
        prop_assert!(outgoing.path.starts_with(outgoing.route.path()));
        prop_assert_eq!(outgoing.route.path().trim_start_matches('/'), ask.label());
        let described = check::request(&check::document(), outgoing.route, &outgoing.body);
        prop_assert_eq!(described, Ok(()));
        prop_assert_eq!(received(&outgoing), Ok(ask));
    }

    #[test]
    fn answers_arrive((ask, answer) in drawn(exchange)) {
        let (status, body) = write_answer(&answer);
        let route = Outgoing::of(&ask).route;
        let described = check::answer(&check::document(), route, status.as_u16(), &body);
        prop_assert_eq!(described, Ok(()));
        prop_assert_eq!(read_answer(&ask, status, &body), Ok(answer));
    }

    #[test]
    fn senders_arrive(seed: u64, is_available: bool) {
        let mode = if is_available { Mode::Available } else { Mode::Majority };
        let header = header(&mut Rng::new(seed), mode);
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

/// Each document is refused with an error that contains this text.
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
        (Route::Register, voter("a b", "http://a"), "' ' is not allowed"),
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
        (Route::Cast, members("[]"), "members are missing"),
        (Route::Cast, members(&format!("[{0},{0}]", member("a"))), "named twice"),
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
    assert!(told.starts_with("the voter list must look like [{\"voterId\": \"west\","), "{told}");
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
            r#""detail":"this voter has endorsed counter 7 already","#,
            r#""refusal":{"reason":"endorsed","counter":7}}"#,
        )
    );
}
