//! Logins, permissions and TLS.

use std::fs;
use std::path::{Path, PathBuf};

use async_nats::{ConnectErrorKind, ConnectOptions, Event};
use nkeys::KeyPair;
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa};
use tenure_services::nats::{Cluster, ClusterConfig, Tls};
use tenure_testkit::facts::Expected::{Always, Each};
use tenure_testkit::facts::{Failure, Seen, fact};

use crate::stage::{A_WHILE, Fact, SOON, Stage, event, heard, subscribe, watched};

pub(crate) const FACTS: &[Fact] = &[
    fact!(
        wrong_password,
        Always("authorization violation"),
        "A login with a wrong password is refused when connecting, as one of an unknown user is."
    ),
    fact!(
        denied_publication,
        Always("told, not heard, and still connected"),
        "What a user may not publish is dropped; it is told so later, and stays connected."
    ),
    fact!(
        denied_subscription,
        Always("told, hears nothing, and still connected"),
        "What a user may not subscribe to is never heard; it is told so later, and stays connected."
    ),
    fact!(
        permitted_wildcard,
        Always("heard"),
        "A right to subscribe to CLUSTER.* is enough for a subscription to just that."
    ),
    fact!(seeds, Always("taken, and another one refused"), "A user may be named by its key."),
    fact!(
        tls_is_asked_for,
        Always("not believed without the authority, taken with it"),
        "A server with a certificate makes a nats:// client speak TLS, too."
    ),
    fact!(
        tls_first,
        Each("unknown field handshake_first", "taken if TLS comes first, else not"),
        "A newer server may want TLS before its greeting."
    ),
];

fn with_users(stage: &Stage) -> Result<Cluster, Failure> {
    let users = r#"authorization { users: [
        { user: ann, password: secret, permissions: {
            publish: ["t.prod.ask"], subscribe: ["t.prod.*", "_INBOX.>"] } }
        { user: bob, password: secret }
    ] }"#;
    Ok(ClusterConfig::new(stage.version(), 1).settings(users).start()?)
}

fn login(user: &str) -> ConnectOptions {
    ConnectOptions::with_user_and_password(user.into(), "secret".into()).connection_timeout(SOON)
}

async fn wrong_password(stage: Stage) -> Seen {
    let cluster = with_users(&stage)?;
    let mut said = Vec::new();
    for (user, password) in [("ann", "wrong"), ("eve", "secret")] {
        let options = ConnectOptions::with_user_and_password(user.into(), password.into());
        let options = options.connection_timeout(SOON);
        let error = options.connect(cluster.server(0).url()).await.err().ok_or("taken")?;
        said.push(error.kind().to_string());
    }
    said.dedup();
    Ok(said.join(" or "))
}

async fn denied_publication(stage: Stage) -> Seen {
    let cluster = with_users(&stage)?;
    let (ann, mut events) = watched(login("ann"), cluster.server(0).url()).await?;
    let bob = login("bob").connect(cluster.server(0).url()).await?;
    let mut hears = subscribe(&bob, "t.prod.*").await?;
    ann.publish("t.prod.call", "denied".into()).await?;
    let told = event(&mut events, |event| matches!(event, Event::ServerError(_))).await?;
    if !told.to_string().contains("Permissions Violation for Publish to \"t.prod.call\"") {
        return Ok(told.to_string());
    }
    ann.publish("t.prod.ask", "allowed".into()).await?;
    Ok(match heard(&mut hears, SOON).await.as_deref() {
        Some("allowed") => "told, not heard, and still connected".to_owned(),
        other => format!("{other:?}"),
    })
}

async fn denied_subscription(stage: Stage) -> Seen {
    let cluster = with_users(&stage)?;
    let (ann, mut events) = watched(login("ann"), cluster.server(0).url()).await?;
    let mut denied = ann.subscribe("t.other.*").await?;
    let told = event(&mut events, |event| matches!(event, Event::ServerError(_))).await?;
    if !told.to_string().contains("Permissions Violation for Subscription to \"t.other.*\"") {
        return Ok(told.to_string());
    }
    let bob = login("bob").connect(cluster.server(0).url()).await?;
    bob.publish("t.other.call", "hi".into()).await?;
    bob.flush().await?;
    if heard(&mut denied, A_WHILE).await.is_some() {
        return Ok("heard all the same".to_owned());
    }
    let mut allowed = ann.subscribe("t.prod.*").await?;
    ann.publish("t.prod.ask", "hi".into()).await?;
    let connected = heard(&mut allowed, SOON).await.is_some();
    Ok(if connected { "told, hears nothing, and still connected" } else { "cut off" }.to_owned())
}

