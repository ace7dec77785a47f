//! The floor: what it costs to ask three processes and hear from two, and nothing else.
//!
//! Threads, runtimes, sockets and hand-overs are those of nodes and of an application: what is
//! left out is the protocol, the wire format and the state directory.

use std::io::{BufRead, Write};
use std::net::{SocketAddr, UdpSocket};
use std::thread;

use tokio::sync::{mpsc, oneshot};

use crate::common::Result;
use crate::common::process::Process;

/// About as long as a datagram with one request.
const LENGTH: usize = 128;

/// Plays one of the three: sends back whatever comes.
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
    // Until the input ends.
    std::io::stdin().lock().lines().for_each(drop);
    Ok(())
}

/// Three echoing processes, and the thread that asks them.
pub(crate) struct Floor {
    _echoes: Vec<Process>,
    orders: mpsc::UnboundedSender<oneshot::Sender<()>>,
}

impl Floor {
    pub(crate) fn start() -> Result<Self> {
        let (mut echoes, mut addresses) = (Vec::new(), Vec::new());
        for _ in 0..3 {
            let (echo, address) = Process::start(&["echo".to_owned()])?;
            echoes.push(echo);
            addresses.push(address.parse()?);
        }
        let socket = UdpSocket::bind("127.0.0.1:0")?;
        socket.set_nonblocking(true)?;
        let (orders, taken) = mpsc::unbounded_channel();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build()?;
        thread::spawn(move || runtime.block_on(ask(socket, addresses, taken)));
        Ok(Self { _echoes: echoes, orders })
    }

    /// One exchange, as an application's `campaign().await` is one.
    pub(crate) async fn exchange(&self) -> Result<()> {
        let (reply, answer) = oneshot::channel();
        self.orders.send(reply)?;
        Ok(answer.await?)
    }
}

async fn ask(
    socket: UdpSocket,
    addresses: Vec<SocketAddr>,
    mut orders: mpsc::UnboundedReceiver<oneshot::Sender<()>>,
) -> std::io::Result<()> {
    let socket = tokio::net::UdpSocket::from_std(socket)?;
    let mut buffer = [0; LENGTH];
    let mut round = 0_u64;
    loop {
        // The third answer to the round before arrives while nobody waits for it.
        let reply = tokio::select! {
            biased;
            late = socket.recv_from(&mut buffer) => {
                late?;
                continue;
            }
            order = orders.recv() => order,
        };
        let Some(reply) = reply else { return Ok(()) };
        round += 1;
        let mut datagram = [0; LENGTH];
        datagram[..8].copy_from_slice(&round.to_le_bytes());
        for address in &addresses {
            socket.try_send_to(&datagram, *address)?;
        }
        let mut heard = 0;
        while heard < 2 {
            socket.recv_from(&mut buffer).await?;
            heard += u32::from(buffer[..8] == datagram[..8]);
        }
        let _ = reply.send(());
    }
}
