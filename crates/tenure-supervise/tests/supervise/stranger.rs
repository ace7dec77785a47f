//! A guard that gets packets from a stranger.

use std::io::{IoSlice, Read, Write};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixDatagram;
use std::process::{Command, Stdio};
use std::time::Duration;

use rustix::net::{
    AddressFamily, SendAncillaryBuffer, SendAncillaryMessage, SendFlags, Shutdown, SocketFlags,
    SocketType, sendmsg, shutdown, socketpair,
};
use rustix::process::Signal;
use tenure::clock;

use crate::scene::{SECOND, Scene, millis, timed_out};

tenure_testkit::tests!(
    garbage_is_the_end_of_the_link,
    guard_without_order_starts_nothing,
    guard_with_late_order_starts_nothing,
    late_guard_obeys_stop,
);

/// The tags of orders and reports, as on the wire.
const LOOK: u8 = 0;
const STOP: u8 = 1;
const STARTED: u8 = 0;
const FAILED: u8 = 1;
const ENDED: u8 = 2;
const ALL_GONE: u8 = 3;

struct Stranger {
    scene: Scene,
    /// Packets keep their bounds, as in a datagram socket.
    link: Option<UnixDatagram>,
}

impl Stranger {
    /// A guard for a polite worker, with SIGKILL 10 s before the lease ends.
    fn new() -> Self {
        let kind = SocketType::SEQPACKET;
        let (ours, theirs) =
            socketpair(AddressFamily::UNIX, kind, SocketFlags::CLOEXEC, None).unwrap();
        let mut scene = Scene::empty();
        let link = UnixDatagram::from(ours);
        link.set_read_timeout(Some(60 * SECOND)).unwrap();
        let mut guard = Command::new("/proc/self/exe");
        let grace = 20 * SECOND;
        let kill_margin = 10 * SECOND;
        guard.arg("__guard").args([grace, kill_margin].map(|span| span.as_nanos().to_string()));
        let worker = Scene::working("polite", &["polite/session"]);
        guard.arg("/bin/sh").args(worker).env("TENURE_UNTIL_FILE", scene.path("until"));
        guard.stdin(Stdio::from(theirs)).stderr(Stdio::piped());
        scene.spawn(&mut guard);
        Self { scene, link: Some(link) }
    }

    fn send(&self, bytes: &[u8], attached: &[OwnedFd]) {
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(2))];
        let mut control = SendAncillaryBuffer::new(&mut space);
        let fds: Vec<_> = attached.iter().map(|fd| fd.as_fd()).collect();
        if !fds.is_empty() {
            assert!(control.push(SendAncillaryMessage::ScmRights(&fds)));
        }
        let link = self.link.as_ref().unwrap();
        sendmsg(link, &[IoSlice::new(bytes)], &mut control, SendFlags::NOSIGNAL).unwrap();
    }

    /// The tag of the next report, or `None` at the end.
    fn report(&self) -> Option<u8> {
        let mut bytes = [0; 512];
        let length = self.link.as_ref().unwrap().recv(&mut bytes);
        assert!(!length.as_ref().is_err_and(timed_out), "the guard says nothing");
        bytes[..length.ok()?].first().copied()
    }

    fn expect_nothing_started(mut self, code: i32) {
        while self.report().is_some_and(|tag| matches!(tag, FAILED | ALL_GONE)) {}
        assert_eq!(self.scene.exit_code(), Some(code));
        assert_eq!(self.scene.alive(), [] as [i32; 0]);
        assert!(self.scene.stamps().is_empty());
    }
}

/// The content of the first order, for a lease that ends `length` from now.
fn lease(length: Duration) -> [OwnedFd; 2] {
    let nanos = clock::now().after(length).as_nanos();
    [null(), file(&[nanos.to_le_bytes(), (!nanos).to_le_bytes()].concat())]
}

fn file(content: &[u8]) -> OwnedFd {
    let mut file = tempfile::tempfile().unwrap();
    file.write_all(content).unwrap();
    file.into()
}

fn null() -> OwnedFd {
    std::fs::File::open("/dev/null").unwrap().into()
}

fn garbage_is_the_end_of_the_link() {
    let order = [LOOK];
    let long = [LOOK; 4000];
    let garbage: [&[u8]; 5] = [b"", b"\xff\xff\xff\xff", &[LOOK, LOOK], &long, b"\x02"];
    for bytes in garbage {
        let mut stranger = Stranger::new();
        stranger.send(&order, &lease(600 * SECOND));
        assert_eq!(stranger.report(), Some(STARTED));
        stranger.scene.expect_alive(2);
        stranger.send(bytes, &[]);
        assert_eq!(stranger.report(), Some(ENDED), "{bytes:?}");
        assert_eq!(stranger.report(), Some(ALL_GONE));
        assert_eq!(stranger.report(), None);
        assert_eq!(stranger.scene.exit_code(), Some(0));
        assert_eq!(stranger.scene.alive(), [] as [i32; 0]);
        let told = stranger.scene.stamps().into_iter().filter(|stamp| stamp.what == 'T').count();
        assert_eq!(told, 2, "gracefully");
    }
}

fn guard_without_order_starts_nothing() {
    let mut stranger = Stranger::new();
    stranger.link = None;
    assert_eq!(stranger.scene.exit_code(), Some(2));
    let mut said = String::new();
    stranger.scene.marked().stderr.take().unwrap().read_to_string(&mut said).unwrap();
    assert_eq!(said, "__guard is a part of this command that it starts by itself\n");
    assert!(stranger.scene.stamps().is_empty());

    let bad: [&[u8]; 4] = [b"", b"garbage", &[1], &[9; 4000]];
    for bytes in bad {
        let stranger = Stranger::new();
        stranger.send(bytes, &lease(600 * SECOND));
        stranger.expect_nothing_started(2);
    }
    // Packets without standard input, without a deadline, and with a deadline that makes no sense.
    let nonsense = [null(), file(&[0; 16])];
    for attached in [&[][..], &[null()], &nonsense, &[null(), null()]] {
        let stranger = Stranger::new();
        stranger.send(&[LOOK], attached);
        stranger.expect_nothing_started(2);
    }
}

fn guard_with_late_order_starts_nothing() {
    for length in [millis(0), millis(5), 10 * SECOND, 20 * SECOND] {
        let stranger = Stranger::new();
        stranger.send(&[LOOK], &lease(length));
        assert_eq!(stranger.report(), Some(FAILED));
        stranger.expect_nothing_started(1);
    }
}

fn late_guard_obeys_stop() {
    for stops in [true, false] {
        let stranger = Stranger::new();
        let guard = stranger.scene.supervisor();
        stranger.scene.freeze(guard);
        stranger.send(&[LOOK], &lease(600 * SECOND));
        stranger.send(&[LOOK], &[]);
        if stops {
            stranger.send(&[STOP], &[]);
        } else {
            shutdown(stranger.link.as_ref().unwrap(), Shutdown::Write).unwrap();
        }
        stranger.scene.signal(guard, Signal::CONT);
        assert_eq!(stranger.report(), Some(FAILED), "by an order: {stops}");
        stranger.expect_nothing_started(1);
    }
}
