//! Texts that no flag and no key of the file may hold: passwords, tokens, keys.

use std::path::{Path, PathBuf};

use tenure::settings::SecretFile;

use super::{Setting, table};
use crate::failure::quoted;

/// The password's name in the origins.
pub const PASSWORD_ENTRY: &str = "password";

/// The token's name in the origins.
pub const TOKEN_ENTRY: &str = "token";

pub static PASSWORD: Hidden = Hidden {
    name: PASSWORD_ENTRY,
    variable: "TENURE_PASSWORD",
    file: &table::PASSWORD_FILE,
    is_kept_from_others: false,
};

/// The secret of all voters of a network.
pub static SECRET: Hidden = Hidden {
    name: "secret",
    variable: "TENURE_SECRET",
    file: &table::SECRET_FILE,
    is_kept_from_others: false,
};

pub static KEYS: Hidden = Hidden {
    name: "keys",
    variable: "TENURE_KEYS",
    file: &table::KEY_FILE,
    is_kept_from_others: true,
};

/// The token, a login without a user.
pub static TOKEN: Hidden = Hidden {
    name: TOKEN_ENTRY,
    variable: "TENURE_TOKEN",
    file: &table::TOKEN_FILE,
    is_kept_from_others: false,
};

pub static HIDDEN: [&Hidden; 4] = [&PASSWORD, &SECRET, &KEYS, &TOKEN];

/// A text from a file or a variable. A flag would show the text to every user of the machine, and
/// people pass settings files on.
pub struct Hidden {
    /// Name shown in `origin:` lines; these lines never show the secret.
    pub name: &'static str,
    pub variable: &'static str,
    pub file: &'static Setting<PathBuf>,
    /// Whether a file that other users can read or change is refused.
    pub is_kept_from_others: bool,
}

impl Hidden {
    /// Advice for a user who gave the text as a flag or as a key of the file.
    #[must_use]
    pub fn elsewhere(&self) -> String {
        let file = self.file.spec.name;
        let variable = self.variable;
        let name = self.name;
        format!("give --{file} FILE or set {variable}: other users could read the {name} here")
    }

    /// Description of the text's place.
    #[must_use]
    pub fn place(&self, file: Option<&Path>) -> String {
        match file {
            Some(path) => {
                format!("the {} file {}", self.name, quoted(&path.display().to_string()))
            }
            None => format!("the variable {}", self.variable),
        }
    }

    /// Reads the file at `path` again while the process runs. The error is a sentence for people.
    pub fn reread(&self, path: &Path) -> Result<String, String> {
        let SecretFile { bytes, mode } = SecretFile::read(path)?;
        if self.is_kept_from_others && SecretFile::is_open(mode) {
            return Err(format!("others can read or change it (mode {mode:o})"));
        }
        String::from_utf8(bytes).map_err(|_| "it is not UTF-8".to_owned())
    }
}
