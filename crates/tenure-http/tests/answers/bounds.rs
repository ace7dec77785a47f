//! Bounds, and requests that a page of another site makes a browser send.

use std::io::{Read, Write};
use std::net::TcpStream;

use tenure_testkit::processes::{eventually, exchange};

use crate::{PATH, Stage, connect_from};

/// Idle connections of one address leave room for other addresses, and the server closes them.
#[tokio::test]
async fn idle_connections_are_bounded() {
    let stage = Stage::new();
    let mut idle: Vec<_> = (0..200).map(|_| TcpStream::connect(stage.web.0).unwrap()).collect();
    let other = connect_from(2, stage.web).await;
    let head = format!("Host: {}\r\n", stage.web.0);
    assert_eq!(exchange(other, "GET", "/healthz", &head, "").unwrap().status, 200);
    // The server closes the last connection at once, and the first after a while.
    for stream in [idle.pop().unwrap(), idle.remove(0)] {
        let mut stream = stream;
        assert_eq!(stream.read(&mut [0]).unwrap_or(0), 0);
    }
    let metrics = eventually("room", || {
        let metrics = stage.web.try_ask("GET", "/metrics", "", "").ok()?.body;
        metrics.contains("tenure_http_refused_total{cause=\"crowded\"}").then_some(metrics)
    });
    let refused = metrics.lines().find(|line| line.contains("\"crowded\"")).unwrap();
    let refused: u64 = refused.rsplit(' ').next().unwrap().parse().unwrap();
    assert!(refused >= 200 - 32, "{refused}");
}

#[tokio::test]
async fn large_heads_are_refused() {
    let stage = Stage::new();
    let long = format!("X-Long: {}\r\n", "x".repeat(20_000));
    let answer = stage.web.try_ask("GET", "/healthz", &long, "");
    assert!(answer.is_err() || answer.is_ok_and(|answer| answer.status == 431));
    assert_eq!(stage.web.get("/healthz").status, 200);
}

#[tokio::test]
async fn foreign_sites_get_nothing() {
    let stage = Stage::new();
    let heads = [
        ("Host: evil.example:80\r\n", "the header Host names \"evil.example:80\". A server"),
        (
            "Origin: http://evil.example\r\n",
            "the header Origin names \"http://evil.example\", so a page",
        ),
    ];
    for (head, why) in heads {
        let refused = stage.web.ask("GET", PATH, head, "");
        let detail = refused.json()["detail"].as_str().unwrap().to_owned();
        assert!(refused.status == 403 && detail.starts_with(why), "{refused:?}");
    }
    // A load balancer that speaks HTTP/1.0 names no host.
    let mut old = TcpStream::connect(stage.web.0).unwrap();
    old.write_all(b"OPTIONS /healthz HTTP/1.0\r\n\r\n").unwrap();
    let mut answer = String::new();
    old.read_to_string(&mut answer).unwrap();
    assert!(answer.contains(" 405 "), "{answer}");
}
