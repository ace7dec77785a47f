//! The server side of a control socket.

use std::io;
use std::path::Path;
use std::sync::{Arc, Weak};
use std::time::Duration;

use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::{Mutex, Semaphore, mpsc, oneshot};
use tokio::task::JoinSet;

use super::socket_file::SocketFile;
use super::{Answer, Request, UNKNOWN_REQUEST};
use crate::failure::{Failure, warn};

/// The longest line that is read.
const LINE_MAX: u64 = 4_096;
/// The time for a client to send its request.
const PATIENCE: Duration = Duration::from_secs(5);
/// The number of clients that are served at once; further clients wait.
const AT_ONCE: u32 = 8;
/// The longest time to write the last answers when the socket closes.
const FAREWELL: Duration = Duration::from_millis(500);

/// The interval of checks that the socket is still in its place.
const LOOK: Duration = Duration::from_secs(1);

/// A request, and the channel for its answer.
#[derive(Debug)]
pub struct Call {
    pub request: Request,
    /// The fence of the only leadership that the request may end.
    pub only: Option<u64>,
    pub reply: oneshot::Sender<Answer>,
}

/// A control socket, mode 0600. A drop removes the file. If another process removes the file, the
/// server makes the file again.
#[derive(Debug)]
pub struct Server {
    _place: Arc<Mutex<SocketFile>>,
    requests: mpsc::Receiver<Call>,
    sender: mpsc::Sender<Call>,
    /// A drop ends the task that accepts clients.
    accepting: JoinSet<()>,
    slots: Arc<Semaphore>,
}

impl Server {
    /// Listens at `path`. Creates a missing directory, which must be safe from changes by other
    /// users, and replaces a socket without a listener.
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

    /// A sender for requests that arrive another way.
    pub fn sender(&self) -> mpsc::Sender<Call> {
        self.sender.clone()
    }

    pub async fn next(&mut self) -> Call {
        match self.requests.recv().await {
            Some(asked) => asked,
            None => std::future::pending().await,
        }
    }

    /// Closes the socket after every answer is written, so that the process may end. Requests that
    /// no runner has taken are refused. Takes half a second at most.
    pub async fn close(mut self) {
        self.accepting.shutdown().await;
        self.requests.close();
        while self.requests.try_recv().is_ok() {}
        // A client that does not read its answer loses it.
        let _ = tokio::time::timeout(FAREWELL, self.slots.acquire_many(AT_ONCE)).await;
    }
}

/// The channel for requests, and the limit of tasks that answer.
struct Service {
    requests: mpsc::Sender<Call>,
    slots: Arc<Semaphore>,
}

/// Serves at `place`, and makes removed files again. Warns if files are gone. Without the socket no
/// client reaches this process, and without the lock a second process can start.
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
                    "the control socket {path}, its lock file or its directory was removed, and \
                     tenure has made it again: find out which program removes files there, or give \
                     another --control"
                ));
                told = None;
            }
            Err(Failure { what, fix, .. }) => {
                let text = format!(
                    "the control socket {path} or its lock is gone, so that no command reaches \
                     this process: {what}; tenure tries again every second: {fix}"
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
                    // A broken request, or a client that left, gets no answer.
                    let _ = answer(stream, requests).await;
                });
            }
            // An error such as too many open files may pass.
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
                _ => refused("it is ending", "start the process again, if you still need it"),
            }
        }
        Err(error) => refused(&format!("{UNKNOWN_REQUEST}{error}"), "use the command tenure"),
    };
    let mut line = serde_json::to_vec(&answer).map_err(io::Error::other)?;
    line.push(b'\n');
    write.write_all(&line).await
}

fn refused(what: &str, fix: &str) -> Answer {
    Answer::Refused { what: what.to_owned(), fix: fix.to_owned() }
}
