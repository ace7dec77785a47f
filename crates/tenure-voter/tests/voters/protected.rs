//! Voters with a shared secret, or with certificates of one authority.

use std::time::Duration;

use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use tenure::{AtMostOne, View};
use tenure_voter::{
    Asker, AskerConfig, Change, Identity, Mode, Operator, OperatorError, Options, OptionsError,
    Pem, Refusal, Secrets, Seeds, Tls,
};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use crate::common::{ELECTION, Network, PATIENCE, body, curl, far, raw, run, soon};

const SECRET: &str = "one secret of sixteen bytes and more";
const NEXT: &str = "the secret that takes its place";

fn secrets(lines: &str) -> Option<Secrets> {
    Some(Secrets::parse(lines).unwrap())
}

async fn elects(network: &Network) {
    let election = network.voters[0].election(ELECTION).unwrap();
    assert!(soon(election.campaign("a")).await.unwrap().is_current());
}

#[test]
fn secret_lets_only_voters_elect() {
    run(async {
        let network = Network::with(3, |options| Options { secrets: secrets(SECRET), ..options });
        elects(&network).await;
        let at = network.addresses[0];
        assert!(curl(at, "GET /status", "").await.starts_with("HTTP/1.1 200"));
        for line in ["POST /election/start", "POST /election/result"] {
            let body = if line.ends_with("start") { "" } else { "{}" };
            let answer = curl(at, line, body).await;
            let status = answer.split_whitespace().nth(1).unwrap();
            assert!(["400", "401"].contains(&status), "{line}: {answer}");
        }
        let zero = "0".repeat(32);
        let as_voter = format!(
            "GET /status HTTP/1.1\r\nHost: a\r\nConnection: close\r\nTenure-Election: billing\r\n\
             Tenure-Mode: majority\r\nTenure-Voter: b~{zero}~{zero}\r\n\
             Tenure-Voter-Url: http://127.0.0.1:9\r\n\r\n"
        );
        let answer = raw(at, as_voter.as_bytes()).await;
        assert!(answer.starts_with("HTTP/1.1 401"), "{answer}");
    });
}

/// A request for the status that a holder of the secret dates with this time.
fn dated(seconds: u64) -> String {
    let nonce = format!("{seconds:032x}");
    let election = ELECTION;
    let lines =
        format!("tenure-voter request 1\nGET\n/status\n{seconds}\n{nonce}\n{election}\n\n\n\n\n\n");
    let key = ring::hmac::Key::new(ring::hmac::HMAC_SHA256, SECRET.as_bytes());
    let mac = ring::hmac::sign(&key, lines.as_bytes());
    let mac: String = mac.as_ref().iter().map(|byte| format!("{byte:02x}")).collect();
    format!(
        "GET /status HTTP/1.1\r\nHost: a\r\nConnection: close\r\nTenure-Election: {election}\r\n\
         Authorization: TENURE-HMAC-SHA256 date={seconds}, nonce={nonce}, mac={mac}\r\n\r\n"
    )
}

/// The date of a request is five minutes in the past or in the future. The refusal names both times
/// and the remedy.
#[test]
fn distant_clocks_are_reported() {
    run(async {
        let network = Network::with(3, |options| Options { secrets: secrets(SECRET), ..options });
        let at = network.addresses[0];
        let here = tenure::clock::wall().as_nanos() / 1_000_000_000;
        let good = raw(at, dated(here).as_bytes()).await;
        assert!(good.starts_with("HTTP/1.1 200") && good.contains("tenure-mac: "), "{good}");
        for there in [here - 300, here + 300] {
            let answer = raw(at, dated(there).as_bytes()).await;
            assert!(answer.starts_with("HTTP/1.1 401"), "{answer}");
            assert!(answer.contains("tenure-mac: "), "nobody else says so: {answer}");
            let problem: serde_json::Value = serde_json::from_str(body(&answer)).unwrap();
            assert_eq!(problem["type"], "urn:tenure:voter:clock", "{problem}");
            let detail = problem["detail"].as_str().unwrap();
            for part in [
                &*format!("the request is dated {there}, and this voter's clock shows "),
                " s apart; at most 30 s are allowed: set the clocks",
            ] {
                assert!(detail.contains(part), "{detail}");
            }
        }
        elects(&network).await;
        let counters = network.voters[0].counters().await.unwrap();
        assert_eq!(counters.refused["clock"], 2, "{counters:?}");
    });
}

/// In the middle of a rotation one voter has the two secrets in the new order, and the others have
/// them in the old order.
#[test]
fn secret_rotation_keeps_electing() {
    run(async {
        let turn = std::cell::Cell::new(0);
        let network = Network::with(3, |options| {
            turn.set(turn.get() + 1);
            let lines = match turn.get() {
                1 => [NEXT, SECRET].join("\n"),
                _ => [SECRET, NEXT].join("\n"),
            };
            Options { secrets: secrets(&lines), ..options }
        });
        elects(&network).await;
    });
}

