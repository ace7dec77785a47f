//! A command that follows an election, and the reader of its standard output.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use tenure_testkit::processes::wait;

use crate::Stage;

/// As in `tenure observe … | head -1`: no member answers, so that no other line comes.
#[test]
fn observer_ends_with_its_reader() {
    let stage = Stage::without_node("60s", "20s");
    for more in [&[][..], &["--json"][..]] {
        let mut observer = Command::new(env!("CARGO_BIN_EXE_tenure"));
        observer.args(["observe", "--config"]).arg(stage.path("tenure.toml")).args(more);
        let mut observer = observer.stdout(Stdio::piped()).spawn().unwrap();
        let mut reader = BufReader::new(observer.stdout.take().unwrap());
        let mut line = String::new();
        reader.read_line(&mut line).unwrap();
        assert!(line.contains("unknown"), "{line}");
        assert!(observer.try_wait().unwrap().is_none(), "the reader is still there");
        drop(reader);
        assert_eq!(wait::ended("the observer", &mut observer).code(), Some(0));
    }
}
