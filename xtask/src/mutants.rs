//! `cargo xtask mutants` applies the patches in `mutants/` to a scratch copy of the last commit,
//! one after the other. Each patch breaks one rule and names a test; that test must fail.

use clap::Args;

use crate::command::Cmd;
use crate::error::Error;
use crate::tree::Tree;
use crate::workspace::{root, target};

#[derive(Args)]
pub(crate) struct Selection {
    /// Apply only patches whose path contains one of these: `nerio/`, `late-release`.
    #[arg(value_name = "PART")]
    only: Vec<String>,
}

/// The test that must fail while a patch is applied.
pub(crate) struct Notice<'a> {
    /// The crate with the test: the core, unless the patch names another crate.
    pub(crate) package: &'a str,
    pub(crate) program: &'a str,
    pub(crate) test: &'a str,
}

/// Reads the head of a patch: `PROGRAM TEST` of the core, or `PACKAGE/PROGRAM TEST`. `None` if the
/// lines above do not name the broken rule and its source.
pub(crate) fn noticed_by(patch: &str) -> Option<Notice<'_>> {
    let mut lines = patch.lines();
    lines.next()?.strip_prefix("rule: ")?;
    lines.next()?.strip_prefix("source: ")?;
    let (program, test) = lines.next()?.strip_prefix("noticed by: ")?.split_once(' ')?;
    let (package, program) = program.split_once('/').unwrap_or(("tenure-core", program));
    Some(Notice { package, program, test })
}

/// Applies one patch after the other, and fails if a patch's test still passes.
pub(crate) fn run(selection: &Selection) -> Result<(), Error> {
    let copy = target().join("mutants/tree").display().to_string();
    let remove = Cmd::new("git", "worktree remove --force").arg(&copy);
    // An earlier run may have left its copy behind.
    remove.ask();
    Cmd::new("git", "worktree add --quiet --detach").arg(&copy).arg("HEAD").run()?;
    let survivors = apply_each(&copy, &selection.only);
    remove.ask();
    match survivors?.as_slice() {
        [] => Ok(()),
        some => Err(Error::Said(format!(
            "no test noticed these patches; correct the tests that they name, or name others:\n{}",
            some.join("\n")
        ))),
    }
}

/// The patches whose tests still pass.
fn apply_each(copy: &str, only: &[String]) -> Result<Vec<String>, Error> {
    let tree = Tree::read(&root())?;
    let chosen = |path: &str| only.is_empty() || only.iter().any(|part| path.contains(part));
    let mut survivors = Vec::new();
    for (path, text) in tree.patches().filter(|(path, _)| chosen(path)) {
        let Notice { package, program, test } = noticed_by(text)
            .ok_or_else(|| Error::Said(format!("{path} has no head; see `cargo xtask tidy`")))?;
        let apply = |how| {
            Cmd::new("git", "-C").arg(copy).args(how).arg(root().join(path).display().to_string())
        };
        // Without optimization the core builds in a fourth of the time.
        let cargo = Cmd::cargo("test --quiet --all-features --package")
            .arg(package)
            .args("--config profile.dev.package.tenure-core.opt-level=0 --manifest-path")
            .arg(format!("{copy}/Cargo.toml"))
            .arg("--target-dir")
            .arg(target().join("mutants").display().to_string())
            .arg("--test")
            .arg(program);
        apply("apply").run()?;
        cargo.clone().arg("--no-run").run()?;
        let passes = cargo.args("-- --exact").arg(test).ask().is_some();
        apply("apply --reverse").run()?;
        println!(
            "{} {path}: {package} {program} {test}",
            if passes { "SURVIVED" } else { "noticed " }
        );
        if passes {
            survivors.push(path.to_owned());
        }
    }
    Ok(survivors)
}
