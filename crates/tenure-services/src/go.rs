//! Programs built from Go modules.

use std::path::Path;
use std::process::Command;

use crate::error::Error;
use crate::place::file_error;
use crate::tool;

/// Builds `programs`, as (module, name of the binary), all at `version` (`v3.7.3`), into `folder`.
///
/// In a module of their own: `go install` refuses modules that have replace directives.
pub(crate) fn build(programs: &[(&str, &str)], version: &str, folder: &Path) -> Result<(), Error> {
    let module = tempfile::tempdir().map_err(file_error(&std::env::temp_dir()))?;
    let go = |arguments: &[&str]| {
        let mut go = Command::new("go");
        go.args(arguments).current_dir(module.path()).env("GOFLAGS", "-buildvcs=false");
        tool::run_or(&mut go, missing).map(drop)
    };
    go(&["mod", "init", "example.org/services"])?;
    let wanted: Vec<_> = programs.iter().map(|(module, _)| format!("{module}@{version}")).collect();
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
    // Outside any module: none has a say in it.
    let mut go = Command::new("go");
    go.args(["list", "-m", "-f", "{{.Version}}", &module]).current_dir(std::env::temp_dir());
    let said = tool::run_or(&mut go, missing)?.stdout;
    Ok(String::from_utf8_lossy(&said).trim().to_owned())
}

fn missing() -> Error {
    Error::Missing {
        what: "the newest etcd is built from its Go module, and there is no `go`".into(),
        remedy: "Install Go from https://go.dev/dl (Debian 12's is too old) and put it on PATH, \
                 or do without (`cargo xtask test --without services,test`)."
            .into(),
    }
}
