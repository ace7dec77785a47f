//! Certificates of etcd's members.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, ExtendedKeyUsagePurpose, IsCa, KeyPair,
};
use tenure_services::etcd::{ClientCertificate, Cluster, ClusterConfig, Tls, Version};

/// A certificate authority, and the folder of its certificates.
pub(crate) struct Authority {
    folder: tempfile::TempDir,
    issuer: CertifiedIssuer<'static, KeyPair>,
}

impl Authority {
    pub(crate) fn new() -> Self {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let issuer = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
        let authority = Self { folder: tempfile::tempdir().unwrap(), issuer };
        fs::write(authority.path(), authority.issuer.pem()).unwrap();
        authority
    }

    /// The authority's own certificate.
    pub(crate) fn path(&self) -> PathBuf {
        self.folder.path().join("ca.pem")
    }

    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// A one-member cluster with TLS. `name` names its certificate.
    pub(crate) fn cluster(&self, name: &str) -> Cluster {
        self.start(name, None)
    }

    /// A cluster that requires client certificates; `client` names ours.
    pub(crate) fn strict_cluster(&self, name: &str, client: &str) -> Cluster {
        let (certificate, key) = self.sign(client, false);
        self.start(name, Some(ClientCertificate { certificate, key }))
    }

    fn start(&self, name: &str, client: Option<ClientCertificate>) -> Cluster {
        let (certificate, key) = self.sign(name, false);
        let tls = Tls { certificate, key, authority: self.path(), client };
        ClusterConfig::new(Version::Newest, 1).tls(tls).start().unwrap()
    }

    /// Signs a certificate for both sides, and returns its file and the file of its key. Members
    /// need both sides, because they are their own clients. A new certificate of the same name
    /// keeps the key, and replaces the old file at once: members read both files again at each
    /// handshake.
    pub(crate) fn sign(&self, name: &str, expired: bool) -> (PathBuf, PathBuf) {
        let mut params = CertificateParams::new(vec!["127.0.0.1".to_owned()]).unwrap();
        params.extended_key_usages =
            vec![ExtendedKeyUsagePurpose::ServerAuth, ExtendedKeyUsagePurpose::ClientAuth];
        if expired {
            params.not_before = rcgen::date_time_ymd(2020, 1, 1);
            params.not_after = rcgen::date_time_ymd(2021, 1, 1);
        }
        let path = |end: &str| self.folder.path().join(format!("{name}{end}"));
        let key = fs::read_to_string(path(".key")).map(|pem| KeyPair::from_pem(&pem).unwrap());
        let key = key.unwrap_or_else(|_| KeyPair::generate().unwrap());
        let certificate = params.signed_by(&key, &self.issuer).unwrap();
        fs::write(path(".key"), key.serialize_pem()).unwrap();
        fs::set_permissions(path(".key"), fs::Permissions::from_mode(0o600)).unwrap();
        fs::write(path(".new"), certificate.pem()).unwrap();
        fs::rename(path(".new"), path(".pem")).unwrap();
        (path(".pem"), path(".key"))
    }
}
