//! Secrets out of secrets: HKDF-SHA-256 (RFC 5869), each use under a label of its own.

use hkdf::Hkdf;
use sha2::Sha256;
use x25519_dalek::SharedSecret;

use super::KeyId;

/// 32 secret bytes, which are never printed.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Secret(pub(crate) [u8; 32]);

const LABEL: &str = "tenure nerio 1 ";

/// A secret for one use.
///
/// `label` holds no zero byte. A zero byte follows it, so no two labels and their parts give the
/// same bytes.
pub(crate) fn expand(secret: &Secret, label: &str, parts: &[&[u8]]) -> Secret {
    let mut info: Vec<&[u8]> = vec![LABEL.as_bytes(), label.as_bytes(), b"\0"];
    info.extend_from_slice(parts);
    let mut out = [0; 32];
    // Neither call can fail: a secret is as long as the hash, and so is the output.
    if let Ok(hkdf) = Hkdf::<Sha256>::from_prk(&secret.0) {
        let _ = hkdf.expand_multi_info(&info, &mut out);
    }
    Secret(out)
}

/// A secret derived from a shared secret and from the X25519 secret of two processes.
pub(crate) fn extract(shared: &Secret, of_two: &SharedSecret) -> Secret {
    let (out, _) = Hkdf::<Sha256>::extract(Some(&shared.0), of_two.as_bytes());
    Secret(out.into())
}

pub(super) fn id(public: &[u8; 32]) -> KeyId {
    let Secret(bytes) = expand(&Secret(*public), "id", &[]);
    KeyId([bytes[0], bytes[1], bytes[2], bytes[3]])
}
