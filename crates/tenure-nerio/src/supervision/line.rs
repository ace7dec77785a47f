//! Packets on a local socket, with the process that sent each.

use std::fs;
use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::path::Path;
use std::time::Duration;

use nix::sys::socket::sockopt::PeerCredentials;
use nix::sys::socket::{ControlMessageOwned, MsgFlags, UnixCredentials, getsockopt};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::sockopt::{Timeout, set_socket_passcred, set_socket_timeout};
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, SocketAddrUnix, SocketFlags, SocketType, accept_with, bind,
    connect, listen, recv, recvmsg, sendmsg, socket_with,
};
use rustix::process::Pid;
use serde::Serialize;
use serde::de::DeserializeOwned;

/// More bytes than any frame has.
const FRAME_MAX: usize = 1_024;
const BACKLOG: i32 = 64;
/// Users of the socket's group may be watched, too: a watched process may run as another user than
/// the member.
const MODE: u32 = 0o660;

fn socket() -> io::Result<OwnedFd> {
    let flags = SocketFlags::CLOEXEC;
    Ok(socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None)?)
}

/// Connects to the supervisor at `path`. This call and each later call on the connection wait for
/// the supervisor for at most `patience`.
pub(super) fn dial(path: &Path, patience: Duration) -> io::Result<OwnedFd> {
    let line = socket()?;
    set_socket_timeout(&line, Timeout::Send, Some(patience))?;
    set_socket_timeout(&line, Timeout::Recv, Some(patience))?;
    connect(&line, &SocketAddrUnix::new(path)?)?;
    Ok(line)
}

/// Listens at `path`, and removes a socket there whose process is gone.
pub(super) fn serve(path: &Path) -> io::Result<OwnedFd> {
    let listener = socket()?;
    let address = SocketAddrUnix::new(path)?;
    let bound = bind(&listener, &address);
    if bound == Err(Errno::ADDRINUSE) {
        let is_socket = fs::symlink_metadata(path).is_ok_and(|it| it.file_type().is_socket());
        let refused = connect(&socket()?, &address) == Err(Errno::CONNREFUSED);
        if !(is_socket && refused) {
            return Err(Errno::ADDRINUSE.into());
        }
        fs::remove_file(path)?;
        bind(&listener, &address)?;
    } else {
        bound?;
    }
    fs::set_permissions(path, fs::Permissions::from_mode(MODE))?;
    listen(&listener, BACKLOG)?;
    rustix::io::ioctl_fionbio(&listener, true)?;
    Ok(listener)
}

pub(super) fn accept(listener: &OwnedFd) -> io::Result<OwnedFd> {
    Ok(accept_with(listener, SocketFlags::CLOEXEC | SocketFlags::NONBLOCK)?)
}

/// Sends a frame, without a wait.
pub(super) fn send<T: Serialize>(line: &OwnedFd, frame: &T) -> io::Result<()> {
    send_with(line, frame, &[])
}

pub(super) fn send_with<T: Serialize>(
    line: &OwnedFd,
    frame: &T,
    fds: &[BorrowedFd<'_>],
) -> io::Result<()> {
    let bytes = encode(frame)?;
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut attached = SendAncillaryBuffer::new(&mut space);
    if !fds.is_empty() && !attached.push(SendAncillaryMessage::ScmRights(fds)) {
        return Err(io::Error::other("no room for a descriptor"));
    }
    let flags = SendFlags::DONTWAIT | SendFlags::NOSIGNAL;
    rustix::io::retry_on_intr(|| sendmsg(line, &[IoSlice::new(&bytes)], &mut attached, flags))?;
    Ok(())
}

pub(super) fn encode<T: Serialize>(frame: &T) -> io::Result<Vec<u8>> {
    postcard::to_allocvec(frame).map_err(io::Error::other)
}

/// Receives a frame; `None` at the end of the connection. A packet that is no frame is an error,
/// because the other side cannot be trusted any longer.
pub(super) fn receive<T: DeserializeOwned>(line: &OwnedFd) -> io::Result<Option<T>> {
    let mut bytes = [0; FRAME_MAX];
    let mut next = || rustix::io::retry_on_intr(|| recv(line, &mut bytes, RecvFlags::TRUNC));
    let (_, length) = match next() {
        // The other side has ended without reading all of our frames. The kernel reports that once,
        // and then delivers the frames that the other side has sent.
        Err(Errno::CONNRESET) => next()?,
        received => received?,
    };
    decode(&bytes, length)
}

pub(super) fn receive_with<T: DeserializeOwned>(
    line: &OwnedFd,
) -> io::Result<Option<(T, Option<OwnedFd>)>> {
    let mut bytes = [0; FRAME_MAX];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let received = rustix::io::retry_on_intr(|| {
        let flags = RecvFlags::CMSG_CLOEXEC | RecvFlags::TRUNC;
        recvmsg(line, &mut [IoSliceMut::new(&mut bytes)], &mut control, flags)
    })?;
    let mut attached = None;
    for message in control.drain() {
        if let RecvAncillaryMessage::ScmRights(mut fds) = message {
            attached = fds.next();
        }
    }
    Ok(decode(&bytes, received.bytes)?.map(|frame| (frame, attached)))
}

/// Receives a frame, and the id of the process that sent the frame. The kernel gives the id only if
/// [`name_senders`] was called before the frame was sent.
pub(super) fn receive_from<T: DeserializeOwned>(
    line: &OwnedFd,
) -> io::Result<Option<(T, Option<Pid>)>> {
    let mut bytes = [0; FRAME_MAX];
    let mut control = nix::cmsg_space!(UnixCredentials);
    let mut parts = [IoSliceMut::new(&mut bytes)];
    let received = nix::sys::socket::recvmsg::<()>(
        line.as_raw_fd(),
        &mut parts,
        Some(&mut control),
        MsgFlags::MSG_CMSG_CLOEXEC | MsgFlags::MSG_TRUNC,
    )?;
    let mut process = None;
    for message in received.cmsgs()? {
        if let ControlMessageOwned::ScmCredentials(sender) = message {
            process = pid(sender.pid());
        }
    }
    let length = received.bytes;
    Ok(decode(&bytes, length)?.map(|frame| (frame, process)))
}

/// Sets whether the kernel names the sender of each packet that is sent from now on.
pub(super) fn name_senders(line: &OwnedFd, on: bool) -> io::Result<()> {
    Ok(set_socket_passcred(line, on)?)
}

pub(super) fn connected(line: &OwnedFd) -> io::Result<Option<Pid>> {
    Ok(pid(getsockopt(line, PeerCredentials)?.pid()))
}

/// The kernel gives 0 for a process that has no number in this PID namespace.
fn pid(number: i32) -> Option<Pid> {
    Pid::from_raw(number.max(0))
}

fn decode<T: DeserializeOwned>(bytes: &[u8], length: usize) -> io::Result<Option<T>> {
    if length == 0 {
        return Ok(None);
    }
    match bytes.get(..length).map(postcard::take_from_bytes) {
        Some(Ok((frame, []))) => Ok(Some(frame)),
        _ => Err(io::Error::new(io::ErrorKind::InvalidData, "a packet is no frame")),
    }
}

/// Whether `process`, a pidfd, shows the end of its thread group.
pub(super) fn has_ended(process: &OwnedFd) -> io::Result<bool> {
    let mut fds = [PollFd::new(process, PollFlags::IN)];
    let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
    rustix::io::retry_on_intr(|| poll(&mut fds, Some(&at_once)))?;
    Ok(fds[0].revents().contains(PollFlags::IN))
}
