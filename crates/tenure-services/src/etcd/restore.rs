//! A cluster that is restored from a snapshot.

use std::fs;
use std::path::Path;
use std::process::Command;

use super::cluster::Cluster;
use super::{Version, install};
use crate::error::Error;
use crate::place::file_error;
use crate::process::clean_environment;
use crate::tool;

/// How to restore a snapshot. The default is the way of a hurried operator: the tool of the
/// cluster's version, and the former token.
#[derive(Clone, Default, Debug)]
pub struct Restore {
    /// The version of the tool; `None`: the cluster's version.
    pub tool: Option<Version>,
    /// More arguments: `--bump-revision=1000000`, `--mark-compacted`.
    pub arguments: Vec<String>,
    /// The token of the restored cluster; `None`: the former token.
    pub token: Option<String>,
}

impl Cluster {
    /// Kills all members, gives each the data of `snapshot`, starts them, and waits until each
    /// answers. Ports and names stay.
    pub fn restore(&self, snapshot: &Path, how: &Restore) -> Result<(), Error> {
        let binaries = install(how.tool.unwrap_or(self.version()))?;
        let token = how.token.clone().unwrap_or_else(|| self.token());
        self.members().try_for_each(|member| member.kill())?;
        for member in self.members() {
            let data = &member.data;
            if data.exists() {
                fs::remove_dir_all(data).map_err(file_error(data))?;
            }
            let mut tool = Command::new(binaries.etcdutl.as_ref().unwrap_or(&binaries.etcdctl));
            clean_environment(&mut tool);
            if binaries.etcdutl.is_none() {
                tool.env("ETCDCTL_API", "3");
            }
            tool.args(["snapshot", "restore"]).arg(snapshot).arg("--data-dir").arg(data);
            tool.args(&member.founding).arg("--initial-cluster-token").arg(&token);
            tool::run(tool.args(&how.arguments))?;
            member.restart()?;
        }
        self.wait_ready()
    }
}
