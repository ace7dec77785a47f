//! The shared secret, or two secrets during a rotation.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ring::hmac;

/// The secrets that all voters of a network share. Cheap to clone; never shown.
///
/// A file has one line, or two during a rotation: the first secret authenticates outgoing messages,
/// and the voter accepts both. To rotate, first add the new secret as the second line everywhere,
/// then swap the lines everywhere, then remove the old one.
#[derive(Clone)]
pub struct Secrets(Arc<[hmac::Key]>);

impl Secrets {
    /// The fewest bytes of a secret: a shorter one can be guessed.
    pub const BYTES_MIN: usize = 16;
    pub const BYTES_MAX: usize = 1_024;
    pub const MAX: usize = 2;

    /// Reads a secret on each line. Empty lines, and spaces around a secret, are ignored.
    ///
    /// # Errors
    ///
    /// When there is no secret or too many, or a secret is too short or too long.
    pub fn parse(text: &str) -> Result<Self, SecretError> {
        let lines = text.lines().map(str::trim).enumerate();
        let lines: Vec<_> = lines.filter(|(_, line)| !line.is_empty()).collect();
        if !(1..=Self::MAX).contains(&lines.len()) {
            return Err(SecretError::Count { lines: lines.len() });
        }
        let sized = |line: &str| (Self::BYTES_MIN..=Self::BYTES_MAX).contains(&line.len());
        if let Some((nth, line)) = lines.iter().find(|(_, line)| !sized(line)) {
            return Err(SecretError::Length { line: nth + 1, bytes: line.len() });
        }
        let key = |line: &str| hmac::Key::new(hmac::HMAC_SHA256, line.as_bytes());
        Ok(Self(lines.into_iter().map(|(_, line)| key(line)).collect()))
    }

    /// Reads the secrets of a file.
    ///
    /// # Errors
    ///
    /// The errors of [`parse`](Self::parse), and when the file cannot be read.
    pub fn read(path: &Path) -> Result<Self, SecretError> {
        let text = tenure::settings::read_text(path).map_err(|source| SecretError::File {
            path: path.to_owned(),
            source: Arc::new(source),
        })?;
        Self::parse(&text)
    }

    pub(super) fn first(&self) -> &hmac::Key {
        &self.0[0]
    }

    pub(super) fn all(&self) -> &[hmac::Key] {
        &self.0
    }
}

impl fmt::Debug for Secrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Secrets({} of them)", self.0.len())
    }
}

/// A secret that cannot be used.
#[derive(Clone, Debug, thiserror::Error)]
pub enum SecretError {
    #[error(
        "{lines} lines contain a secret; the file must contain one secret, or two during a rotation"
    )]
    Count { lines: usize },
    #[error(
        "the secret on line {line} has {bytes} bytes; make one of {} to {} bytes: openssl rand \
         -hex 32",
        Secrets::BYTES_MIN,
        Secrets::BYTES_MAX
    )]
    Length {
        /// Line number, from 1.
        line: usize,
        bytes: usize,
    },
    #[error("cannot read {path}: {source}", path = path.display())]
    File { path: PathBuf, source: Arc<std::io::Error> },
}
