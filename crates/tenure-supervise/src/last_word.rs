//! The last word of a guard, which says that no process of the command is left.
//!
//! A living supervisor hears of this end from its guard. If the supervisor was killed, another
//! process on the machine may wait for the word, such as a process that watches the supervisor.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::net::{
    AddressFamily, SendFlags, SocketAddrUnix, SocketFlags, SocketType, connect, send, socket_with,
};
use serde::{Deserialize, Serialize};

/// The longest wait for a listener whose queue is full.
const PATIENCE: Duration = Duration::from_secs(1);

/// A packet that the guard sends to a Unix socket (`SOCK_SEQPACKET`) when no process of the command
/// is left, or none was started. The guard never sends the packet earlier, and a killed guard does
/// not send it at all. The path and the packet have at most 512 bytes together.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct LastWord {
    pub socket: PathBuf,
    pub packet: Vec<u8>,
}

impl LastWord {
    /// Sends the packet; does nothing if no process listens.
    pub(crate) fn say(&self) {
        self.try_say().ok();
    }

    fn try_say(&self) -> io::Result<()> {
        let flags = SocketFlags::CLOEXEC;
        let socket = socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None)?;
        set_socket_timeout(&socket, Timeout::Send, Some(PATIENCE))?;
        connect(&socket, &SocketAddrUnix::new(&self.socket)?)?;
        send(&socket, &self.packet, SendFlags::NOSIGNAL)?;
        Ok(())
    }
}
