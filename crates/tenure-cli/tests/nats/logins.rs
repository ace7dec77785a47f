//! Elections on servers that require a login, of each kind, over TLS, and on a server that is about
//! to end.

use std::fs;
use std::thread::sleep;

use nkeys::KeyPair;
use rustix::process::Signal;
use tenure_services::nats::{Cluster, ClusterConfig, Tls, Version};
use tenure_testkit::processes::Machine;

use crate::authority::Authority;
use crate::{LEASE, candidate, machine, words};

tenure_services::on_each_version!(by_password, by_token, by_seed, by_credentials, over_tls);

/// A candidate leads, CMD runs, and an asker with the same settings names the leader.
fn elects(host: &Machine) {
    let leader = host.start("leader", &candidate("one", "1"));
    leader.line("one leads billing", 1);
    leader.line("fence <none>", 1);
    let answer = host.ask(&words("leader", &["--json"]));
    assert!(answer.out.contains(r#""value":"one""#), "{}{}", answer.out, answer.err);
    leader.signal(Signal::TERM);
    assert_eq!(leader.ended(), Some(143));
}

/// An asker and a candidate are refused, with this reason.
fn refused(host: &Machine, why: &str) {
    for (command, more) in [("leader", &[][..]), ("run", &["--grace=300ms", "--", "true"][..])] {
        let answer = host.ask(&words(command, more));
        assert_eq!(answer.code, Some(2), "{}", answer.err);
        assert!(answer.err.contains(why), "{}", answer.err);
    }
}

fn by_password(version: Version) {
    let users = "authorization { users: [ { user: ann, password: secret } ] }";
    let cluster = ClusterConfig::new(version, 1).settings(users).start().unwrap();
    let file = cluster.folder().join("password");
    let host = machine(&cluster).with("TENURE_USER", "ann");
    let host = host.with("TENURE_PASSWORD_FILE", file.to_str().unwrap());
    fs::write(&file, "wrong\n").unwrap();
    refused(&host, "the server refuses this login");
    fs::write(&file, "secret\n").unwrap();
    elects(&host);
}

/// A token in a file and in a variable. Another kind of login gets an error with the right kind.
fn by_token(version: Version) {
    let settings = "authorization { token: secret }";
    let cluster = ClusterConfig::new(version, 1).settings(settings).start().unwrap();
    let asks = "it asks for a user with its password, or a token";
    refused(&machine(&cluster), asks);
    refused(&machine(&cluster), "fix: log in: give --user NAME and its password, or --token-file");
    let seed = cluster.folder().join("user.nk");
    fs::write(&seed, KeyPair::new_user().seed().unwrap()).unwrap();
    let host = machine(&cluster).with("TENURE_NKEY", seed.to_str().unwrap());
    refused(&host, asks);
    refused(&host, "fix: give --user NAME and its password, or --token-file FILE;");
    let file = cluster.folder().join("token");
    let host = machine(&cluster).with("TENURE_TOKEN_FILE", file.to_str().unwrap());
    fs::write(&file, "wrong\n").unwrap();
    refused(&host, asks);
    fs::write(&file, "\u{feff}secret\n").unwrap();
    elects(&host);
    elects(&machine(&cluster).with("TENURE_TOKEN", "secret"));
}

fn by_seed(version: Version) {
    let (known, unknown) = (KeyPair::new_user(), KeyPair::new_user());
    let users = format!("authorization {{ users: [ {{ nkey: {} }} ] }}", known.public_key());
    let cluster = ClusterConfig::new(version, 1).settings(&users).start().unwrap();
    let file = cluster.folder().join("user.nk");
    let host = machine(&cluster).with("TENURE_NKEY", file.to_str().unwrap());
    fs::write(&file, unknown.seed().unwrap()).unwrap();
    refused(&host, "the server refuses this login");
    let host_with_a_word = machine(&cluster).with("TENURE_TOKEN", "secret");
    refused(&host_with_a_word, "it asks for a signature, by credentials or an NKey");
    fs::write(&file, known.seed().unwrap() + "\n").unwrap();
    elects(&host);
}

/// An operator, an account and a user, as `nsc` makes them.
fn by_credentials(version: Version) {
    let (operator, account) = (KeyPair::new_operator(), KeyPair::new_account());
    let unlimited = r#""subs":-1,"data":-1,"payload":-1"#;
    let more = r#""imports":-1,"exports":-1,"wildcards":true,"conn":-1,"leaf":-1"#;
    let limits = format!(r#""type":"account","limits":{{{unlimited},{more}}}"#);
    let named = account.public_key();
    let settings = format!(
        "operator: {}\nresolver: MEMORY\nresolver_preload: {{ {named}: {} }}",
        token(&operator, &operator.public_key(), r#""type":"operator""#),
        token(&operator, &named, &limits),
    );
    let cluster = ClusterConfig::new(version, 1).settings(&settings).start().unwrap();
    let file = cluster.folder().join("user.creds");
    let host = machine(&cluster).with("TENURE_CREDS", file.to_str().unwrap());
    let credentials = |issuer: &KeyPair| {
        let user = KeyPair::new_user();
        let said = format!(r#""type":"user",{unlimited}"#);
        format!(
            "-----BEGIN NATS USER JWT-----\n{}\n------END NATS USER JWT------\n\n\
             -----BEGIN USER NKEY SEED-----\n{}\n------END USER NKEY SEED------\n",
            token(issuer, &user.public_key(), &said),
            user.seed().unwrap(),
        )
    };
    fs::write(&file, credentials(&KeyPair::new_account())).unwrap();
    refused(&host, "the server refuses this login");
    fs::write(&file, credentials(&account)).unwrap();
    elects(&host);
}

/// A signed statement of `issuer` about `subject`.
fn token(issuer: &KeyPair, subject: &str, said: &str) -> String {
    let header = base64(br#"{"typ":"JWT","alg":"ed25519-nkey"}"#);
    let who = format!(r#""iss":"{}","sub":"{subject}","name":"t""#, issuer.public_key());
    let claims = format!(r#"{{"jti":"t","iat":1700000000,{who},"nats":{{{said},"version":2}}}}"#);
    let text = format!("{header}.{}", base64(claims.as_bytes()));
    let signature = base64(&issuer.sign(text.as_bytes()).unwrap());
    format!("{text}.{signature}")
}

/// Encoded for URLs, without padding.
fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let three = |three: &[u8]| {
        let all = [0, 1, 2].map(|n| u32::from(three.get(n).copied().unwrap_or_default()));
        let bits = all[0] << 16 | all[1] << 8 | all[2];
        let letter = move |n: usize| char::from(LETTERS[(bits >> (18 - 6 * n) & 63) as usize]);
        (0..=three.len()).map(letter).collect::<String>()
    };
    bytes.chunks(3).map(three).collect()
}

/// Certificates of the server and of clients, both required.
fn over_tls(version: Version) {
    let folder = tempfile::tempdir().unwrap();
    let authority = Authority::new(folder.path());
    let (certificate, key) = authority.sign("server", "127.0.0.1");
    let tls = Tls { certificate, key, clients: Some(authority.file.clone()), first: false };
    let cluster = ClusterConfig::new(version, 1).tls(tls).start().unwrap();
    let url = cluster.server(0).url().replace("nats://", "tls://");
    let host = || machine(&cluster).with("TENURE_SERVERS", &url);
    refused(&host(), "the TLS connection failed: invalid peer certificate");
    let host = host().with("TENURE_CACERT", authority.file.to_str().unwrap());
    let unknown = host.ask(&words("leader", &[]));
    assert!(matches!(unknown.code, Some(2 | 4)), "no certificate was shown: {}", unknown.err);
    let (certificate, key) = authority.sign("client", "127.0.0.1");
    let host = host.with("TENURE_CERT", certificate.to_str().unwrap());
    elects(&host.with("TENURE_KEY", key.to_str().unwrap()));
}

/// Clients leave a server that announces its end, and the leader leads on.
#[test]
fn leader_survives_lame_duck_server() {
    let cluster = Cluster::start(Version::Newest, 2).unwrap();
    let host = machine(&cluster);
    let leader = host.start("leader", &candidate("one", "1"));
    leader.line("fence <none>", 1);
    let next = host.start("next", &candidate("two", "2"));
    next.line("two waits: behind one", 1);
    cluster.server(0).lame_duck().unwrap();
    for runner in [&leader, &next] {
        runner.line("is about to end: this node goes to the next server", 1);
    }
    // After this span an unrenewed lease is over.
    sleep(LEASE);
    let answer = host.ask(&words("leader", &["--json"]));
    assert!(answer.out.contains(r#""value":"one""#), "{}{}", answer.out, answer.err);
    assert_eq!(leader.log().matches("leads billing").count(), 1, "{}", leader.log());
    assert!(!next.log().contains("leads billing"), "{}", next.log());
}

/// The password changes on the server while one candidate leads and another waits. Both report the
/// reason, and neither ends. The new password in the file is enough, even if the file is empty
/// first. Log lines of the client library are hidden from operators.
#[test]
fn late_login_refusal_ends_no_process() {
    let users = "authorization { users: [ { user: ann, password: secret } ] }";
    let cluster = ClusterConfig::new(Version::Newest, 1).settings(users).start().unwrap();
    let file = cluster.folder().join("password");
    fs::write(&file, "secret\n").unwrap();
    let host = machine(&cluster).with("TENURE_USER", "ann");
    let host = host.with("TENURE_PASSWORD_FILE", file.to_str().unwrap());
    let leader = host.start("leader", &candidate("one", "1"));
    leader.line("fence <none>", 1);
    let next = host.start("next", &candidate("two", "2"));
    next.line("two waits: behind one", 1);
    cluster.server(0).reload("password: secret", "password: changed").unwrap();
    for runner in [&leader, &next] {
        runner.line("does not accept this login any more", 1);
        runner.line("the password file is read again at each attempt", 1);
        runner.line("the server refuses this login", 1);
    }
    // The lease is over: both candidates wait.
    leader.line("CMD ended", 1);
    // Editors may leave the file empty for a moment.
    fs::write(&file, "").unwrap();
    for runner in [&leader, &next] {
        runner.line("password is empty", 1);
    }
    fs::write(&file, "changed\n").unwrap();
    // `one` has the lower rank. The other candidate may lead first, if it has listened for longer.
    leader.line("one leads billing", 2);
    for runner in [leader, next] {
        let log = runner.log();
        assert!(!log.contains("async_nats") && !log.contains("once is enough"), "{log}");
        assert!(!log.contains("a right that this login needs"), "{log}");
        runner.signal(Signal::TERM);
        assert_eq!(runner.ended(), Some(143), "{log}");
    }
}

/// Only one of the two sides speaks TLS: the error names the right scheme first.
#[test]
fn wrong_scheme_is_named() {
    let plain = Cluster::start(Version::Newest, 1).unwrap();
    let url = plain.server(0).url().replace("nats://", "tls://");
    let told = machine(&plain).with("TENURE_SERVERS", &url).ask(&words("leader", &[]));
    assert_eq!(told.code, Some(2), "{}", told.err);
    assert!(told.err.contains("cannot be used: the server speaks no TLS"), "{}", told.err);
    assert!(told.err.contains("fix: write nats://"), "{}", told.err);
    let folder = tempfile::tempdir().unwrap();
    let (certificate, key) = Authority::new(folder.path()).sign("server", "127.0.0.1");
    let tls = Tls { certificate, key, clients: None, first: false };
    let secure = ClusterConfig::new(Version::Newest, 1).tls(tls).start().unwrap();
    let url = secure.server(0).url().replace("tls://", "nats://");
    let told = machine(&secure).with("TENURE_SERVERS", &url).ask(&words("leader", &[]));
    assert_eq!(told.code, Some(2), "{}", told.err);
    assert!(told.err.contains("the server wants TLS, and --servers says nats://"), "{}", told.err);
    assert!(told.err.contains("fix: write tls://"), "{}", told.err);
}
