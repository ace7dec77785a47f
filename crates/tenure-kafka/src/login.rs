//! The login of a client.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use tenure::settings::SecretFile;

/// The login by SASL. This build of the library lacks other mechanisms, such as OAUTHBEARER and
/// GSSAPI; their [properties](crate::Property) are refused.
#[derive(Clone, PartialEq, Eq)]
pub struct Login {
    pub mechanism: Mechanism,
    pub user: String,
    pub password: Password,
}

/// How the client proves its password to a broker.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Mechanism {
    #[default]
    Plain,
    /// SCRAM-SHA-256: the password is not sent.
    ScramSha256,
    /// SCRAM-SHA-512: the password is not sent.
    ScramSha512,
}

#[derive(Clone, PartialEq, Eq)]
pub enum Password {
    Text(String),
    /// A file whose only line is the password.
    File(PathBuf),
}

impl fmt::Debug for Login {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { mechanism, user, .. } = self;
        f.debug_struct("Login")
            .field("mechanism", mechanism)
            .field("user", user)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for Password {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(_) => f.write_str("Text(..)"),
            Self::File(path) => f.debug_tuple("File").field(path).finish(),
        }
    }
}

impl Password {
    pub(crate) fn read(&self) -> Result<String, LoginError> {
        match self {
            Self::Text(text) => Ok(text.clone()),
            Self::File(path) => SecretFile::read(path)
                .and_then(SecretFile::line)
                .map_err(|what| LoginError::File { path: path.clone(), what }),
        }
    }
}

impl Mechanism {
    /// The name of the mechanism in Kafka.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Plain => "PLAIN",
            Self::ScramSha256 => "SCRAM-SHA-256",
            Self::ScramSha512 => "SCRAM-SHA-512",
        }
    }
}

impl fmt::Display for Mechanism {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Mechanism {
    type Err = LoginError;

    fn from_str(text: &str) -> Result<Self, LoginError> {
        let all = [Self::Plain, Self::ScramSha256, Self::ScramSha512];
        let found = all.into_iter().find(|one| one.as_str().eq_ignore_ascii_case(text));
        found.ok_or(LoginError::Mechanism)
    }
}

/// Errors of a login that cannot work. No error shows the content of the file.
#[derive(Clone, Debug, thiserror::Error)]
pub enum LoginError {
    #[error("{path} {what}", path = path.display())]
    File { path: PathBuf, what: String },
    #[error("a SASL mechanism is one of: plain, scram-sha-256, scram-sha-512")]
    Mechanism,
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn password_is_file_line() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("password");
        for text in ["secret", "secret\n", "secret\r\n", "\u{feff}secret\n"] {
            fs::write(&path, text).unwrap();
            assert_eq!(Password::File(path.clone()).read().unwrap(), "secret");
        }
        let password = Password::Text("secret".into());
        assert_eq!(password.read().unwrap(), "secret");
        let login = Login { mechanism: Mechanism::Plain, user: "ann".into(), password };
        assert_eq!(format!("{login:?}"), "Login { mechanism: Plain, user: \"ann\", .. }");
        assert_eq!(
            Password::File("/nowhere/password".into()).read().unwrap_err().to_string(),
            "/nowhere/password cannot be read: No such file or directory (os error 2)"
        );
    }

    #[test]
    fn mechanisms_are_read_in_any_case() {
        assert_eq!("SCRAM-SHA-512".parse::<Mechanism>().unwrap(), Mechanism::ScramSha512);
        assert_eq!("plain".parse::<Mechanism>().unwrap().to_string(), "PLAIN");
        "md5".parse::<Mechanism>().unwrap_err();
    }
}
