//! An object of S3 refuses earlier leaders, by a program in Python and by one in Rust, on a server
//! of `moto` that pip installs.

#![expect(clippy::unwrap_used, reason = "a test says what went wrong by panicking")]

use std::io::Write as _;
use std::net::TcpStream;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use fences::Superseded;
use fences::s3::{self, Turn};
use object_store::aws::AmazonS3Builder;
use object_store::path::Path;
use object_store::{ObjectStore, ObjectStoreExt as _};
use tempfile::TempDir;
use tenure::clock;
use tenure_services::{Process, addresses};

/// The longest wait for the server: a busy machine may start many processes.
const PATIENCE: Duration = Duration::from_secs(120);

fn run(command: &mut Command) {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

fn put(python: &std::path::Path, url: &str, fence: u64, body: &str) -> Output {
    let script = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("python/fenced_s3.py");
    let mut put = Command::new(python);
    put.arg(script).args(["reports", "today.csv"]).env("AWS_ENDPOINT_URL", url);
    let names = ["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"];
    put.envs(names.map(|name| (name, "test"))).env("AWS_DEFAULT_REGION", "us-east-1");
    put.env("TENURE_ELECTION", "report").env("TENURE_FENCE", fence.to_string());
    put.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut put = put.spawn().unwrap();
    put.stdin.take().unwrap().write_all(body.as_bytes()).unwrap();
    put.wait_with_output().unwrap()
}

/// The client of the program in Rust, with the same bucket.
fn store(url: &str) -> impl ObjectStore {
    rustls::crypto::ring::default_provider().install_default().unwrap();
    let store = AmazonS3Builder::new().with_endpoint(url).with_allow_http(true);
    let store = store.with_access_key_id("test").with_secret_access_key("test");
    store.with_bucket_name("reports").with_region("us-east-1").build().unwrap()
}

/// A server with an empty bucket.
struct Server {
    folder: TempDir,
    url: String,
    _process: Process,
}

impl Server {
    fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        run(Command::new("/usr/bin/env").args(["python3", "-m", "venv"]).arg(folder.path()));
        let python = folder.path().join("bin/python");
        let install = ["-m", "pip", "install", "--quiet", "moto[s3,server]", "boto3"];
        run(Command::new(&python).args(install));
        let [address] = addresses();
        let port = address.port().to_string();
        let words = ["-H", "127.0.0.1", "-p", &port];
        let log = folder.path().join("log");
        let program = folder.path().join("bin/moto_server");
        let process = Process::start(program.as_os_str(), &words, &log).unwrap();
        let began = clock::now();
        while TcpStream::connect(address).is_err() {
            assert!(clock::now().since(began) < PATIENCE, "{:?}", std::fs::read_to_string(&log));
            std::thread::sleep(Duration::from_millis(50));
        }
        let url = format!("http://{address}");
        let bucket = "import boto3, sys; \
                      boto3.client('s3', endpoint_url=sys.argv[1], aws_access_key_id='test', \
                      aws_secret_access_key='test', region_name='us-east-1')\
                      .create_bucket(Bucket='reports')";
        run(Command::new(&python).args(["-c", bucket, &url]));
        Self { folder, url, _process: process }
    }

    /// The program in Python writes `today.csv`.
    fn put(&self, fence: u64, body: &str) -> Output {
        put(&self.folder.path().join("bin/python"), &self.url, fence, body)
    }
}

#[test]
fn objects_refuse_earlier_leaders() {
    let server = Server::start();
    for (fence, body, admitted) in [(7, "one", true), (8, "two", true), (7, "late", false)] {
        let output = server.put(fence, body);
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.success(), admitted, "{said}");
        assert!(admitted || said.contains("a later leader of report has written"), "{said}");
    }

    let (store, path) = (store(&server.url), Path::from("today.csv"));
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let set = async |fence, body| s3::put_as_leader(&store, &path, fence, body).await.unwrap();
        assert_eq!(set(7, "late").await, Err(Superseded), "Python's fence is known");
        assert_eq!(set(8, "three").await, Ok(()));
        assert_eq!(set(8, "four").await, Ok(()), "a leader writes often");
        writes_on_condition(&store, &path).await;
    });
    assert!(!server.put(8, "late").status.success(), "Rust's fence is known");
}

/// A later leader writes between an earlier leader's read and its write.
async fn writes_on_condition(store: &impl ObjectStore, present: &Path) {
    for path in [present, &Path::from("new.csv")] {
        let turn = Turn::take(store, path, 8).await.unwrap().unwrap();
        s3::put_as_leader(store, path, 9, "later").await.unwrap().unwrap();
        assert!(!turn.write("late").await.unwrap(), "{path}");
        let kept = store.get(path).await.unwrap().bytes().await.unwrap();
        assert_eq!(kept.as_ref(), b"later", "{path}");
    }
}
