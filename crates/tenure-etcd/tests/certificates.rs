//! TLS: authorities, client certificates, schemes, and expired certificates.

#![expect(clippy::unwrap_used, reason = "it is a test")]

mod common;

use std::fs;
use std::path::{Path, PathBuf};

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, ExtendedKeyUsagePurpose, IsCa, KeyPair,
};
use tenure_etcd::{CheckedOptions, Config, Identity, Options, Pem, Tls, check};
use tenure_services::etcd::{ClientCertificate, Cluster, ClusterConfig, Tls as ServerTls, Version};

use common::{PATIENCE, all, node, options, run, soon};

/// An authority, and a folder for the certificates that it signs.
struct Authority {
    folder: tempfile::TempDir,
    issuer: CertifiedIssuer<'static, KeyPair>,
}

impl Authority {
    fn new() -> Self {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let issuer = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let authority = Self { folder, issuer };
        fs::write(authority.path(), authority.issuer.pem()).unwrap();
        authority
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("ca.pem")
    }

    /// A certificate for servers and for clients, and its key. A member needs both uses, because a
    /// member is also a client of itself.
    fn sign(&self, name: &str, expired: bool) -> (PathBuf, PathBuf) {
        let mut params =
            CertificateParams::new(vec!["127.0.0.1".to_owned(), name.to_owned()]).unwrap();
        params.extended_key_usages =
            vec![ExtendedKeyUsagePurpose::ServerAuth, ExtendedKeyUsagePurpose::ClientAuth];
        if expired {
            params.not_before = rcgen::date_time_ymd(2020, 1, 1);
            params.not_after = rcgen::date_time_ymd(2021, 1, 1);
        }
        let key = KeyPair::generate().unwrap();
        let certificate = params.signed_by(&key, &self.issuer).unwrap();
        let path = |end: &str| self.folder.path().join(format!("{name}{end}"));
        fs::write(path(".pem"), certificate.pem()).unwrap();
        fs::write(path(".key"), key.serialize_pem()).unwrap();
        (path(".pem"), path(".key"))
    }

    fn cluster(&self, version: Version, client: Option<(PathBuf, PathBuf)>) -> Cluster {
        let (certificate, key) = self.sign("server", false);
        let client = client.map(|(certificate, key)| ClientCertificate { certificate, key });
        let tls = ServerTls { certificate, key, authority: self.path(), client };
        ClusterConfig::new(version, 1).tls(tls).start().unwrap()
    }
}

/// Options so patient that a standstill of the machine causes no error.
fn patient(endpoints: &[String]) -> CheckedOptions {
    let mut options = Options::clone(&options(endpoints));
    options.connect_within = PATIENCE;
    options.check().unwrap()
}

fn believing(
    endpoints: &[String],
    authority: &Path,
    shown: Option<(PathBuf, PathBuf)>,
) -> CheckedOptions {
    let mut options = Options::clone(&patient(endpoints));
    let identity = shown.map(|(certificate, key)| Identity {
        certificate: Pem::File(certificate),
        key: Pem::File(key),
    });
    options.tls =
        Some(Tls { authority: Some(Pem::File(authority.to_owned())), identity, domain_name: None });
    options.check().unwrap()
}

async fn told(options: &CheckedOptions) -> String {
    let config = Config::default().check().unwrap();
    check(options, &config, &[]).await.unwrap_err().to_string()
}

tenure_services::on_each_version!(identities);

fn identities(version: Version) {
    let authority = Authority::new();
    let cluster = authority.cluster(version, Some(authority.sign("ann", false)));
    let endpoints = cluster.endpoints();
    run(async {
        let ann = believing(&endpoints, &authority.path(), Some(authority.sign("ann", false)));
        let node = node(&ann, 20);
        let leader = soon(node.election("e").unwrap().campaign("ann")).await.unwrap();
        soon(leader.renewed(leader.until())).await.unwrap();

        let nobody = told(&believing(&endpoints, &authority.path(), None)).await;
        assert!(nobody.contains("wants a client certificate that it trusts: "), "{nobody}");
        let old = believing(&endpoints, &authority.path(), Some(authority.sign("old", true)));
        let old = told(&old).await;
        // Older servers do not name the expired certificate as the fault.
        let is_told = |words| old.contains(words);
        assert!(is_told("a certificate has expired") || is_told("wants a client"), "{old}");
        let other = Authority::new();
        let foreign = believing(&endpoints, &other.path(), Some(other.sign("eve", false)));
        let foreign = told(&foreign).await;
        assert!(foreign.contains("the certificate is not trusted: "), "{foreign}");
        let eve = believing(&endpoints, &authority.path(), Some(other.sign("eve", false)));
        let eve = told(&eve).await;
        assert!(eve.contains("wants a client certificate that it trusts: "), "{eve}");
        assert!(leader.is_current());
        soon(node.close()).await;
    });
}

#[test]
fn schemes_and_names() {
    let authority = Authority::new();
    let secure = authority.cluster(Version::Newest, None);
    let plain = Cluster::start(Version::Newest, 1).unwrap();
    run(async {
        let https = &secure.endpoints()[0];
        let http = &plain.endpoints()[0];
        let config = Config::default().check().unwrap();
        let right = believing(std::slice::from_ref(https), &authority.path(), None);
        assert_eq!(check(&right, &config, &[]).await.unwrap().members().count(), 1);

        let wrong = https.replace("https", "http");
        assert_eq!(
            told(&patient(std::slice::from_ref(&wrong))).await,
            format!(
                "no endpoint can be used: {wrong}: the server speaks TLS; write https:// instead \
                 of http://"
            )
        );
        let wrong = http.replace("http", "https");
        assert_eq!(
            told(&believing(std::slice::from_ref(&wrong), &authority.path(), None)).await,
            format!(
                "no endpoint can be used: {wrong}: the server does not speak TLS; write http:// \
                 instead of https://"
            )
        );
        let mut named = Options::clone(&right);
        named.tls.as_mut().unwrap().domain_name = Some("server".to_owned());
        assert!(check(&named.clone().check().unwrap(), &config, &[]).await.is_ok());
        named.tls.as_mut().unwrap().domain_name = Some("elsewhere".to_owned());
        let elsewhere = told(&named.check().unwrap()).await;
        assert!(elsewhere.contains("the certificate is not trusted: "), "{elsewhere}");

        // A dead member beside a living one is no error. Endpoints of two clusters are an error.
        let mut both = Options::clone(&right);
        both.tls = None;
        both.endpoints = all(&plain).endpoints.clone();
        both.endpoints.push("http://127.0.0.1:9".parse().unwrap());
        let report = check(&both.check().unwrap(), &config, &[]).await.unwrap();
        assert_eq!(report.members().count(), 1);
        let dead = report.endpoints[1].1.as_ref().unwrap_err().to_string();
        assert!(dead.starts_with("http://127.0.0.1:9 cannot be reached: "), "{dead}");
        let other = Cluster::start(Version::Newest, 1).unwrap();
        let two = [http.clone(), other.endpoints()[0].clone()];
        let two = told(&patient(&two)).await;
        assert!(two.contains("all endpoints must belong to one"), "{two}");
    });
}

#[test]
fn an_expired_server() {
    let authority = Authority::new();
    let cluster = authority.cluster(Version::Oldest, None);
    let (certificate, _) = authority.sign("server", true);
    assert!(
        certificate.exists(),
        "in the place of the one that the member reads at each handshake"
    );
    run(async {
        let options = believing(&cluster.endpoints(), &authority.path(), None);
        let old = told(&options).await;
        assert!(old.contains("a certificate has expired"), "{old}");
    });
}
