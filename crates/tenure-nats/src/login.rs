//! The login of a client.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use async_nats::Auth;
use nkeys::{KeyPair, KeyPairType};
use tenure::settings::SecretFile;

/// The login of a client. A server without authentication accepts any login.
///
/// Files are read anew for each connection, so that renewed credentials are used without a restart.
#[derive(Clone, PartialEq, Eq)]
pub enum Login {
    User {
        user: String,
        password: String,
    },
    /// A user, and a file with the password on its only line.
    PasswordFile {
        user: String,
        path: PathBuf,
    },
    /// A token, which several clients may share.
    Token(String),
    /// A file with the token on its only line.
    TokenFile(PathBuf),
    /// A file of credentials (`nsc generate creds`): a JWT of the user, and the seed of its key.
    Credentials(PathBuf),
    /// A file with the seed of a user's key (`nk -gen user`), which begins with `SU`.
    NKey(PathBuf),
}

impl fmt::Debug for Login {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::User { user, .. } => {
                f.debug_struct("User").field("user", user).finish_non_exhaustive()
            }
            Self::PasswordFile { user, path } => {
                f.debug_struct("PasswordFile").field("user", user).field("path", path).finish()
            }
            Self::Token(_) => f.write_str("Token(..)"),
            Self::TokenFile(path) => f.debug_tuple("TokenFile").field(path).finish(),
            Self::Credentials(path) => f.debug_tuple("Credentials").field(path).finish(),
            Self::NKey(path) => f.debug_tuple("NKey").field(path).finish(),
        }
    }
}

impl Login {
    /// The login for a server that gave `nonce` to be signed.
    pub(crate) fn auth(&self, nonce: &[u8]) -> Result<Auth, LoginError> {
        let mut auth = Auth::new();
        match self {
            Self::User { user, password } => {
                auth.username = Some(user.clone());
                auth.password = Some(password.clone());
            }
            Self::PasswordFile { user, path } => {
                auth.username = Some(user.clone());
                auth.password = Some(line(path)?);
            }
            Self::Token(token) => auth.token = Some(token.clone()),
            Self::TokenFile(path) => auth.token = Some(line(path)?),
            Self::Credentials(path) => {
                let text = read(path)?;
                let [jwt, seed] = sections(&text)
                    .ok_or_else(|| LoginError::NoCredentials { path: path.clone() })?;
                auth.jwt = Some(jwt.to_owned());
                auth.signature = Some(sign(path, seed, nonce)?.1);
            }
            Self::NKey(path) => {
                let text = read(path)?;
                let (key, signature) = sign(path, text.trim(), nonce)?;
                auth.nkey = Some(key);
                auth.signature = Some(signature);
            }
        }
        Ok(auth)
    }
}

fn read(path: &Path) -> Result<String, LoginError> {
    tenure::settings::read_text(path)
        .map_err(|source| LoginError::File { path: path.into(), source: Arc::new(source) })
}

/// The only line of a file, without the line end. The file may be empty while another process
/// replaces it.
fn line(path: &Path) -> Result<String, LoginError> {
    let read = SecretFile::read(path).and_then(SecretFile::line);
    read.map_err(|what| LoginError::NoLine { path: path.into(), what })
}

/// The JWT and the seed of a file of credentials: the line after each `BEGIN`.
fn sections(text: &str) -> Option<[&str; 2]> {
    let after = |what: &str| {
        let mut lines = text.lines().map(str::trim);
        lines.find(|line| {
            line.starts_with("---") && line.contains("BEGIN") && line.contains(what)
        })?;
        lines.find(|line| !line.is_empty())
    };
    Some([after("USER JWT")?, after("USER NKEY SEED")?])
}

/// The public key, and the nonce signed with the key of the seed.
fn sign(path: &Path, seed: &str, nonce: &[u8]) -> Result<(String, Vec<u8>), LoginError> {
    let no_seed = || LoginError::NoSeed { path: path.into() };
    let pair = KeyPair::from_seed(seed).map_err(|_| no_seed())?;
    if pair.key_pair_type() != KeyPairType::User {
        return Err(no_seed());
    }
    let signature = pair.sign(nonce).map_err(|_| no_seed())?;
    Ok((pair.public_key(), signature))
}