async fn permitted_wildcard(stage: Stage) -> Seen {
    let cluster = with_users(&stage)?;
    let ann = login("ann").connect(cluster.server(0).url()).await?;
    let bob = login("bob").connect(cluster.server(0).url()).await?;
    let mut hears = ann.subscribe("t.prod.*").await?;
    ann.publish("t.prod.ask", "own".into()).await?;
    let own = heard(&mut hears, SOON).await;
    bob.publish("t.prod.call", "hi".into()).await?;
    let both = own.is_some() && heard(&mut hears, SOON).await.is_some();
    Ok(if both { "heard" } else { "not heard" }.to_owned())
}

async fn seeds(stage: Stage) -> Seen {
    let (known, unknown) = (KeyPair::new_user(), KeyPair::new_user());
    let users = format!("authorization {{ users: [ {{ nkey: {} }} ] }}", known.public_key());
    let cluster = ClusterConfig::new(stage.version(), 1).settings(&users).start()?;
    let connect = |pair: &KeyPair| {
        let options = ConnectOptions::with_nkey(pair.seed().unwrap()).connection_timeout(SOON);
        options.connect(cluster.server(0).url().to_owned())
    };
    let (taken, refused) = (connect(&known).await, connect(&unknown).await);
    Ok(match (taken.is_ok(), refused.is_err()) {
        (true, true) => "taken, and another one refused".to_owned(),
        other => format!("{other:?}"),
    })
}

/// A server's certificate for 127.0.0.1, its key, and who has signed it.
fn certificates(folder: &Path) -> Result<(Tls, PathBuf), Failure> {
    let mut params = CertificateParams::default();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let authority = CertifiedIssuer::self_signed(params, rcgen::KeyPair::generate()?)?;
    let key = rcgen::KeyPair::generate()?;
    let certificate =
        CertificateParams::new(["127.0.0.1".to_owned()])?.signed_by(&key, &authority)?;
    let path = |name: &str| folder.join(name);
    fs::write(path("server.pem"), certificate.pem())?;
    fs::write(path("server.key"), key.serialize_pem())?;
    fs::write(path("ca.pem"), authority.pem())?;
    let tls = Tls {
        certificate: path("server.pem"),
        key: path("server.key"),
        clients: None,
        first: false,
    };
    Ok((tls, path("ca.pem")))
}

fn believing(authority: Option<&Path>) -> ConnectOptions {
    let pem = authority.map(|path| tenure_nats::Pem::File(path.into()));
    let tls = tenure_tls::client_config(pem.as_ref(), None).unwrap();
    ConnectOptions::new().connection_timeout(SOON).tls_client_config(tls)
}

async fn tls_is_asked_for(stage: Stage) -> Seen {
    let folder = tempfile::tempdir()?;
    let (tls, authority) = certificates(folder.path())?;
    let cluster = ClusterConfig::new(stage.version(), 1).tls(tls).start()?;
    let url = cluster.server(0).url().replace("tls://", "nats://");
    let (without, with) = (
        believing(None).connect(&url).await.is_err(),
        believing(Some(&authority)).connect(&url).await.is_ok(),
    );
    Ok(match (without, with) {
        (true, true) => "not believed without the authority, taken with it".to_owned(),
        other => format!("{other:?}"),
    })
}

async fn tls_first(stage: Stage) -> Seen {
    let folder = tempfile::tempdir()?;
    let (tls, authority) = certificates(folder.path())?;
    let tls = Tls { first: true, ..tls };
    let cluster = match ClusterConfig::new(stage.version(), 1).tls(tls).start() {
        Ok(cluster) => cluster,
        Err(error) if error.to_string().contains("handshake_first") => {
            return Ok("unknown field handshake_first".to_owned());
        }
        Err(error) => return Err(error.into()),
    };
    let url = cluster.server(0).url();
    let first = believing(Some(&authority)).tls_first().connect(url).await.is_ok();
    // It says nothing before TLS, and gives up.
    let later = believing(Some(&authority)).connect(url).await.map_err(|error| error.kind());
    Ok(match (first, matches!(later, Err(kind) if kind != ConnectErrorKind::TimedOut)) {
        (true, true) => "taken if TLS comes first, else not".to_owned(),
        other => format!("{other:?}"),
    })
}
