//! Builds the files that users install, in `target/dist`: a static binary of the default features,
//! a binary of all features for this Debian, and a Debian package of each; the context of a
//! container image, units, completions, manual pages, and check sums. The manifest of `tenure-cli`
//! lists the files of the packages.

use std::env::consts::ARCH;
use std::fs;
use std::path::{Path, PathBuf};

use clap::Args;
use tenure_services::{build_tools, musl_tools};

use crate::command::Cmd;
use crate::error::Error;
use crate::package_pages;
use crate::steps::FULL;
use crate::tools;
use crate::workspace::{root, target};

const BUILD: &str = "build --release --locked --package tenure-cli --bin tenure";

/// The completions, by the names that shells look for.
const COMPLETIONS: [(&str, &str); 3] =
    [("bash", "tenure.bash"), ("zsh", "_tenure"), ("fish", "tenure.fish")];

#[derive(Args)]
pub(crate) struct Selection {
    /// Leave out the binary of all features and its package, which need more tools to build.
    #[arg(long)]
    without_full: bool,
}

/// A build of the command.
struct Build {
    /// Last word of the binary's name.
    name: &'static str,
    /// The folder of the binary.
    folder: PathBuf,
    /// Arguments with which cargo builds the binary, and `cargo-deb` finds the binary.
    place: Vec<String>,
}

impl Build {
    fn of_static() -> Self {
        let triple = format!("{ARCH}-unknown-linux-musl");
        let folder = target().join(&triple).join("release");
        Self { name: "static", folder, place: vec!["--target".to_owned(), triple] }
    }

    fn of_full() -> Self {
        Self { name: "full", folder: target().join("release"), place: Vec::new() }
    }

    fn binary(&self) -> String {
        self.folder.join("tenure").display().to_string()
    }

    fn with(&self, command: Cmd) -> Cmd {
        self.place.iter().fold(command, Cmd::arg)
    }

    /// Makes the manual pages, completions and documents of this binary. First removes the files of
    /// an earlier build, because the packages take all files of the folder.
    fn make_pages(&self) -> Result<PathBuf, Error> {
        let beside = self.folder.join("package");
        empty(&beside)?;
        let pages = beside.join("man");
        Cmd::new(self.binary(), "man").arg(pages.display().to_string()).run()?;
        // Compress here, because `cargo-deb` compresses no files from the build folder.
        Cmd::new("gzip", "-9nr").arg(pages.display().to_string()).run()?;
        let completions = beside.join("completions");
        empty(&completions)?;
        for (shell, file) in COMPLETIONS {
            let script = Cmd::new(self.binary(), "completions").arg(shell);
            let Some(text) = script.ask() else {
                return Err(Error::Said(format!("`{script}` failed")));
            };
            let path = completions.join(file);
            fs::write(&path, text + "\n").map_err(|source| Error::Read { path, source })?;
        }
        package_pages::copy(&root(), &beside.join("docs"))?;
        Ok(beside)
    }

    fn package(&self, to: &Path, variant: &str) -> Result<(), Error> {
        let deb = "deb --package tenure-cli --no-build --strip --locked --output";
        let deb = Cmd::cargo(deb).arg(to.display().to_string()).args(variant);
        self.with(deb).run()
    }

    fn strip(&self, to: &Path) -> Result<(), Error> {
        Cmd::new("strip", "-o").arg(to.display().to_string()).arg(self.binary()).run()
    }
}

/// Builds everything, and prints the path of each file.
pub(crate) fn run(selection: &Selection) -> Result<(), Error> {
    tools::DEB.ensure()?;
    let dist = target().join("dist");
    empty(&dist)?;
    let version = env!("CARGO_PKG_VERSION");
    let named = |build: &Build| dist.join(format!("tenure-{version}-{ARCH}-linux-{}", build.name));

    let small = Build::of_static();
    tools::add_target(&small.place[1])?;
    musl_tools()?;
    let variable = format!("CC_{}", small.place[1].replace('-', "_"));
    small.with(Cmd::cargo(BUILD)).env(variable, "musl-gcc").run()?;
    small.strip(&named(&small))?;
    let mut pages = small.make_pages()?;
    small.package(&dist, "")?;

    if !selection.without_full {
        build_tools()?;
        let full = Build::of_full();
        Cmd::cargo(BUILD).args("--features").arg(FULL).run()?;
        full.strip(&named(&full))?;
        pages = full.make_pages()?;
        full.package(&dist, "--variant full")?;
    }
    for folder in ["man", "completions"] {
        copy_all(&pages.join(folder), &dist.join(folder))?;
    }
    copy_all(&root().join("packaging/systemd"), &dist.join("systemd"))?;
    container(&named(&small), &dist.join("container"))?;
    let sums = "find . -type f ! -name SHA256SUMS -printf '%P\\0' | sort -z | xargs -0 sha256sum";
    let dist = dist.display().to_string();
    let sums = format!("cd \"$1\" && {sums} >SHA256SUMS && realpath * && cat SHA256SUMS");
    Cmd::new("sh", "-ec").arg(sums).arg("dist").arg(dist).run()
}

/// The context of an image: its recipe, the binary, and an empty state directory.
fn container(binary: &Path, to: &Path) -> Result<(), Error> {
    empty(&to.join("state"))?;
    for (from, name) in
        [(binary, "tenure"), (&root().join("packaging/Containerfile"), "Containerfile")]
    {
        copy(from, &to.join(name))?;
    }
    Ok(())
}

/// Makes an empty `folder`.
fn empty(folder: &Path) -> Result<(), Error> {
    let failed = |source| Error::Read { path: folder.to_path_buf(), source };
    if folder.exists() {
        fs::remove_dir_all(folder).map_err(failed)?;
    }
    fs::create_dir_all(folder).map_err(failed)
}

fn copy_all(from: &Path, to: &Path) -> Result<(), Error> {
    let failed = |source| Error::Read { path: from.to_path_buf(), source };
    empty(to)?;
    for entry in fs::read_dir(from).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        copy(&entry.path(), &to.join(entry.file_name()))?;
    }
    Ok(())
}

fn copy(from: &Path, to: &Path) -> Result<(), Error> {
    let failed = |source| Error::Read { path: from.to_path_buf(), source };
    fs::copy(from, to).map(drop).map_err(failed)
}
