//! The storage of a broker. Kafka's own tool formats one storage for each version, which takes a
//! second; each broker gets a copy with its own ids.

use std::fs;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::process::Command;

use super::config::{ClusterConfig, Place};
use super::{Installation, Version};
use crate::error::Error;
use crate::place::file_error;
use crate::process::clean_environment;
use crate::tool;

const TOOL: &str = "kafka.tools.StorageTool";

/// The file of a storage with the ids of cluster and broker.
const IDS: &str = "meta.properties";

/// An id in Kafka's form, 16 bytes in 22 letters of base64: 15 random letters, and `A`s, which are
/// 0.
pub(super) fn random_id() -> Result<String, Error> {
    let file = Path::new("/proc/sys/kernel/random/uuid");
    let random = fs::read_to_string(file).map_err(file_error(file))?.replace('-', "");
    Ok(format!("{random:.15}AAAAAAA"))
}

pub(super) fn format(installed: &Installation) -> Result<(), Error> {
    let settings = installed.folder.join("format.properties");
    // Give the settings of a broker that never runs.
    let nowhere = |port| SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    let place = Place {
        node: 0,
        controllers: &[nowhere(1)],
        internal: nowhere(2),
        listeners: &[],
        storage: &installed.template(),
    };
    let text = ClusterConfig::new(Version::Oldest, 1).file(&place);
    fs::write(&settings, text).map_err(file_error(&settings))?;
    let mut java = Command::new("java");
    java.args(installed.classes()?).args([TOOL, "format", "-t", &random_id()?, "-c"]);
    clean_environment(java.arg(&settings));
    tool::run(&mut java).map(drop)
}

/// Makes the storage of broker `node` of the cluster `id` in `folder`.
pub(super) fn copy(
    installed: &Installation,
    folder: &Path,
    id: &str,
    node: usize,
) -> Result<(), Error> {
    tool::run(Command::new("cp").arg("-r").arg(installed.template()).arg(folder))?;
    let ids = folder.join(IDS);
    let own = random_id()?;
    let text = format!("version=1\ncluster.id={id}\nnode.id={node}\ndirectory.id={own}\n");
    fs::write(&ids, text).map_err(file_error(&ids))
}
