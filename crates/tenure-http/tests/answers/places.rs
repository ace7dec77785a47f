//! Where servers listen.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};

use rustix::io::Errno;
use rustix::net::{
    AddressFamily, SocketAddrUnix, SocketFlags, SocketType, bind, connect, listen, socket_with,
};
use tenure_http::{About, Monitor};
use tenure_http::{Options, Place, Server, ServerError};
use tenure_testkit::processes::exchange;

#[test]
fn unix_socket_is_of_the_user() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("http.sock");
    // A killed process has left this socket.
    drop(UnixListener::bind(&path).unwrap());
    let options = || Options::new(Place::Unix(path.clone()));
    let server = Server::bind(options()).unwrap();
    server.serve(&Monitor::new(About::new("a", "p"), server.runtime()));
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    let stream = UnixStream::connect(&path).unwrap();
    let answer = exchange(stream, "GET", "/healthz", "Host: any\r\n", "").unwrap();
    assert_eq!((answer.status, &*answer.body), (200, "ok\n"));
    assert!(Server::bind(options()).is_err(), "a process listens there");
    drop(server);
    assert!(!path.exists());
    fs::write(&path, "kept").unwrap();
    assert!(Server::bind(options()).is_err());
    assert_eq!(fs::read_to_string(&path).unwrap(), "kept");
}

/// Another process listens, and has no room for a connection. The new server neither waits for that
/// process nor takes its socket.
#[test]
fn busy_socket_is_not_abandoned() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("http.sock");
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = || socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None).unwrap();
    let address = SocketAddrUnix::new(&path).unwrap();
    let busy = socket();
    bind(&busy, &address).unwrap();
    listen(&busy, 0).unwrap();
    let clients: Vec<_> = (0..8).map(|_| socket()).collect();
    assert!(clients.iter().any(|client| connect(client, &address) == Err(Errno::AGAIN)));
    assert!(Server::bind(Options::new(Place::Unix(path.clone()))).is_err());
    assert!(path.exists());
}

#[test]
fn open_address_needs_a_word() {
    let open = || Options::new(Place::Address(([0, 0, 0, 0], 0).into()));
    assert!(matches!(Server::bind(open()), Err(ServerError::Open { .. })));
    assert!(Server::bind(open().insecure()).is_ok());
}

#[cfg(feature = "tls")]
#[tokio::test]
async fn certificate_is_presented() {
    use tenure_tls::{Pem, client_config};
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio_rustls::TlsConnector;

    let folder = tempfile::tempdir().unwrap();
    let rcgen::CertifiedKey { cert, signing_key } =
        rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let [certificate, key] = ["cert.pem", "key.pem"].map(|name| folder.path().join(name));
    fs::write(&certificate, cert.pem()).unwrap();
    fs::write(&key, signing_key.serialize_pem()).unwrap();
    let options = crate::anywhere().tls(certificate.clone(), key.clone());
    let server = Server::bind(options).unwrap();
    server.serve(&Monitor::new(About::new("a", "p"), server.runtime()));
    let config = client_config(Some(&Pem::File(certificate.clone())), None).unwrap();
    let stream = tokio::net::TcpStream::connect(crate::web(&server).0).await.unwrap();
    let connector = TlsConnector::from(std::sync::Arc::new(config));
    let mut stream = connector.connect("localhost".try_into().unwrap(), stream).await.unwrap();
    stream.write_all(b"GET /healthz HTTP/1.0\r\nHost: x\r\n\r\n").await.unwrap();
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer).await;
    assert!(String::from_utf8_lossy(&answer).ends_with("ok\n"));
    fs::write(&key, "no key").unwrap();
    let wrong = crate::anywhere().tls(certificate, key);
    assert!(matches!(Server::bind(wrong), Err(ServerError::Certificate(_))));
}
