//! The floor: the cost of one message to each of three processes and of two answers, and nothing
//! else.
//!
//! Threads, runtimes, sockets and hand-overs are the same as in nodes and in an application. The
//! protocol, the wire format and the state directory are left out.

use std::io::{BufRead, Write};
use std::net::{SocketAddr, UdpSocket};
use std::thread;
use std::time::Duration;

use tokio::sync::{mpsc, oneshot};

use crate::common::Result;
use crate::common::process::Process;

/// About the length of a datagram with one request.
const LENGTH: usize = 128;

/// Plays one of the three processes: sends every datagram back to its sender.
pub(crate) fn echo() -> Result<()> {
    let socket = UdpSocket::bind("127.0.0.1:0")?;
    socket.set_nonblocking(true)?;
    let address = socket.local_addr()?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build()?;
    thread::spawn(move || {
        runtime.block_on(async move {
            let socket = tokio::net::UdpSocket::from_std(socket)?;
            let mut buffer = [0; LENGTH];
            loop {
                let (length, from) = socket.recv_from(&mut buffer).await?;
                socket.try_send_to(&buffer[..length], from)?;
            }
            #[expect(unreachable_code, reason = "the type of the block")]
            std::io::Result::Ok(())
        })
    });
    println!("{address}");
    std::io::stdout().flush()?;
    // Wait until the input ends.
    std::io::stdin().lock().lines().for_each(drop);
    Ok(())
}

/// Three echoing processes, and the thread that asks them.
pub(crate) struct Floor {
    _echoes: Vec<Process>,
    orders: mpsc::UnboundedSender<Order>,
}

enum Order {
    /// An exchange, with an answer to the caller.
    Ask(oneshot::Sender<()>),
    /// Exchanges without an answer to a caller, each after this time, like those of a waiting
    /// candidate.
    Refresh { every: Duration, times: u32 },
}

impl Floor {
    pub(crate) fn start() -> Result<Self> {
        let mut echoes = Vec::new();
        let mut addresses = Vec::new();
        for _ in 0..3 {
            let (echo, address) = Process::start(&["echo".to_owned()])?;
            echoes.push(echo);
            addresses.push(address.parse()?);
        }
        let socket = UdpSocket::bind("127.0.0.1:0")?;
        socket.set_nonblocking(true)?;
        let (orders, taken) = mpsc::unbounded_channel();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        thread::spawn(move || runtime.block_on(serve(socket, addresses, taken)));
        Ok(Self { _echoes: echoes, orders })
    }

    /// An exchange, like an application's `campaign().await`.
    pub(crate) async fn exchange(&self) -> Result<()> {
        let (reply, answer) = oneshot::channel();
        self.orders.send(Order::Ask(reply))?;
        Ok(answer.await?)
    }

    /// Sends messages in the background, so that only the application's thread is idle.
    pub(crate) fn refresh(&self, every: Duration, times: u32) -> Result<()> {
        Ok(self.orders.send(Order::Refresh { every, times })?)
    }
}

async fn serve(
    socket: UdpSocket,
    addresses: Vec<SocketAddr>,
    mut orders: mpsc::UnboundedReceiver<Order>,
) -> std::io::Result<()> {
    let socket = tokio::net::UdpSocket::from_std(socket)?;
    let mut asker = Asker { socket, addresses, round: 0, buffer: [0; LENGTH] };
    loop {
        // The third answer of the previous round arrives during this wait.
        let order = tokio::select! {
            biased;
            late = asker.socket.recv_from(&mut asker.buffer) => {
                late?;
                continue;
            }
            order = orders.recv() => order,
        };
        match order {
            None => return Ok(()),
            Some(Order::Ask(reply)) => {
                asker.exchange().await?;
                let _ = reply.send(());
            }
            Some(Order::Refresh { every, times }) => {
                for _ in 0..times {
                    tokio::time::sleep(every).await;
                    asker.exchange().await?;
                }
            }
        }
    }
}

struct Asker {
    socket: tokio::net::UdpSocket,
    addresses: Vec<SocketAddr>,
    round: u64,
    buffer: [u8; LENGTH],
}

impl Asker {
    async fn exchange(&mut self) -> std::io::Result<()> {
        self.round += 1;
        let mut datagram = [0; LENGTH];
        datagram[..8].copy_from_slice(&self.round.to_le_bytes());
        for address in &self.addresses {
            self.socket.try_send_to(&datagram, *address)?;
        }
        let mut heard = 0;
        while heard < 2 {
            self.socket.recv_from(&mut self.buffer).await?;
            heard += u32::from(self.buffer[..8] == datagram[..8]);
        }
        Ok(())
    }
}
