//! The keys of a process, and the file that may bring others while it runs.

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use tenure::nerio::Node;
use tenure::nerio::keys::{KeyError, Keys};
use tenure_core::{ClusterName, ElectionName, NodeName};

use crate::failure::{self, Failure, quoted};
use crate::settings::tls::{self, Found};
use crate::settings::{Layers, Origins};

/// How often to look whether the file has changed.
const LOOK: Duration = Duration::from_secs(1);
/// Where keys come from: what an error about them names.
pub(crate) const NAMES: [&str; 2] = ["keys", "key-file"];

/// Keys, and where they are from.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Given {
    /// They.
    pub keys: Keys,
    /// Their file, unless they are in a variable.
    pub file: Option<PathBuf>,
}

/// Reads the keys, if there are any.
pub fn read(layers: &mut Layers<'_>) -> Result<Option<Given>, Failure> {
    let Some(Found { text, origin, file }) = tls::KEYS.read(layers)? else { return Ok(None) };
    match Keys::parse(&text) {
        Ok(keys) => Ok(Some(Given { keys, file })),
        Err(error) => {
            let origin = match &file {
                Some(file) => format!("{origin}: {}", file.display()),
                None => origin.to_string(),
            };
            Err(Failure::usage(format!("the keys cannot be used: {error}"), fix(&error))
                .origin(origin))
        }
    }
}

fn fix(error: &KeyError) -> &'static str {
    match error {
        KeyError::Empty | KeyError::Form { .. } => {
            "make one: tenure keys new for members, tenure keys issue for an application"
        }
        KeyError::Version { .. } => "use the version of tenure that made it, or a newer one",
        KeyError::Digits { .. } | KeyError::Name { .. } | KeyError::Elections { .. } => {
            "copy the whole line again from where it was made"
        }
        KeyError::TooMany { .. } | KeyError::Mixed { .. } => {
            "keep the line of the key to use, and below it that of the one before it"
        }
    }
}

/// Refuses keys of another cluster, and those with which a node could grant nothing.
pub fn check(
    given: Option<&Given>,
    cluster: &ClusterName,
    node: Option<&NodeName>,
    origins: &Origins,
) -> Result<(), Failure> {
    let Some(Given { keys, .. }) = given else { return Ok(()) };
    if let Some(theirs) = keys.cluster().filter(|theirs| *theirs != cluster) {
        let what =
            format!("the keys are of the cluster {theirs}, and this is the cluster {cluster}");
        let fix = format!("give --cluster {theirs}, or the keys of {cluster}");
        let names = [NAMES[0], NAMES[1], "cluster"];
        return Err(origins.explain(Failure::usage(what, fix), &names));
    }
    if let (Some(node), Some(grant)) = (node, keys.application()) {
        let what = format!(
            "node {node} is to grant leases, and its key is that of the application {}, with \
             which nobody can",
            grant.application
        );
        let fix = "give the key of the cluster, which tenure keys new made";
        return Err(origins.explain(Failure::usage(what, fix), &NAMES));
    }
    Ok(())
}

/// Refuses to ask for what no member would answer: about `election`, or about all.
pub fn check_rights(
    given: Option<&Given>,
    election: Option<&ElectionName>,
    origins: &Origins,
) -> Result<(), Failure> {
    let Some(Given { keys, .. }) = given else { return Ok(()) };
    let Some(grant) = keys.application() else { return Ok(()) };
    let (allowed, wanted, list) = match election {
        Some(election) => {
            let wanted = format!("the election {}", quoted(election.as_str()));
            (keys.allow(election), wanted, election.as_str())
        }
        None => (keys.allow_all(), "all elections, which this asks of".to_owned(), "*"),
    };
    if allowed {
        return Ok(());
    }
    let (application, elections) = (&grant.application, &grant.elections);
    let what = format!(
        "the key is that of the application {application} for {elections}, and not for {wanted}"
    );
    let fix = format!(
        "use another key: who has that of the cluster makes one with tenure keys issue --app \
         {application} --elections '{elections},{list}'"
    );
    Err(origins.explain(Failure::usage(what, fix), &NAMES))
}

/// Hands `node` the keys of the file whenever it changes, for as long as it runs. Keys that it
/// cannot use are warned about, and it goes on with those that it has.
pub fn follow(node: Node, given: Option<&Given>) {
    let Some(path) = given.and_then(|given| given.file.clone()) else { return };
    let mut known = modified(&path);
    let follow = async move {
        loop {
            tokio::time::sleep(LOOK).await;
            let now = modified(&path);
            if now == known {
                continue;
            }
            known = now;
            match reread(&path) {
                Ok(keys) if node.rekey(keys.clone()).await => {
                    let ids: Vec<_> = keys.ids().iter().map(ToString::to_string).collect();
                    tracing::info!("the keys are now {}, the first is used", ids.join(" and "));
                }
                Ok(_) => failure::warn(&format!(
                    "the key file {} has changed to keys of another cluster or application, \
                     which are not used: this process goes on with those that it has",
                    quoted(&path.display().to_string())
                )),
                Err(why) => failure::warn(&format!(
                    "the key file {} has changed, and {why}: this process goes on with the keys \
                     that it has",
                    quoted(&path.display().to_string())
                )),
            }
        }
    };
    // Ends with the runtime, which ends with the command.
    tokio::spawn(follow);
}

fn modified(path: &Path) -> Option<(SystemTime, u64)> {
    let about = path.metadata().ok()?;
    Some((about.modified().ok()?, about.len()))
}

fn reread(path: &Path) -> Result<Keys, String> {
    let text = tls::KEYS.reread(path)?;
    Keys::parse(&text).map_err(|error| format!("{error}: {}", fix(&error)))
}
