//! Files of a package in addition to the command `tenure`, made from the command's own definition:
//! manual pages and completions. `cargo xtask package` runs this program.

use std::io;
use std::path::PathBuf;
use std::{env, fs};

use clap_complete::Shell;
use tenure_cli::args;
use tenure_cli::protocol::{ALL, Registry};

/// Writes the files below the folder that the first argument names.
fn main() -> io::Result<()> {
    let folder = PathBuf::from(env::args_os().nth(1).ok_or(io::ErrorKind::InvalidInput)?);
    let pages = folder.join("man");
    let completions = folder.join("completions");
    fs::create_dir_all(&pages)?;
    fs::create_dir_all(&completions)?;
    let command = || args::command(Registry(ALL));
    clap_mangen::generate_to(command(), pages)?;
    for shell in [Shell::Bash, Shell::Zsh, Shell::Fish] {
        clap_complete::generate_to(shell, &mut command(), "tenure", &completions)?;
    }
    Ok(())
}
