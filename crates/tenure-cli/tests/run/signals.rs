//! Signals from outside, orphans, and a terminal.

use std::fmt::Display;
use std::fs::{self, File};
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Stdio};

use super::{Stage, eventually};

/// Numbers of signals that other processes send, and whose default ends a process.
const SENT: &[u8] = &[1, 2, 3, 10, 12, 14, 24, 26, 27, 29, 30, 34, 64];

pub(crate) fn send(process: impl Display, signal: u8) {
    let arguments = [format!("-{signal}"), process.to_string()];
    assert!(Command::new("kill").args(arguments).status().unwrap().success());
}

/// Sends a signal by its number, because `rustix` knows fewer signals than the kernel.
fn send_to(stage: &Stage, name: &str, signal: u8) {
    send(stage[name].pid().as_raw_pid(), signal);
}

/// The mask of signals of this name in the status of a process.
fn mask(name: &str, status: &str) -> u64 {
    let mask = status.lines().find_map(|line| line.strip_prefix(name)).unwrap();
    u64::from_str_radix(mask.trim(), 16).unwrap()
}

/// A CMD that writes its own status to a file, because some shells unblock signals for their
/// children.
const TELLS: &str = r#"
    while read -r line; do echo "$line"; done </proc/self/status >"$0/part"
    mv "$0/part" "$0/cmd"; exec sleep 600
"#;

/// The arguments of the node.
const NODE: [&str; 6] = ["node", "--name", "n", "--new", "--state", "state-n"];
const TELLING: [&str; 8] = ["run", "--id", "ann", "--", "sh", "-c", TELLS, "."];

#[test]
fn sent_signals_end_runners_gracefully() {
    let mut stage = Stage::new();
    fs::write(stage.path("go"), "").unwrap();
    for signal in SENT {
        stage.candidate("ann");
        stage.has("ann.runs");
        send_to(&stage, "ann", *signal);
        let code = stage.ended("ann").code();
        assert_eq!(code, Some(128 + i32::from(*signal)), "{}", stage.log("ann"));
        // CMD got its own SIGTERM.
        fs::remove_file(stage.path("ann.asked")).unwrap();
        fs::remove_file(stage.path("ann.runs")).unwrap();
    }
}

#[test]
fn sent_signals_end_nodes_gracefully() {
    let mut stage = Stage::new();
    send_to(&stage, "n", 10);
    assert_eq!(stage.ended("n").code(), Some(128 + 10), "{}", stage.log("n"));
}

/// A parent may have blocked signals, and a terminal would stop the processes.
#[test]
fn terminal_and_mask_block_no_signal() {
    let mut stage = Stage::without_node("60s", "20s");
    let starter = ["env", "--block-signal"];
    let node = stage.tenure_under(&starter, "n", &NODE);
    stage.spawn("n", node);
    stage.says("n", "granting leases");
    let ann = stage.tenure_under(&starter, "ann", &TELLING);
    stage.spawn("ann", ann);
    stage.has("cmd");
    let of_cmd = fs::read_to_string(stage.path("cmd")).unwrap();
    assert_eq!(mask("SigBlk:", &of_cmd), 0, "{of_cmd}");
    for name in ["ann", "n"] {
        // The signals of Ctrl-Z, and of output from the background under `stty tostop`.
        send_to(&stage, name, 20);
        send_to(&stage, name, 22);
        stage.stop(name);
    }
}

#[test]
fn ignored_signals_stay_ignored() {
    let mut stage = Stage::new();
    let starter = ["env", "--ignore-signal=HUP,INT,USR1"];
    let ann = stage.tenure_under(&starter, "ann", &TELLING);
    stage.spawn("ann", ann);
    stage.has("cmd");
    let runner = format!("/proc/{}/status", stage["ann"].pid().as_raw_pid());
    for status in [stage.path("cmd"), runner.into()] {
        let ignored = mask("SigIgn:", &fs::read_to_string(&status).unwrap());
        assert_eq!(ignored & 0b10_0000_0011, 0b10_0000_0011, "{}", status.display());
    }
    for signal in [1, 2, 10] {
        send_to(&stage, "ann", signal);
    }
    // A runner that handled one of these signals would end by that signal, before SIGTERM comes.
    stage.stop("ann");
}

/// Becomes a command beside a file system that never answers: needs root and FUSE.
const HANGING: &str = "exec 3<>/dev/fuse && \
    mount -i -t fuse -o fd=3,rootmode=40000,user_id=0,group_id=0 hangs \"$0\" && exec \"$@\"";

/// Whether a process waits for a file system that never answers.
fn hangs(process: i32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    let ours = stat.split_once('(').is_some_and(|(_, rest)| rest.starts_with("tenure)"));
    ours && stat.contains(") D ")
}

#[test]
fn hanging_file_system_blocks_no_signal() {
    let mut stage = Stage::new();
    fs::create_dir(stage.path("hang")).unwrap();
    let place = stage.path("hang").to_str().unwrap().to_owned();
    let starter = ["unshare", "--mount", "sh", "-c", HANGING, &place];
    let probe = Command::new(starter[0]).args(&starter[1..]).arg("true").status();
    let mounts = probe.is_ok_and(|status| status.success());
    assert!(mounts, "needs root, and FUSE in the kernel: it mounts a file system");
    let words = ["run", "--id", "ann", "--", "true"];
    let ann = stage.tenure_under(&starter, "hang/ann", &words);
    stage.spawn("hang/ann", ann);
    eventually("it waits for its file system", || hangs(stage["hang/ann"].pid().as_raw_pid()));
    stage.asked_to_end("hang/ann");
    assert_eq!(stage.ended("hang/ann").signal(), Some(15), "{}", stage.log("hang/ann"));
}

