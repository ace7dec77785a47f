//! Debian's packages: unpacked into a folder, or installed when we are root.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::Duration;

use crate::error::Error;
use crate::place::file_error;
use crate::tool;

/// `apt-get update` waits for nobody who holds its lock.
const UPDATE_ATTEMPTS: u32 = 10;
const BETWEEN_UPDATES: Duration = Duration::from_secs(3);

/// Unpacks `packages` into `folder`. Needs no root, unless the package lists are empty, and
/// starts no daemon, which installing would.
pub(crate) fn unpack(packages: &[&str], folder: &Path) -> Result<(), Error> {
    let archives = folder.join("archives");
    fs::create_dir(&archives).map_err(file_error(&archives))?;
    with_lists(packages, || {
        // Root's apt would download as the user `_apt`, who may not write here.
        let mut download = apt("download");
        download.args(["-o", "APT::Sandbox::User=root"]).args(packages).current_dir(&archives);
        download
    })?;
    for entry in fs::read_dir(&archives).map_err(file_error(&archives))? {
        let archive = entry.map_err(file_error(&archives))?.path();
        tool::run(Command::new("dpkg").arg("-x").arg(archive).arg(folder))?;
    }
    fs::remove_dir_all(&archives).map_err(file_error(&archives))
}

/// Another Debian has another version: what `program`, unpacked into `folder`, says of its own has
/// to begin with `wanted`.
pub(crate) fn is_version(program: &Path, wanted: &'static str, folder: &Path) -> Result<(), Error> {
    let said = tool::run(Command::new(program).arg("--version"))?.stdout;
    let said = String::from_utf8_lossy(&said);
    let got = said.lines().next().unwrap_or_default().to_owned();
    if got.starts_with(wanted) {
        return Ok(());
    }
    let programs = program.parent().and_then(|parent| parent.strip_prefix(folder).ok());
    let place = folder.with_extension("").join(programs.unwrap_or(Path::new("")));
    Err(Error::OtherVersion { wanted, got, place })
}

/// Makes sure of what `packages` bring: unless it works already, they are installed if we are root.
/// `missing` is said when that is of no use.
pub(crate) fn ensure(
    works: impl Fn() -> Result<bool, Error>,
    packages: &[&str],
    missing: impl Fn() -> Error,
) -> Result<(), Error> {
    if works()? {
        return Ok(());
    }
    if !is_root() {
        return Err(missing());
    }
    install(packages)?;
    if works()? { Ok(()) } else { Err(missing()) }
}

/// Installs `packages` for the whole machine. Only root can.
fn install(packages: &[&str]) -> Result<(), Error> {
    with_lists(packages, || {
        let mut install = apt("install");
        install.args(["-y", "--no-install-recommends", "-o", "DPkg::Lock::Timeout=300"]);
        install.args(packages).env("DEBIAN_FRONTEND", "noninteractive");
        install
    })
}

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// Runs it, and once more with fresh lists: those of a fresh machine are empty, and old ones
/// name versions that are no longer served.
fn with_lists(packages: &[&str], command: impl Fn() -> Command) -> Result<(), Error> {
    let missing = || Error::Missing {
        what: format!("`{}` are Debian packages, and there is no apt-get", packages.join("`, `")),
        remedy: "Use Debian 12, or do without what needs them (`cargo xtask test --without …`)."
            .into(),
    };
    let first = tool::run_or(&mut command(), missing);
    let Err(Error::Failed { .. }) = first else { return first.map(drop) };
    update()?;
    tool::run(&mut command()).map(drop)
}

fn update() -> Result<(), Error> {
    if !is_root() {
        return Err(Error::Missing {
            what: "apt's package lists are empty or old, and only root can get new ones".into(),
            remedy: "Run `apt-get update` as root.".into(),
        });
    }
    let mut attempt = 1;
    loop {
        match tool::run(&mut apt("update")) {
            Err(Error::Failed { said, .. })
                if said.contains("Could not get lock") && attempt < UPDATE_ATTEMPTS =>
            {
                attempt += 1;
                thread::sleep(BETWEEN_UPDATES);
            }
            done => return done.map(drop),
        }
    }
}

fn apt(verb: &str) -> Command {
    let mut apt = Command::new("apt-get");
    apt.args(["-q", verb]);
    apt
}
