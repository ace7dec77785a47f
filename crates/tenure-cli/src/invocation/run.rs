//! `tenure run`.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use tenure_core::{ElectionName, NodeName, Value};
use tenure_supervise::SuperviseError;

use super::http::HttpSettings;
use crate::args;
use crate::control::{self, Realm};
use crate::exit::{Exit, exit_of_start};
use crate::failure::Failure;
use crate::protocol::{Backend, Layers, Part, Protocol, Purpose, id};
use crate::settings::table;

#[derive(Debug)]
pub struct RunSettings {
    pub protocol: &'static Protocol,
    pub backend: Box<dyn Backend>,
    pub realm: Realm,
    pub election: ElectionName,
    pub id: NodeName,
    pub value: Value,
    /// Priority among waiting candidates, the highest first; `None` if candidates have no priority.
    pub priority: Option<u8>,
    pub once: bool,
    /// The longest wait to be elected.
    pub give_up: Option<Duration>,
    /// Time to keep the leadership after CMD has succeeded.
    pub hold: Option<Duration>,
    /// The elections in which the process campaigns: one, unless there are roles.
    pub roles: Vec<RunRole>,
    /// The parts that all roles of the process share; a role that is added later gets them, too.
    pub place: Place,
    pub http: Option<HttpSettings>,
}

/// An election in which a process campaigns.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RunRole {
    pub part: Part,
    pub control: PathBuf,
    pub command: CommandLine,
}

/// The parts of a [`RunRole`] that all roles of a process share.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Place {
    /// The path that a user gave for the control sockets.
    given: Option<PathBuf>,
    directory: PathBuf,
    realm: Realm,
    election: ElectionName,
    id: NodeName,
    command: CommandLine,
}

impl Place {
    /// A role of a process with several roles.
    #[must_use]
    pub fn role(&self, part: Part) -> RunRole {
        let Self { given, directory, realm, election, id, command } = self;
        let control = match (given, part.role) {
            (Some(path), Some(role)) => of_role(path, role),
            (Some(path), None) => path.clone(),
            (None, role) => directory.join(control::runner(realm, election, id, role)),
        };
        let command = command.of(part.role);
        RunRole { part, control, command }
    }
}

/// `PATH.3` for role 3.
fn of_role(path: &Path, role: u32) -> PathBuf {
    let mut path = path.as_os_str().to_owned();
    path.push(format!(".{role}"));
    path.into()
}

/// CMD, checked to exist and to be executable.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct CommandLine {
    pub program: PathBuf,
    /// CMD as the user wrote it.
    pub name: OsString,
    pub args: Vec<OsString>,
}

impl RunSettings {
    pub fn read(layers: &mut Layers<'_>) -> Result<Self, Failure> {
        layers.ignore_handed_down();
        let election = layers.required(&table::ELECTION)?;
        let protocol = layers.protocol()?;
        let own = protocol.own_id.map(|own| id::own(layers, own)).transpose()?;
        let id = match own.flatten() {
            Some(id) => id,
            None => layers.or_follows(&table::ID, id_of_this_process)?,
        };
        let shown = if protocol.shows_id { id.as_str() } else { "" };
        let value = layers.or_follows(&table::VALUE, || value(shown))?;
        let priority =
            if protocol.can.priority { Some(layers.required(&table::PRIORITY)?) } else { None };
        let once = layers.required(&table::ONCE)?;
        let give_up = layers.optional(&table::TRY)?;
        let hold = layers.optional(&table::HOLD)?;
        let realm = Realm::read(layers, protocol, &election)?;
        let backend = protocol.backend(layers, Purpose::Campaign(&election))?;
        let parts = backend.parts(&election);
        check_once(layers, once, parts.len(), backend.runs_again())?;
        if let (Some(tries), Some(holds)) = (give_up, hold) {
            warn_of_hold(layers, tries, holds);
        }
        let directory = control::directory(layers.environment().runtime_directory());
        let first = parts.first().map(|part| control::runner(&realm, &election, &id, part.role));
        let first = directory.join(first.unwrap_or_default());
        let control = layers.or_follows(&table::CONTROL, || Ok(first))?;
        let given = !layers.origins.given(&[table::CONTROL.spec.name]).is_empty();
        let place = Place {
            given: given.then(|| control.clone()),
            directory,
            realm: realm.clone(),
            election: election.clone(),
            id: id.clone(),
            command: command_line(layers)?,
        };
        let mut roles: Vec<_> = parts.into_iter().map(|part| place.role(part)).collect();
        if let [only] = &mut roles[..] {
            // A single role uses the path `control` as it is.
            only.control = control;
        }
        Ok(Self {
            protocol,
            backend,
            realm,
            election,
            id,
            value,
            priority,
            once,
            give_up,
            hold,
            roles,
            place,
            http: HttpSettings::read(layers)?,
        })
    }
}

