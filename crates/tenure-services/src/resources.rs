//! Resources to which leaders write: Postgres and Redis, from Debian's packages, with Python's
//! clients of both.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

use crate::error::Error;
use crate::place::temporary;
use crate::port::addresses;
use crate::process::Process;
use crate::{debian, tool};

const PACKAGES: [&str; 4] = ["postgresql", "redis-server", "python3-psycopg2", "python3-redis"];
const MISSING: &str = "Postgres, Redis, or one of Python's clients for them is missing";

/// The folder in which Debian keeps the programs of each version of Postgres.
const POSTGRES: &str = "/usr/lib/postgresql";

/// The arguments of `setpriv` that leave root: Postgres refuses to run as root.
const AS_POSTGRES: [&str; 5] =
    ["--reuid=postgres", "--regid=postgres", "--clear-groups", "--pdeathsig", "KILL"];

/// A running server on a free port of loopback. A drop ends the server, and removes its data.
#[derive(Debug)]
pub struct Resource {
    pub address: SocketAddr,
    // Fields are dropped in order: the process ends before its data go.
    _process: Process,
    _data: TempDir,
}

/// Installs missing packages, as root.
fn ensure() -> Result<(), Error> {
    let works = || {
        let clients =
            tool::says(Command::new("/usr/bin/python3").args(["-c", "import psycopg2, redis"]));
        let server = tool::says(Command::new("redis-server").arg("--version"));
        postgres("initdb").is_some() && server.is_some() && clients.is_some()
    };
    debian::ensure(works, &PACKAGES, MISSING)
}

/// A program of the newest version of Postgres.
fn postgres(program: &str) -> Option<PathBuf> {
    let versions = Path::new(POSTGRES).read_dir().ok()?;
    let folders = versions.filter_map(|entry| Some(entry.ok()?.path().join("bin").join(program)));
    folders.filter(|program| program.exists()).max()
}

/// Starts Postgres, with a superuser `postgres` who needs no password.
pub fn start_postgres() -> Result<Resource, Error> {
    ensure()?;
    let found = |program| {
        let remedy = "Install Debian's package postgresql.".into();
        postgres(program).ok_or(Error::Missing { what: MISSING.into(), remedy })
    };
    let data = temporary("tenure-postgres-")?;
    tool::run(Command::new("chown").arg("postgres:").arg(data.path()))?;
    let files = data.path().join("data");
    let mut initdb = Command::new("setpriv");
    initdb.args(AS_POSTGRES).arg(found("initdb")?).args(["--no-sync", "--auth=trust"]);
    tool::run(initdb.args(["--username=postgres", "--pgdata"]).arg(&files))?;
    let [address] = addresses();
    let mut words: Vec<_> = AS_POSTGRES.iter().map(ToString::to_string).collect();
    words.push(found("postgres")?.display().to_string());
    words.extend(["-D".into(), files.display().to_string()]);
    words.extend(["-h".into(), address.ip().to_string()]);
    words.extend(["-p".into(), address.port().to_string()]);
    words.extend(["-k".into(), data.path().display().to_string()]);
    let log = data.path().join("log");
    let process = Process::start("setpriv".as_ref(), &words, &log)?;
    Ok(Resource { address, _process: process, _data: data })
}

/// Starts Redis, without a password.
pub fn start_redis() -> Result<Resource, Error> {
    ensure()?;
    let data = temporary("tenure-redis-")?;
    let [address] = addresses();
    let folder = data.path().display().to_string();
    let port = address.port().to_string();
    let words =
        ["--bind", "127.0.0.1", "--port", &port, "--dir", &folder, "--save", ""].map(str::to_owned);
    let process = Process::start("redis-server".as_ref(), &words, &data.path().join("log"))?;
    Ok(Resource { address, _process: process, _data: data })
}
