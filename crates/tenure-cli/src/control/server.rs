//! The side of the runner or node.

use std::io;
use std::path::Path;
use std::sync::{Arc, Weak};
use std::time::Duration;

use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::{Mutex, Semaphore, mpsc, oneshot};
use tokio::task::JoinSet;

use super::socket_file::SocketFile;
use super::{Answer, Request};
use crate::failure::{Failure, warn};

/// The longest line that is read.
const LINE_MAX: u64 = 4_096;
/// How long a client may take to send its request.
const PATIENCE: Duration = Duration::from_secs(5);
/// How many clients are served at once; further ones wait.
const AT_ONCE: u32 = 8;
/// How long the last answers may take.
const FAREWELL: Duration = Duration::from_millis(500);

/// How often to look whether the socket is still where it is looked for.
const LOOK: Duration = Duration::from_secs(1);

/// A request, and where its answer goes.
#[derive(Debug)]
pub struct Call {
    /// The request of the client.
    pub request: Request,
    /// Only of the leadership with this fence, if that is said.
    pub only: Option<u64>,
    /// Takes the answer.
    pub reply: oneshot::Sender<Answer>,
}

/// A control socket, mode 0600. Dropping it removes the file; a file that others remove before is
/// made again.
#[derive(Debug)]
pub struct Server {
    _place: Arc<Mutex<SocketFile>>,
    requests: mpsc::Receiver<Call>,
    sender: mpsc::Sender<Call>,
    /// Ends when it is dropped.
    accepting: JoinSet<()>,
    slots: Arc<Semaphore>,
}

impl Server {
    /// Listens at `path`. Its directory is created if it is missing, and must be safe from changes
    /// of others; a socket without a listener is replaced.
    pub async fn bind(path: &Path) -> Result<Self, Failure> {
        let (place, listener) = SocketFile::take(path).await?;
        let (sender, requests) = mpsc::channel(AT_ONCE as usize);
        let slots = Arc::new(Semaphore::new(AT_ONCE as usize));
        let place = Arc::new(Mutex::new(place));
        let mut accepting = JoinSet::new();
        let service = Service { requests: sender.clone(), slots: Arc::clone(&slots) };
        accepting.spawn(keep(Arc::downgrade(&place), listener, service));
        Ok(Self { _place: place, requests, sender, accepting, slots })
    }

    /// Takes requests that came another way.
    pub fn sender(&self) -> mpsc::Sender<Call> {
        self.sender.clone()
    }

    /// The next request. Cancel safe.
    pub async fn next(&mut self) -> Call {
        match self.requests.recv().await {
            Some(asked) => asked,
            None => std::future::pending().await,
        }
    }

    /// Ends it when every answer is written: the process may end before that. Requests that were
    /// not taken are refused. Takes half a second at most.
    pub async fn close(mut self) {
        self.accepting.shutdown().await;
        self.requests.close();
        while self.requests.try_recv().is_ok() {}
        // A client that does not read its answer loses it.
        let _ = tokio::time::timeout(FAREWELL, self.slots.acquire_many(AT_ONCE)).await;
    }
}

/// The tasks that answer, and their limit.
struct Service {
    requests: mpsc::Sender<Call>,
    slots: Arc<Semaphore>,
}

/// Serves at `place`, and makes it again when it was removed. Warns of both: without the socket no
/// client reaches this process, and without the lock a second process is let in.
async fn keep(place: Weak<Mutex<SocketFile>>, mut listener: UnixListener, service: Service) {
    let mut told = None;
    loop {
        tokio::select! {
            () = serve(&listener, &service) => return,
            () = tokio::time::sleep(LOOK) => {}
        }
        let Some(place) = place.upgrade() else { return };
        let mut place = place.lock().await;
        if place.is_there() {
            continue;
        }
        let path = place.path().display().to_string();
        match place.mend().await {
            Ok(new) => {
                listener = new.unwrap_or(listener);
                warn(&format!(
                    "the control socket {path}, its lock or their directory was removed, and is \
                     made again: see what removes it, or name another place with --control"
                ));
                told = None;
            }
            Err(Failure { what, fix, .. }) => {
                let text = format!(
                    "the control socket {path} or its lock is gone, so that no command reaches \
                     this process: {what}; it is tried again every second: {fix}"
                );
                if told.as_ref() != Some(&text) {
                    warn(&text);
                    told = Some(text);
                }
            }
        }
    }
}

async fn serve(listener: &UnixListener, service: &Service) {
    loop {
        let Ok(slot) = service.slots.clone().acquire_owned().await else { return };
        match listener.accept().await {
            Ok((stream, _)) => {
                let requests = service.requests.clone();
                tokio::spawn(async move {
                    let _slot = slot;
                    // A client that asks badly or leaves early gets nothing.
                    let _ = answer(stream, requests).await;
                });
            }
            // Too many open files, say: not for ever.
            Err(_) => tokio::time::sleep(Duration::from_millis(100)).await,
        }
    }
}

async fn answer(mut stream: UnixStream, requests: mpsc::Sender<Call>) -> io::Result<()> {
    let (read, mut write) = stream.split();
    let mut line = String::new();
    let mut reader = BufReader::new(read.take(LINE_MAX));
    tokio::time::timeout(PATIENCE, reader.read_line(&mut line)).await??;
    let answer = match serde_json::from_str(&line) {
        Ok(request) => {
            let (reply, answer) = oneshot::channel();
            let sent = requests.send(Call { request, only: None, reply }).await.is_ok();
            match answer.await {
                Ok(answer) if sent => answer,
                _ => refused("it is ending", "try again if it should still run"),
            }
        }
        Err(error) => refused(&format!("not a request: {error}"), "use the command tenure"),
    };
    let mut line = serde_json::to_vec(&answer).map_err(io::Error::other)?;
    line.push(b'\n');
    write.write_all(&line).await
}

fn refused(what: &str, fix: &str) -> Answer {
    Answer::Refused { what: what.to_owned(), fix: fix.to_owned() }
}