/// Refuses `--try` and `--hold` if the process has several `roles`, campaigns again, or restarts
/// its CMD.
fn check_once(
    layers: &Layers<'_>,
    once: bool,
    roles: usize,
    runs_again: bool,
) -> Result<(), Failure> {
    let given = layers.origins.given(&[table::TRY.spec.name, table::HOLD.spec.name]);
    let Some((name, _)) = given.first() else { return Ok(()) };
    let (what, fix) = if !once {
        ("is for one leadership, and this runner campaigns again".to_owned(), "add --once")
    } else if roles > 1 {
        let what = format!("is for one election, and this process stands for {roles} roles");
        (what, "start a process for each role, or remove the flag")
    } else if runs_again {
        ("is for a CMD that ends, and here it runs again".to_owned(), "leave out --on-exit")
    } else {
        return Ok(());
    };
    Err(layers.origins.usage(format!("--{name} {what}"), fix, &[*name]))
}

/// Warns of a hold that is shorter than `--try`. Machines usually share one command line, so
/// another candidate may still try when the hold is over, and run CMD again.
fn warn_of_hold(layers: &mut Layers<'_>, tries: Duration, holds: Duration) {
    let early = tries.saturating_sub(holds);
    if !early.is_zero() {
        let [holds, tries, early] = [holds, tries, early].map(|span| table::span(&span));
        layers.warn(format!(
            "--hold {holds} is shorter than --try {tries}: if CMD ends within {early}, another \
             machine with the same --try runs CMD again; give a --hold longer than --try"
        ));
    }
}

/// The text in CMD's arguments that becomes the role's number.
const ROLE: &[u8] = b"{role}";

impl CommandLine {
    /// The command line with the role's number in its arguments.
    fn of(&self, role: Option<u32>) -> Self {
        let mut command = self.clone();
        if let Some(role) = role {
            let number = role.to_string();
            command.args = self.args.iter().map(|arg| filled(arg, &number)).collect();
        }
        command
    }
}

fn filled(arg: &OsStr, number: &str) -> OsString {
    let mut rest = arg.as_bytes();
    let mut filled = Vec::new();
    while let Some(at) = rest.windows(ROLE.len()).position(|part| part == ROLE) {
        filled.extend_from_slice(&rest[..at]);
        filled.extend_from_slice(number.as_bytes());
        rest = &rest[at + ROLE.len()..];
    }
    filled.extend_from_slice(rest);
    OsString::from_vec(filled)
}

/// Refuses a CMD that cannot run. Without this check, the user would see the fault only when the
/// process leads.
fn command_line(layers: &Layers<'_>) -> Result<CommandLine, Failure> {
    let mut words = layers.flags().get_many(args::COMMAND).into_iter().flatten().cloned();
    let Some(name) = words.next() else {
        if layers.flags().get_flag(table::SHOW_SETTINGS.spec.name) {
            // The process only shows its settings, and runs no CMD.
            return Ok(CommandLine::default());
        }
        return Err(Failure::usage(
            "there is no CMD to run while leading",
            "put CMD at the end, after --: tenure run --election NAME … -- CMD ARGS",
        )
        .origin("command line of tenure run"));
    };
    let program = tenure_supervise::resolve(&name).map_err(|error| unusable(&error))?;
    Ok(CommandLine { program, name, args: words.collect() })
}

fn unusable(error: &SuperviseError) -> Failure {
    let (exit, fix) = exit_of_start(error);
    if exit == Exit::System {
        // CMD is executable, but without a readable /proc the guard cannot find the processes of
        // CMD.
        let fix = "mount the /proc of this PID namespace (mount -t proc proc /proc), or begin the \
                   namespace with unshare --mount-proc";
        return Failure::new(Exit::NotExecutable, error.to_string(), fix).origin("/proc");
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn foreign_proc_is_reported_as_such() {
        let source = std::io::Error::other("/proc belongs to another PID namespace");
        let error = SuperviseError::Setup { doing: "looking for processes".into(), source };
        let failure = unusable(&error);
        assert_eq!(failure.exit, Exit::NotExecutable);
        assert_eq!(failure.origins, ["/proc"]);
        assert!(failure.fix.contains("unshare --mount-proc"), "{failure}");
    }

    #[test]
    fn role_number_is_filled_in() {
        let filled = |arg: &str| filled(arg.as_ref(), "12").into_string().unwrap();
        assert_eq!(filled("{role}"), "12");
        assert_eq!(filled("a={role},{role}{ro"), "a=12,12{ro");
        assert_eq!(filled("{Role}"), "{Role}");
    }
}
