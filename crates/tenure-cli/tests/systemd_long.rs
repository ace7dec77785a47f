//! The units of `packaging/systemd` under a real systemd, in namespaces of its own. Needs root.
#![expect(clippy::unwrap_used, reason = "a test says what went wrong by panicking")]

use std::ops::Deref;
use std::path::Path;
use std::time::Duration;

use tempfile::TempDir;
use tenure_testkit::processes::{Systemd, wait};

/// Becomes systemd in a temporary file system: `$1` is the command, `$2` the units, `$3` the
/// settings. The machine's own units do not start.
const SYSTEMD: &str = r#"
    set -e
    mount --make-rprivate /
    mount -t proc proc /proc
    mkdir -p "$3/over" && mount -t tmpfs tmpfs "$3/over"
    for place in etc usr/bin var/lib; do
        mkdir -p "$3/over/$place" "$3/over/work/$place"
        mount -t overlay overlay \
            -o "lowerdir=/$place,upperdir=$3/over/$place,workdir=$3/over/work/$place" "/$place"
    done
    install -m 755 "$1" /usr/bin/tenure
    install -d -m 755 /etc/tenure && install -m 644 "$3"/*.toml /etc/tenure/
    install -m 755 "$3"/billing.cmd /etc/tenure/
    echo 'tenure:x:990:990::/var/lib/tenure:/usr/sbin/nologin' >>/etc/passwd
    echo 'tenure:x:990:' >>/etc/group
    install -d -m 700 -o tenure -g tenure /var/lib/tenure
    mount -t tmpfs tmpfs /run
    mkdir -p /run/systemd/system /run/stubs
    cp "$2"/*.service /run/systemd/system/
    for target in sysinit basic shutdown network-online network multi-user umount final; do
        printf '[Unit]\nDefaultDependencies=no\n' >/run/stubs/$target.target
    done
    mount --bind /run/stubs /lib/systemd/system
    mount -t tmpfs tmpfs /tmp && chmod 1777 /tmp
    umount -R /sys/fs/cgroup || true
    mount -t cgroup2 cgroup2 /sys/fs/cgroup
    ip link set lo up
    exec env -i container=tenure PATH="$PATH" \
        /lib/systemd/systemd --system --unit=multi-user.target --log-target=null
"#;

const NODE: &str = r#"
name = "n"
members = "n=127.0.0.1:7191"
lease-max = "2s"
"#;

const BILLING: &str = r#"
election = "billing"
members = "n=127.0.0.1:7191"
lease = "2s"
lease-max = "2s"
grace = "500ms"
"#;

const CMD: &str = "#!/bin/sh\nexec sleep 1000\n";

/// A machine with the units and their settings.
struct Machine {
    systemd: Systemd,
    _settings: TempDir,
}

impl Deref for Machine {
    type Target = Systemd;

    fn deref(&self) -> &Systemd {
        &self.systemd
    }
}

impl Machine {
    fn start() -> Self {
        let settings = tempfile::tempdir().unwrap();
        for (name, text) in [("node.toml", NODE), ("billing.toml", BILLING), ("billing.cmd", CMD)] {
            std::fs::write(settings.path().join(name), text).unwrap();
        }
        let units = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../packaging/systemd");
        let command = Path::new(env!("CARGO_BIN_EXE_tenure"));
        let arguments = [command, &units, settings.path()].map(Path::as_os_str);
        let systemd = Systemd::start(SYSTEMD, &arguments, Duration::from_secs(20));
        Self { systemd, _settings: settings }
    }

    /// The output of `script` on this machine.
    fn run(&self, script: &str) -> String {
        self.systemd.run(script).0
    }
}

#[test]
fn units_run_under_systemd() {
    let (node, runner) = ("tenure-node", "tenure@billing");
    let machine = Machine::start();
    let first = "setpriv --reuid 990 --regid 990 --clear-groups timeout -s TERM 3 tenure node \
                 --config /etc/tenure/node.toml --state /var/lib/tenure --control /tmp/n.sock \
                 --new";
    assert!(machine.run(first).contains("granting leases"), "the very first start");
    machine.run(&format!("systemctl start {node} && systemctl start {runner}"));
    machine.has(node, "StatusText", "granting leases");
    machine.has(runner, "StatusText", "leads billing, fence");
    // A stopped runner sends no watchdog message: its guard ends CMD, and systemd starts it again.
    let before = machine.shows(runner, "MainPID");
    machine.run(&format!("kill -STOP {before}"));
    wait::eventually("CMD is ended", || {
        machine.run("pgrep -x sleep || echo none").contains("none").then_some(())
    });
    machine.has(runner, "NRestarts", "1");
    machine.has(runner, "StatusText", "leads billing, fence");
    assert_ne!(machine.shows(runner, "MainPID"), before);
    // A clean stop is no failure, and leaves no process.
    machine.run(&format!("systemctl stop {runner} && systemctl stop {node}"));
    for unit in [runner, node] {
        assert_eq!(machine.shows(unit, "ActiveState"), "inactive", "{unit}");
    }
    assert!(machine.run("pgrep -x sleep || echo none").contains("none"));
}
