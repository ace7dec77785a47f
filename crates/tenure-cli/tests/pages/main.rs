//! The pages of the documents for users: each command on these pages runs, in order.
//!
//! Pages about services are followed in the tests of these services.

#[path = "../shared/machines.rs"]
mod machines;

use tenure_testkit::processes::Reader;

use self::machines::machines;

fn reader() -> Reader {
    Reader::new(env!("CARGO_BIN_EXE_tenure"))
}

/// A page of the documents.
macro_rules! page {
    ($path:literal) => {
        include_str!(concat!("../../../../docs/", $path))
    };
}

#[test]
fn install_page_runs() {
    reader().follow(page!("start/install.md"));
}

#[test]
fn tutorial_runs() {
    reader().follow(page!("start/tutorial-command.md"));
}

/// A cluster of three machines, which later pages restart and replace.
#[test]
fn three_machines_elect_restart_and_replace() {
    let mut reader = machines(reader());
    reader.follow(page!("howto/three-machines.md"));
    reader.follow_on("db-1", page!("howto/restart-upgrade.md"));
    reader.follow(page!("howto/replace-machine.md"));
}

#[test]
fn settings_of_kubernetes_are_right() {
    reader().follow(page!("howto/kubernetes.md"));
}

/// The forecast takes minutes in a debug build, and has tests of its own: this test checks only its
/// settings.
#[test]
fn choose_lease_runs() {
    let mut reader = reader().with("tenure simulate", "tenure simulate --show-settings");
    reader.follow(page!("howto/choose-lease.md"));
}

#[test]
fn keys_are_made() {
    // The user of the service does not exist on this machine.
    let mut reader = reader().stand_in("chown", "#!/bin/sh\nexit 0\n");
    reader.follow(page!("howto/keys.md"));
}