#[test]
fn different_secrets_do_not_elect() {
    run(async {
        let turn = std::cell::Cell::new(0);
        let network = Network::with(2, |options| {
            turn.set(turn.get() + 1);
            let secret = if turn.get() == 1 { SECRET } else { NEXT };
            Options { secrets: secrets(secret), ..options }
        });
        let mut notices = network.voters[0].notices();
        let election = network.voters[0].election(ELECTION).unwrap();
        let campaign = election.campaign("a");
        let told = async {
            loop {
                let notice = notices.recv().await.unwrap().to_string();
                if notice
                    .contains("carries no valid MAC: the MAC fits none of this voter's secrets")
                {
                    return;
                }
            }
        };
        soon(told).await;
        let counters = network.voters[0].counters().await.unwrap();
        assert_eq!(counters.elected, 0);
        assert!(counters.failed["forged"] > 0, "{counters:?}");
        drop(campaign);
    });
}

/// An authority, and a certificate that it signs for 127.0.0.1.
fn authority() -> (Pem, impl Fn() -> Identity) {
    let key = KeyPair::generate().unwrap();
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let certificate = params.self_signed(&key).unwrap();
    let pem = Pem::Text(certificate.pem().into_bytes());
    let issuer = Issuer::new(params, key);
    let sign = move || {
        let key = KeyPair::generate().unwrap();
        let params = CertificateParams::new(vec!["127.0.0.1".to_owned()]).unwrap();
        let certificate = params.signed_by(&key, &issuer).unwrap();
        Identity {
            certificate: Pem::Text(certificate.pem().into_bytes()),
            key: Pem::Text(key.serialize_pem().into_bytes()),
        }
    };
    (pem, sign)
}

#[test]
fn common_authority_elects() {
    run(async {
        let (authority, sign) = authority();
        let tls = || Some(Tls { authority: Some(authority.clone()), identity: Some(sign()) });
        let network = Network::with(3, |options| Options { tls: tls(), ..options });
        elects(&network).await;
        // Without TLS there is no answer at all.
        let answer = curl(network.addresses[0], "GET /status", "").await;
        assert!(!answer.starts_with("HTTP"), "{answer}");

        let strange = self::authority().1();
        for (identity, why) in [
            (None, "the other voter wants a certificate, and this process shows none ("),
            (Some(strange), "the other voter does not trust the certificate of this process ("),
        ] {
            let tls = Some(Tls { authority: Some(authority.clone()), identity });
            let options = Options { tls, ..Options::new("127.0.0.1:0".parse().unwrap()) };
            let operator = Operator::new(&options.check().unwrap(), None, PATIENCE).unwrap();
            let url = format!("https://{}", network.addresses[0]).parse().unwrap();
            // A connection may end before the reason is read.
            let refused = async {
                while !operator.status(&url).await.unwrap_err().to_string().contains(why) {}
            };
            soon(refused).await;
        }
    });
}

/// Without TLS any host on the way could answer for a voter, so the voters call only URLs with
/// `https://`.
#[test]
fn certificates_require_tls() {
    run(async {
        let (authority, sign) = authority();
        let options = |identity| {
            let tls = Some(Tls { authority: Some(authority.clone()), identity });
            Options { tls, ..Options::new("127.0.0.1:0".parse().unwrap()) }
        };
        // The other voter serves without TLS and without a secret.
        let plain = Network::start(1);
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let silent = listener.local_addr().unwrap();
        for identity in [Some(sign()), None] {
            let checked = options(identity.clone()).check().unwrap();
            let operator = Operator::new(&checked, None, PATIENCE).unwrap();
            for address in [plain.addresses[0], silent] {
                let url = format!("http://{address}").parse().unwrap();
                let told = operator.status(&url).await.unwrap_err().to_string();
                assert!(told.contains("its URL must begin with https://"), "{told}");
            }
            let seeds = Some(Seeds::new("http://voters.example", "").unwrap());
            let refused = Options { seeds, ..options(identity) }.check();
            assert!(matches!(refused, Err(OptionsError::PlainSeeds { .. })), "{refused:?}");
        }
        let called = tokio::time::timeout(Duration::from_millis(100), listener.accept()).await;
        assert!(called.is_err(), "somebody was called: {called:?}");
        // With a secret the MAC identifies the voter that answers, as behind a proxy.
        let secrets = secrets(SECRET);
        let protected = Network::with(1, |options| Options { secrets: secrets.clone(), ..options });
        let checked = Options { secrets: secrets.clone(), ..options(None) }.check().unwrap();
        let operator = Operator::new(&checked, None, PATIENCE).unwrap();
        let url = format!("http://{}", protected.addresses[0]).parse().unwrap();
        operator.status(&url).await.unwrap();
    });
}

