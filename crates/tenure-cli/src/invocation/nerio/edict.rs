//! `tenure edict create` and `tenure edict check`: their command lines, and their settings.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use clap::builder::OsStringValueParser;
use clap::{Arg, Command};
use tenure_core::Fence;
use tenure_nerio::EdictText;

use crate::control;
use crate::failure::{Failure, quoted};
use crate::invocation::args::to_runner;
use crate::invocation::ask::{Runner, TellSettings, supported};
use crate::invocation::flag::{flag, output};
use crate::protocol::nerio::PROTOCOL;
use crate::protocol::{Layers, Registry};
use crate::settings::Default::{Nothing, Text};
use crate::settings::parse::{self, Refusal};
use crate::settings::table::{self, GENERAL, ONE_CALL, path, plain};
use crate::settings::{Origin, Reach};

/// The name of the argument of `edict check`.
const EDICT: &str = "edict";
/// The variable with the path of the file in which the runner of CMD writes the deadline. The file
/// is beside the runner's control socket.
const UNTIL_FILE: &str = "TENURE_UNTIL_FILE";

crate::settings! {
    FENCE: Fence = "fence" "N" Number, Reach::Process, Nothing, GENERAL,
        fence, plain,
        "The fence of the leadership that creates the edict: CMD has it in TENURE_FENCE. A later \
         leadership of the same runner creates no edict for this fence";
    GATE: PathBuf = "gate" "FILE" Text, ONE_CALL, Nothing, GENERAL,
        parse::path, path,
        "The file with the newest edict that this recipient has admitted";
    NEW_GATE: bool = "new-gate" "" Switch, ONE_CALL, Text("false"), GENERAL,
        parse::switch, plain,
        "Make the file of --gate: this recipient has never admitted an edict";
}

fn fence(text: &str) -> Result<Fence, Refusal> {
    parse::whole(text, u64::MAX).map(Fence::new)
}

pub(in crate::invocation) fn line(registry: Registry) -> Command {
    Command::new("edict")
        .about("Make edicts while CMD leads, and refuse edicts of superseded leaders")
        .subcommand_required(true)
        .subcommands([
            to_runner(registry, Command::new("create"), &[&FENCE.spec])
                .about("Print an edict of the leadership for which this CMD runs")
                .after_help(CREATE),
            Command::new("check")
                .about("Admit an edict that is later than all admitted before, or refuse it")
                .args([&GATE.spec, &NEW_GATE.spec].map(|spec| flag(registry, spec)))
                .arg(
                    Arg::new(EDICT)
                        .help("The edict, as tenure edict create printed it")
                        .value_name("EDICT")
                        .value_parser(OsStringValueParser::new()),
                )
                .args(output())
                .after_help(CHECK),
        ])
        .after_help(
            "An edict orders all work of all leaders of one election: each edict is later than \
             every edict created before, by the same leader too. Give each piece of work an edict, \
             and let its recipient check that edict.\n\n\
             Examples:\n  tenure edict create\n  \
             tenure edict check --gate /var/lib/billing/gate \"$edict\"",
        )
}

const CREATE: &str = "\
Inside CMD no setting is needed: the command asks the runner of that CMD, for the leadership of \
TENURE_FENCE. Elsewhere give --election and --fence.

Ends with 6 when that leadership is over, 69 when the runner does not answer, or is of a \
version without edicts.

Example:
  edict=$(tenure edict create) && send-work --edict \"$edict\"";

const CHECK: &str = "\
Each election needs a gate of its own. The first edict makes the file, with --new-gate. A missing \
file is refused without --new-gate, because a lost gate would admit edicts of old leaders. An \
admitted edict is on the disk before the command ends with 0. A repeated edict is refused: create \
another one for a second attempt.

Ends with 0 when the edict is admitted, 6 when it is refused, 74 when the file cannot be used.

Examples:
  tenure edict check --gate /var/lib/billing/gate --new-gate \"$edict\"
  tenure edict check --gate /var/lib/billing/gate \"$edict\" && do-the-work";

/// The checked settings of `tenure edict create`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CreateSettings {
    pub tell: TellSettings,
    pub fence: Fence,
}

impl CreateSettings {
    pub fn read(layers: &mut Layers<'_>) -> Result<Self, Failure> {
        let election = layers.required(&table::ELECTION)?;
        let protocol = layers.protocol()?;
        let fix = if protocol.can.fence {
            "give recipients the fence, TENURE_FENCE, which orders leaders"
        } else {
            "take a protocol with fences for work that must be ordered"
        };
        let can = std::ptr::eq(protocol, &PROTOCOL);
        supported(layers, "edict create", protocol, can, fix)?;
        let Some(fence) = layers.optional(&FENCE)? else {
            let mut failure = layers.missing(&FENCE.spec);
            failure.fix = format!(
                "run this command inside CMD of tenure run, where TENURE_FENCE is set, or {}",
                failure.fix
            );
            return Err(failure);
        };
        let mut tell = TellSettings::of(layers, protocol, election)?;
        let until = layers.environment().variable(UNTIL_FILE);
        let own = until.and_then(|until| control::socket_of(Path::new(until)));
        if let (Runner::Among { .. }, Some(own)) = (&tell.runner, own) {
            tell.runner = Runner::Socket(own);
        }
        Ok(Self { tell, fence })
    }
}

/// The checked settings of `tenure edict check`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CheckSettings {
    pub gate: PathBuf,
    /// Whether the gate has never admitted an edict.
    pub is_new: bool,
    pub edict: EdictText,
}

impl CheckSettings {
    pub fn read(layers: &mut Layers<'_>) -> Result<Self, Failure> {
        let gate = layers.required(&GATE)?;
        let is_new = layers.required(&NEW_GATE)?;
        let at = || Origin::Argument("EDICT");
        let Some(text) = layers.flags().get_one::<OsString>(EDICT) else {
            let fix = "write the edict, as tenure edict create printed it, after the flags";
            return Err(Failure::usage("no edict is given", fix).origin(at()));
        };
        let text = text.to_string_lossy();
        let edict = text.trim_end().parse().map_err(|why| {
            let what = format!("edict {}: {why}", quoted(&text));
            let fix = "pass the edict on as tenure edict create printed it";
            Failure::usage(what, fix).origin(at())
        })?;
        Ok(Self { gate, is_new, edict })
    }
}
