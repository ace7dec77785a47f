//! Listening sockets.

use std::fs::{self, Permissions};
use std::io;
use std::net::{IpAddr, Ipv4Addr};
use std::os::fd::OwnedFd;
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::os::unix::net::UnixListener as StdUnixListener;
use std::path::{Path, PathBuf};

use rustix::io::Errno;
use rustix::net::{
    AddressFamily, SocketAddrUnix, SocketFlags, SocketType, bind, connect, listen, socket_with,
};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, UnixListener};

use super::Place;

/// The most connections that wait to be accepted.
const BACKLOG: i32 = 128;

/// A socket that listens, without a runtime.
pub(super) enum Bound {
    Tcp(std::net::TcpListener),
    Unix(StdUnixListener, SocketFile),
}

/// A socket from which a runtime accepts.
pub(super) enum Listener {
    Tcp(TcpListener),
    Unix(UnixListener, #[expect(dead_code, reason = "its drop removes the file")] SocketFile),
}

/// The file of a Unix socket. A drop removes the file.
pub(super) struct SocketFile(PathBuf);

impl Drop for SocketFile {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

pub(super) trait Stream: AsyncRead + AsyncWrite + Unpin + Send {}

impl<S: AsyncRead + AsyncWrite + Unpin + Send> Stream for S {}

impl Bound {
    pub(super) fn bind(place: &Place) -> io::Result<Self> {
        match place {
            Place::Address(address) => {
                let listener = std::net::TcpListener::bind(address)?;
                listener.set_nonblocking(true)?;
                Ok(Self::Tcp(listener))
            }
            Place::Unix(path) => {
                remove_abandoned(path)?;
                let listener = socket()?;
                bind(&listener, &SocketAddrUnix::new(path.as_path())?)?;
                let file = SocketFile(path.clone());
                // Set the mode before `listen`: from then on clients can connect.
                fs::set_permissions(path, Permissions::from_mode(0o600))?;
                listen(&listener, BACKLOG)?;
                Ok(Self::Unix(listener.into(), file))
            }
        }
    }

    pub(super) fn place(&self) -> Place {
        match self {
            Self::Tcp(listener) => {
                let unknown = (Ipv4Addr::UNSPECIFIED, 0).into();
                Place::Address(listener.local_addr().unwrap_or(unknown))
            }
            Self::Unix(_, SocketFile(path)) => Place::Unix(path.clone()),
        }
    }

    /// Accepts from now on, in the runtime of the caller.
    pub(super) fn begin(self) -> io::Result<Listener> {
        match self {
            Self::Tcp(listener) => TcpListener::from_std(listener).map(Listener::Tcp),
            Self::Unix(listener, file) => {
                UnixListener::from_std(listener).map(|listener| Listener::Unix(listener, file))
            }
        }
    }
}

impl Listener {
    pub(super) async fn accept(&self) -> io::Result<(Box<dyn Stream>, IpAddr)> {
        match self {
            Self::Tcp(listener) => {
                let (stream, from) = listener.accept().await?;
                // Send at once: otherwise an answer waits for the acknowledgement of its head.
                let _ = stream.set_nodelay(true);
                Ok((Box::new(stream), from.ip()))
            }
            Self::Unix(listener, _) => {
                let (stream, _) = listener.accept().await?;
                Ok((Box::new(stream), Ipv4Addr::LOCALHOST.into()))
            }
        }
    }
}

/// Removes the socket of a process that was killed. Another file, or a socket at which a process
/// listens, stays.
fn remove_abandoned(path: &Path) -> io::Result<()> {
    let is_socket = fs::symlink_metadata(path).is_ok_and(|file| file.file_type().is_socket());
    // The other process may accept nothing now, so the call must not block.
    if is_socket && connect(&socket()?, &SocketAddrUnix::new(path)?) == Err(Errno::CONNREFUSED) {
        fs::remove_file(path)?;
    }
    Ok(())
}

/// A socket that never blocks, and that no process of CMD inherits.
fn socket() -> io::Result<OwnedFd> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    Ok(socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?)
}