/// A round trip takes two thirds of a request's time. A new TLS connection and a request take
/// longer than the request's time; a request over an open connection does not.
#[test]
fn far_voter_is_reached_by_connection() {
    run(async {
        let (authority, sign) = authority();
        let tls = || Some(Tls { authority: Some(authority.clone()), identity: Some(sign()) });
        let network = Network::with(1, |options| Options { tls: tls(), ..options });
        elects(&network).await;
        let (_far, address) = far(network.addresses[0], Duration::from_secs(1)).await;
        let config = AskerConfig {
            election: ELECTION.parse().unwrap(),
            mode: Mode::Majority,
            urls: vec![format!("https://{address}").parse().unwrap()],
            every: Duration::from_secs(4),
            within: Duration::from_secs(3),
            drift: "0.001".parse().unwrap(),
        };
        let options = Options { tls: tls(), ..Options::new("127.0.0.1:0".parse().unwrap()) };
        let asker = Asker::<AtMostOne>::start(config, &options.check().unwrap()).unwrap();
        let mut observer = asker.election_named(ELECTION.parse().unwrap()).observe();
        let known = async {
            while let None | Some(View::Unknown { .. }) = observer.next().await.unwrap().view() {}
        };
        soon(known).await;
    });
}

/// A captured request is replayed to another voter.
#[test]
fn captured_request_works_nowhere_else() {
    run(async {
        let with = |options| Options { secrets: secrets(SECRET), ..options };
        let network = Network::with(1, with);
        let other = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = other.local_addr().unwrap();
        let options = with(Options::new("127.0.0.1:0".parse().unwrap())).check().unwrap();
        let operator = Operator::new(&options, None, PATIENCE).unwrap();
        let capture = async {
            let (mut stream, _) = other.accept().await.unwrap();
            let mut request = Vec::new();
            while !request.ends_with(b"}") {
                assert!(stream.read_buf(&mut request).await.unwrap() > 0);
            }
            (request, stream)
        };
        let change = Change::Remove("a".parse().unwrap());
        let url = format!("http://{address}").parse().unwrap();
        let (request, _stream) = tokio::select! {
            answered = operator.change(&url, change.clone()) => panic!("by nobody: {answered:?}"),
            captured = soon(capture) => captured,
        };
        let mut stream = TcpStream::connect(network.addresses[0]).await.unwrap();
        stream.write_all(&request).await.unwrap();
        let mut answer = vec![0; 4_096];
        let read = soon(stream.read(&mut answer)).await.unwrap();
        let answer = String::from_utf8_lossy(&answer[..read]).into_owned();
        assert!(answer.starts_with("HTTP/1.1 421"), "{answer}");
        // The voter carries out a request that names its own URL, or refuses it with a reason.
        let url = format!("http://{}", network.addresses[0]).parse().unwrap();
        let refused = operator.change(&url, change).await.unwrap_err();
        assert!(matches!(refused, OperatorError::Refused { .. }), "{refused}");
    });
}

/// A voter that speaks TLS is called without it.
#[test]
fn tls_voter_is_reported() {
    run(async {
        let (authority, sign) = authority();
        let tls = || Some(Tls { authority: Some(authority.clone()), identity: Some(sign()) });
        let network = Network::with(1, |options| Options { tls: tls(), ..options });
        let plain = Options::new("127.0.0.1:0".parse().unwrap()).check().unwrap();
        let operator = Operator::new(&plain, None, PATIENCE).unwrap();
        let url = format!("http://{}", network.addresses[0]).parse().unwrap();
        let told = operator.status(&url).await.unwrap_err().to_string();
        assert!(told.contains("if it speaks TLS, write https:// in its URL"), "{told}");
    });
}

/// A refusal names its voter, by a MAC where the request had one.
#[test]
fn refusal_names_its_voter() {
    run(async {
        let network = Network::with(1, |options| Options { secrets: secrets(SECRET), ..options });
        let at = network.addresses[0];
        for line in ["GET /nowhere", "DELETE /status", "POST /heartbeat"] {
            let answer = curl(at, line, "").await;
            for header in ["tenure-election: billing", "tenure-mode: majority", "tenure-voter: a~"]
            {
                assert!(answer.contains(header), "{line}: {answer}");
            }
        }
        let options =
            Options { secrets: secrets(SECRET), ..Options::new("127.0.0.1:0".parse().unwrap()) };
        let another = "another".parse().unwrap();
        let operator = Operator::new(&options.check().unwrap(), Some(another), PATIENCE).unwrap();
        let url = format!("http://{at}").parse().unwrap();
        let refused = operator.status(&url).await.unwrap_err();
        let OperatorError::Refused { refusal, .. } = &refused else { panic!("{refused}") };
        assert_eq!(*refusal, Refusal::OtherNetwork);
    });
}
