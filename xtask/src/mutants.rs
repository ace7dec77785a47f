//! `cargo xtask mutants`: each patch in `mutants/` breaks one rule in a scratch copy of the last
//! commit, and the test that it names must fail there.

use std::path::PathBuf;

use clap::Args;

use crate::command::Cmd;
use crate::error::Error;
use crate::workspace::Workspace;

/// Where the patches are, in a folder for each protocol.
pub(crate) const FOLDER: &str = "mutants";

#[derive(Args)]
pub(crate) struct Selection {
    /// Only those whose path contains one of these: `voter/`, `late-release`.
    #[arg(value_name = "PART")]
    only: Vec<String>,
}

/// What stands before the difference in a patch.
#[derive(Debug)]
pub(crate) struct Head<'a> {
    pub(crate) rule: &'a str,
    /// The section of the paper, the erratum or the ruling.
    pub(crate) source: &'a str,
    /// A test program of the core, and the test in it.
    pub(crate) noticed_by: (&'a str, &'a str),
}

/// The head of a patch, or what it lacks.
pub(crate) fn head(patch: &str) -> Result<Head<'_>, &'static str> {
    let value =
        |key: &str| patch.lines().take(3).find_map(|line| line.strip_prefix(key)).map(str::trim);
    Ok(Head {
        rule: value("rule:").ok_or("`rule: ` and what it says")?,
        source: value("source:").ok_or("`source: ` and a section")?,
        noticed_by: value("noticed by:")
            .and_then(|test| test.split_once(' '))
            .ok_or("`noticed by: ` and a test program of the core and its test")?,
    })
}

/// The last commit in a folder of its own, which is removed again.
struct Scratch<'a> {
    workspace: &'a Workspace,
    root: PathBuf,
}

impl<'a> Scratch<'a> {
    fn new(workspace: &'a Workspace) -> Result<Self, Error> {
        let root = workspace.target.join("mutants/tree");
        let scratch = Self { workspace, root };
        // One that was left behind.
        scratch.remove();
        let add = Cmd::new("git", "worktree add --quiet --detach").arg(scratch.path()).arg("HEAD");
        add.run(workspace)?;
        Ok(scratch)
    }

    fn path(&self) -> String {
        self.root.display().to_string()
    }

    fn remove(&self) {
        let remove = Cmd::new("git", "worktree remove --force").arg(self.path());
        let _ = remove.ask(self.workspace);
    }

    fn apply(&self, patch: &str, how: &str) -> Result<(), Error> {
        let patch = self.root.join(patch).display().to_string();
        let apply = Cmd::new("git", "-C").arg(self.path()).args("apply").args(how).arg(patch);
        apply.run(self.workspace)
    }

    /// A test of the core as it is there.
    fn test(&self, program: &str) -> Cmd {
        Cmd::cargo("test --quiet --package tenure-core --manifest-path")
            .arg(self.root.join("Cargo.toml").display().to_string())
            .arg("--target-dir")
            .arg(self.workspace.target.join("mutants").display().to_string())
            .arg("--test")
            .arg(program)
    }
}

impl Drop for Scratch<'_> {
    fn drop(&mut self) {
        self.remove();
    }
}

/// Applies one patch after the other, and fails with those that nothing noticed.
pub(crate) fn run(workspace: &Workspace, selection: &Selection) -> Result<(), Error> {
    let chosen = |path: &String| {
        selection.only.is_empty() || selection.only.iter().any(|part| path.contains(part))
    };
    let patches: Vec<String> =
        workspace.files(FOLDER, "patch")?.into_iter().filter(chosen).collect();
    let scratch = Scratch::new(workspace)?;
    let mut survivors = Vec::new();
    for path in &patches {
        let text = workspace.read(path)?;
        let (program, test) = head(&text).map(|head| head.noticed_by).map_err(|lacks| {
            Error::Missing { what: format!("{path} lacks a line"), remedy: lacks.to_owned() }
        })?;
        scratch.apply(path, "")?;
        scratch.test(program).arg("--no-run").run(workspace)?;
        let passes = scratch.test(program).args("-- --exact").arg(test).ask(workspace).is_some();
        scratch.apply(path, "--reverse")?;
        println!("{} {path}: {program} {test}", if passes { "SURVIVED" } else { "noticed " });
        if passes {
            survivors.push(format!("{program} {test} passes with {path}"));
        }
    }
    println!("{} of {} noticed", patches.len() - survivors.len(), patches.len());
    match survivors.as_slice() {
        [] => Ok(()),
        some => Err(Error::Missing {
            what: some.join("\n"),
            remedy: "mend the test, or name the one that notices".to_owned(),
        }),
    }
}

#[cfg(test)]
mod tests_of_mutants {
    use super::*;

    #[test]
    fn a_head_has_three_lines() {
        let patch = "rule: one of the set\nsource: V1\nnoticed by: voter leasing::one\n\n--- a/x\n";
        let head = head(patch).unwrap();
        assert_eq!((head.rule, head.source), ("one of the set", "V1"));
        assert_eq!(head.noticed_by, ("voter", "leasing::one"));
        super::head("rule: x\nsource: V1\n\nnoticed by: voter leasing::one\n").unwrap_err();
    }
}
