//! The distance of voters: relays delay all bytes.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::mpsc::sync_channel;
use std::thread;
use std::time::Duration;

use tenure::{Time, clock};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::{Builder, Handle};
use tokio::sync::mpsc;
use tokio::time::sleep;

use crate::Result;

/// Relays in front of the voters, all on one thread.
pub(crate) struct Distance {
    one_way: Duration,
    thread: Handle,
}

impl Distance {
    pub(crate) fn of(one_way: Duration) -> Result<Self> {
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let handle = runtime.handle().clone();
        thread::spawn(move || runtime.block_on(std::future::pending::<()>()));
        Ok(Self { one_way, thread: handle })
    }

    /// Returns an address at this distance from `to`; `to` itself if the distance is zero.
    pub(crate) fn before(&self, to: SocketAddr) -> Result<SocketAddr> {
        if self.one_way.is_zero() {
            return Ok(to);
        }
        let (bound, address) = sync_channel(1);
        let one_way = self.one_way;
        self.thread.spawn(async move {
            let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
            let _ = bound.send(listener.local_addr()?);
            loop {
                let (client, _) = listener.accept().await?;
                tokio::spawn(join(client, to, one_way));
            }
            #[expect(unreachable_code, reason = "the type of the block")]
            std::io::Result::Ok(())
        });
        Ok(address.recv()?)
    }
}

async fn join(client: TcpStream, to: SocketAddr, one_way: Duration) -> std::io::Result<()> {
    // A client's connection is open after a round trip.
    let open = clock::now().after(2 * one_way);
    let server = TcpStream::connect(to).await?;
    client.set_nodelay(true)?;
    server.set_nodelay(true)?;
    let ((client_in, client_out), (server_in, server_out)) =
        (client.into_split(), server.into_split());
    carry(client_in, server_out, one_way, open);
    carry(server_in, client_out, one_way, open);
    Ok(())
}

/// Passes each byte on `one_way` after its arrival, also while earlier bytes are under way.
fn carry(mut from: OwnedReadHalf, mut to: OwnedWriteHalf, one_way: Duration, open: Time) {
    let (under_way, mut arrived) = mpsc::unbounded_channel();
    tokio::spawn(async move {
        let mut buffer = vec![0; 16 * 1024];
        while let Ok(read @ 1..) = from.read(&mut buffer).await {
            let due = clock::now().max(open).after(one_way);
            if under_way.send((due, buffer[..read].to_vec())).is_err() {
                return;
            }
        }
    });
    tokio::spawn(async move {
        while let Some((due, bytes)) = arrived.recv().await {
            sleep(due.since(clock::now())).await;
            if to.write_all(&bytes).await.is_err() {
                return;
            }
        }
    });
}
