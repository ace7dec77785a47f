//! Certificates and logins, as every protocol with servers reads them.

use std::fmt;
use std::fs::File;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use tenure::settings::{SecretFile, check_line, without_mark};

use super::Layers;
use crate::explain::{PERMISSIONS, tagged};
use crate::failure::{Failure, quoted, shell_word};
use crate::settings::hidden::{Hidden, PASSWORD};
use crate::settings::{Origin, table};

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Login {
    pub user: String,
    pub password: Secret,
    /// The file of the password, which may change later; `None` for a variable.
    pub file: Option<PathBuf>,
}

/// A text that is never shown.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(pub String);

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("…")
    }
}

pub struct HiddenText {
    pub text: String,
    pub origin: Origin,
    /// The file of the text; `None` for a variable.
    pub file: Option<PathBuf>,
}

impl Hidden {
    /// Reads the text. A flag wins over a variable, and a variable over the settings file. Two
    /// variables at once are refused.
    pub fn read(&self, layers: &mut Layers<'_>) -> Result<Option<HiddenText>, Failure> {
        let Self { name, variable, .. } = *self;
        let file = layers.optional(self.file)?;
        let text = layers.environment().variable(variable);
        let origin = layers.origins.origin(self.file).cloned();
        let (text, origin, file) = match (file, text, origin) {
            (Some(_), Some(_), Some(Origin::Variable(other))) => {
                let what = format!("the {name} is set twice, by {variable} and by {other}");
                let failure = Failure::usage(what, "unset one of the two variables");
                return Err(failure.origin(format!("variables {variable} and {other}")));
            }
            (Some(path), None, Some(origin))
            | (Some(path), Some(_), Some(origin @ Origin::Flag(_))) => {
                (self.of_file(&path, layers)?, origin, Some(path))
            }
            (_, Some(text), _) => {
                let text = text.to_str().map(|text| without_mark(text).to_owned());
                (text, Origin::Variable(variable.into()), None)
            }
            (_, None, _) => return Ok(None),
        };
        layers.origins.note(name, Some("(not shown)".to_owned()), origin.clone());
        match text {
            None => Err(self.unusable("is not UTF-8", file.as_deref(), &origin)),
            Some(text) if text.is_empty() => {
                Err(self.unusable("is empty", file.as_deref(), &origin))
            }
            Some(text) => Ok(Some(HiddenText { text, origin, file })),
        }
    }

    fn unusable(&self, what: &str, file: Option<&Path>, origin: &Origin) -> Failure {
        let place = self.place(file);
        Failure::usage(format!("{place} {what}"), format!("correct {place}")).origin(origin)
    }

    /// Reads the file at `path`, if its text is UTF-8.
    fn of_file(&self, path: &Path, layers: &mut Layers<'_>) -> Result<Option<String>, Failure> {
        let name = self.name;
        let SecretFile { bytes, mode } = SecretFile::read(path).map_err(|what| {
            let what = format!("the {name} file {} {what}", quoted(&path.display().to_string()));
            let failure = Failure::usage(what, "name a file that this user may read");
            layers.origins.explain(failure, &[self.file.spec.name])
        })?;
        let what = format!("{name} file");
        if self.is_kept_from_others && SecretFile::is_open(mode) {
            let fix = format!("make the file private: chmod 600 {}", word(path));
            let failure = Failure::usage(for_others(&what, path, mode), fix);
            return Err(layers.origins.explain(failure, &[self.file.spec.name]));
        }
        warn_of_mode(layers, &what, path, mode);
        Ok(String::from_utf8(bytes).ok().map(|text| one_line_of(&text).to_owned()))
    }
}

