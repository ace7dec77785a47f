//! Builds the Debian package with its units, and installs it under a real systemd, in namespaces of
//! its own. Nothing on the file system of the test is kept. Needs root, and systemd 252 or newer.
#![expect(clippy::unwrap_used, reason = "a test says what went wrong by panicking")]

#[path = "debian/fresh_root.rs"]
mod fresh_root;

use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;
use std::{env, fs};

use tempfile::TempDir;
use tenure_cli::protocol::ALL;
use tenure_testkit::processes::{Systemd, wait};

/// Becomes systemd, with the packages of the folder `$1` in `/var/cache/tenure`. The units of the
/// machine do not start, and everything written to its folders is gone at the end.
const SYSTEMD: &str = r#"
    set -e
    mount --make-rprivate /
    mount -t proc proc /proc
    mkdir "$1/over" && mount -t tmpfs tmpfs "$1/over"
    for place in etc usr var; do
        mkdir -p "$1/over/$place" "$1/over/work/$place"
        mount -t overlay overlay \
            -o "lowerdir=/$place,upperdir=$1/over/$place,workdir=$1/over/work/$place" "/$place"
    done
    mkdir /var/cache/tenure && cp "$1"/*.deb /var/cache/tenure/
    mount -t tmpfs tmpfs /run
    mkdir -p /run/systemd/system /run/stubs
    for target in sysinit basic shutdown network-online network multi-user umount final; do
        printf '[Unit]\nDefaultDependencies=no\n' >/run/stubs/$target.target
    done
    mount --bind /run/stubs /usr/lib/systemd/system
    mount -t tmpfs tmpfs /tmp && chmod 1777 /tmp
    umount -R /sys/fs/cgroup || true
    mount -t cgroup2 cgroup2 /sys/fs/cgroup
    ip link set lo up
    exec env -i container=tenure PATH="$PATH" \
        /lib/systemd/systemd --system --unit=multi-user.target --log-target=null
"#;

/// All files of the package but manual pages and documents: mode, owner, path.
const FILES: &str = "\
-rw-r--r-- 0/0 ./etc/needrestart/conf.d/tenure.conf
-rw-r--r-- 0/0 ./etc/tenure/node.toml
-rwxr-xr-x 0/0 ./usr/bin/tenure
-rw-r--r-- 0/0 ./usr/lib/systemd/system/tenure-node.service
-rw-r--r-- 0/0 ./usr/lib/systemd/system/tenure@.service
-rw-r--r-- 0/0 ./usr/lib/sysusers.d/tenure.conf
-rw-r--r-- 0/0 ./usr/share/bash-completion/completions/tenure
-rw-r--r-- 0/0 ./usr/share/doc/NAME/changelog.gz
-rw-r--r-- 0/0 ./usr/share/doc/NAME/copyright
-rwxr-xr-x 0/0 ./usr/share/doc/tenure/examples/billing.cmd
-rw-r--r-- 0/0 ./usr/share/doc/tenure/examples/billing.toml
-rw-r--r-- 0/0 ./usr/share/fish/vendor_completions.d/tenure.fish
-rw-r--r-- 0/0 ./usr/share/tenure/grafana/tenure.json
-rw-r--r-- 0/0 ./usr/share/tenure/prometheus/tenure.rules.yml
-rw-r--r-- 0/0 ./usr/share/zsh/vendor-completions/_tenure
";

/// Settings of an administrator, made from the settings of the package.
const SETTINGS: &str = r#"
    cat >/etc/tenure/node.toml <<'END'
name = "n"
members = "n=127.0.0.1:7191"
lease-max = "2s"
END
    cat >/etc/tenure/billing.toml <<'END'
election = "billing"
members = "n=127.0.0.1:7191"
lease = "2s"
lease-max = "2s"
grace = "500ms"
END
    cp /usr/share/doc/tenure/examples/billing.cmd /etc/tenure/
    install -d -m 700 -o tenure -g tenure /var/lib/tenure
    setpriv --reuid tenure --regid tenure --clear-groups timeout -s TERM 3 tenure node \
        --config /etc/tenure/node.toml --state /var/lib/tenure --control /tmp/n.sock --new
    systemctl enable --now tenure-node tenure@billing
"#;

const UNITS: [&str; 2] = ["tenure-node", "tenure@billing"];

/// A machine with the packages.
struct Machine {
    systemd: Systemd,
    _packages: TempDir,
}

impl Deref for Machine {
    type Target = Systemd;

    fn deref(&self) -> &Systemd {
        &self.systemd
    }
}

impl Machine {
    fn start(packages: TempDir) -> Self {
        let arguments = [packages.path().as_os_str()];
        let systemd = Systemd::start(SYSTEMD, &arguments, Duration::from_secs(120));
        Self { systemd, _packages: packages }
    }

    /// Output of a script on the machine, with standard error, and whether the script succeeded.
    fn run(&self, script: &str) -> (String, bool) {
        self.systemd.run(&format!("exec 2>&1\n{script}"))
    }

    /// Output of a script on the machine; the script must succeed.
    fn does(&self, script: &str) -> String {
        let (told, done) = self.run(script);
        assert!(done, "{script}\n{told}");
        told.trim().to_owned()
    }

    fn fails(&self, script: &str) {
        let (told, done) = self.run(script);
        assert!(!done, "{script}\n{told}");
    }
}

fn told(command: &mut Command) -> String {
    let output = command.stderr(Stdio::inherit()).output().unwrap();
    assert!(output.status.success(), "{command:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// The packages `tenure` and `tenure-full`, built by the usual command, or taken from the folder in
/// `TESTS_DIST`.
fn build() -> [PathBuf; 2] {
    let folder = env::var_os("TESTS_DIST").map_or_else(dist, PathBuf::from);
    ["tenure_", "tenure-full_"].map(|name| {
        let entries = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path());
        let is = |path: &PathBuf| {
            let file = path.file_name().unwrap().to_string_lossy();
            file.starts_with(name) && file.ends_with(".deb")
        };
        entries.into_iter().find(is).unwrap()
    })
}

fn dist() -> PathBuf {
    let mut command = Command::new(env::var_os("CARGO").unwrap());
    command.args(["xtask", "dist"]).current_dir(env!("CARGO_MANIFEST_DIR"));
    // Cargo's variables about this package would make Cargo run build scripts again.
    let names = env::vars_os().filter_map(|(name, _)| name.into_string().ok());
    let ours =
        |name: &String| ["CARGO_PKG_", "CARGO_MANIFEST_"].iter().any(|at| name.starts_with(at));
    for name in names.filter(ours) {
        command.env_remove(name);
    }
    let printed = told(&mut command);
    let sums = printed.lines().find(|line| line.ends_with("/SHA256SUMS")).unwrap();
    Path::new(sums).parent().unwrap().to_owned()
}

/// The next version of `package`, with another settings file and other units.
fn next_version(package: &Path, next: &Path) {
    let script = r#"
        set -e
        folder=$(mktemp -d)
        dpkg-deb -R "$1" "$folder/p"
        sed -i 's/^Version: .*/&+next/' "$folder/p/DEBIAN/control"
        sed -i 's/"20s"/"30s"/' "$folder/p/etc/tenure/node.toml"
        sed -i 's/^Description=.*/&, next/' "$folder"/p/usr/lib/systemd/system/tenure*
        dpkg-deb --root-owner-group -Zgzip -z1 -b "$folder/p" "$2"
        rm -r "$folder"
    "#;
    told(Command::new("sh").args(["-c", script, "next"]).arg(package).arg(next));
}

