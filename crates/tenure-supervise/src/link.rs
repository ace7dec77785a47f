//! The socket between two neighbours in the chain of processes.
//!
//! A child has its end of the socket as standard input. So the link needs no descriptor numbers, no
//! inheritance and no `unsafe`. The command's standard input comes with the first packet. Each
//! packet is one frame, and the end of a process is the end of the link for its neighbour.

use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::io::Errno;
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, Shutdown, SocketFlags, SocketType, recv, recvmsg, send,
    sendmsg, shutdown, socketpair,
};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// More bytes than any frame has.
const FRAME_MAX: usize = 1024;

const ATTACHED_MAX: usize = 2;

/// An end of the socket. Dropping the end closes the link.
pub(crate) struct Link(OwnedFd);

#[derive(PartialEq, Eq, Debug)]
pub(crate) enum Reception<T> {
    Frame(T),
    /// The link is closed, or a packet was no frame. After such a packet the other side is not
    /// trusted any longer.
    End,
}

impl Link {
    pub(crate) fn pair() -> io::Result<(Self, Self)> {
        let kind = SocketType::SEQPACKET;
        let (a, b) = socketpair(AddressFamily::UNIX, kind, SocketFlags::CLOEXEC, None)?;
        Ok((Self(a), Self(b)))
    }

    /// The end with which this process was started.
    pub(crate) fn from_stdin() -> io::Result<Self> {
        Ok(Self(io::stdin().as_fd().try_clone_to_owned()?))
    }

    /// Sends without a wait: `WouldBlock` if the socket is full, because the other side does not
    /// read.
    pub(crate) fn send<T: Serialize>(&self, frame: &T) -> io::Result<()> {
        let flags = SendFlags::DONTWAIT | SendFlags::NOSIGNAL;
        send(&self.0, &encode(frame)?, flags)?;
        Ok(())
    }

    pub(crate) fn send_with<T: Serialize>(
        &self,
        frame: &T,
        fds: &[BorrowedFd<'_>],
    ) -> io::Result<()> {
        let bytes = encode(frame)?;
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(ATTACHED_MAX))];
        let mut attached = SendAncillaryBuffer::new(&mut space);
        if !attached.push(SendAncillaryMessage::ScmRights(fds)) {
            return Err(io::Error::other("no room for descriptors"));
        }
        let flags = SendFlags::DONTWAIT | SendFlags::NOSIGNAL;
        sendmsg(&self.0, &[IoSlice::new(&bytes)], &mut attached, flags)?;
        Ok(())
    }

    pub(crate) fn receive<T: DeserializeOwned>(&self) -> io::Result<Reception<T>> {
        let mut bytes = [0; FRAME_MAX];
        let flags = RecvFlags::DONTWAIT | RecvFlags::TRUNC;
        let (_, length) = match recv(&self.0, &mut bytes, flags) {
            // The other side has ended without reading all of our frames. Linux reports that once,
            // and then delivers the frames that the other side has sent.
            Err(Errno::CONNRESET) => recv(&self.0, &mut bytes, flags)?,
            received => received?,
        };
        Ok(bytes.get(..length).map_or(Reception::End, decode))
    }

    pub(crate) fn receive_with<T: DeserializeOwned, const N: usize>(
        &self,
    ) -> io::Result<(T, [OwnedFd; N])> {
        let mut bytes = [0; FRAME_MAX];
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(ATTACHED_MAX))];
        let mut attached = RecvAncillaryBuffer::new(&mut space);
        let flags = RecvFlags::CMSG_CLOEXEC | RecvFlags::TRUNC;
        let received = rustix::io::retry_on_intr(|| {
            recvmsg(&self.0, &mut [IoSliceMut::new(&mut bytes)], &mut attached, flags)
        })?;
        let mut fds = Vec::new();
        for message in attached.drain() {
            if let RecvAncillaryMessage::ScmRights(came) = message {
                fds.extend(came);
            }
        }
        match (bytes.get(..received.bytes).map_or(Reception::End, decode), fds.try_into()) {
            (Reception::Frame(frame), Ok(fds)) => Ok((frame, fds)),
            _ => Err(io::Error::new(io::ErrorKind::InvalidData, "no first frame came")),
        }
    }

    /// Closes the link for sending; the other side receives all frames before the end.
    pub(crate) fn finish(&self) -> io::Result<()> {
        Ok(shutdown(&self.0, Shutdown::Write)?)
    }
}

fn encode<T: Serialize>(frame: &T) -> io::Result<Vec<u8>> {
    postcard::to_allocvec(frame).map_err(io::Error::other)
}

fn decode<T: DeserializeOwned>(bytes: &[u8]) -> Reception<T> {
    match postcard::take_from_bytes(bytes) {
        Ok((frame, [])) => Reception::Frame(frame),
        Ok(_) | Err(_) => Reception::End,
    }
}

impl AsFd for Link {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

impl From<Link> for OwnedFd {
    fn from(link: Link) -> Self {
        link.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A guard that has ended with its command may have left an order unread.
    #[test]
    fn frames_arrive_before_end() {
        let (ours, theirs) = Link::pair().unwrap();
        ours.send(&1_u8).unwrap();
        for frame in [7_u8, 8] {
            theirs.send(&frame).unwrap();
        }
        drop(theirs);
        let heard = || ours.receive::<u8>().unwrap();
        assert_eq!(
            [heard(), heard(), heard()],
            [Reception::Frame(7), Reception::Frame(8), Reception::End]
        );
    }
}
