//! The keys of a process, and its key file, which may change while it runs.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use tenure_core::{ClusterName, ElectionName, NodeName};
use tenure_nerio::Node;
use tenure_nerio::keys::{Grant, KeyError, Keys, Right, Rights};

use super::Cluster;
use crate::failure::{self, Failure, quoted};
use crate::protocol::Layers;
use crate::protocol::tls::HiddenText;
use crate::settings::Origins;
use crate::settings::hidden::KEYS;

/// Interval of the checks of the file.
const LOOK: Duration = Duration::from_secs(1);
/// The settings of keys, for errors.
pub(crate) const NAMES: [&str; 2] = ["keys", "key-file"];

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct KeySetting {
    pub keys: Keys,
    /// The key file; `None` for a variable.
    pub file: Option<PathBuf>,
}

pub fn read(layers: &mut Layers<'_>) -> Result<Option<KeySetting>, Failure> {
    let Some(HiddenText { text, origin, file }) = KEYS.read(layers)? else { return Ok(None) };
    match Keys::parse(&text) {
        Ok(keys) => Ok(Some(KeySetting { keys, file })),
        Err(error) => {
            let origin = match &file {
                Some(file) => format!("{origin}: {}", file.display()),
                None => origin.to_string(),
            };
            let place = KEYS.place(file.as_deref());
            Err(Failure::usage(format!("{place} cannot be used: {error}"), fix(&error))
                .origin(origin))
        }
    }
}

fn fix(error: &KeyError) -> &'static str {
    match error {
        KeyError::Empty | KeyError::Form { .. } => {
            "make a key: tenure keys new for members, tenure keys issue for an application"
        }
        KeyError::Version { .. } => "use the version of tenure that made the key, or a later one",
        KeyError::Digits { .. }
        | KeyError::Name { .. }
        | KeyError::Elections { .. }
        | KeyError::Rights { .. } => "copy the whole line of the key again",
        KeyError::TooMany { .. } | KeyError::Mixed { .. } => {
            "keep two lines: the key to use, and below it the previous key"
        }
    }
}

/// Refuses keys of another cluster, and keys with which a node could not grant.
pub fn check(
    given: Option<&KeySetting>,
    cluster: &ClusterName,
    node: Option<&NodeName>,
    origins: &Origins,
) -> Result<(), Failure> {
    let Some(KeySetting { keys, .. }) = given else { return Ok(()) };
    if let Some(theirs) = keys.cluster().filter(|theirs| *theirs != cluster) {
        let what =
            format!("the keys are of the cluster {theirs}, and this is the cluster {cluster}");
        let fix = format!("give --cluster {theirs}, or the keys of {cluster}");
        let names = [NAMES[0], NAMES[1], "cluster"];
        return Err(origins.usage(what, fix, &names));
    }
    if let (Some(node), Some(grant)) = (node, keys.application()) {
        let what = format!(
            "node {node} needs the key of the cluster to grant leases, and has the key of the \
             application {}",
            grant.application
        );
        let fix = "give the key of the cluster, which tenure keys new made";
        return Err(origins.usage(what, fix, &NAMES));
    }
    Ok(())
}

/// Refuses a question that no member would answer, because the key lacks this right in `election`.
/// Without an `election`, the key needs the right in all elections.
pub fn check_rights(
    given: Option<&KeySetting>,
    right: Right,
    election: Option<&ElectionName>,
    origins: &Origins,
) -> Result<(), Failure> {
    let Some(KeySetting { keys, .. }) = given else { return Ok(()) };
    let Some(grant) = keys.application() else { return Ok(()) };
    let Grant { application, elections, rights } = grant;
    let (allowed, wanted, fix) = match election {
        Some(election) => {
            let with = match *rights {
                Rights::USUAL => String::new(),
                rights => format!(" --rights {rights}"),
            };
            let fix = format!(
                "use another key, made from the key of the cluster: tenure keys issue --app \
                 {application} --elections '{elections},{election}'{with}"
            );
            let wanted = format!("the election {}", quoted(election.as_str()));
            (elections.cover(election), wanted, fix)
        }
        // Advise another key: the application's own key with more elections would let the
        // application lead in all of these.
        None => {
            let fix = "use the key of the cluster, or make a key from it that may only ask: \
                       tenure keys issue --app watcher --elections '*' --rights ask";
            let wanted = "all elections".to_owned();
            (keys.allow_all(), wanted, fix.to_owned())
        }
    };
    if allowed {
        return check_right(grant, right).map_err(|failure| origins.explain(failure, &NAMES));
    }
    let what = format!(
        "the key of the application {application} covers only {elections}, and this command needs \
         {wanted}"
    );
    Err(origins.usage(what, fix, &NAMES))
}

/// Refuses a change of members if the key lacks the right to it.
pub fn check_members(given: Option<&KeySetting>, origins: &Origins) -> Result<(), Failure> {
    match given.and_then(|given| given.keys.application()) {
        Some(grant) => {
            check_right(grant, Right::Members).map_err(|failure| origins.explain(failure, &NAMES))
        }
        None => Ok(()),
    }
}

