//! Machines of a page that copies files between them.

use tenure_testkit::processes::Reader;

/// Copies between folders of machines, in place of `scp`.
const SCP: &str = r#"#!/bin/sh
# scp -p FILE HOST:PATH, with paths below the folders of machines.
set -eu
host=${3%%:*}
path=${3#*:}
to=$(dirname "$ROOT")/$host/${path#"$ROOT"/}
mkdir -p "$to" && cp -p "$2" "$to"
"#;

/// Gives the machines names, a command that copies between them, and services by the units in
/// `packaging/`.
pub(crate) fn machines(reader: Reader) -> Reader {
    let units = concat!(env!("CARGO_MANIFEST_DIR"), "/../../packaging/systemd");
    let systemctl = include_str!("../pages/systemctl.sh").replace("$UNITS", units);
    reader
        .stand_in("hostname", "#!/bin/sh\necho \"$HOST\"\n")
        .stand_in("scp", SCP)
        // The user of the units does not exist on this machine.
        .stand_in("chown", "#!/bin/sh\nexit 0\n")
        .stand_in("systemctl", &systemctl)
}
