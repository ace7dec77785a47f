//! The storage of a broker: formatted once for each version by Kafka's own tool, which takes a
//! second; each broker gets a copy with ids of its own.

use std::fs;
use std::io;
use std::path::Path;
use std::process::Command;

use super::Installed;
use super::config::Place;
use crate::error::Error;
use crate::place::file_error;
use crate::process::clean_environment;
use crate::tool;

/// Kafka's tool.
const TOOL: &str = "kafka.tools.StorageTool";

/// What of the storage names whose it is.
const IDS: &str = "meta.properties";

/// An id as Kafka writes them: 16 bytes in 22 letters of base64.
#[derive(Clone, Debug)]
pub(super) struct Id(pub(super) String);

impl Id {
    /// A new one, of 15 random letters: the rest are `A`, which is 0.
    pub(super) fn random() -> Result<Self, Error> {
        const LETTERS: &[u8; 32] = b"abcdefghijklmnopqrstuvwxyz234567";
        let mut bytes = [0; 15];
        let failed = |error: getrandom::Error| io::Error::other(error.to_string());
        getrandom::fill(&mut bytes)
            .map_err(failed)
            .map_err(file_error(Path::new("random numbers")))?;
        let letters = bytes.map(|byte| char::from(LETTERS[usize::from(byte % 32)]));
        Ok(Self(letters.into_iter().chain("AAAAAAA".chars()).collect()))
    }
}

/// Formats the template of one version.
pub(super) fn format(installed: &Installed) -> Result<(), Error> {
    let settings = installed.folder.join("format.properties");
    let storage = installed.template();
    let text = Place::template(&storage);
    fs::write(&settings, text).map_err(file_error(&settings))?;
    let mut java = Command::new("java");
    java.args(installed.classes()?).args([TOOL, "format", "-t", &Id::random()?.0, "-c"]);
    java.arg(&settings);
    clean_environment(&mut java);
    tool::run(&mut java).map(drop)
}

/// Makes the storage of broker `node` of the cluster `id` in `folder`.
pub(super) fn copy(
    installed: &Installed,
    folder: &Path,
    id: &Id,
    node: usize,
) -> Result<(), Error> {
    copy_all(&installed.template(), folder)?;
    let ids = folder.join(IDS);
    let text = format!(
        "version=1\ncluster.id={}\nnode.id={node}\ndirectory.id={}\n",
        id.0,
        Id::random()?.0
    );
    fs::write(&ids, text).map_err(file_error(&ids))
}

fn copy_all(from: &Path, to: &Path) -> Result<(), Error> {
    fs::create_dir(to).map_err(file_error(to))?;
    for entry in fs::read_dir(from).map_err(file_error(from))? {
        let entry = entry.map_err(file_error(from))?;
        let (from, to) = (entry.path(), to.join(entry.file_name()));
        if from.is_dir() {
            copy_all(&from, &to)?;
        } else {
            fs::copy(&from, &to).map_err(file_error(&from))?;
        }
    }
    Ok(())
}
