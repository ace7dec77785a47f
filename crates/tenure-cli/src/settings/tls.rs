//! Certificates and logins, as every protocol with servers reads them.

use std::fmt;
use std::fs::File;
use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use super::{Layers, Origin, table};
use crate::failure::{Failure, quoted, shell_word};

/// The variable that holds the password of `--user`. There is no such flag, because every user of
/// the machine could read it, and no such key, because settings files are passed on.
pub const PASSWORD: &str = "TENURE_PASSWORD";

/// What to do about a password where none belongs.
pub const PASSWORD_ELSEWHERE: &str =
    "give --password-file FILE or set TENURE_PASSWORD: others could read it here";

/// Readable by every user, or writable by another than the owner. A group may read: services
/// are given files so.
const FOR_OTHERS: u32 = 0o026;

/// More than any password needs, and what is read at most.
const PASSWORD_MAX: u64 = 4_096;

/// A certificate for clients, in two PEM files. Read for each connection:
/// they may be renewed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Identity {
    /// The certificate.
    pub certificate: PathBuf,
    /// Its key.
    pub key: PathBuf,
}

/// A user.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Login {
    /// The name.
    pub user: String,
    /// The password.
    pub password: Secret,
    /// Where it is from, if it was read from a file, which may hold another one later.
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

/// Reads `--cert` and `--key`, of which neither is of use alone.
pub fn identity(layers: &mut Layers<'_>) -> Result<Option<Identity>, Failure> {
    let certificate = layers.optional(&table::CERT)?;
    let key = layers.optional(&table::KEY)?;
    let alone = |given: &str, missing: &str| {
        let what = format!("--{given} is set and --{missing} is not");
        let fix = format!("give --{missing} too: a certificate is of no use without its key");
        Err(layers.origins.explain(Failure::usage(what, fix), &[given, missing]))
    };
    match (certificate, key) {
        (Some(certificate), Some(key)) => Ok(Some(Identity { certificate, key })),
        (Some(_), None) => alone("cert", "key"),
        (None, Some(_)) => alone("key", "cert"),
        (None, None) => Ok(None),
    }
}

/// The password in the file at `path`, if it is UTF-8.
fn password_in(path: &Path, layers: &mut Layers<'_>) -> Result<Option<String>, Failure> {
    let origins = &layers.origins;
    let unusable = |what: String| {
        let what = format!("the password file {} {what}", quoted(&path.display().to_string()));
        let failure = Failure::usage(what, "name a file that this user may read");
        origins.explain(failure, &["password-file"])
    };
    let (mut bytes, mut mode) = (Vec::new(), 0);
    File::open(path)
        .and_then(|file| {
            mode = file.metadata()?.permissions().mode() & 0o7777;
            file.take(PASSWORD_MAX + 1).read_to_end(&mut bytes)
        })
        .map_err(|error| unusable(format!("cannot be read: {error}")))?;
    if bytes.len() as u64 > PASSWORD_MAX {
        return Err(unusable(format!("has more than {PASSWORD_MAX} bytes")));
    }
    warn_of_mode(layers, "password file", path, mode);
    Ok(String::from_utf8(bytes).ok().map(|text| one_line_of(&text).to_owned()))
}

/// Warns if others can read a file that shows who this user is, or put another in its place.
pub fn warn_if_for_others(layers: &mut Layers<'_>, what: &str, path: &Path) {
    // One that cannot be read is refused where it is read.
    if let Ok(about) = path.metadata() {
        warn_of_mode(layers, what, path, about.permissions().mode() & 0o7777);
    }
}

fn warn_of_mode(layers: &mut Layers<'_>, what: &str, path: &Path, mode: u32) {
    if mode & FOR_OTHERS == 0 {
        return;
    }
    let path = path.display().to_string();
    layers.warn(format!(
        "others can read or change the {what} {}, its mode is {mode:o}: take that away: chmod 600 \
         {}",
        quoted(&path),
        shell_word(&path)
    ));
}

