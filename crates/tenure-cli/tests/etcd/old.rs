//! An unsupported old etcd, which only answers with its version.

use std::net::{SocketAddr, TcpListener};
use std::thread;

use bytes::Bytes;
use h2::server;
use http::{HeaderMap, HeaderValue, Response};

/// Serves until the process ends, and returns the address.
pub(crate) fn serve(version: &'static str) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    listener.set_nonblocking(true).unwrap();
    thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async move {
            let listener = tokio::net::TcpListener::from_std(listener).unwrap();
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(async move {
                    // Clients leave once they have read the version.
                    let Ok(mut connection) = server::handshake(stream).await else { return };
                    while let Some(Ok((_, reply))) = connection.accept().await {
                        let _ = answer(reply, version);
                    }
                });
            }
        });
    });
    address
}

/// Answers every request like `Maintenance.Status`: version is field 2, a string.
fn answer(
    mut reply: server::SendResponse<Bytes>,
    version: &str,
) -> Result<(), Box<dyn std::error::Error>> {
    let response = Response::builder().header("content-type", "application/grpc").body(())?;
    let mut stream = reply.send_response(response, false)?;
    let mut status = vec![0x12, u8::try_from(version.len())?];
    status.extend(version.as_bytes());
    let mut frame = vec![0];
    frame.extend(u32::try_from(status.len())?.to_be_bytes());
    frame.extend(status);
    stream.send_data(frame.into(), false)?;
    let mut trailers = HeaderMap::new();
    trailers.insert("grpc-status", HeaderValue::from_static("0"));
    stream.send_trailers(trailers)?;
    Ok(())
}