fn has_what_it_should(package: &Path, name: &str, libraries: &[&str]) {
    let listing = told(Command::new("dpkg-deb").arg("-c").arg(package));
    let words = |line: &str| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    let lines: Vec<_> = listing.lines().map(words).collect();
    assert!(lines.iter().all(|line| line[1] == "0/0"), "{listing}");
    let files = lines.iter().filter(|line| !line[0].starts_with('d'));
    let (pages, mut others): (Vec<_>, Vec<_>) =
        files.partition(|line| line[5].starts_with("./usr/share/man/man1/tenure"));
    for page in ["tenure", "tenure-run", "tenure-node-wait-safe"] {
        let path = format!("./usr/share/man/man1/{page}.1.gz");
        assert!(pages.iter().any(|line| line[5] == path), "{listing}");
    }
    let is_document = |line: &mut &Vec<String>| line[5].starts_with("./usr/share/doc/tenure/docs/");
    let docs = others.extract_if(.., is_document).count();
    assert!(docs > 20, "{listing}");
    others.sort_by_key(|line| line[5].replace("tenure-full", "tenure"));
    let others: String =
        others.iter().map(|line| format!("{} {} {}\n", line[0], line[1], line[5])).collect();
    assert_eq!(others, FILES.replace("NAME", name));
    let field = |name: &str| told(Command::new("dpkg-deb").arg("-f").arg(package).arg(name));
    assert_eq!(field("Package").trim(), name);
    let depends = field("Depends");
    for library in ["libc6 (>=", "libssl3"] {
        assert_eq!(depends.contains(library), libraries.contains(&library), "{depends}");
    }
}

