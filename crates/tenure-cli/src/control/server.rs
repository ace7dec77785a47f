//! The side of the runner or node.

use std::fs;
use std::io;
use std::os::unix::fs::{DirBuilderExt, FileTypeExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::{Semaphore, mpsc, oneshot};
use tokio::task::AbortHandle;

use super::{Answer, Request};
use crate::exit::Exit;
use crate::failure::Failure;

/// The longest line that is read.
const LINE_MAX: u64 = 4_096;
/// How long somebody may take to say what it wants.
const PATIENCE: Duration = Duration::from_secs(5);
/// How many may be served at once; further ones wait.
const AT_ONCE: u32 = 8;
/// How long those who are being served may take to hear the end of it.
const FAREWELL: Duration = Duration::from_millis(500);

/// A request, and where its answer goes.
#[derive(Debug)]
pub struct Asked {
    /// What is asked for.
    pub request: Request,
    /// Takes the answer.
    pub reply: oneshot::Sender<Answer>,
}

/// A control socket, mode 0600. Removed when dropped.
#[derive(Debug)]
pub struct Server {
    path: PathBuf,
    requests: mpsc::Receiver<Asked>,
    accepting: AbortHandle,
    slots: Arc<Semaphore>,
}

impl Server {
    /// Listens at `path`. Its directory is created if it is missing, and must be this user's
    /// own; a socket at which nobody answers any more is replaced.
    pub async fn bind(path: &Path) -> Result<Self, Failure> {
        let refused = |error: io::Error| {
            let what = format!("the control socket {} cannot be made: {error}", path.display());
            Failure::new(Exit::System, what, "give --control PATH where this user may write")
        };
        if let Some(directory) = path.parent().filter(|parent| !parent.as_os_str().is_empty()) {
            own_directory(directory)?;
        }
        if path.symlink_metadata().is_ok_and(|about| about.file_type().is_socket()) {
            if UnixStream::connect(path).await.is_ok() {
                let what = format!("somebody answers at the control socket {}", path.display());
                let fix = "end the other one, or give this one another --id or --control";
                return Err(Failure::new(Exit::System, what, fix));
            }
            fs::remove_file(path).map_err(refused)?;
        }
        let listener = UnixListener::bind(path).map_err(refused)?;
        fs::set_permissions(path, fs::Permissions::from_mode(0o600)).map_err(refused)?;
        let (sender, requests) = mpsc::channel(AT_ONCE as usize);
        let slots = Arc::new(Semaphore::new(AT_ONCE as usize));
        let accepting = tokio::spawn(serve(listener, sender, Arc::clone(&slots))).abort_handle();
        Ok(Self { path: path.to_owned(), requests, accepting, slots })
    }

    /// The next request. Cancel safe.
    pub async fn next(&mut self) -> Asked {
        match self.requests.recv().await {
            Some(asked) => asked,
            None => std::future::pending().await,
        }
    }

    /// Ends it when everybody who was answered has got the answer: the process may end before
    /// an answer is written. Requests that nobody took are refused. Takes half a second at most.
    pub async fn close(mut self) {
        self.accepting.abort();
        self.requests.close();
        while self.requests.try_recv().is_ok() {}
        // Whoever does not read its answer has only itself to blame.
        let _ = tokio::time::timeout(FAREWELL, self.slots.acquire_many(AT_ONCE)).await;
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It is replaced by the next one all the same.
        let _ = fs::remove_file(&self.path);
    }
}

/// Whoever can write into the directory could put its own socket there.
fn own_directory(directory: &Path) -> Result<(), Failure> {
    let missing = !directory.exists();
    if missing {
        fs::DirBuilder::new().recursive(true).mode(0o700).create(directory).map_err(|error| {
            let what = format!("{} cannot be made: {error}", directory.display());
            Failure::new(Exit::System, what, "give --control PATH, or set XDG_RUNTIME_DIR")
        })?;
    }
    let user = rustix::process::geteuid().as_raw();
    let default =
        directory.to_string_lossy().starts_with("/tmp/tenure-") || directory.ends_with("tenure");
    let foreign = directory.metadata().is_ok_and(|about| {
        about.uid() != user || (default && about.permissions().mode() & 0o022 != 0)
    });
    if foreign && default {
        let what = format!("{} belongs to somebody else, or others may write", directory.display());
        let fix = "remove it, give --control PATH, or set XDG_RUNTIME_DIR";
        return Err(Failure::new(Exit::System, what, fix));
    }
    Ok(())
}

async fn serve(listener: UnixListener, requests: mpsc::Sender<Asked>, slots: Arc<Semaphore>) {
    loop {
        let Ok(slot) = slots.clone().acquire_owned().await else { return };
        match listener.accept().await {
            Ok((stream, _)) => {
                let requests = requests.clone();
                tokio::spawn(async move {
                    let _slot = slot;
                    // Whoever asks badly or leaves early has only itself to blame.
                    let _ = answer(stream, requests).await;
                });
            }
            // Too many open files, say: not for ever.
            Err(_) => tokio::time::sleep(Duration::from_millis(100)).await,
        }
    }
}

async fn answer(mut stream: UnixStream, requests: mpsc::Sender<Asked>) -> io::Result<()> {
    let (read, mut write) = stream.split();
    let mut line = String::new();
    let mut reader = BufReader::new(read.take(LINE_MAX));
    tokio::time::timeout(PATIENCE, reader.read_line(&mut line)).await??;
    let answer = match serde_json::from_str(&line) {
        Ok(request) => {
            let (reply, answer) = oneshot::channel();
            let sent = requests.send(Asked { request, reply }).await.is_ok();
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
