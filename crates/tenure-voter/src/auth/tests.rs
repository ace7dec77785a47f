use super::*;

const ONE: &str = "one secret of sixteen bytes and more";
const TWO: &str = "another secret of sixteen bytes";
const NOW: Time = Time::from_nanos(1_000_000_000_000_000);

fn wall(seconds: u64) -> WallTime {
    WallTime::from_nanos(seconds * 1_000_000_000)
}

fn secrets(lines: &[&str]) -> Secrets {
    Secrets::parse(&lines.join("\n")).unwrap()
}

fn guard(lines: &[&str]) -> Guard {
    started(lines, 2_000)
}

/// A guard that was started `ago` seconds ago.
fn started(lines: &[&str], ago: u64) -> Guard {
    Guard::new(Some(secrets(lines)), 100, NOW.before(Duration::from_secs(ago)))
}

/// The headers of a request that was signed at this second with this nonce.
fn signed(lines: &[&str], at: u64, nonce: u128, body: &[u8]) -> HeaderMap {
    let mut headers = HeaderMap::new();
    headers.insert("tenure-election", HeaderValue::from_static("billing"));
    headers.insert("tenure-to", HeaderValue::from_static("http://10.0.0.1:7001"));
    secrets(lines).sign("POST", "/election/start", wall(at), nonce, &mut headers, body);
    headers
}

fn said<'a>(headers: &'a HeaderMap, body: &'a [u8]) -> SignedRequest<'a> {
    SignedRequest { method: "POST", path: "/election/start", headers, body }
}

fn kind(refused: Result<Proof, AuthFailure>) -> String {
    refused.map_or_else(|refused| refused.problem.kind, |proof| format!("{proof:?}"))
}

#[test]
fn signed_request_passes_once() {
    let guard = guard(&[ONE]);
    let headers = signed(&[ONE], 1_000, 7, b"{}");
    let proof = guard.check(said(&headers, b"{}"), NOW, wall(1_000)).ok();
    assert_eq!(proof, Some(Proof::Secret { number: 0, nonce: 7 }));
    let again = guard.check(said(&headers, b"{}"), NOW, wall(1_001));
    assert_eq!(kind(again), "urn:tenure:voter:replayed");
}

#[test]
fn whatever_is_changed_is_noticed() {
    let guard = guard(&[ONE]);
    let good = signed(&[ONE], 1_000, 7, b"{}");
    fn check(guard: &Guard, said: SignedRequest<'_>) -> String {
        kind(guard.check(said, NOW, wall(1_000)))
    }
    let wrong = "urn:tenure:voter:unauthenticated";
    assert_eq!(check(&guard, said(&good, b"{ }")), wrong);
    assert_eq!(check(&guard, SignedRequest { method: "GET", ..said(&good, b"{}") }), wrong);
    assert_eq!(check(&guard, SignedRequest { path: "/remove", ..said(&good, b"{}") }), wrong);
    for name in [&crate::wire::names::ALL[..], &[crate::wire::names::TO]].concat() {
        let mut changed = good.clone();
        changed.insert(&name, HeaderValue::from_static("other"));
        assert_eq!(check(&guard, said(&changed, b"{}")), wrong, "{name}");
    }
    let text = good[AUTHORIZATION].to_str().unwrap().to_owned();
    let digit = |from: &str, to: &str| HeaderValue::from_str(&text.replace(from, to)).unwrap();
    for changed in [digit("date=1000", "date=1001"), digit("7, mac", "8, mac")] {
        let mut headers = good.clone();
        headers.insert(AUTHORIZATION, changed);
        assert_eq!(check(&guard, said(&headers, b"{}")), wrong);
    }
    for nonsense in ["", "Basic abc", "TENURE-HMAC-SHA256 date=-1, nonce=1, mac=2"] {
        let mut headers = good.clone();
        headers.insert(AUTHORIZATION, HeaderValue::from_static(nonsense));
        assert_eq!(check(&guard, said(&headers, b"{}")), wrong, "{nonsense:?}");
    }
    // The refused requests have not used up the nonce.
    assert!(guard.check(said(&good, b"{}"), NOW, wall(1_000)).is_ok());
}

#[test]
fn clock_difference_names_numbers() {
    let guard = guard(&[ONE]);
    for (date, here) in [(1_300, 1_000), (1_000, 1_300)] {
        let headers = signed(&[ONE], date, 7, b"");
        let refused = guard.check(said(&headers, b""), NOW, wall(here)).err().unwrap();
        let problem = *refused.problem;
        assert_eq!((problem.status, &*problem.kind), (401, "urn:tenure:voter:clock"));
        assert!(problem.detail.contains("300 s apart; at most 30 s"), "{}", problem.detail);
    }
    for (nonce, here) in [(8, 970), (9, 1_030)] {
        let headers = signed(&[ONE], 1_000, nonce, b"");
        assert!(guard.check(said(&headers, b""), NOW, wall(here)).is_ok());
    }
}

/// The sender of a request knows that the refusal comes from a holder of the secret.
#[test]
fn authenticated_refusal_has_mac() {
    let guard = Guard::new(Some(secrets(&[ONE])), 1, Time::ZERO);
    let refused = |nonce, at| {
        let headers = signed(&[ONE], 1_000, nonce, b"");
        let refused = guard.check(said(&headers, b""), NOW, wall(at)).err()?;
        assert_eq!(refused.proof, Proof::Secret { number: 0, nonce });
        Some(refused.problem.kind.rsplit(':').next().unwrap().to_owned())
    };
    assert_eq!(refused(7, 1_300).as_deref(), Some("clock"));
    assert_eq!(refused(7, 1_000), None);
    assert_eq!(refused(7, 1_000).as_deref(), Some("replayed"));
    assert_eq!(refused(8, 1_000).as_deref(), Some("busy"));
    let headers = signed(&[TWO], 1_000, 9, b"");
    let refused = guard.check(said(&headers, b""), NOW, wall(1_000)).err().unwrap();
    assert_eq!(refused.proof, Proof::None);
}

