//! Checks files of keys, passwords and certificates: this user can read them, and no other user can
//! read secrets. The check of the settings also reads the contents of these files.

use std::fs::File;
use std::os::unix::fs::MetadataExt;

use tenure::settings::SecretFile;

use super::finding::Finding;
use crate::failure::shell_word;
use crate::invocation::doctor::NamedFile;
use crate::settings::hidden::HIDDEN;

pub(super) fn check(files: &[NamedFile]) -> Vec<Finding> {
    files.iter().map(of_file).collect()
}

fn of_file(file: &NamedFile) -> Finding {
    let NamedFile { setting, path, is_secret } = file;
    let shown = path.display().to_string();
    let user = rustix::process::geteuid().as_raw();
    let about = match File::open(path).and_then(|file| file.metadata()) {
        Ok(about) => about,
        Err(error) => {
            let fix = match error.kind() {
                std::io::ErrorKind::NotFound => {
                    format!("put the file there, or correct --{setting}")
                }
                _ => format!("let the user {user} read it, or run this command as its owner"),
            };
            return Finding::fails(setting, format!("{shown} cannot be read: {error}"), fix);
        }
    };
    let (owner, mode) = (about.uid(), about.mode() & 0o7777);
    let word = shell_word(&shown).into_owned();
    if *is_secret && SecretFile::is_open(mode) {
        let text = format!("others can read or change {shown} (mode {mode:03o})");
        let fix = format!("chmod 600 {word}");
        let refused =
            HIDDEN.iter().any(|one| one.is_kept_from_others && one.file.spec.name == *setting);
        return match refused {
            true => Finding::fails(setting, text, fix),
            false => Finding::warning(setting, text, fix),
        };
    }
    if owner != user && owner != 0 {
        let text = format!(
            "{shown} belongs to the user {owner}, and this command runs as the user {user}"
        );
        let fix = "run this command as the user that runs tenure, or give that user the file";
        return Finding::warning(setting, text, fix);
    }
    Finding::ok(setting, format!("{shown}, owner {owner}, mode {mode:03o}"))
}
