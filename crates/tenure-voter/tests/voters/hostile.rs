//! Strangers: each gets a clear answer, and does no harm.

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::common::{ELECTION, Network, body, curl, raw, run, soon};

fn problem(answer: &str) -> (String, String) {
    let status = answer.split_whitespace().nth(1).unwrap_or_default().to_owned();
    let problem: serde_json::Value = serde_json::from_str(body(answer)).unwrap_or_default();
    let kind = problem["type"].as_str().unwrap_or_default();
    (status, kind.trim_start_matches("urn:tenure:voter:").to_owned())
}

#[test]
fn unusable_requests_are_problems() {
    run(async {
        let network = Network::start(1);
        let address = network.addresses[0];
        let large = "x".repeat(300_000);
        let voter = r#"{"voterId":"a","reason":"told to"}"#;
        let zero = "0".repeat(32);
        let unknown = format!(
            r#"{{"ballot":{{"counter":9,"initiator":"a","attempt":0}},"certified":true,"votes":[],
            "newLeader":{{"voterId":"a","identity":"{zero}","incarnation":"{zero}"}}}}"#
        );
        for (line, body, status, kind) in [
            ("GET /nowhere", "", "404", "unknown-path"),
            ("GET /register", "", "405", "method"),
            ("DELETE /status", "", "405", "method"),
            ("POST /register", "{}", "400", "unreadable"),
            ("POST /register", &*large, "413", "too-large"),
            ("POST /remove", voter, "400", "malformed"),
            ("POST /remove", r#"{"voterId":"nobody"}"#, "404", "unknown-voter"),
            ("POST /election/certify", &*unknown, "404", "unknown-election"),
            ("POST /election/release", "{}", "400", "unreadable"),
            ("POST /electorate", r#"{"add":"nobody"}"#, "409", "not-leading"),
        ] {
            let answer = curl(address, line, body).await;
            assert_eq!(problem(&answer), (status.to_owned(), kind.to_owned()), "{line}: {answer}");
            assert!(answer.contains("content-type: application/problem+json"), "{answer}");
        }
        let refused = network.voters[0].counters().await.unwrap().refused;
        assert_eq!((refused["method"], refused["too-large"], refused["unreadable"]), (2, 1, 2));
    });
}

#[test]
fn foreign_election_is_refused() {
    run(async {
        let network = Network::start(1);
        let ask = |election: &str| {
            let request = format!(
                "GET /status HTTP/1.1\r\nHost: a\r\nConnection: close\r\nTenure-Election: \
                 {election}\r\n\r\n"
            );
            async move { raw(network.addresses[0], request.as_bytes()).await }
        };
        assert!(ask(ELECTION).await.starts_with("HTTP/1.1 200"));
    });
    run(async {
        let network = Network::start(1);
        let request = b"GET /status HTTP/1.1\r\nHost: a\r\nConnection: close\r\nTenure-Election: \
                        other\r\n\r\n";
        let answer = raw(network.addresses[0], request).await;
        assert_eq!(problem(&answer), ("409".to_owned(), "other-network".to_owned()));
    });
}

/// A page that is open in a browser on this machine reaches loopback, too.
#[test]
fn browser_page_changes_nothing() {
    run(async {
        let network = Network::start(1);
        for line in ["POST /election/start", "GET /status", "POST /electorate"] {
            let request = format!(
                "{line} HTTP/1.1\r\nHost: a\r\nConnection: close\r\nOrigin: http://evil.example\r\n\
                 Content-Length: 0\r\n\r\n"
            );
            let answer = raw(network.addresses[0], request.as_bytes()).await;
            assert_eq!(problem(&answer), ("403".to_owned(), "origin".to_owned()), "{answer}");
        }
    });
}

/// Slow clients, endless clients and floods come while a voter elects.
#[test]
fn endless_requests_are_cut_off() {
    run(async {
        let network = Network::start(3);
        let address = network.addresses[0];
        let head = "POST /register HTTP/1.1\r\nHost: a\r\nConnection: close\r\n";
        let slow = async {
            let mut stream = TcpStream::connect(address).await.unwrap();
            let begun = format!("{head}Content-Length: 10\r\n\r\n{{");
            stream.write_all(begun.as_bytes()).await.unwrap();
            let mut answer = String::new();
            soon(stream.read_to_string(&mut answer)).await.unwrap();
            assert_eq!(problem(&answer), ("408".to_owned(), "too-slow".to_owned()), "{answer}");
        };
        let endless = async {
            let chunk = format!("10000\r\n{}\r\n", "x".repeat(0x1_0000)).repeat(8);
            let request = format!("{head}Transfer-Encoding: chunked\r\n\r\n{chunk}");
            let answer = raw(address, request.as_bytes()).await;
            assert_eq!(problem(&answer), ("413".to_owned(), "too-large".to_owned()), "{answer}");
        };
        let huge = async {
            let request = format!("{head}Content-Length: 100000000\r\n\r\n");
            let answer = raw(address, request.as_bytes()).await;
            assert_eq!(problem(&answer), ("413".to_owned(), "too-large".to_owned()), "{answer}");
        };
        let flood = async {
            let headers: String = (0..100).map(|n| format!("X-{n}: y\r\n")).collect();
            let answer = raw(address, format!("{head}{headers}\r\n").as_bytes()).await;
            assert!(answer.starts_with("HTTP/1.1 431"), "{answer}");
            let long = format!("{head}X: {}\r\n\r\n", "y".repeat(100_000));
            let answer = raw(address, long.as_bytes()).await;
            assert!(answer.starts_with("HTTP/1.1 431") || answer.is_empty(), "{answer}");
        };
        let silent = async {
            let mut stream = TcpStream::connect(address).await.unwrap();
            let mut answer = String::new();
            let _ = soon(stream.read_to_string(&mut answer)).await;
        };
        let elects = async {
            let election = network.voters[0].election(ELECTION).unwrap();
            assert!(soon(election.campaign("a")).await.unwrap().is_current());
        };
        tokio::join!(slow, endless, huge, flood, silent, elects);
        let refused = network.voters[0].counters().await.unwrap().refused;
        assert!(refused["head-too-large"] >= 1, "{refused:?}");
    });
}
