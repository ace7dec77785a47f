//! The command to run, and the times of its end.

use std::env;
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use rustix::fs::{Access, AtFlags, CWD, accessat};
use tenure_core::{ElectionName, Fence, NodeName};

use crate::error::SuperviseError;
use crate::last_word::LastWord;
use crate::link::Link;
use crate::roles::{GUARD, MYSELF};
use crate::{descend, launcher};

/// A command, its environment, and the times that bound its end.
#[derive(Clone, Debug)]
pub struct Plan {
    /// File to execute, from [`resolve`].
    pub program: PathBuf,
    /// First argument of the command, its own name: usually as the user wrote it.
    pub name: OsString,
    /// Arguments, without the name.
    pub args: Vec<OsString>,
    /// Value of the command's variable `TENURE_ELECTION`.
    pub election: ElectionName,
    /// Value of `TENURE_ID`.
    pub id: NodeName,
    /// Value of `TENURE_FENCE`; without a fence the command does not have this variable.
    pub fence: Option<Fence>,
    /// Value of `TENURE_ROLE`, in an election with several roles; without a value the command
    /// inherits the variable.
    pub role: Option<u32>,
    /// Streams for the command's output; `None` for this process's own.
    pub output: Option<Output>,
    /// Variables of this process that the command does not inherit, such as those that hold a
    /// password.
    pub withheld: Vec<OsString>,
    /// Value of `TENURE_UNTIL_FILE`: the path of a file. The file holds the end of the lease in
    /// nanoseconds of `CLOCK_BOOTTIME`, or `none` once the lease has no end, and a newline. Each
    /// new content replaces the file, so it can be read at any time. A command that starts without
    /// an end of the lease gets neither file nor variable. The file is removed when the handle is
    /// dropped. A killed supervisor leaves the file behind, with an instant that soon passes.
    pub until_file: PathBuf,
    /// Span before the end of the lease at which the command gets SIGTERM, and the time that it has
    /// after a stop. At least `kill_margin`; a command whose grace equals the kill margin is killed
    /// without a warning. With too long a grace, short leases leave no time to work.
    pub grace: Duration,
    /// The guard sends SIGKILL at least this long before the end of the lease. Must cover the time
    /// that the machine may take to let the guard run and to tear the processes down.
    pub kill_margin: Duration,
    /// The word of the guard to another process when no process of the command is left.
    pub last_word: Option<LastWord>,
}

/// Standard output and standard error of a command, for example the writing ends of two pipes.
/// Clones share the streams.
#[derive(Clone, Debug)]
pub struct Output {
    pub out: Arc<OwnedFd>,
    /// Standard error, of the guard as well.
    pub err: Arc<OwnedFd>,
}

impl Plan {
    pub(crate) fn check(&self) -> Result<(), SuperviseError> {
        let grace = self.grace;
        let kill_margin = self.kill_margin;
        if grace < kill_margin {
            return Err(SuperviseError::Plan { grace, kill_margin });
        }
        Ok(())
    }

    /// The command that starts the guard, with `link` as its standard input. The user's command
    /// inherits the standard streams and the environment from the guard, less the withheld
    /// variables.
    pub(crate) fn guard(&self, link: Link, until_file: Option<&Path>) -> io::Result<Command> {
        let mut guard = Command::new(MYSELF);
        guard.arg0(env::args_os().next().unwrap_or_default()).arg(GUARD);
        guard.arg(self.grace.as_nanos().to_string()).arg(self.kill_margin.as_nanos().to_string());
        guard.arg(&self.program).arg(&self.name).args(&self.args);
        for name in &self.withheld {
            guard.env_remove(name);
        }
        guard.env("TENURE_ELECTION", self.election.as_str());
        guard.env("TENURE_ID", self.id.as_str());
        match self.fence {
            Some(fence) => guard.env("TENURE_FENCE", fence.number().to_string()),
            None => guard.env_remove("TENURE_FENCE"),
        };
        if let Some(role) = self.role {
            guard.env("TENURE_ROLE", role.to_string());
        }
        if let Some(Output { out, err }) = &self.output {
            guard.stdout(Stdio::from(out.try_clone()?)).stderr(Stdio::from(err.try_clone()?));
        }
        match until_file {
            Some(path) => guard.env("TENURE_UNTIL_FILE", path),
            None => guard.env_remove("TENURE_UNTIL_FILE"),
        };
        guard.env("TENURE_INSIDE", "1");
        guard.stdin(Stdio::from(OwnedFd::from(link)));
        Ok(guard)
    }
}

