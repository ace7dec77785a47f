//! Renewals under a flood of requests: figures for people, not for a gate.

#![expect(clippy::unwrap_used, reason = "a test says what went wrong by panicking")]

use std::fs;
use std::io::{self, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::thread;
use std::time::Duration;

use rustix::net::{AddressFamily, SocketFlags, SocketType, bind, connect, socket_with};
use tenure_testkit::processes::{Machine, Members, Web, addresses, eventually};

const PATH: &str = "/v1/elections/billing";

/// The time for which renewals are counted.
const SPAN: Duration = Duration::from_secs(20);

fn number(metrics: &str, line: &str) -> f64 {
    let found = metrics.lines().find_map(|found| found.strip_prefix(line)?.trim().parse().ok());
    found.unwrap_or_else(|| panic!("{line}: {metrics}"))
}

/// Renewals and terms of the process, and its resident memory in KiB.
fn figures(web: Web, pid: i32) -> (f64, f64, u64) {
    let metrics = web.get("/metrics").body;
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let memory = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    let memory = memory.trim().trim_end_matches(" kB").parse().unwrap();
    let of = |name: &str| number(&metrics, &format!("{name}{{election=\"billing\"}}"));
    (of("tenure_renewals_total"), of("tenure_terms_total"), memory)
}

/// A connection from another address of this machine: the server gives each address a share of its
/// connections.
fn connect_from(nth: u8, place: SocketAddr) -> io::Result<TcpStream> {
    let flags = SocketFlags::CLOEXEC;
    let socket = socket_with(AddressFamily::INET, SocketType::STREAM, flags, None)?;
    bind(&socket, &SocketAddr::from(([127, 0, 0, 2 + nth % 4], 0)))?;
    connect(&socket, &place)?;
    Ok(socket.into())
}

/// A subscriber that reads nothing. Beyond its bounds the server closes connections.
fn subscribe(nth: u8, place: SocketAddr) -> io::Result<TcpStream> {
    let mut stream = connect_from(nth, place)?;
    write!(stream, "GET /v1/events HTTP/1.1\r\nHost: {place}\r\n\r\n")?;
    Ok(stream)
}

/// 1,000 idle connections, 200 subscribers that read nothing, and four clients that ask without a
/// pause: `cargo nextest run -p tenure-cli --test http_flood_long --no-capture`.
#[test]
fn flood_takes_no_renewal() {
    let machine = Machine::new(env!("CARGO_BIN_EXE_tenure"));
    let members = Members::new(["a"]).to_string();
    let [place] = addresses::<1>();
    let http = place.to_string();
    let words = [
        "run",
        "--members",
        &members,
        "--name",
        "a",
        "--state",
        "state",
        "--new",
        "--election",
        "billing",
        "--grace",
        "300ms",
        "--http",
        &http,
        "--",
        "sleep",
        "600",
    ];
    let runner = machine.start("a", &words);
    let web = Web(place);
    eventually("it leads", || {
        let leading = web.try_ask("GET", &format!("{PATH}/leading"), "", "").ok()?;
        (leading.status == 200).then_some(())
    });
    let pid = runner.pid().as_raw_nonzero().get();
    let calm = (figures(web, pid), thread::sleep(SPAN), figures(web, pid));
    let before = figures(web, pid);
    let clients: Vec<_> = (0..4)
        .map(|_| {
            thread::spawn(move || {
                let end = tenure::clock::now().after(SPAN);
                let mut answers = [0_u32; 2];
                while tenure::clock::now() < end {
                    let is_answered = web.try_ask("GET", PATH, "", "").is_ok();
                    answers[usize::from(is_answered)] += 1;
                }
                answers
            })
        })
        .collect();
    let slow: Vec<_> = (0..200).filter_map(|nth| subscribe(nth, place).ok()).collect();
    let idle = (0..1_000).map(|nth: u16| connect_from(nth.to_le_bytes()[0], place));
    let idle: Vec<_> = idle.filter_map(Result::ok).collect();
    let metrics = web.get("/metrics").body;
    let refused = number(&metrics, "tenure_http_refused_total{cause=\"crowded\"}");
    let connections = number(&metrics, "tenure_http_connections");
    let answers: Vec<_> = clients.into_iter().map(|client| client.join().unwrap()).collect();
    let after = figures(web, pid);
    println!(
        "calm: {} renewals in {SPAN:?}; flooded: {}; memory {} -> {} KiB; answers [lost, got] \
         {answers:?}; {} idle, {} slow, of which {connections} are open and {refused} refused",
        calm.2.0 - calm.0.0,
        after.0 - before.0,
        before.2,
        after.2,
        idle.len(),
        slow.len(),
    );
    assert!((after.1 - 1.0).abs() < 0.1, "the leadership was lost: {} terms", after.1);
}
