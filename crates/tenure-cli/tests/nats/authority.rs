//! Certificates for tests of several protocols.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, ExtendedKeyUsagePurpose, IsCa, KeyPair,
};

pub(crate) struct Authority {
    folder: PathBuf,
    pub(crate) file: PathBuf,
    issuer: CertifiedIssuer<'static, KeyPair>,
}

impl Authority {
    /// An authority that writes into this existing folder.
    pub(crate) fn new(folder: &Path) -> Self {
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().unwrap();
        let issuer = CertifiedIssuer::self_signed(params, key).unwrap();
        let file = folder.join("ca.pem");
        fs::write(&file, issuer.pem()).unwrap();
        Self { folder: folder.into(), file, issuer }
    }

    /// Signs a certificate for this address, for either side, with its key.
    pub(crate) fn sign(&self, name: &str, host: &str) -> (PathBuf, PathBuf) {
        let mut params = CertificateParams::new([host.to_owned()]).unwrap();
        params.extended_key_usages =
            vec![ExtendedKeyUsagePurpose::ServerAuth, ExtendedKeyUsagePurpose::ClientAuth];
        let key = KeyPair::generate().unwrap();
        let certificate = params.signed_by(&key, &self.issuer).unwrap();
        let path = |end: &str| self.folder.join(format!("{name}.{end}"));
        fs::write(path("pem"), certificate.pem()).unwrap();
        fs::write(path("key"), key.serialize_pem()).unwrap();
        fs::set_permissions(path("key"), fs::Permissions::from_mode(0o600)).unwrap();
        (path("pem"), path("key"))
    }
}