/// Checks a fresh installation: no process runs, and no unit is enabled.
fn installs(machine: &Machine) {
    machine.does("dpkg -i /var/cache/tenure/one.deb");
    let conffiles =
        machine.does("dpkg-query -W -f '${Conffiles}' tenure | awk '{print $1}' | sort");
    assert_eq!(conffiles, "/etc/needrestart/conf.d/tenure.conf\n/etc/tenure/node.toml");
    assert!(machine.does("tenure --version").starts_with("tenure "));
    let (choice, _) = machine.run("tenure run --election x --protocol none -- true");
    let built = ALL.iter().filter(|protocol| choice.contains(protocol.shown())).count();
    assert!(built > 1 && built < ALL.len(), "{built} protocols: {choice}");
    machine.fails("readelf -l /usr/bin/tenure | grep INTERP");
    machine.does("readelf -S /usr/bin/tenure | grep '[.]text'");
    machine.fails("readelf -S /usr/bin/tenure | grep '[.]debug_line'");
    machine.does(
        "tenure completions bash | cmp - /usr/share/bash-completion/completions/tenure
         tenure completions zsh | cmp - /usr/share/zsh/vendor-completions/_tenure
         tenure completions fish | cmp - /usr/share/fish/vendor_completions.d/tenure.fish",
    );
    // Messages name pages by these paths, and pages have links to each other.
    let dead = machine.does(
        "cd /usr/share/doc/tenure/docs && test -f howto/lost-quorum.md
         for page in *.md */*.md; do
             grep -o ']([^)]*)' $page | sed 's/](//; s/).*//; s/#.*//' | grep -v : |
                 while read -r to; do
                     test -e \"$(dirname $page)/$to\" || echo \"$page: $to\"
                 done
         done",
    );
    assert_eq!(dead, "", "links");
    machine.does("test \"$(getent passwd tenure | cut -d: -f 6)\" = /var/lib/tenure");
    machine.does("dpkg --verify tenure");
    let verified =
        machine.does("systemd-analyze verify tenure-node.service tenure@billing.service");
    assert!(!verified.contains("tenure"), "{verified}");
    for unit in ["tenure-node.service", "tenure@.service"] {
        assert_eq!(machine.run(&format!("systemctl is-enabled {unit}")).0.trim(), "disabled");
    }
    let units = machine.does("systemctl list-units --all --no-legend 'tenure*'");
    assert_eq!(units, "", "nothing is started, and nothing has failed");
    // The package's settings file names no member: the error says what is missing.
    machine.fails("tenure node --config /etc/tenure/node.toml --state /tmp/s --show-settings");
    let script = "sed '/key-file/d; s/^#\\([a-z[]\\)/\\1/' /etc/tenure/node.toml >/tmp/node.toml
                  tenure node --config /tmp/node.toml --insecure-any-address --show-settings \\
                      --state /tmp/s";
    assert!(machine.does(script).contains("10.0.0.2:7101"), "all comments are settings");
}

/// During an upgrade a running process goes on, and can still start its own old program.
fn upgrades(machine: &Machine) {
    let (told, done) = machine.run(SETTINGS);
    assert!(done, "{told}");
    for (unit, status) in UNITS.into_iter().zip(["granting leases", "leads billing, fence"]) {
        machine.has(unit, "StatusText", status);
    }
    let state = |property| UNITS.map(|unit| machine.shows(unit, property));
    let before = state("MainPID");
    let since = state("ActiveEnterTimestampMonotonic");
    let cmd = machine.does("pgrep -x sleep");
    let settings = machine.does("cat /etc/tenure/node.toml");

    machine.does("dpkg -i --force-confdef /var/cache/tenure/two.deb");
    assert!(machine.does("dpkg-query -W tenure").ends_with("+next"));
    assert_eq!(machine.does("cat /etc/tenure/node.toml"), settings);
    machine.does("grep 30s /etc/tenure/node.toml.dpkg-dist");
    assert_eq!(state("MainPID"), before);
    assert_eq!(state("ActiveEnterTimestampMonotonic"), since);
    assert!(state("Description").iter().all(|now| now.ends_with(", next")), "units are reread");
    assert_eq!(machine.does("pgrep -x sleep"), cmd);
    machine.does(&format!("readlink /proc/{}/exe | grep deleted", before[1]));

    // A guard is started from the program that was replaced.
    machine.does("tenure resign --election billing --control /run/tenure-billing/run.sock");
    wait::eventually("another CMD", || {
        let (now, running) = machine.run("pgrep -x sleep");
        (running && now.trim() != cmd).then_some(())
    });
    assert_eq!(state("MainPID"), before);
    // The page restart-upgrade.md advises these commands.
    machine.does(
        "systemctl restart tenure-node
         tenure node wait-safe --config /etc/tenure/node.toml --wait 1m",
    );
}

