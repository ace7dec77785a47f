//! Cuts and weather of the proxy, between small stand-ins for nodes and clients.

use std::io::ErrorKind;
use std::net::{SocketAddr, UdpSocket};
use std::time::Duration;

use super::host::Host;
use super::network::{Network, Weather};
use super::proxy::{Proxy, Traffic};
use super::wait::{PATIENCE, eventually};

const A: Host = Host::node(0);
const X: Host = Host::runner(0);
const Y: Host = Host::runner(1);

/// Time to wait for a packet that must not come, longer than any delay of these tests.
const SILENCE: Duration = Duration::from_millis(200);

fn bind(proxy: &Proxy, host: Host) -> UdpSocket {
    let socket = UdpSocket::bind(proxy.listen(host)).unwrap();
    socket.set_read_timeout(Some(PATIENCE)).unwrap();
    socket
}

fn hear(socket: &UdpSocket) -> (String, SocketAddr) {
    let mut buffer = [0; 64];
    let (length, from) = socket.recv_from(&mut buffer).expect("a packet");
    (String::from_utf8(buffer[..length].to_vec()).unwrap(), from)
}

fn expect_silence(socket: &UdpSocket) {
    socket.set_read_timeout(Some(SILENCE)).unwrap();
    let heard = socket.recv_from(&mut [0; 64]);
    assert_eq!(heard.map_err(|error| error.kind()).unwrap_err(), ErrorKind::WouldBlock);
    socket.set_read_timeout(Some(PATIENCE)).unwrap();
}

#[test]
fn a_cut_has_a_direction() {
    let proxy = Proxy::start(3);
    let a = bind(&proxy, A);
    let x = bind(&proxy, X);
    let y = bind(&proxy, Y);
    x.send_to(b"0", proxy.member(A)).unwrap();
    let of_x = hear(&a).1;

    proxy.cut(X, A);
    x.send_to(b"1", proxy.member(A)).unwrap();
    expect_silence(&a);
    a.send_to(b"2", of_x).unwrap();
    assert_eq!(hear(&x).0, "2", "the other direction is open");
    y.send_to(b"3", proxy.member(A)).unwrap();
    assert_eq!(hear(&a).0, "3", "others pass");

    proxy.heal();
    proxy.cut(A, X);
    x.send_to(b"4", proxy.member(A)).unwrap();
    assert_eq!(hear(&a).0, "4");
    a.send_to(b"5", of_x).unwrap();
    expect_silence(&x);

    proxy.heal();
    a.send_to(b"6", of_x).unwrap();
    assert_eq!(hear(&x).0, "6", "a packet that was cut is gone for good");
    assert_eq!(proxy.traffic().cut, 2);
}

#[test]
fn faults_are_as_set() {
    const SENT: u64 = 2_000;
    let proxy = Proxy::start(4);
    let a = bind(&proxy, A);
    let x = bind(&proxy, X);
    let delay = Duration::ZERO..Duration::from_millis(30);
    proxy.set_weather(Weather { loss: 25, twice: 50, delay });
    let mut heard = Vec::new();
    // Send small portions, so that no buffer overflows even on a machine that stands still.
    for portion in 0..SENT / 20 {
        (0..20).for_each(|nth| {
            x.send_to((portion * 20 + nth).to_string().as_bytes(), proxy.member(A)).unwrap();
        });
        let arrived = |traffic: &Traffic| traffic.passed + traffic.twice;
        eventually("the proxy takes a portion", || {
            let traffic = proxy.traffic();
            (traffic.passed + traffic.lost == (portion + 1) * 20).then_some(())
        });
        while (heard.len() as u64) < arrived(&proxy.traffic()) {
            heard.push(hear(&a).0.parse::<u64>().unwrap());
        }
    }
    let traffic = proxy.traffic();
    // Ten standard deviations on either side.
    assert!((300..700).contains(&traffic.lost), "{} lost", traffic.lost);
    assert!((520..980).contains(&traffic.twice), "{} twice", traffic.twice);
    assert!(!heard.is_sorted(), "out of order");
    let mut once = heard.clone();
    once.sort_unstable();
    once.dedup();
    assert_eq!(once.len() as u64, traffic.passed);
    assert_eq!((heard.len() - once.len()) as u64, traffic.twice);
}
