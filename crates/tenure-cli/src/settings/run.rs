//! `tenure run`.

use std::ffi::OsString;
use std::path::PathBuf;

use tenure::supervise::SuperviseError;
use tenure_core::{ElectionName, NodeName, Value};

use super::{Layers, id, table};
use crate::args;
use crate::control;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::protocol::{Backend, Protocol, Purpose, Realm};

/// What `tenure run` was asked to do, checked.
#[derive(Debug)]
pub struct RunSettings {
    /// How a leader is found.
    pub protocol: &'static dyn Protocol,
    /// With whom.
    pub backend: Box<dyn Backend>,
    /// Which runners belong together.
    pub realm: Realm,
    /// For what.
    pub election: ElectionName,
    /// The candidate's name.
    pub id: NodeName,
    /// What others see of it.
    pub value: Value,
    /// Among those who wait the higher one goes first; `None` where candidates have none.
    pub priority: Option<u8>,
    /// Whether to end after the first leadership.
    pub once: bool,
    /// Its control socket.
    pub control: PathBuf,
    /// What runs while it leads.
    pub command: CommandLine,
}

/// CMD, which was there and executable a moment ago.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CommandLine {
    /// The file to execute.
    pub program: PathBuf,
    /// CMD as it was written.
    pub name: OsString,
    /// Its arguments.
    pub args: Vec<OsString>,
}

impl RunSettings {
    /// Reads and checks them.
    pub fn read(layers: &mut Layers<'_>) -> Result<Self, Failure> {
        layers.ignore_handed_down();
        let election = layers.required(&table::ELECTION)?;
        let protocol = layers.protocol()?;
        let id = match protocol.own_id() {
            Some(own) => id::own(layers, own)?,
            None => layers.or_follows(&table::ID, id_of_this_process)?,
        };
        let value = layers.or_follows(&table::VALUE, || value(protocol.value(&id)))?;
        let priority = match protocol.can().priority {
            true => Some(layers.required(&table::PRIORITY)?),
            false => None,
        };
        let once = layers.required(&table::ONCE)?;
        let realm = Realm::read(layers, protocol)?;
        let backend = protocol.backend(layers, Purpose::Campaign(&election))?;
        let environment = layers.environment();
        let control = layers.or_follows(&table::CONTROL, || {
            let file = control::runner(&realm, &election, &id);
            Ok(control::directory(environment).join(file))
        })?;
        let command = command_line(layers)?;
        Ok(Self { protocol, backend, realm, election, id, value, priority, once, control, command })
    }
}

/// A CMD that cannot run is refused now and not when the first leader needs it.
fn command_line(layers: &Layers<'_>) -> Result<CommandLine, Failure> {
    let mut words = layers.flags().get_many(args::COMMAND).into_iter().flatten().cloned();
    let Some(name) = words.next() else {
        return Err(Failure::usage(
            "there is no CMD to run while leading",
            "put it at the end, after --: tenure run --election NAME … -- CMD ARGS",
        )
        .origin("command line of tenure run"));
    };
    let program = tenure::supervise::resolve(&name).map_err(|error| unusable(&error))?;
    Ok(CommandLine { program, name, args: words.collect() })
}

fn unusable(error: &SuperviseError) -> Failure {
    let (exit, fix) = match error {
        SuperviseError::NotFound { .. } => {
            (Exit::NotFound, "correct its name, or give the path of an executable file")
        }
        _ => (Exit::NotExecutable, "make it executable, or give another CMD"),
    };
    Failure::new(exit, error.to_string(), fix).origin("command line of tenure run, after --")
}

fn value(text: &str) -> Result<Value, Failure> {
    Value::new(text).map_err(|error| {
        Failure::new(Exit::Bug, format!("an id is no value: {error}"), "report it")
    })
}

fn id_of_this_process() -> Result<NodeName, Failure> {
    id::of_this_process().map_err(|error| {
        Failure::usage(format!("no id can be made of the host name: {error}"), "give --id NAME")
            .origin("host name")
    })
}
