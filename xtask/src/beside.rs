//! Steps that run beside another one, in a process of their own.

use std::env;
use std::fs::{self, File};
use std::path::PathBuf;
use std::process::{Child, Command};

use crate::error::Error;
use crate::workspace::Workspace;

/// The lowest priority: what runs beside takes only the processor time that nobody else wants.
const NICE: &str = "19";

/// A second `cargo xtask test --only …`. What it prints is kept, and printed when it has ended.
pub(crate) struct Beside {
    command: String,
    child: Child,
    output: PathBuf,
}

impl Beside {
    /// Starts the steps named `steps`.
    pub(crate) fn start(workspace: &Workspace, steps: &[String]) -> Result<Self, Error> {
        let steps = steps.join(",");
        let command = format!("cargo xtask test --only {steps}");
        let output = workspace.target.join("beside.txt");
        let spawn = || {
            fs::create_dir_all(&workspace.target)?;
            let file = File::create(&output)?;
            // By its path: Cargo would wait for whoever builds.
            Command::new("nice")
                .args(["-n", NICE])
                .arg(env::current_exe()?)
                .args(["test", "--only", &steps])
                .current_dir(&workspace.root)
                .stdout(file.try_clone()?)
                .stderr(file)
                .spawn()
        };
        match spawn() {
            Ok(child) => Ok(Self { command, child, output }),
            Err(source) => Err(Error::Spawn { command, source }),
        }
    }

    /// Waits for the end, and prints what the steps printed.
    pub(crate) fn finish(mut self) -> Result<(), Error> {
        let ended = self.child.wait();
        let read = fs::read(&self.output);
        let spawn = |source| Error::Spawn { command: self.command.clone(), source };
        println!("{}", String::from_utf8_lossy(&read.map_err(spawn)?));
        let status = ended.map_err(spawn)?;
        if status.success() {
            return Ok(());
        }
        Err(Error::Failed { told: String::new(), command: self.command, status })
    }
}