/// Reads `--user` and its password, of which neither is of use alone.
pub fn login(layers: &mut Layers<'_>) -> Result<Option<Login>, Failure> {
    let user = layers.optional(&table::USER)?;
    let file = layers.optional(&table::PASSWORD_FILE)?;
    let (password, file) = password(layers, file)?.unzip();
    let file = file.flatten();
    match (user, password) {
        (Some(user), Some(password)) => Ok(Some(Login { user, password, file })),
        (None, None) => Ok(None),
        (Some(_), None) => {
            let what = "--user is set and no password is";
            let fix = format!("set {PASSWORD}, or give --password-file FILE");
            Err(layers.origins.explain(Failure::usage(what, fix), &["user"]))
        }
        (None, Some(_)) => {
            let what = "a password is set and --user is not";
            let failure = Failure::usage(what, "give --user NAME, or unset the password");
            Err(layers.origins.explain(failure, &["user", PASSWORD_ENTRY]))
        }
    }
}

/// How the password is called where it is named like a setting. Its value is never given to a
/// origins.
pub const PASSWORD_ENTRY: &str = "password";

/// A flag wins over a variable, that over the file; the rest is up to the user.
fn password(
    layers: &mut Layers<'_>,
    file: Option<PathBuf>,
) -> Result<Option<(Secret, Option<PathBuf>)>, Failure> {
    let variable = layers.environment().variable(PASSWORD);
    let origin = layers.origins.origin(&table::PASSWORD_FILE).cloned();
    let (password, origin, file) = match (file, variable, origin) {
        (Some(_), Some(_), Some(Origin::Variable(other))) => {
            let what = format!("the password is set twice, by {PASSWORD} and by {other}");
            let failure = Failure::usage(what, "unset one of them");
            return Err(failure.origin(format!("variables {PASSWORD} and {other}")));
        }
        (Some(path), None, Some(origin))
        | (Some(path), Some(_), Some(origin @ Origin::Flag(_))) => {
            (password_in(&path, layers)?, origin, Some(path))
        }
        (_, Some(text), _) => {
            (text.to_str().map(str::to_owned), Origin::Variable(PASSWORD.into()), None)
        }
        (_, None, _) => return Ok(None),
    };
    let hidden = Some("(not shown)".to_owned());
    layers.origins.note(PASSWORD_ENTRY, hidden, origin.clone());
    let unusable = |what: &str| Err(Failure::usage(what, "correct it there").origin(&origin));
    match password {
        None => unusable("the password is not UTF-8"),
        Some(text) if text.is_empty() => unusable("the password is empty"),
        Some(text) if text.contains(char::is_control) => {
            unusable("the password holds a control character, such as the end of a line")
        }
        Some(text) => Ok(Some((Secret(text), file))),
    }
}

/// Editors end a file with the end of a line.
fn one_line_of(text: &str) -> &str {
    let text = text.strip_suffix('\n').unwrap_or(text);
    text.strip_suffix('\r').unwrap_or(text)
}

/// Refuses certificates where nobody would look at them, in the setting `whereabouts` of which
/// some lead to servers without TLS; with their schemes.
pub fn refuse_without(
    layers: &Layers<'_>,
    whereabouts: &str,
    (plain, secure): (&str, &str),
) -> Result<(), Failure> {
    for setting in [&table::CACERT, &table::CERT, &table::KEY] {
        let name = setting.spec.name;
        let set = layers.origins.origin(setting).is_some_and(|origin| *origin != Origin::Default);
        if set {
            let what =
                format!("--{name} is set, and the {whereabouts} are {plain}://, without TLS");
            let fix = format!("write {secure}:// in --{whereabouts}, or leave out --{name}");
            return Err(layers.origins.explain(Failure::usage(what, fix), &[name, whereabouts]));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_not_shown() {
        let login = Login { user: "app".into(), password: Secret("hunter2".into()), file: None };
        assert_eq!(format!("{login:?}"), r#"Login { user: "app", password: …, file: None }"#);
    }

    #[test]
    fn a_file_gives_the_password_without_the_end_of_its_line() {
        assert_eq!(one_line_of("pw\n"), "pw");
        assert_eq!(one_line_of("pw\r\n"), "pw");
        assert_eq!(one_line_of(" p w "), " p w ");
    }
}
