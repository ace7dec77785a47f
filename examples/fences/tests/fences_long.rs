//! Leaders of a real election write to real resources; the resources refuse earlier leaders.

#![expect(clippy::unwrap_used, reason = "a test says what went wrong by panicking")]

use std::path::Path;
use std::process::{Command, Output};
use std::time::Duration;

use axum::Router;
use axum::middleware::from_fn_with_state;
use axum::routing::post;
use fences::{Superseded, http, postgres, redis};
use tenure::clock;
use tenure_nerio::{Config, Node, Opening, Storage, members};
use tenure_services::{addresses, resources};

/// The longest wait for a server: a busy machine may start many processes.
const PATIENCE: Duration = Duration::from_secs(120);

/// The fences of two leaders of one election, the earlier leader first.
fn fences() -> [u64; 2] {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let [address] = addresses();
        let list = members(&format!("a={address}")).unwrap();
        let config = Config::new("fences".parse().unwrap(), list).check().unwrap();
        let node = Node::builder(config, "a".parse().unwrap())
            .grantor(Storage::Memory { opening: Opening::New })
            .start()
            .unwrap();
        let election = node.election("billing").unwrap();
        let first = election.campaign("").await.unwrap();
        let earlier = first.fence().number();
        first.resign().await;
        let later = election.campaign("").await.unwrap().fence().number();
        node.close().await;
        [earlier, later]
    })
}

fn python(script: &str, fence: u64, arguments: &[&str]) -> Output {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("python");
    Command::new("/usr/bin/python3")
        .arg(folder.join(script))
        .args(arguments)
        .env("TENURE_ELECTION", "billing")
        .env("TENURE_FENCE", fence.to_string())
        .output()
        .unwrap()
}

/// Expects that a program with this fence succeeds, or names a later leader.
fn expect(output: &Output, succeeds: bool) {
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.success(), succeeds, "{said}");
    assert!(succeeds || said.contains("a later leader of billing has written"), "{said}");
}

fn wait<T, E: std::fmt::Debug>(mut attempt: impl FnMut() -> Result<T, E>) -> T {
    let began = clock::now();
    loop {
        match attempt() {
            Ok(done) => return done,
            Err(error) if clock::now().since(began) > PATIENCE => panic!("{error:?}"),
            Err(_) => std::thread::sleep(Duration::from_millis(50)),
        }
    }
}

#[test]
fn postgres_refuses_earlier_leaders() {
    let [earlier, later] = fences();
    let server = resources::start_postgres().unwrap();
    let address = server.address;
    let place = format!("host={} port={} user=postgres", address.ip(), address.port());
    let connect = || ::postgres::Client::connect(&place, ::postgres::NoTls);
    let mut client = wait(connect);
    expect(&python("fenced_postgres.py", earlier, &[&place, "one"]), true);
    let mut add = |fence: u64, entry: &str| {
        let fence = i64::try_from(fence).unwrap();
        postgres::write_as_leader(&mut client, "billing", fence, |transaction| {
            transaction.execute("INSERT INTO ledger (entry) VALUES ($1)", &[&entry]).map(drop)
        })
        .unwrap()
    };
    assert_eq!(add(later, "two"), Ok(()));
    assert_eq!(add(later, "three"), Ok(()), "a leader writes often");
    assert_eq!(add(earlier, "late"), Err(Superseded));
    expect(&python("fenced_postgres.py", earlier, &[&place, "late"]), false);
    let rows = client.query("SELECT entry FROM ledger ORDER BY entry", &[]).unwrap();
    let entries: Vec<String> = rows.iter().map(|row| row.get(0)).collect();
    assert_eq!(entries, ["one", "three", "two"]);
}

#[test]
fn postgres_holds_later_leaders_back() {
    let [earlier, later] = fences();
    let server = resources::start_postgres().unwrap();
    let address = server.address;
    let place = format!("host={} port={} user=postgres", address.ip(), address.port());
    let mut client = wait(|| ::postgres::Client::connect(&place, ::postgres::NoTls));
    client.batch_execute(postgres::TABLE).unwrap();
    let fence = i64::try_from(earlier).unwrap();
    postgres::write_as_leader(&mut client, "billing", fence, |_| {
        // The earlier leader's transaction is open, so the later leader's transaction waits for the
        // row.
        let mut other = ::postgres::Client::connect(&place, ::postgres::NoTls).unwrap();
        other.batch_execute("SET lock_timeout = '100ms'").unwrap();
        let later = i64::try_from(later).unwrap();
        let waited = postgres::write_as_leader(&mut other, "billing", later, |_| Ok(()));
        let code = waited.unwrap_err().code().cloned();
        assert_eq!(code, Some(::postgres::error::SqlState::LOCK_NOT_AVAILABLE));
        Ok(())
    })
    .unwrap()
    .unwrap();
}

#[test]
fn redis_refuses_earlier_leaders() {
    let [earlier, later] = fences();
    let server = resources::start_redis().unwrap();
    let place = format!("redis://{}", server.address);
    let client = ::redis::Client::open(&*place).unwrap();
    let mut connection = wait(|| client.get_connection());
    expect(&python("fenced_redis.py", earlier, &[&place, "price", "1"]), true);
    let mut set = |fence, value| {
        redis::set_as_leader(&mut connection, "billing", fence, "price", value).unwrap()
    };
    assert_eq!(set(later, "2"), Ok(()));
    assert_eq!(set(earlier, "late"), Err(Superseded));
    expect(&python("fenced_redis.py", earlier, &[&place, "price", "late"]), false);
    assert_eq!(redis::get(&mut connection, "price").unwrap().as_deref(), Some("2"));
}

#[test]
fn servers_refuse_earlier_leaders() {
    let [earlier, later] = fences();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let gate = from_fn_with_state(http::Gate::default(), http::admit);
    let app = Router::new().route("/", post(async || "done")).layer(gate);
    let listener = runtime.block_on(tokio::net::TcpListener::bind("127.0.0.1:0")).unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    runtime.spawn(axum::serve(listener, app).into_future());
    let post = |fence| python("fenced_http.py", fence, &["post", &url, "on"]).status.success();
    assert!(post(earlier));
    assert!(post(later));
    assert!(!post(earlier), "a later leader was here");
}

#[test]
fn servers_in_python_refuse_earlier_leaders() {
    use std::io::{BufRead as _, BufReader};
    use std::process::Stdio;

    let [earlier, later] = fences();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("python");
    let mut server = Command::new("/usr/bin/python3");
    server.arg(folder.join("fenced_http.py")).args(["serve", "0"]).stdout(Stdio::piped());
    let mut server = server.stderr(Stdio::null()).spawn().unwrap();
    let mut port = String::new();
    BufReader::new(server.stdout.take().unwrap()).read_line(&mut port).unwrap();
    let url = format!("http://127.0.0.1:{}/", port.trim());
    let post = |fence| python("fenced_http.py", fence, &["post", &url, "on"]).status.success();
    let said = [post(earlier), post(later), post(earlier)];
    server.kill().unwrap();
    server.wait().unwrap();
    assert_eq!(said, [true, true, false]);
}
