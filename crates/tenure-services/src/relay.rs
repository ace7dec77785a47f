//! TCP between two programs, which a test can cut or hold back.

use std::io::{self, Read as _, Write as _};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

/// Size of one read, in bytes.
const PIECE: usize = 16 * 1024;

/// The longest time for which a write waits for a reader. Then the relay closes the connection.
const PATIENCE: Duration = Duration::from_secs(60);

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Mode {
    Open,
    /// Passes no bytes on and closes no connection. The bytes go on when the relay is opened again.
    Held,
    /// Closes present and new connections.
    Cut,
}

#[derive(Debug)]
struct State {
    to: SocketAddr,
    mode: Mode,
    /// Both ends of every connection, which a cut closes. Ended connections are removed when the
    /// next connection begins.
    ends: Vec<TcpStream>,
}

#[derive(Debug)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

/// Passes TCP connections to an address on loopback, until a test cuts the relay. A drop closes the
/// connections.
#[derive(Debug)]
pub struct Relay {
    shared: Arc<Shared>,
    address: SocketAddr,
}

impl Relay {
    /// Starts an open relay in front of `to`, on a free port of loopback. The relay closes a
    /// client's connection if `to` refuses the connection of the relay.
    pub fn start(to: SocketAddr) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let address = listener.local_addr()?;
        let state = Mutex::new(State { to, mode: Mode::Open, ends: Vec::new() });
        let shared = Arc::new(Shared { state, changed: Condvar::new() });
        let accepting = Arc::downgrade(&shared);
        thread::Builder::new().name("relay".to_owned()).spawn(move || {
            for client in listener.incoming() {
                let Some(shared) = accepting.upgrade() else { return };
                // If the relay cannot connect to the server, it closes the client's connection, as
                // the server itself would.
                let _ = client.and_then(|client| Shared::join(&shared, client));
            }
        })?;
        Ok(Self { shared, address })
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Passes new connections to another address.
    pub fn lead_to(&self, to: SocketAddr) {
        self.shared.state().to = to;
    }

    /// Closes all connections, and new connections, until the relay is opened.
    pub fn cut(&self) {
        self.shared.set(Mode::Cut);
        for end in self.shared.state().ends.drain(..) {
            // An error means that the connection is closed already.
            let _ = end.shutdown(Shutdown::Both);
        }
    }

    /// Keeps all bytes back until the relay is opened or cut. The system's buffers hold a few
    /// hundred kilobytes for each connection.
    pub fn hold(&self) {
        self.shared.set(Mode::Held);
    }

    /// Passes all bytes on again.
    pub fn open(&self) {
        self.shared.set(Mode::Open);
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.cut();
        // Wake the thread that accepts, which then ends.
        let _ = TcpStream::connect(self.address);
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn set(&self, mode: Mode) {
        self.state().mode = mode;
        self.changed.notify_all();
    }

    /// Waits while the relay is held. Returns whether bytes may pass.
    fn may_pass(&self) -> bool {
        let held = |state: &mut State| state.mode == Mode::Held;
        let state = self.changed.wait_while(self.state(), held);
        state.unwrap_or_else(PoisonError::into_inner).mode == Mode::Open
    }

    fn join(self: &Arc<Self>, client: TcpStream) -> io::Result<()> {
        let (to, is_cut) = {
            let state = self.state();
            (state.to, state.mode == Mode::Cut)
        };
        if is_cut {
            return Ok(());
        }
        let server = TcpStream::connect(to)?;
        for end in [&client, &server] {
            end.set_nodelay(true)?;
            end.set_write_timeout(Some(PATIENCE))?;
        }
        let halves = [
            (client.try_clone()?, server.try_clone()?),
            (server.try_clone()?, client.try_clone()?),
        ];
        {
            let mut state = self.state();
            // The relay may have been cut in the meantime.
            if state.mode == Mode::Cut {
                return Ok(());
            }
            state.ends.retain(|end| end.peer_addr().is_ok());
            state.ends.extend([client, server]);
        }
        for (from, to) in halves {
            let shared = self.clone();
            thread::Builder::new()
                .name("relay".to_owned())
                .spawn(move || shared.carry(from, to))?;
        }
        Ok(())
    }

    fn carry(&self, mut from: TcpStream, mut to: TcpStream) {
        let mut buffer = [0; PIECE];
        while let Ok(read @ 1..) = from.read(&mut buffer) {
            let piece = buffer.get(..read).unwrap_or_default();
            if !self.may_pass() || to.write_all(piece).is_err() {
                break;
            }
        }
        // A connection that ends while the relay is held looks open until the relay is opened.
        if self.may_pass() {
            let _ = to.shutdown(Shutdown::Write);
        } else {
            let _ = (to.shutdown(Shutdown::Both), from.shutdown(Shutdown::Both));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A server that echoes.
    fn echo() -> SocketAddr {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let address = listener.local_addr().unwrap();
        thread::spawn(move || {
            for client in listener.incoming() {
                let mut client = client.unwrap();
                let mut from = client.try_clone().unwrap();
                thread::spawn(move || io::copy(&mut from, &mut client));
            }
        });
        address
    }

    fn connect(relay: &Relay) -> TcpStream {
        let client = TcpStream::connect(relay.address()).unwrap();
        client.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        client
    }

    fn says_back(client: &mut TcpStream, text: &[u8]) -> bool {
        let mut back = vec![0; text.len()];
        client.write_all(text).is_ok() && client.read_exact(&mut back).is_ok() && back == text
    }

    #[test]
    fn cuts_close_connections_until_opened() {
        let relay = Relay::start(echo()).unwrap();
        let mut client = connect(&relay);
        assert!(says_back(&mut client, b"one"));
        relay.cut();
        assert!(!says_back(&mut client, b"two"));
        assert!(!says_back(&mut connect(&relay), b"three"));
        relay.open();
        assert!(says_back(&mut connect(&relay), b"four"));
        assert!(!says_back(&mut client, b"five"), "what was closed stays closed");
    }

    #[test]
    fn held_bytes_come_in_order() {
        let echo = echo();
        let [relay, other] = [(); 2].map(|()| Relay::start(echo).unwrap());
        let mut client = connect(&relay);
        assert!(says_back(&mut client, b"one"));
        relay.hold();
        client.write_all(b"two").unwrap();
        assert!(says_back(&mut connect(&other), b"whoever answers has heard it by now"));
        client.set_read_timeout(Some(Duration::from_millis(200))).unwrap();
        let mut back = [0; 8];
        assert!(client.read(&mut back).is_err(), "nothing is passed on");
        client.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        client.write_all(b"three").unwrap();
        relay.open();
        client.read_exact(&mut back).unwrap();
        assert_eq!(&back, b"twothree");
        drop(relay);
        assert!(!says_back(&mut client, b"four"));
    }
}
