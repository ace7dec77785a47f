//! Checks the address of this member: free, or in use by the member itself.

use std::io::ErrorKind;
use std::net::{TcpListener, UdpSocket};

use super::finding::Finding;
use crate::protocol::{Backend, Transport};

pub(super) fn check(backend: &dyn Backend, answers_itself: bool) -> Option<Finding> {
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
        Err((ErrorKind::AddrInUse, _)) => {
            let fix = format!("end that process, which ss -l{flag}np names, or change the port");
            Finding::fails("listen", format!("{shown} is in use by another process"), fix)
        }
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