/// A shell that starts a child, and then becomes the command.
const WITH_A_CHILD: &str = r#"sh -c 'read line <"$0"' "$0" & echo $! >"$1"; shift; exec "$@""#;

#[test]
fn orphans_are_reaped() {
    let mut stage = Stage::without_node("60s", "20s");
    let cmd = r#"echo >"$0/$TENURE_ID.runs"; while [ ! -e "$0/go" ]; do sleep 0.02; done; exit 7"#;
    let runner = |id| ["run", "--id", id, "--", "sh", "-c", cmd, "."];
    let (ann, ben) = (runner("ann"), runner("ben"));
    let mut started = Vec::new();
    for (name, words) in [("n", &NODE[..]), ("ann", &ann), ("ben", &ben)] {
        let pipe = stage.path(&format!("{name}.pipe"));
        let told = stage.path(&format!("{name}.child"));
        assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        let (held, child) = (pipe.to_str().unwrap(), told.to_str().unwrap());
        let starter = ["sh", "-c", WITH_A_CHILD, held, child];
        let command = stage.tenure_under(&starter, name, words);
        stage.spawn(name, command);
        started.push((name, pipe, told));
        match name {
            "n" => stage.says("n", "granting leases"),
            "ann" => stage.has("ann.runs"),
            _ => stage.says("ben", "ben waits"),
        }
    }
    for (name, pipe, told) in &started {
        let child = fs::read_to_string(told).unwrap();
        let process = stage[*name].pid().as_raw_pid();
        let children = format!("/proc/{process}/task/{process}/children");
        let has = || {
            let children = fs::read_to_string(&children).unwrap();
            children.split_whitespace().any(|pid| pid == child.trim())
        };
        assert!(has(), "{children} has {child}");
        fs::write(pipe, "\n").unwrap();
        eventually("the orphan is reaped", || !has());
    }
    fs::write(stage.path("go"), "").unwrap();
    assert_eq!(stage.ended("ann").code(), Some(7), "{}", stage.log("ann"));
}

/// The log of each process has reached its size limit.
#[test]
fn full_log_files_end_nobody() {
    const BLOCK: u64 = 512;
    let mut stage = Stage::without_node("60s", "20s");
    // The limit is in blocks, and larger than a table of grants.
    let starter = ["sh", "-c", r#"ulimit -f 2048; exec "$0" "$@""#];
    for (name, words) in [("n", &NODE[..]), ("ann", &TELLING)] {
        let path = stage.path(&format!("{name}.log"));
        File::create(&path).unwrap().set_len(2_048 * BLOCK).unwrap();
        let log = File::options().append(true).open(path).unwrap();
        let mut command = stage.tenure_under(&starter, name, words);
        command.stdout(log.try_clone().unwrap()).stderr(log);
        stage.run(name, command);
    }
    // The node has granted, and the runner leads.
    stage.has("cmd");
    let of_cmd = fs::read_to_string(stage.path("cmd")).unwrap();
    assert_eq!((mask("SigBlk:", &of_cmd), mask("SigIgn:", &of_cmd) >> 24 & 1), (0, 0), "{of_cmd}");
    for name in ["ann", "n"] {
        stage.stop(name);
    }
}

/// A command as a line of a shell.
fn line(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    let quoted = words.map(|word| format!("'{}'", word.to_str().unwrap().replace('\'', "")));
    quoted.collect::<Vec<_>>().join(" ")
}

/// Runs this text in a shell with jobs that has a terminal.
fn in_a_terminal(stage: &mut Stage, name: &str, text: &str) {
    let file = stage.path(&format!("{name}.sh"));
    fs::write(&file, format!("set -m\n{text}\n")).unwrap();
    // `script` gives its shell a terminal.
    let mut terminal = Command::new("script");
    terminal.args(["-qec", &format!("sh {}", file.display()), "/dev/null"]);
    terminal.current_dir(stage.path("")).stdin(Stdio::null()).env_remove("TENURE_LOG");
    stage.spawn("terminal", terminal);
    stage.ended("terminal");
}

#[test]
fn background_commands_read_nothing() {
    let mut stage = Stage::new();
    let script = r#"readlink /proc/self/fd/0 >"$0""#;
    for (name, end, right) in [("fore", "", "/dev/pts/"), ("back", "& wait", "/dev/null")] {
        let told = stage.path(&format!("{name}.stdin"));
        let words = ["run", "--id", name, "--", "sh", "-c", script, told.to_str().unwrap()];
        let runner = line(&stage.tenure(name, &words));
        let log = stage.path(&format!("{name}.log"));
        in_a_terminal(&mut stage, name, &format!("{runner} >{} 2>&1 {end}", log.display()));
        let stdin = fs::read_to_string(&told).unwrap();
        assert!(stdin.starts_with(right), "{name}: {stdin}");
    }
}

/// A terminal with `tostop` stops background writers, and `wait` reports that.
#[test]
fn background_commands_print_refusals() {
    let mut stage = Stage::without_node("60s", "20s");
    let told = stage.path("code");
    let refused = line(&stage.tenure("ann", &["run"]));
    let text = format!("stty tostop\n{refused} &\nwait $!\necho $? >{}", told.display());
    in_a_terminal(&mut stage, "ann", &text);
    assert_eq!(fs::read_to_string(&told).unwrap(), "2\n");
}
