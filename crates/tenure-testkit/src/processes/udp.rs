//! The UDP sockets of this machine, as the kernel lists them.

use std::fs;
use std::net::{Ipv4Addr, SocketAddr};

/// A socket on IPv4.
#[derive(Clone, Copy, Debug)]
pub struct UdpSocketState {
    pub address: SocketAddr,
    /// Bytes of received and unread packets in memory.
    pub unread: u64,
}

pub fn udp_sockets() -> Vec<UdpSocketState> {
    let table = fs::read_to_string("/proc/net/udp").unwrap();
    table.lines().skip(1).filter_map(parse).collect()
}

/// Parses a line such as ` 12: 0A01007F:1BBC 00000000:0000 07 00000000:00000300 …`.
fn parse(line: &str) -> Option<UdpSocketState> {
    let mut words = line.split_whitespace().skip(1);
    let (ip, port) = words.next()?.split_once(':')?;
    let (_, unread) = words.nth(2)?.split_once(':')?;
    let ip = Ipv4Addr::from(u32::from_str_radix(ip, 16).ok()?.to_ne_bytes());
    let port = u16::from_str_radix(port, 16).ok()?;
    Some(UdpSocketState {
        address: (ip, port).into(),
        unread: u64::from_str_radix(unread, 16).ok()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::UdpSocket;

    #[test]
    fn unread_packets_are_listed() {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        let address = socket.local_addr().unwrap();
        let unread = || {
            let all = udp_sockets();
            all.iter().find(|socket| socket.address == address).unwrap().unread
        };
        assert_eq!(unread(), 0);
        socket.send_to(b"hello", address).unwrap();
        assert!(unread() > 0);
        socket.recv(&mut [0; 5]).unwrap();
        assert_eq!(unread(), 0);
    }
}