/// Checks that a key has the right.
fn check_right(grant: &Grant, right: Right) -> Result<(), Failure> {
    let Grant { application, elections, rights } = grant;
    if rights.allow(right) {
        return Ok(());
    }
    let name = match right {
        Right::Members => "change members",
        Right::Contend | Right::Ask | Right::Resign => right.as_str(),
    };
    let with = rights.with(right);
    let what = format!(
        "the key of the application {application} has the rights {rights} in {elections}, and not \
         the right to {name}"
    );
    let fix = format!(
        "use another key, made from the key of the cluster: tenure keys issue --app {application} \
         --elections '{elections}' --rights {with}"
    );
    Err(Failure::usage(what, fix))
}

/// The present fault of the key file, if any.
#[derive(Clone, Debug, Default)]
pub(crate) struct KeyFile(Arc<Mutex<FileState>>);

#[derive(Debug, Default)]
struct FileState {
    /// The fault at the last check.
    last: Option<String>,
    /// The fault that was reported, after two checks had found it.
    reported: Option<String>,
    /// Whether the keys in use admit strangers.
    open: bool,
}

const OPEN: &str = "the key file says accept-unsealed: everybody who reaches this process can \
                    speak in any name until you remove that line; tenure keys status on each node \
                    says when you can";

impl KeyFile {
    /// The fault of the file, and the remedy.
    pub(crate) fn trouble(&self) -> Option<String> {
        self.state().reported.clone()
    }

    /// A warning about keys that admit strangers.
    pub(crate) fn open(&self) -> Option<&'static str> {
        self.state().open.then_some(OPEN)
    }

    fn uses(&self, keys: &Keys) {
        self.state().open = keys.accepts_unsealed();
    }

    fn state(&self) -> MutexGuard<'_, FileState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn was_wrong(&self) -> bool {
        self.state().last.is_some()
    }

    /// Warns of a fault that two checks in a row have found: at the first check another process may
    /// be writing the file. Warns of each fault once.
    fn is(&self, trouble: Option<String>) {
        let mut state = self.state();
        if trouble == state.last && trouble != state.reported {
            trouble.iter().for_each(|trouble| failure::warn(trouble));
            state.reported.clone_from(&trouble);
        } else if trouble.is_none() {
            state.reported = None;
        }
        state.last = trouble;
    }
}

/// Passes changed keys of the file to `node` as long as the node runs. Warns of unusable keys, and
/// keeps the old keys.
pub(crate) fn follow(node: Node, cluster: &Cluster) -> KeyFile {
    let file = KeyFile::default();
    cluster.keys.iter().for_each(|given| file.uses(&given.keys));
    let Some(path) = cluster.keys.as_ref().and_then(|given| given.file.clone()) else {
        return file;
    };
    let permits_unsealed = cluster.permits_unsealed;
    let mut known = modified(&path);
    let key_file = file.clone();
    let follow = async move {
        loop {
            tokio::time::sleep(LOOK).await;
            let now = modified(&path);
            // Read a faulty file at each check, even if it has not changed: the fault is reported
            // at the second check, and a new owner of the file may end the fault.
            if now == known && !key_file.was_wrong() {
                continue;
            }
            known = now;
            let change = match reread(&path) {
                Ok(keys) if keys.accepts_unsealed() && !permits_unsealed => {
                    Err("it says accept-unsealed, which outside loopback needs \
                         --insecure-any-address at the start"
                        .to_owned())
                }
                Ok(keys) => {
                    node.rekey(keys.clone()).await.map(|()| keys).map_err(|e| e.to_string())
                }
                Err(why) => Err(why),
            };
            match change {
                Ok(keys) => {
                    tell(&keys);
                    key_file.uses(&keys);
                    key_file.is(None);
                }
                Err(why) => key_file.is(Some(format!(
                    "the key file {} has changed, and {why}: this process keeps its present keys, \
                     and the next start will fail. Correct the file; this process then reads the \
                     file again",
                    quoted(&path.display().to_string())
                ))),
            }
        }
    };
    // The task ends with the runtime, which ends with the command.
    tokio::spawn(follow);
    file
}

fn tell(keys: &Keys) {
    let ids: Vec<_> = keys.ids().iter().map(ToString::to_string).collect();
    tracing::info!("the keys are now {}; this process uses the first one", ids.join(" and "));
    warn_if_open(keys);
}

/// Warns of keys that still admit strangers.
pub fn warn_if_open(keys: &Keys) {
    if keys.accepts_unsealed() {
        failure::warn(OPEN);
    }
}

/// The time, length and mode of the file. A change of any of them makes this process read the file
/// again.
fn modified(path: &Path) -> Option<(SystemTime, u64, u32)> {
    let about = path.metadata().ok()?;
    Some((about.modified().ok()?, about.len(), about.mode()))
}

fn reread(path: &Path) -> Result<Keys, String> {
    let text = KEYS.reread(path)?;
    Keys::parse(&text).map_err(|error| format!("{error}: {}", fix(&error)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_lasting_faults_are_troubles() {
        let file = KeyFile::default();
        let wrong = |text: &str| Some(text.to_owned());
        for (is, told) in [
            (wrong("it is empty"), None),
            (wrong("line 1"), None),
            (None, None),
            (wrong("line 1"), None),
            (wrong("line 1"), wrong("line 1")),
            (wrong("mode"), wrong("line 1")),
            (wrong("mode"), wrong("mode")),
            (None, None),
        ] {
            file.is(is.clone());
            assert_eq!((file.trouble(), file.was_wrong()), (told, is.is_some()));
        }
    }
}
