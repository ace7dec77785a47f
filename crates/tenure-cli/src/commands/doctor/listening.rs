//! Checks the address of this member: free, or in use by the member itself.

use std::io::ErrorKind;
use std::net::{TcpListener, UdpSocket};

use super::finding::Finding;
use crate::protocol::{Backend, Transport};

/// `runs` is the process of this member, if its state directory shows the process.
pub(super) fn check(
    backend: &dyn Backend,
    answers_itself: bool,
    runs: Option<u32>,
) -> Option<Finding> {
    let (address, transport) = backend.binds()?;
    let (bound, word, flag) = match transport {
        Transport::Udp => (UdpSocket::bind(address).map(drop), "UDP", "u"),
        Transport::Tcp => (TcpListener::bind(address).map(drop), "TCP", "t"),
    };
    let shown = format!("{address} ({word})");
    Some(match bound.map_err(|error| (error.kind(), error)) {
        Ok(()) => Finding::ok("listen", format!("{shown} is free")),
        Err((ErrorKind::AddrInUse, _)) if answers_itself => {
            Finding::ok("listen", format!("{shown} is in use by this member, which answers"))
        }
        Err((ErrorKind::AddrInUse, _)) => in_use(&shown, flag, runs),
        Err((ErrorKind::AddrNotAvailable, _)) => {
            let fix = "correct the address in the list, or give --listen";
            Finding::fails("listen", format!("{shown} is no address of this machine"), fix)
        }
        Err((ErrorKind::PermissionDenied, _)) => {
            let fix = "use a port from 1024 on";
            Finding::fails("listen", format!("this user may not listen at {shown}"), fix)
        }
        Err((_, error)) => {
            Finding::fails("listen", format!("{shown}: {error}"), "give --listen another address")
        }
    })
}

/// The finding for an address in use, when this member does not answer. The process at the address
/// may still be this member, so no advice ends that process.
fn in_use(shown: &str, flag: &str, runs: Option<u32>) -> Finding {
    if let Some(pid) = runs {
        let text = format!("{shown} is in use, and this member runs as process {pid}");
        return Finding::ok("listen", text);
    }
    let fix = format!(
        "look at ss -l{flag}np: if that process is this member, leave it, and correct its address \
         in the list; otherwise give this member another port"
    );
    Finding::fails("listen", format!("{shown} is in use, and no answer came from this member"), fix)
}
