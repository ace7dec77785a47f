//! The package in a Debian that has nothing else: installed, tried, removed and purged.

use std::path::Path;
use std::process::Command;

use super::told;

/// Installs the smallest Debian in the folder `$1`, of this machine's release, with systemd, which
/// checks the units.
const MAKE: &str = r#"
    set -e
    . /etc/os-release
    debootstrap --variant=minbase --include=systemd "$VERSION_CODENAME" "$1" >&2
    # The list of files that nothing of the package may change in the end, its log and caches apart.
    cat >"$1/usr/local/bin/all-files" <<'END'
#!/bin/sh
find / -xdev \( -path /proc -o -path /dev -o -path /var/lib/dpkg -o -path /var/log \
    -o -path /var/cache -o -path /tmp -o -path /run -o -name '.pwd.lock' \) -prune \
    -o -print | grep -v '^/etc/[a-z]*-$' | sort
END
    chmod 755 "$1/usr/local/bin/all-files"
"#;

/// Becomes the script `$2` in the folder `$1`, with a loopback of its own.
const ENTER: &str = r#"ip link set lo up && exec chroot "$1" sh -c "$2""#;

/// The steps of an administrator in that Debian.
const TRY: &str = r#"
    set -ex
    mount -t proc proc /proc
    all-files >/tmp/before
    dpkg -i /tmp/tenure.deb
    getent passwd tenure
    test "$(stat -c '%U %a' /etc/tenure/node.toml)" = 'root 644'
    systemd-analyze verify tenure-node.service tenure@billing.service >/tmp/verified 2>&1 || true
    ! grep tenure /tmp/verified
    tenure demo --for 5s --lease 1s

    # A node, by the command line of its unit, as its user.
    sed -i 's/^#name/name/' /etc/tenure/node.toml
    printf '[members]\na = "127.0.0.1:7191"\n' >>/etc/tenure/node.toml
    install -d -m 700 -o tenure -g tenure /var/lib/tenure /run/tenure
    line=$(sed -n 's/^ExecStart=//p' /usr/lib/systemd/system/tenure-node.service |
        sed 's|%S|/var/lib|g; s|%t|/run|g')
    as="setpriv --reuid tenure --regid tenure --clear-groups"
    flags=$(echo "$line" | grep -o -- '--config.*' | sed 's/--control [^ ]*//')
    $as tenure doctor $flags
    $as $line --new >/tmp/node.log 2>&1 &
    node=$!
    until grep 'granting leases' /tmp/node.log; do kill -0 $node; sleep 0.2; done
    $as tenure doctor $flags
    kill $node
    wait $node || test $? = 143

    dpkg -r tenure
    ! test -e /usr/bin/tenure
    grep 7191 /etc/tenure/node.toml
    dpkg -P tenure
    rm -r /var/lib/tenure /run/tenure
    all-files >/tmp/after
    diff /tmp/before /tmp/after
"#;

/// Runs all steps. At the end of the last step the kernel ends all other processes of the PID
/// namespace.
pub(crate) fn tries(package: &Path) {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("root");
    told(Command::new("sh").args(["-c", MAKE, "make"]).arg(&root));
    std::fs::copy(package, root.join("tmp/tenure.deb")).unwrap();
    let mut inside = Command::new("unshare");
    inside.args([
        "--mount",
        "--net",
        "--pid",
        "--fork",
        "--kill-child",
        "sh",
        "-ec",
        ENTER,
        "enter",
    ]);
    inside.arg(&root).arg(TRY).env_clear().env("PATH", "/usr/local/bin:/usr/sbin:/usr/bin");
    told(&mut inside);
}