/// Finds the file to execute for `command`, like `execvp`: a text with a slash is a path, any other
/// text is sought in the folders of `PATH`. So a command that cannot run fails before a campaign,
/// and not under the first leader. Fails, too, if `/proc` would not show the processes of a
/// command.
pub fn resolve(command: impl AsRef<OsStr>) -> Result<PathBuf, SuperviseError> {
    check_proc()?;
    let path = env::var_os("PATH").unwrap_or_else(|| "/usr/local/bin:/usr/bin:/bin".into());
    let program = resolve_in(command.as_ref(), &path)?;
    match launcher::unusable_script(&program) {
        None => Ok(program),
        Some(why) => Err(SuperviseError::no_interpreter(program, why)),
    }
}

/// Fails if `/proc` does not show the processes that this process starts.
pub(crate) fn check_proc() -> Result<(), SuperviseError> {
    let failed = |error| SuperviseError::setup("looking for processes in /proc", error);
    descend::check_proc().map_err(failed)
}

fn resolve_in(command: &OsStr, path: &OsStr) -> Result<PathBuf, SuperviseError> {
    let not_found =
        |searched: String| SuperviseError::NotFound { command: command.to_owned(), searched };
    if command.as_encoded_bytes().contains(&b'/') {
        let file = PathBuf::from(command);
        return match unusable(&file) {
            None => Ok(file),
            Some(Unusable::Missing) => Err(not_found("at this very path".to_owned())),
            Some(Unusable::Refused(reason)) => {
                Err(SuperviseError::NotExecutable { path: file, reason })
            }
        };
    }
    let mut refused = None;
    // An empty name would find the folder itself.
    for folder in env::split_paths(path).filter(|_| !command.is_empty()) {
        // An empty entry is the current folder.
        let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { &folder };
        let file = folder.join(command);
        match unusable(&file) {
            None => return Ok(file),
            Some(Unusable::Missing) => {}
            Some(Unusable::Refused(reason)) => {
                refused.get_or_insert(SuperviseError::NotExecutable { path: file, reason });
            }
        }
    }
    Err(refused.unwrap_or_else(|| not_found(format!("in PATH={}", path.display()))))
}

enum Unusable {
    Missing,
    Refused(&'static str),
}

fn unusable(file: &Path) -> Option<Unusable> {
    let Ok(about) = file.metadata() else { return Some(Unusable::Missing) };
    if !about.is_file() {
        return Some(Unusable::Refused("it is not a regular file"));
    }
    match accessat(CWD, file, Access::EXEC_OK, AtFlags::EACCESS) {
        Ok(()) => None,
        Err(_) => Some(Unusable::Refused("this user may not execute it; see chmod +x")),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn file(path: &Path, mode: u32) {
        fs::write(path, "#!/bin/sh\n").unwrap();
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    }

    #[test]
    fn search_skips_unusable_files() {
        let root = tempfile::tempdir().unwrap();
        let a = root.path().join("a");
        let b = root.path().join("b");
        fs::create_dir_all(a.join("tool")).unwrap();
        fs::create_dir_all(&b).unwrap();
        file(&b.join("tool"), 0o755);
        file(&a.join("data"), 0o644);
        let path = env::join_paths([&a, &b]).unwrap();
        let find = |name: &str| resolve_in(name.as_ref(), &path);
        assert_eq!(find("tool").unwrap(), b.join("tool"));
        assert_eq!(find(b.join("tool").to_str().unwrap()).unwrap(), b.join("tool"));

        let error = find("data").unwrap_err();
        assert_eq!(error.exit_code(), 126);
        assert_eq!(
            error.to_string(),
            format!(
                "{}/data: not executable: this user may not execute it; see chmod +x",
                a.display()
            )
        );
        let error = find(a.to_str().unwrap()).unwrap_err();
        assert_eq!(error.exit_code(), 126);
        assert!(error.to_string().ends_with("not executable: it is not a regular file"));
    }

    #[test]
    fn error_lists_searched_folders() {
        let error = resolve_in("no-such".as_ref(), "/bin:/usr/bin".as_ref()).unwrap_err();
        assert_eq!(error.exit_code(), 127);
        assert_eq!(error.to_string(), "no-such: command not found; looked in PATH=/bin:/usr/bin");
        let error = resolve_in("./no-such".as_ref(), "/bin".as_ref()).unwrap_err();
        assert_eq!(error.exit_code(), 127);
        assert_eq!(error.to_string(), "./no-such: command not found; looked at this very path");
        let error = resolve_in("".as_ref(), "/bin".as_ref()).unwrap_err();
        assert_eq!(error.exit_code(), 127);
    }
}