/// The request passes from 30 s before its date until almost 31 s after it, because dates are cut
/// to seconds. Its nonce is remembered as long.
#[test]
fn nonce_outlives_its_date() {
    let guard = guard(&[ONE]);
    let headers = signed(&[ONE], 1_000, 7, b"");
    let moment = |nanos: u64| WallTime::from_nanos(970_000_000_000 + nanos);
    assert!(guard.check(said(&headers, b""), NOW, moment(0)).is_ok());
    let most = 61_000_000_000 - 1;
    let later = NOW.after(Duration::from_nanos(most));
    let again = guard.check(said(&headers, b""), later, moment(most));
    assert_eq!(kind(again), "urn:tenure:voter:replayed");
    let later = NOW.after(Duration::from_nanos(most + 1));
    let again = guard.check(said(&headers, b""), later, moment(most + 1));
    assert_eq!(kind(again), "urn:tenure:voter:clock");
}

#[test]
fn requests_before_start_are_refused() {
    let headers = signed(&[ONE], 1_000, 7, b"");
    let check = |guard: Guard| kind(guard.check(said(&headers, b""), NOW, wall(1_001)));
    assert_eq!(check(started(&[ONE], 0)), "urn:tenure:voter:clock");
    assert!(check(started(&[ONE], 1)).starts_with("Secret"));
}

/// The wall clock was hours ahead or behind at the start, and is right now.
#[test]
fn clock_step_changes_no_admission() {
    let guard = started(&[ONE], 10);
    let check = |nonce, dated: u64| {
        let headers = signed(&[ONE], dated, nonce, b"");
        kind(guard.check(said(&headers, b""), NOW, wall(100_000)))
    };
    assert!(check(1, 99_995).starts_with("Secret"));
    assert_eq!(check(2, 99_985), "urn:tenure:voter:clock");
}

#[test]
fn rotation_accepts_both_secrets() {
    let rotating = guard(&[TWO, ONE]);
    for (nonce, by) in [(1, ONE), (2, TWO)] {
        let headers = signed(&[by], 1_000, nonce, b"");
        let proof = rotating.check(said(&headers, b""), NOW, wall(1_000)).ok().unwrap();
        let mut answer = HeaderMap::new();
        rotating.sign_answer(&proof, 200, &mut answer, b"yes");
        let theirs = secrets(&[by]);
        assert!(theirs.is_answer(nonce, 200, &answer, b"yes"));
        assert!(!theirs.is_answer(nonce + 1, 200, &answer, b"yes"), "another request");
        assert!(!theirs.is_answer(nonce, 404, &answer, b"yes"), "another status");
        assert!(!theirs.is_answer(nonce, 200, &answer, b"no"), "another body");
        let mut headed = answer.clone();
        headed.insert("tenure-voter", HeaderValue::from_static("b~1~2"));
        assert!(!theirs.is_answer(nonce, 200, &headed, b"yes"), "another voter");
        assert!(!theirs.is_answer(nonce, 200, &HeaderMap::new(), b"yes"), "no MAC");
    }
    let later = guard(&[TWO]);
    let headers = signed(&[ONE], 1_000, 3, b"");
    let refused = later.check(said(&headers, b""), NOW, wall(1_000));
    assert_eq!(kind(refused), "urn:tenure:voter:unauthenticated");
}

#[test]
fn missing_authorization_is_unknown() {
    let headers = HeaderMap::new();
    let check = |guard: Guard| guard.check(said(&headers, b""), NOW, wall(1_000)).ok();
    assert_eq!(check(guard(&[ONE])), Some(Proof::None));
    assert_eq!(check(Guard::new(None, 0, NOW)), Some(Proof::Elsewhere));
}

/// `openssl dgst -sha256 -hmac` gives this result for the lines in the documentation.
#[test]
fn documented_bytes_are_signed() {
    let headers = signed(&[ONE], 1_000, 7, b"{}");
    let lines = "tenure-voter request 1\nPOST\n/election/start\n1000\n\
                 00000000000000000000000000000007\nbilling\n\n\n\n\nhttp://10.0.0.1:7001\n{}";
    let key = ring::hmac::Key::new(ring::hmac::HMAC_SHA256, ONE.as_bytes());
    let mac = ring::hmac::sign(&key, lines.as_bytes());
    let hex: String = mac.as_ref().iter().map(|byte| format!("{byte:02x}")).collect();
    let wanted =
        format!("TENURE-HMAC-SHA256 date=1000, nonce=00000000000000000000000000000007, mac={hex}");
    assert_eq!(headers[AUTHORIZATION], wanted);
}

#[test]
fn unusable_secrets_are_refused() {
    let told = |text: &str| Secrets::parse(text).unwrap_err().to_string();
    let count =
        "lines contain a secret; the file must contain one secret, or two during a rotation";
    assert_eq!(told(" \n"), format!("0 {count}"));
    assert_eq!(told(&[ONE, TWO, ONE].join("\n")), format!("3 {count}"));
    assert_eq!(
        told("short"),
        "the secret on line 1 has 5 bytes; make one of 16 to 1024 bytes: openssl rand -hex 32"
    );
    let missing = Secrets::read("/nowhere/secret".as_ref()).unwrap_err().to_string();
    assert_eq!(missing, "cannot read /nowhere/secret: No such file or directory (os error 2)");
    assert_eq!(format!("{:?}", secrets(&[ONE])), "Secrets(1 of them)");
}
