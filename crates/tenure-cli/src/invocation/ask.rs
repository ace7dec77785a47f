//! The commands that ask for the leader, and the commands that send a request to a runner.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use tenure_core::{ElectionName, NodeName};

use crate::args;
use crate::control::{self, Realm, Request};
use crate::failure::{Failure, quoted};
use crate::protocol::role_range::{RoleRange, parse_one_or_more};
use crate::protocol::{Backend, Layers, MemberChange, NewMember, Protocol, Purpose, Realms, whole};
use crate::settings::{Origin, Refusal, parse, table};

/// The checked settings of `tenure leader` and `observe`.
#[derive(Debug)]
pub struct AskSettings {
    pub protocol: &'static Protocol,
    pub backend: Box<dyn Backend>,
    pub election: ElectionName,
    /// The longest wait for a leader; `None` takes the first answer. Always `None` for `observe`.
    pub wait: Option<Duration>,
}

impl AskSettings {
    pub fn read(layers: &mut Layers<'_>, waits: bool) -> Result<Self, Failure> {
        let election = layers.required(&table::ELECTION)?;
        let protocol = layers.protocol()?;
        let backend = protocol.backend(layers, Purpose::Ask(&election))?;
        let wait = if waits { layers.optional(&table::WAIT)? } else { None };
        Ok(Self { protocol, backend, election, wait })
    }
}

/// Reads and checks the settings of `tenure observe --weak`.
pub fn weak(layers: &mut Layers<'_>) -> Result<Box<dyn Backend>, Failure> {
    let protocol = layers.protocol()?;
    let fix = "remove --weak: this protocol has no weak leaders";
    supported(layers, "observe --weak", protocol, protocol.can.weak_leaders, fix)?;
    // Weak leaders belong to a partition, and not to an election. A settings file for all commands
    // may still name an election.
    let election = layers.optional(&table::ELECTION)?;
    protocol.backend(layers, Purpose::Members(election.as_ref()))
}

/// Reads and checks the settings of `tenure members`.
pub fn members(layers: &mut Layers<'_>) -> Result<Box<dyn Backend>, Failure> {
    let protocol = layers.protocol()?;
    let fix = "use the tools of the servers: tenure has no list of their members";
    supported(layers, "members", protocol, protocol.can.members, fix)?;
    let election = layers.optional(&table::ELECTION)?;
    protocol.backend(layers, Purpose::Members(election.as_ref()))
}

/// The checked settings of `tenure election start`.
#[derive(Debug)]
pub struct StartElectionSettings {
    pub backend: Box<dyn Backend>,
    pub election: ElectionName,
}

impl StartElectionSettings {
    pub fn read(layers: &mut Layers<'_>) -> Result<Self, Failure> {
        let election = layers.required(&table::ELECTION)?;
        let protocol = layers.protocol()?;
        let fix = "let the leader step down instead: tenure resign";
        supported(layers, "election start", protocol, protocol.can.start_election, fix)?;
        let backend = protocol.backend(layers, Purpose::Ask(&election))?;
        Ok(Self { backend, election })
    }
}

/// The commands below `tenure members` that change a member.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ChangeCommand {
    Add,
    Remove,
    Replace,
    Cancel,
}

/// The checked settings of a command that changes a member.
#[derive(Debug)]
pub struct ChangeMembersSettings {
    pub backend: Box<dyn Backend>,
    pub change: MemberChange,
    /// Maximum time for the change; `None` for the default of the protocol.
    pub limit: Option<Duration>,
}

impl ChangeMembersSettings {
    pub fn read(layers: &mut Layers<'_>, command: ChangeCommand) -> Result<Self, Failure> {
        let protocol = layers.protocol()?;
        let fix = "start and stop candidates as you like: this protocol has no list of members";
        let can = protocol.can.change_members;
        supported(layers, "a change of members", protocol, can, fix)?;
        let election = layers.optional(&table::ELECTION)?;
        let backend = protocol.backend(layers, Purpose::ChangeMembers(election.as_ref()))?;
        let change = match command {
            ChangeCommand::Add => MemberChange::Add(new_member(layers)?),
            ChangeCommand::Remove => MemberChange::Remove(member(layers)?),
            ChangeCommand::Replace => MemberChange::Replace(new_member(layers)?),
            ChangeCommand::Cancel => MemberChange::Cancel,
        };
        let limit = layers.optional(&table::TIMEOUT)?;
        backend.check_change(&change, &layers.origins)?;
        Ok(Self { backend, change, limit })
    }
}

/// The argument after the command.
fn member_text(layers: &Layers<'_>) -> Result<String, Failure> {
    let text = layers.flags().get_one::<OsString>(args::MEMBER);
    text.map(|text| text.to_string_lossy().into_owned()).ok_or_else(|| {
        Failure::usage("no member is named", "write the name after the command")
            .origin(Origin::Argument("NAME"))
    })
}

fn member(layers: &Layers<'_>) -> Result<NodeName, Failure> {
    let text = member_text(layers)?;
    parse::node(&text).map_err(|refusal| not_a_member(&text, refusal))
}

/// `NAME`, or `NAME=HOST:PORT,HOST:PORT`.
fn new_member(layers: &Layers<'_>) -> Result<NewMember, Failure> {
    let text = member_text(layers)?;
    let (name, hosts) = match text.split_once('=') {
        Some((name, hosts)) => (name, parse::hosts(hosts)),
        None => (&*text, Ok(Vec::new())),
    };
    let name = parse::node(name).map_err(|refusal| not_a_member(&text, refusal))?;
    let hosts = hosts.map_err(|refusal| not_a_member(&text, refusal))?;
    Ok(NewMember { name, hosts })
}

