//! A share of the mutants that `cargo mutants` generates. `.cargo/mutants.toml` lists the mutated
//! files.

use std::fs;

use crate::command::Cmd;
use crate::error::Error;
use crate::tools;
use crate::workspace::root;

/// Number of shares: each has about 24 mutants.
const SHARES: u64 = 200;
/// Exit codes of `cargo mutants` that count as success: 2 if mutants survived, 3 if a test timed
/// out.
const FINDINGS: [i32; 2] = [2, 3];

/// Command that runs the share of this seed.
pub(crate) fn share(seed: u64) -> Cmd {
    Cmd::cargo(&format!("mutants --shard {}/{SHARES}", seed % SHARES))
}

/// Runs a share. A survivor is no failure, because some mutants change nothing that a user notices.
/// People judge the table.
pub(crate) fn run(share: &Cmd) -> Result<(), Error> {
    tools::MUTANTS.ensure()?;
    match share.run() {
        Err(Error::Failed { status, .. })
            if status.code().is_some_and(|code| FINDINGS.contains(&code)) =>
        {
            Ok(())
        }
        done => done,
    }
}

/// Survivors of the last share, as lines of the table.
pub(crate) fn survivors() -> Vec<String> {
    let missed = fs::read_to_string(root().join("target/mutants.out/missed.txt"));
    let missed = missed.unwrap_or_default();
    missed.lines().map(|mutant| format!("{:10}survived {mutant}", "")).collect()
}
