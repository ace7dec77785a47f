//! `tenure man`: the manual pages, made from the command lines.

use std::fs;
use std::path::Path;

use crate::args;
use crate::exit::Exit;
use crate::failure::{Failure, quoted};
use crate::protocol::Registry;

/// Writes a page for each command into `folder`.
pub(crate) fn write(folder: &Path, registry: Registry) -> Result<Exit, Failure> {
    let made = fs::create_dir_all(folder)
        .and_then(|()| clap_mangen::generate_to(args::command(registry), folder));
    made.map(|()| Exit::Done).map_err(|error| {
        let folder = quoted(&folder.display().to_string());
        let what = format!("the manual pages cannot be written into {folder}: {error}");
        Failure::new(Exit::System, what, "give a folder that you may write to")
    })
}
