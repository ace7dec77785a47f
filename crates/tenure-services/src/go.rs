//! Programs built from Go modules.

use std::fs;
use std::hash::{DefaultHasher, Hasher as _};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::error::Error;
use crate::place::{self, file_error};
use crate::tool;

/// Builds the program `name` into the user's cache of services, and returns its path. The folder
/// `source` has the Go module with its `go.sum`. A program that was built from the same files is
/// used again. Takes half a minute. Two processes may call this at once.
pub fn program(name: &str, source: &Path) -> Result<PathBuf, Error> {
    let place = format!("{name}-{:016x}", fingerprint(source)?);
    let folder = place::once(&place, |folder| {
        let binary = folder.join(name).display().to_string();
        go(source, &["build", "-trimpath", "-mod=readonly", "-o", &binary, "."]).map(drop)
    })?;
    Ok(folder.join(name))
}

/// Fingerprint of the files of a module, without the folders below it.
fn fingerprint(source: &Path) -> Result<u64, Error> {
    let entries = fs::read_dir(source).and_then(|entries| {
        let files = entries.map(|entry| entry.map(|entry| entry.path()));
        files.collect::<Result<Vec<_>, _>>()
    });
    let mut files = entries.map_err(file_error(source))?;
    files.retain(|path| path.is_file());
    files.sort();
    let mut hasher = DefaultHasher::new();
    for file in &files {
        hasher.write(file.file_name().unwrap_or_default().as_encoded_bytes());
        hasher.write(&fs::read(file).map_err(file_error(file))?);
    }
    Ok(hasher.finish())
}

/// Builds `programs`, as (module, name of the binary), all of version `number`, into `folder`.
///
/// The programs get a module of their own, as `go install` refuses modules that have replace
/// directives.
pub(crate) fn build(programs: &[(&str, &str)], number: &str, folder: &Path) -> Result<(), Error> {
    let module = place::temporary("tenure-go-")?;
    let go = |arguments: &[&str]| go(module.path(), arguments);
    go(&["mod", "init", "example.org/services"])?;
    let wanted: Vec<_> = programs.iter().map(|(module, _)| format!("{module}@v{number}")).collect();
    let get: Vec<_> = std::iter::once("get").chain(wanted.iter().map(String::as_str)).collect();
    go(&get)?;
    for (module, name) in programs {
        let binary = folder.join(name).display().to_string();
        go(&["build", "-trimpath", "-ldflags=-s -w", "-o", &binary, module])?;
    }
    Ok(())
}

/// The newest version of `module` that the module proxy has.
pub(crate) fn latest(module: &str) -> Result<String, Error> {
    let module = format!("{module}@latest");
    // Outside of any module, no requirements change the answer.
    go(&std::env::temp_dir(), &["list", "-m", "-f", "{{.Version}}", &module])
}

fn go(folder: &Path, arguments: &[&str]) -> Result<String, Error> {
    let mut go = Command::new("go");
    go.args(arguments).current_dir(folder).env("GOFLAGS", "-buildvcs=false");
    let said = tool::run_or(&mut go, || Error::Missing {
        what: "some services are built from their Go modules, and there is no `go`".into(),
        remedy: "Install Go from https://go.dev/dl (Debian 12's is too old) and put it on PATH, \
                 or do without (`cargo xtask test --without services,test`)."
            .into(),
    })?;
    Ok(String::from_utf8_lossy(&said.stdout).trim().to_owned())
}
