//! Debian's packages: unpacked into a folder, or installed by root.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::Duration;

use crate::error::Error;
use crate::place::file_error;
use crate::tool;

/// Attempts of `apt-get update`, which does not wait for its lock.
const UPDATE_ATTEMPTS: u32 = 10;
const BETWEEN_UPDATES: Duration = Duration::from_secs(3);

/// Unpacks `packages` into `folder`. Needs no root, unless the package lists are empty. Unlike an
/// installation, starts no daemon.
///
/// Another Debian may have another version: the version that `program` prints must begin with
/// `wanted`.
pub(crate) fn unpack(
    packages: &[&str],
    folder: &Path,
    program: &str,
    wanted: &str,
) -> Result<(), Error> {
    let archives = folder.join("archives");
    fs::create_dir(&archives).map_err(file_error(&archives))?;
    with_lists(packages, || {
        // Root's apt would download as the user `_apt`, which may not write to this folder.
        let mut download = apt("download");
        download.args(["-o", "APT::Sandbox::User=root"]).args(packages).current_dir(&archives);
        download
    })?;
    for entry in fs::read_dir(&archives).map_err(file_error(&archives))? {
        let archive = entry.map_err(file_error(&archives))?.path();
        tool::run(Command::new("dpkg").arg("-x").arg(archive).arg(folder))?;
    }
    fs::remove_dir_all(&archives).map_err(file_error(&archives))?;
    let said = tool::run(Command::new(folder.join(program)).arg("--version"))?.stdout;
    let said = String::from_utf8_lossy(&said);
    let got = said.lines().next().unwrap_or_default();
    if got.starts_with(wanted) {
        return Ok(());
    }
    let place = folder.with_extension("").join(program);
    Err(Error::Missing {
        what: format!("wanted \"{wanted}…\", and `{program} --version` says \"{got}\""),
        remedy: format!(
            "This Debian has another version. Put the wanted version at {} by hand.",
            place.display()
        ),
    })
}

/// Makes sure that `packages` are installed: if the check fails, root installs them. `missing` is
/// the error if the check still fails.
pub(crate) fn ensure(
    works: impl Fn() -> bool,
    packages: &[&str],
    missing: &str,
) -> Result<(), Error> {
    if works() {
        return Ok(());
    }
    if is_root() {
        with_lists(packages, || {
            let mut install = apt("install");
            install.args(["-y", "--no-install-recommends", "-o", "DPkg::Lock::Timeout=300"]);
            install.args(packages).env("DEBIAN_FRONTEND", "noninteractive");
            install
        })?;
        if works() {
            return Ok(());
        }
    }
    let remedy = format!("As root: `apt-get install {}`.", packages.join(" "));
    Err(Error::Missing { what: missing.to_owned(), remedy })
}

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// Runs the command, and once more with fresh lists if it fails. A new machine has empty lists, and
/// old lists name versions that are gone from the server.
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