/// Errors of a login that cannot work. No error shows the content of a file.
#[derive(Clone, Debug, thiserror::Error)]
pub enum LoginError {
    #[error("cannot read {path}: {source}", path = path.display())]
    File { path: PathBuf, source: Arc<io::Error> },
    #[error("{path} {what}", path = path.display())]
    NoLine { path: PathBuf, what: String },
    #[error(
        "{path} holds no credentials: a line \"BEGIN NATS USER JWT\" and a line \"BEGIN USER NKEY \
         SEED\" are expected, as `nsc generate creds` writes them",
        path = path.display()
    )]
    NoCredentials { path: PathBuf },
    #[error("{path} holds no seed of a user's key: a seed begins with SU", path = path.display())]
    NoSeed { path: PathBuf },
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn file(text: &str) -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("login");
        fs::write(&path, text).unwrap();
        (folder, path)
    }

    #[test]
    fn byte_order_marks_are_skipped() {
        let (_folder, path) = file("\u{feff}secret\r\n");
        let auth = Login::TokenFile(path.clone()).auth(b"").unwrap();
        assert_eq!((auth.token.as_deref(), auth.password), (Some("secret"), None));
        let auth = Login::PasswordFile { user: "ann".into(), path }.auth(b"").unwrap();
        assert_eq!((auth.password.as_deref(), auth.token), (Some("secret"), None));
        let pair = KeyPair::new_user();
        let (_folder, path) = file(&format!("\u{feff}{}\n", pair.seed().unwrap()));
        let auth = Login::NKey(path).auth(b"nonce").unwrap();
        assert_eq!(auth.nkey.as_deref(), Some(&*pair.public_key()));
    }

    #[test]
    fn a_seed_signs_the_nonce() {
        let pair = KeyPair::new_user();
        let (_folder, path) = file(&format!("{}\n", pair.seed().unwrap()));
        let auth = Login::NKey(path).auth(b"nonce").unwrap();
        assert_eq!(auth.nkey.as_deref(), Some(&*pair.public_key()));
        pair.verify(b"nonce", &auth.signature.unwrap()).unwrap();
    }

    #[test]
    fn credentials_have_jwt_and_seed() {
        let pair = KeyPair::new_user();
        let text = format!(
            "-----BEGIN NATS USER JWT-----\nabc.def\n------END NATS USER JWT------\n\n*** SECRET \
             ***\n\n-----BEGIN USER NKEY SEED-----\n{}\n------END USER NKEY SEED------\n",
            pair.seed().unwrap()
        );
        let (_folder, path) = file(&text);
        let auth = Login::Credentials(path).auth(b"nonce").unwrap();
        assert_eq!(auth.jwt.as_deref(), Some("abc.def"));
        pair.verify(b"nonce", &auth.signature.unwrap()).unwrap();
    }

    #[test]
    fn login_errors_hide_content() {
        let told = |login: Login| login.auth(b"nonce").map(drop).unwrap_err().to_string();
        let (_folder, path) = file("secret");
        let shown = path.display();
        let text = told(Login::NKey(path.clone()));
        assert_eq!(text, format!("{shown} holds no seed of a user's key: a seed begins with SU"));
        let text = told(Login::Credentials(path.clone()));
        assert!(text.starts_with(&format!("{shown} holds no credentials")), "{text}");
        let (_other, account) = file(&KeyPair::new_account().seed().unwrap());
        assert!(told(Login::NKey(account)).contains("begins with SU"));
        assert_eq!(
            told(Login::NKey("/nowhere/seed".into())),
            "cannot read /nowhere/seed: No such file or directory (os error 2)"
        );
        let long = "x".repeat(4_097);
        let [empty, two, long] = ["\n", "secret\nsecret\n", long.as_str()].map(|text| {
            let (_folder, path) = file(text);
            told(Login::TokenFile(path.clone())).replace(&*path.to_string_lossy(), "it")
        });
        assert_eq!(empty, "it is empty");
        assert_eq!(two, "it holds a control character, such as the end of a line");
        assert_eq!(long, "it has more than 4096 bytes");
        let login = Login::User { user: "ann".into(), password: "secret".into() };
        assert_eq!(format!("{login:?}"), "User { user: \"ann\", .. }");
        assert_eq!(format!("{:?}", Login::Token("secret".into())), "Token(..)");
    }
}
