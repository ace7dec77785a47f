//! Topics that are made, accepted, and refused.

use std::time::Duration;

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair};
use rdkafka::ClientConfig;
use rdkafka::consumer::{BaseConsumer, Consumer as _};
use tenure_kafka::topic::{TopicError, ensure};
use tenure_kafka::{Identity, Login, Mechanism, Options, Password, Pem, Tls};
use tenure_services::kafka::{Operation, Resource, Security};
use tenure_testkit::handles::{PATIENCE, soon};

use crate::common::{cluster, quick, tests, unique};
use crate::ledger::process::{config, options};

tests!(
    tls_checks_certificates_of_both_sides,
    logins_are_used_and_missing_rights_are_told,
    silent_brokers_are_reported,
    topic_is_made_only_once,
    everything_that_is_wrong_is_told_at_once,
    missing_topic_is_explained,
);

async fn topic_is_made_only_once() {
    let broker = cluster();
    let addresses = broker.addresses();
    let name = unique("made");
    let options = options(&addresses, &name).check().unwrap();
    let config = config(&name, "one", 3);
    let first = ensure(&options, &config).await.unwrap();
    let second = ensure(&options, &config).await.unwrap();
    assert!(first.anew && !second.anew);
    assert_eq!(first.id, second.id);
    let asks: BaseConsumer =
        ClientConfig::new().set("bootstrap.servers", addresses).create().unwrap();
    let cluster = asks.client().fetch_cluster_id(PATIENCE);
    assert_eq!(Some(&*first.id.cluster), cluster.as_deref());
    assert_ne!(first.id.topic, 0);
}

async fn everything_that_is_wrong_is_told_at_once() {
    let cluster = cluster();
    let addresses = cluster.addresses();
    let name = &unique("wrong");
    let made = options(&addresses, name).check().unwrap();
    ensure(&made, &config(name, "one", 3)).await.unwrap();
    let strict = Options { allow_unreplicated: false, ..options(&addresses, name) };
    let said = ensure(&strict.check().unwrap(), &config(name, "one", 4)).await.unwrap_err();
    let said = said.to_string();
    for part in [
        &format!("topic {name} cannot be used:"),
        "the topic has 3 partitions, and 4 are set",
        "each partition needs at least 3 copies, and one has 1",
        "min.insync.replicas is 1; it must be at least 2",
        "kafka-topics.sh --bootstrap-server 127.0.0.1:",
        &format!("--create --topic {name} --partitions 4 --replication-factor 3 --config"),
    ] {
        assert!(said.contains(part), "{part}: {said}");
    }
}

async fn missing_topic_is_explained() {
    let cluster = cluster();
    let name = &unique("missing");
    let without = Options { create: None, ..options(&cluster.addresses(), name) };
    let error = ensure(&without.check().unwrap(), &config(name, "one", 3)).await;
    let said = error.unwrap_err().to_string();
    let begins = format!("there is no topic {name}: give --create-topic");
    assert!(said.starts_with(&begins), "{said}");
    let command = format!("--create --topic {name} --partitions 3 --replication-factor 1");
    assert!(said.contains(&command), "{said}");
}

async fn silent_brokers_are_reported() {
    let options = options("127.0.0.1:1", "x").check().unwrap();
    let said = ensure(&options, &config("x", "one", 1)).await.unwrap_err().to_string();
    assert!(said.contains("check --brokers, whether the brokers run"), "{said}");
    assert!(said.contains("127.0.0.1:1"), "{said}");
}

async fn logins_are_used_and_missing_rights_are_told() {
    let cluster = cluster();
    let name = &unique("private");
    let login = |password: &str| Login {
        mechanism: Mechanism::Plain,
        user: "ann".into(),
        password: Password::Text(password.into()),
    };
    let with = |password: &str| {
        let options = options(&cluster.guarded(), name);
        Options { login: Some(login(password)), ..options }
    };
    let config = config(name, "one", 1);
    let right = with("secret").check().unwrap();
    let error = ensure(&right, &config).await.unwrap_err();
    assert!(matches!(error, TopicError::NotMade { .. } | TopicError::Unreachable { .. }));
    assert!(error.to_string().contains("TopicAuthorizationFailed"), "{error}");
    let error = ensure(&with("wrong").check().unwrap(), &config).await.unwrap_err().to_string();
    assert!(error.contains("check --user, --password-file"), "{error}");

    // A right takes effect a moment after it was given.
    let refused = async |part: &str| {
        while !ensure(&right, &config).await.is_err_and(|error| error.to_string().contains(part)) {
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    };
    cluster.permit(Resource::Topic(name), Operation::Describe).unwrap();
    soon(refused("this user may not (kafka-acls.sh --operation Create --topic)")).await;
    ensure(&options(&cluster.addresses(), name).check().unwrap(), &config).await.unwrap();
    for operation in [Operation::DescribeConfigs, Operation::Read] {
        cluster.permit(Resource::Topic(name), operation).unwrap();
    }
    let says = format!("this user may not write to topic {name}; a candidate must read and write");
    soon(refused(&says)).await;
    let asks = Options { only_asks: true, ..with("secret") };
    ensure(&asks.check().unwrap(), &config).await.unwrap();
}

/// A certificate that `authority` has signed, and its key.
fn signed(authority: &CertifiedIssuer<'_, KeyPair>, name: &str) -> (String, String) {
    let key = KeyPair::generate().unwrap();
    let mut params = CertificateParams::new(vec![name.to_owned()]).unwrap();
    // A certificate with the name of its authority counts as self-signed.
    params.distinguished_name.push(DnType::CommonName, name);
    let certificate = params.signed_by(&key, authority).unwrap();
    (certificate.pem(), key.serialize_pem())
}

async fn tls_checks_certificates_of_both_sides() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let mut params = CertificateParams::new(vec![]).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let authority = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
    let (certificate, key) = signed(&authority, "127.0.0.1");
    std::fs::write(path("broker.pem"), key + &certificate).unwrap();
    std::fs::write(path("ca.pem"), authority.pem()).unwrap();
    let security = Security::Tls { identity: path("broker.pem"), clients: path("ca.pem") };
    let cluster = quick().security(security).start().unwrap();
    let (certificate, key) = signed(&authority, "ann");
    let text = |text: String| Pem::Text(text.into_bytes());
    let identity = Identity { certificate: text(certificate), key: text(key) };
    let with = |tls: Option<Tls>| {
        Options { tls, ..options(&cluster.addresses(), "secret") }.check().unwrap()
    };
    let believed = Some(Pem::File(path("ca.pem")));
    let config = config("secret", "one", 1);
    let right = Tls { authority: believed.clone(), identity: Some(identity.clone()) };
    let right = with(Some(right));
    // A broker that has just started is slow with its first certificates.
    soon(async { while ensure(&right, &config).await.is_err() {} }).await;
    let stranger = Tls { authority: believed, identity: None };
    let believes_nobody = Tls { authority: None, identity: Some(identity) };
    let told = async |wrong: Option<Tls>, remedy: &str| {
        let said = ensure(&with(wrong), &config).await.unwrap_err().to_string();
        assert!(said.contains(remedy), "{said}");
    };
    // Each attempt lasts as long as the wait for an answer, so make all attempts at once.
    tokio::join!(
        told(None, "whether they expect TLS (--cacert)"),
        told(Some(stranger), "check --cacert, --cert and --key"),
        told(Some(believes_nobody), "check --cacert, --cert and --key"),
    );
}