/// Refuses a file of this client's identity that this user cannot read, even under
/// `--show-settings`. Warns if other users can read or replace the file.
pub fn look_at(
    layers: &mut Layers<'_>,
    setting: &str,
    what: &str,
    path: &Path,
) -> Result<(), Failure> {
    // Do not open a pipe or another irregular file: it can be read only once, at its use.
    let opened = path.metadata().and_then(|about| {
        if about.is_file() { File::open(path).map(|_| about) } else { Ok(about) }
    });
    match opened {
        Ok(about) => {
            warn_of_mode(layers, what, path, about.permissions().mode() & 0o7777);
            Ok(())
        }
        Err(error) => {
            let what = format!("cannot read {}: {error}", path.display());
            Err(layers.origins.usage(what, "name a file that this user may read", &[setting]))
        }
    }
}

fn warn_of_mode(layers: &mut Layers<'_>, what: &str, path: &Path, mode: u32) {
    if !SecretFile::is_open(mode) {
        return;
    }
    let others = for_others(what, path, mode);
    let text = format!("{others}; make the file private: chmod 600 {}", word(path));
    layers.warn(tagged(&text, PERMISSIONS));
}

fn for_others(what: &str, path: &Path, mode: u32) -> String {
    let path = quoted(&path.display().to_string());
    format!("others can read or change the {what} {path} (mode {mode:o})")
}

fn word(path: &Path) -> String {
    shell_word(&path.display().to_string()).into_owned()
}

/// Reads `--user` and its password, which need each other.
pub fn login(layers: &mut Layers<'_>) -> Result<Option<Login>, Failure> {
    let user = layers.optional(&table::USER)?;
    let (password, file) = line(&PASSWORD, layers)?.unzip();
    let file = file.flatten();
    match (user, password) {
        (Some(user), Some(password)) => Ok(Some(Login { user, password, file })),
        (None, None) => Ok(None),
        (Some(_), None) => {
            let what = "--user is set without a password";
            let fix = format!("set {}, or give --password-file FILE", PASSWORD.variable);
            Err(layers.origins.usage(what, fix, &["user"]))
        }
        (None, Some(_)) => {
            let what = "a password is set without --user";
            let failure = Failure::usage(what, "give --user NAME, or unset the password");
            Err(layers.origins.explain(failure, &["user", PASSWORD.name]))
        }
    }
}

/// Reads a one-line text, and its file.
pub fn line(
    hidden: &Hidden,
    layers: &mut Layers<'_>,
) -> Result<Option<(Secret, Option<PathBuf>)>, Failure> {
    let Some(HiddenText { text, origin, file }) = hidden.read(layers)? else { return Ok(None) };
    match check_line(&text) {
        Err(what) => Err(hidden.unusable(what, file.as_deref(), &origin)),
        Ok(()) => Ok(Some((Secret(text), file))),
    }
}

/// The text without the line end that editors add.
fn one_line_of(text: &str) -> &str {
    let text = text.strip_suffix('\n').unwrap_or(text);
    text.strip_suffix('\r').unwrap_or(text)
}

/// Refuses certificates if the setting `whereabouts` names servers without TLS, because no server
/// would see the certificates. `plain` and `secure` are the schemes without and with TLS.
pub fn refuse_without(
    layers: &Layers<'_>,
    whereabouts: &str,
    plain: &str,
    secure: &str,
) -> Result<(), Failure> {
    for setting in [&table::CACERT, &table::CERT, &table::KEY] {
        let name = setting.spec.name;
        let set = layers.origins.origin(setting).is_some_and(|origin| *origin != Origin::Default);
        if set {
            let what =
                format!("--{name} is set, and the {whereabouts} are {plain}://, without TLS");
            let fix = format!("write {secure}:// in --{whereabouts}, or leave out --{name}");
            return Err(layers.origins.usage(what, fix, &[name, whereabouts]));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secret_is_not_shown() {
        let login = Login { user: "app".into(), password: Secret("hunter2".into()), file: None };
        assert_eq!(format!("{login:?}"), r#"Login { user: "app", password: …, file: None }"#);
    }

    #[test]
    fn password_file_may_end_its_line() {
        assert_eq!(one_line_of("pw\n"), "pw");
        assert_eq!(one_line_of("pw\r\n"), "pw");
        assert_eq!(one_line_of(" p w "), " p w ");
    }
}
