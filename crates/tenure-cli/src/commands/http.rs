//! Answers over HTTP: the server of `--http`, on a thread of its own, and the answers of the
//! process to the server's questions. Without `--http` nothing here runs.

use std::convert::Infallible;
use std::future::pending;
use std::path::Path;
use std::time::Duration;

use tenure::settings::SecretFile;
use tenure_http::{
    About, Action, Ask, Health, List, Monitor, Options, Order, Place, Refusal, Server, ServerError,
    Sources,
};
use tokio::sync::{mpsc, oneshot};

use crate::control::{Answer, Call, Request};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::invocation::http::HttpSettings;
use crate::protocol::Capabilities;

/// The longest wait for the health of the process.
const SAYS: Duration = Duration::from_secs(2);

type Question = oneshot::Sender<Health>;

/// A server, and its questions for the process.
pub(in crate::commands) struct Http {
    _server: Server,
    pub(in crate::commands) monitor: Monitor,
    questions: mpsc::Receiver<Question>,
}

impl Http {
    /// Binds the address, and answers from now on.
    pub(in crate::commands) fn begin(
        settings: &HttpSettings,
        about: About,
        list: Option<Ask<Option<List>>>,
    ) -> Result<Self, Failure> {
        let mut options = Options::new(settings.place.clone());
        // The check of the settings has already refused addresses that the user does not permit.
        options = options.insecure();
        #[cfg(feature = "tls")]
        if let Some((certificate, key)) = &settings.tls {
            options = options.tls(certificate.clone(), key.clone());
        }
        if let Some(file) = &settings.token_file {
            options = options.token(&token(file)?);
        }
        let server = Server::bind(options).map_err(|error| {
            if let (ServerError::Token { .. }, Some(file)) = (&error, &settings.token_file) {
                let what = format!("{error} (from {})", file.display());
                let fix = "write a random token into the file: openssl rand -hex 16";
                return Failure::usage(what, fix).origin("http-token-file");
            }
            let fix = match &settings.place {
                _ if matches!(error, ServerError::Certificate(_)) => {
                    "give --http-cert and --http-key the files of one certificate"
                }
                Place::Address(_) => "give --http another address, or end the process that has it",
                Place::Unix(_) => "give --http a path in a directory where this user may write",
            };
            Failure::new(Exit::System, error.to_string(), fix)
        })?;
        let (ask, questions) = mpsc::channel::<Question>(1);
        let ask: Ask<Health> = Box::new(move || {
            let ask = ask.clone();
            Box::pin(async move {
                let (reply, answer) = oneshot::channel();
                let asked = async {
                    ask.send(reply).await.ok()?;
                    answer.await.ok()
                };
                tokio::time::timeout(SAYS, asked).await.ok().flatten().unwrap_or_default()
            })
        });
        let sources = Sources { health: Some(ask), list };
        let monitor = Monitor::asking(about, server.runtime(), sources);
        server.serve(&monitor);
        Ok(Self { _server: server, monitor, questions })
    }
}

/// Reads the token from a file that only its owner and its group may read.
fn token(file: &Path) -> Result<String, Failure> {
    let refuse = |what: String, fix: &str| {
        let what = format!("the token file {} {what}", file.display());
        Failure::usage(what, fix).origin("http-token-file")
    };
    let one_line = "write the token into the file, on one line";
    let read = SecretFile::read(file).map_err(|what| refuse(what, one_line))?;
    if SecretFile::is_open(read.mode) {
        let what = format!("can be read or changed by others (mode {:o})", read.mode);
        return Err(refuse(
            what,
            "chmod 600 the file, and write a new token into it: others may \
                                 have read the old one",
        ));
    }
    read.line().map_err(|what| refuse(what, one_line))
}

/// Answers each question of the server for the health of the process.
pub(in crate::commands) async fn answer(
    http: Option<&mut Http>,
    health: impl AsyncFn() -> Health,
) -> Infallible {
    if let Some(http) = http {
        while let Some(reply) = http.questions.recv().await {
            // The server may have given up.
            let _ = reply.send(health().await);
        }
    }
    pending().await
}

/// The health of a process whose service has not answered yet.
pub(in crate::commands) async fn starting() -> Health {
    let unready = Some("this process is starting: its service has not answered yet".to_owned());
    Health { alive: true, unready, ..Health::default() }
}

/// Passes orders on to a runner, as requests to its control socket.
pub(in crate::commands) async fn pass_on(
    mut orders: mpsc::Receiver<Order>,
    calls: mpsc::Sender<Call>,
    can: Capabilities,
) {
    while let Some(Order { action, reply }) = orders.recv().await {
        let request = match action {
            Action::Transfer { .. } if !can.transfer => {
                let why = "this protocol has no hand-over to a named candidate: resign instead";
                let _ = reply.send(Err(Refusal::Unsupported(why.to_owned())));
                continue;
            }
            Action::Transfer { to } => Request::Transfer { to: to.to_string(), wait_ms: None },
            Action::Resign => Request::Resign,
        };
        let (tell, told) = oneshot::channel();
        let call = Call { request, only: None, reply: tell };
        if calls.send(call).await.is_err() {
            return;
        }
        let done = match told.await {
            Ok(Answer::Done(_)) => Ok(()),
            Ok(Answer::Refused { what, fix }) => Err(Refusal::Conflict(format!("{what}; {fix}"))),
            Err(_) => Err(Refusal::Busy("the runner is ending".to_owned())),
        };
        // The caller may have left.
        let _ = reply.send(done);
    }
}