fn not_a_member(text: &str, refusal: Refusal) -> Failure {
    Failure::usage(format!("member {}: {}", quoted(text), refusal.what), refusal.fix)
        .origin(Origin::Argument("NAME"))
}

/// Refuses a command that the protocol does not have.
pub(super) fn supported(
    layers: &Layers<'_>,
    command: &str,
    protocol: &Protocol,
    can: bool,
    fix: &str,
) -> Result<(), Failure> {
    if can {
        return Ok(());
    }
    let what = format!("{command} is not supported by {}", protocol.shown());
    Err(layers.origins.usage(what, fix, &["protocol"]))
}

/// The runner for `tenure resign` or `tenure transfer`, checked.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TellSettings {
    pub election: ElectionName,
    /// The named role, if the election has roles.
    pub role: Option<u32>,
    /// Whether the order covers all roles of the process.
    pub all: bool,
    /// Whether the request goes to the only process on this machine, whether or not the process
    /// leads.
    pub alone: bool,
    pub runner: Runner,
    /// Settings that may name the runner, in addition to the election.
    pub realms: Realms,
    /// Description of the settings that name the runner.
    pub sought: String,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Runner {
    Socket(PathBuf),
    /// A socket in `directory` whose name begins with `prefix`.
    Among {
        directory: PathBuf,
        prefix: String,
    },
}

impl TellSettings {
    pub fn read(layers: &mut Layers<'_>) -> Result<Self, Failure> {
        let election = layers.required(&table::ELECTION)?;
        let protocol = layers.protocol()?;
        let all = layers.required(&table::EVERY_ROLE)?;
        if all && protocol.role.is_none() {
            let what =
                format!("--all is for elections with roles, and {} has no roles", protocol.shown());
            return Err(layers.origins.usage(what, "remove --all", &["all", "protocol"]));
        }
        Ok(Self { all, ..Self::of(layers, protocol, election)? })
    }

    pub(super) fn of(
        layers: &mut Layers<'_>,
        protocol: &Protocol,
        election: ElectionName,
    ) -> Result<Self, Failure> {
        let role = match protocol.role {
            Some(setting) => layers.optional(setting)?,
            None => None,
        };
        let election = whole(&election, role);
        let realm = Realm::read(layers, protocol, &election)?;
        let runner = match layers.optional(&table::CONTROL)? {
            Some(path) => Runner::Socket(path),
            None => Runner::Among {
                directory: control::directory(layers.environment().runtime_directory()),
                prefix: control::runners(&realm, &election),
            },
        };
        let realms = layers.realms();
        let named = match realm.name.as_str() {
            "" => String::new(),
            name => format!(", {} {name}", realm.setting),
        };
        let sought = format!("protocol {}{named}", realm.protocol);
        Ok(Self { election, role, all: false, alone: false, runner, realms, sought })
    }
}

/// The commands below `tenure roles`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RoleCommand {
    Show,
    Add,
    Remove,
}

/// The checked settings of `tenure roles`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RolesSettings {
    pub tell: TellSettings,
    pub request: Request,
}

impl RolesSettings {
    pub fn read(layers: &mut Layers<'_>, command: RoleCommand) -> Result<Self, Failure> {
        let election = layers.required(&table::ELECTION)?;
        let protocol = layers.protocol()?;
        let fix = "start another process for another election";
        supported(layers, "a change of roles", protocol, protocol.role.is_some(), fix)?;
        let tell = TellSettings::of(layers, protocol, election)?;
        // The request is for the process, whichever role the settings name.
        let tell = TellSettings { role: None, alone: true, ..tell };
        let request = match command {
            RoleCommand::Show => Request::Roles,
            RoleCommand::Add => {
                let range = role_range(layers)?;
                Request::AddRoles { first: range.first, last: range.last }
            }
            RoleCommand::Remove => {
                let range = role_range(layers)?;
                Request::RemoveRoles { first: range.first, last: range.last }
            }
        };
        Ok(Self { tell, request })
    }
}

/// The argument after the command.
fn role_range(layers: &Layers<'_>) -> Result<RoleRange, Failure> {
    let text = layers.flags().get_one::<OsString>(args::ROLE_RANGE);
    let Some(text) = text.map(|text| text.to_string_lossy().into_owned()) else {
        return Err(Failure::usage("no role is named", "write 16, or 16..31, after the command")
            .origin(Origin::Argument(args::ROLE_RANGE)));
    };
    parse_one_or_more(&text).map_err(|refusal| {
        Failure::usage(format!("roles {}: {}", quoted(&text), refusal.what), refusal.fix)
            .origin(Origin::Argument(args::ROLE_RANGE))
    })
}

/// The checked settings of `tenure transfer`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TransferSettings {
    pub tell: TellSettings,
    pub to: NodeName,
    /// The longest wait for the hand-over to take effect; `None` does not wait.
    pub wait: Option<Duration>,
}

impl TransferSettings {
    pub fn read(layers: &mut Layers<'_>) -> Result<Self, Failure> {
        let to = layers.required(&table::TO)?;
        let wait = layers.optional(&table::WAIT)?;
        let election = layers.required(&table::ELECTION)?;
        let protocol = layers.protocol()?;
        let resign = "let the leader step down instead: tenure resign";
        let fix = protocol.gives_way.unwrap_or(resign);
        supported(layers, "transfer", protocol, protocol.can.transfer, fix)?;
        Ok(Self { tell: TellSettings::of(layers, protocol, election)?, to, wait })
    }
}
