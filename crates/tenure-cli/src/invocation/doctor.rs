//! `tenure doctor`: reads the settings of `tenure run` or `tenure node`, also if some of them are
//! wrong.

use std::ffi::OsString;
use std::path::PathBuf;

use tenure_core::{Drift, ElectionName, NodeName};

use crate::args;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::protocol::{Backend, Layers, Protocol, Purpose, id};
use crate::settings::{Spec, table};

/// The election for questions, if the settings name no election.
const ANY: &str = "doctor";

/// Settings that name files without a secret.
const PUBLIC: [&str; 2] = ["cacert", "cert"];

#[derive(Debug)]
pub struct DoctorSettings {
    pub protocol: &'static Protocol,
    /// The checked settings, or the first failure of a check.
    pub backend: Result<Box<dyn Backend>, Failure>,
    /// The settings for questions to members, if they allow questions, but no campaign.
    pub asks: Option<Box<dyn Backend>>,
    pub election: ElectionName,
    /// Name of the member or the candidate.
    pub own: Option<NodeName>,
    /// Files that settings name.
    pub files: Vec<NamedFile>,
    /// The addresses of the peers, as the settings list them.
    pub peers: Option<String>,
    pub state: Option<PathBuf>,
    pub drift: Option<Drift>,
    /// The program of CMD, if the line has one.
    pub command: Option<OsString>,
    /// Warnings about settings that work.
    pub warnings: Vec<String>,
}

/// A file that a setting names.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NamedFile {
    pub setting: &'static str,
    pub path: PathBuf,
    pub is_secret: bool,
}

impl DoctorSettings {
    /// Fails only if the protocol or the election cannot be read, because then no check is
    /// possible.
    pub fn read(layers: &mut Layers<'_>) -> Result<Self, Failure> {
        layers.ignore_handed_down();
        let protocol = layers.protocol()?;
        let named = layers.optional(&table::ELECTION)?;
        let is_named = named.is_some();
        let election = match named {
            Some(election) => election,
            None => ElectionName::new(ANY)
                .map_err(|error| Failure::new(Exit::Bug, error.to_string(), "report it"))?,
        };
        let own = protocol.own_id.map(|own| id::own(layers, own));
        let own = own.and_then(Result::ok).flatten();
        let files = files(layers, protocol);
        let peers = layers.text_if_set(protocol.whereabouts).ok().flatten();
        let has = |spec: &Spec| protocol.has(spec);
        let state = has(&table::STATE.spec).then(|| layers.optional(&table::STATE));
        let drift = has(&table::DRIFT.spec).then(|| layers.required(&table::DRIFT));
        let purpose = if is_named || own.is_some() {
            Purpose::Campaign(&election)
        } else if protocol.can.members {
            Purpose::Members(None)
        } else {
            Purpose::Ask(&election)
        };
        let backend = protocol.backend(layers, purpose);
        let asks = match (&backend, purpose) {
            (Err(_), Purpose::Campaign(_)) if protocol.can.members => {
                let of = is_named.then_some(&election);
                protocol.backend(layers, Purpose::Members(of)).ok()
            }
            _ => None,
        };
        let words = layers.flags().get_many::<OsString>(args::COMMAND);
        let command = words.and_then(|mut words| words.next().cloned());
        Ok(Self {
            protocol,
            backend,
            asks,
            own,
            files,
            peers,
            state: state.and_then(Result::ok).flatten(),
            drift: drift.and_then(Result::ok),
            command,
            warnings: layers.take_warnings(),
            election,
        })
    }
}

/// The files of the protocol's settings.
fn files(layers: &mut Layers<'_>, protocol: &Protocol) -> Vec<NamedFile> {
    let specs = protocol.all_settings(true).filter(|spec| spec.value == "FILE");
    let specs: Vec<&'static Spec> = specs.collect();
    let named = specs.into_iter().filter_map(|spec| {
        let path = layers.text_if_set(spec).ok().flatten()?;
        let is_secret = !PUBLIC.contains(&spec.name);
        Some(NamedFile { setting: spec.name, path: path.into(), is_secret })
    });
    named.collect()
}