/// A stopped runner sends no watchdog message: its guard ends CMD, and systemd starts it again. A
/// clean stop is no failure, and leaves no process.
fn restarts(machine: &Machine) {
    let [node, runner] = UNITS;
    machine.has(runner, "StatusText", "leads billing, fence");
    let before = machine.shows(runner, "MainPID");
    machine.does(&format!("kill -STOP {before}"));
    let is_gone = || !machine.run("pgrep -x sleep").1;
    wait::eventually("CMD is ended", || is_gone().then_some(()));
    machine.has(runner, "NRestarts", "1");
    machine.has(runner, "StatusText", "leads billing, fence");
    assert_ne!(machine.shows(runner, "MainPID"), before);

    machine.does(&format!("systemctl stop {runner} && systemctl stop {node}"));
    for unit in UNITS {
        assert_eq!(machine.shows(unit, "ActiveState"), "inactive", "{unit}");
    }
    assert!(is_gone());
    machine.does(&format!("systemctl start {node} && systemctl start {runner}"));
    machine.has(runner, "StatusText", "leads billing, fence");
}

/// The other package replaces this package without a stop of any process. A purge of the replaced
/// package keeps the settings.
fn swaps(machine: &Machine) {
    let state = |property| UNITS.map(|unit| machine.shows(unit, property));
    let before = state("MainPID");
    machine.does("dpkg -i --force-confdef --force-confold /var/cache/tenure/full.deb");
    assert_eq!(state("MainPID"), before);
    assert!(!machine.does("ldd /usr/bin/tenure").contains("not found"));
    let (choice, _) = machine.run("tenure run --election x --protocol none -- true");
    for protocol in ALL {
        assert!(choice.contains(protocol.shown()), "{} in {choice}", protocol.name);
    }
    machine.does("dpkg -P tenure");
    machine.does("grep 7191 /etc/tenure/node.toml");
    machine.does("test -h /etc/systemd/system/multi-user.target.wants/tenure@billing.service");
    assert_eq!(state("MainPID"), before);
}

fn removes(machine: &Machine) {
    machine.does("dpkg -r tenure-full");
    machine.fails("pgrep -x 'tenure|sleep'");
    machine.fails("test -e /usr/bin/tenure");
    machine.does("grep 7191 /etc/tenure/node.toml");
    machine.does("test -h /etc/systemd/system/multi-user.target.wants/tenure@billing.service");

    machine.does("rm /etc/tenure/billing.*");
    let told = machine.does("dpkg -P tenure-full");
    assert!(told.contains("/var/lib/tenure was kept"), "{told}");
    machine.does("test -d /var/lib/tenure");
    machine.fails("ls -d /etc/tenure /etc/needrestart/conf.d/tenure.conf");
    assert_eq!(machine.does("find /etc/systemd/system -name 'tenure*'"), "");
    machine.fails("dpkg-query -W tenure-full");
}

#[test]
fn package_is_installed_upgraded_and_purged() {
    let installed = Command::new("dpkg-query").args(["-W", "tenure"]).output().unwrap();
    assert!(!installed.status.success(), "tenure is installed here: remove it first");
    let [package, full] = build();
    has_what_it_should(&package, "tenure", &[]);
    has_what_it_should(&full, "tenure-full", &["libc6 (>=", "libssl3"]);
    fresh_root::tries(&package);
    let packages = tempfile::tempdir().unwrap();
    let [one, two, other] =
        ["one.deb", "two.deb", "full.deb"].map(|name| packages.path().join(name));
    fs::copy(&package, &one).unwrap();
    fs::copy(&full, &other).unwrap();
    next_version(&one, &two);
    let machine = Machine::start(packages);
    installs(&machine);
    upgrades(&machine);
    restarts(&machine);
    swaps(&machine);
    removes(&machine);
}
