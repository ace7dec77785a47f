//! A cluster that goes back in time.

use std::fs;
use std::path::Path;
use std::process::Command;

use super::cluster::Cluster;
use super::{Version, install};
use crate::error::Error;
use crate::place::file_error;
use crate::process::clean_environment;
use crate::tool;

/// How a snapshot is restored. The default does what a hurried operator does: the tool of the same
/// version, and the same token.
#[derive(Clone, Default, Debug)]
pub struct Restore {
    /// Whose tool; nothing means that of the cluster's version.
    pub tool: Option<Version>,
    /// More for the tool: `--bump-revision=1000000`, `--mark-compacted`.
    pub arguments: Vec<String>,
    /// A token for the restored cluster; nothing means the one it had.
    pub token: Option<String>,
}

impl Cluster {
    /// Kills all members, gives each the data of `snapshot`, starts them, and waits until each
    /// answers. Ports and names stay.
    ///
    /// # Errors
    ///
    /// When the tool refuses, or a member does not come up.
    pub fn restore(&self, snapshot: &Path, how: &Restore) -> Result<(), Error> {
        self.members().try_for_each(|member| member.kill())?;
        for member in self.members() {
            let data = &member.seat.data;
            if data.exists() {
                fs::remove_dir_all(data).map_err(file_error(data))?;
            }
            let mut tool = self.restoring(how)?;
            tool.args(["snapshot", "restore"]).arg(snapshot).arg("--data-dir").arg(data);
            tool.args(member.founding());
            let token = how.token.clone().unwrap_or_else(|| self.token());
            tool.arg("--initial-cluster-token").arg(token).args(&how.arguments);
            tool::run(&mut tool)?;
            member.restart()?;
        }
        self.wait_ready()
    }

    /// Keeps clusters apart that find each other's ports.
    pub(super) fn token(&self) -> String {
        self.folder().file_name().unwrap_or_default().to_string_lossy().into_owned()
    }

    fn restoring(&self, how: &Restore) -> Result<Command, Error> {
        let binaries = install(how.tool.unwrap_or(self.config.version))?;
        let mut command = Command::new(binaries.etcdutl.as_ref().unwrap_or(&binaries.etcdctl));
        clean_environment(&mut command);
        if binaries.etcdutl.is_none() {
            command.env("ETCDCTL_API", "3");
        }
        Ok(command)
    }
}
