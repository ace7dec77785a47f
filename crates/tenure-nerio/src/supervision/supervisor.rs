//! The watching side: a member that sees the ends of processes on its machine.

use std::collections::BTreeSet;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::fcntl_get_seals;
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use tenure::clock;
use tenure::driver::{SharedTime, random};
use tenure::state::BootKey;
use tenure_core::nerio::Who;
use tenure_core::{NodeName, Time};

use super::{Answer, Said, VERSION, line};

/// Maximum number of connections and watched processes. The supervisor tells further processes to
/// ask again.
const CLIENTS_MAX: usize = 256;
/// Longest time from a connection to the beginning of its watch.
const HANDSHAKE_MAX: Duration = Duration::from_secs(5);
/// Number of reports of one end, because each report may be lost.
const REPORTS: u32 = 5;
const WORKS_MAX: usize = 1_024;
/// Pause of the thread if the kernel lacks memory for a wait, or a descriptor for a client.
const PAUSE: Duration = Duration::from_millis(10);

/// Watches processes on this machine until it is dropped.
#[derive(Debug)]
pub struct Supervisor {
    path: PathBuf,
    /// Closing this end wakes the thread, which ends.
    _wake: OwnedFd,
}

/// Reports that the process of an incarnation has ended; false if the node has ended.
pub type Report = Box<dyn Fn(Who) -> bool + Send>;

impl Supervisor {
    /// Watches processes that ask for it at `path`. `patience` is the longest time for which a
    /// lease or a promise may last after the end of its process. `pause` is the span between two
    /// reports.
    pub fn begin(
        path: &Path,
        name: NodeName,
        patience: Duration,
        pause: Duration,
        report: Report,
    ) -> io::Result<Self> {
        let boot = BootKey::current().map_err(io::Error::other)?;
        let path = std::path::absolute(path)?;
        let listener = line::serve(&path)?;
        let (woken, wake) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)?;
        let clients = Vec::new();
        let watch = Watch { listener, woken, name, boot, patience, pause, report, clients };
        let thread = thread::Builder::new().name("tenure-supervisor".to_owned());
        thread.spawn(move || watch.run())?;
        Ok(Self { path, _wake: wake })
    }
}

impl Drop for Supervisor {
    fn drop(&mut self) {
        std::fs::remove_file(&self.path).ok();
    }
}

struct Watch {
    listener: OwnedFd,
    woken: OwnedFd,
    name: NodeName,
    boot: BootKey,
    patience: Duration,
    pause: Duration,
    report: Report,
    clients: Vec<Client>,
}

struct Client {
    /// `None` once the connection is over, which proves nothing.
    line: Option<OwnedFd>,
    stage: Stage,
    since: Time,
    works: BTreeSet<u128>,
    is_over: bool,
}

/// A process that claims to be the process of `who`, with a page of promises and a pidfd.
struct Subject {
    who: Who,
    page: SharedTime,
    pid: Pid,
    process: OwnedFd,
}

enum Stage {
    Begun,
    Asked {
        nonce: u128,
        subject: Subject,
    },
    /// The process has answered the nonce, so it is the process that connected.
    Proved(Subject),
    Watched(Subject),
    /// The process has ended. Works of the process may be left.
    Ended(Subject),
    /// No process is left that acts for `who`. Reports of this end are sent.
    Gone {
        who: Who,
        due: Time,
        left: u32,
    },
}

impl Stage {
    const fn subject(&self) -> Option<&Subject> {
        match self {
            Self::Asked { subject, .. }
            | Self::Proved(subject)
            | Self::Watched(subject)
            | Self::Ended(subject) => Some(subject),
            Self::Begun | Self::Gone { .. } => None,
        }
    }

    /// The process, unless the supervisor has seen its end.
    fn living(&self) -> Option<&OwnedFd> {
        let subject = self.subject().filter(|_| !matches!(self, Self::Ended(_)));
        subject.map(|subject| &subject.process)
    }

    fn who(&self) -> Option<&Who> {
        match self {
            Self::Gone { who, .. } => Some(who),
            other => other.subject().map(|subject| &subject.who),
        }
    }
}

/// The client is dropped, with the reason to report; `None` if the client left by itself.
struct Dropped(Option<String>);

impl From<io::Error> for Dropped {
    fn from(error: io::Error) -> Self {
        Self(Some(error.to_string()))
    }
}

fn refuse<T>(why: impl Into<String>) -> Result<T, Dropped> {
    Err(Dropped(Some(why.into())))
}

/// The effects of a frame beyond its own client.
enum News {
    None,
    Begins,
    /// No process of this work is left.
    Over(u128),
}

impl Watch {
    fn run(mut self) {
        while let Some(ready) = self.wait() {
            let now = clock::now();
            self.step(now, &ready);
            self.accept(now);
            self.bury(now);
            if !self.tell(now) {
                return;
            }
        }
    }

    /// Waits until a frame comes, a process ends, or an instant is reached. Returns for each client
    /// whether it may have news; `None` if the supervisor was dropped.
    fn wait(&self) -> Option<Vec<bool>> {
        let now = clock::now();
        let due = self.clients.iter().map(|client| client.due(self.patience)).min();
        let timeout = due.and_then(|due| Timespec::try_from(due.since(now)).ok());
        let mut fds = vec![
            PollFd::new(&self.woken, PollFlags::IN),
            PollFd::new(&self.listener, PollFlags::IN),
        ];
        let mut owners = Vec::new();
        for (number, client) in self.clients.iter().enumerate() {
            for fd in client.line.iter().chain(client.stage.living()) {
                fds.push(PollFd::new(fd, PollFlags::IN));
                owners.push(number);
            }
        }
        match poll(&mut fds, timeout.as_ref()) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(_) => thread::sleep(PAUSE),
        }
        let mut ready = vec![false; self.clients.len()];
        for (fd, owner) in fds.iter().skip(2).zip(owners) {
            ready[owner] |= !fd.revents().is_empty();
        }
        fds[0].revents().is_empty().then_some(ready)
    }

    /// Reads the news of clients. Drops clients that break the rules, and clients whose time is
    /// over.
    fn step(&mut self, now: Time, ready: &[bool]) {
        let mut over = Vec::new();
        let mut begun = Vec::new();
        for (number, client) in self.clients.iter_mut().enumerate() {
            if !ready.get(number).copied().unwrap_or(false) {
                continue;
            }
            if let Err(Dropped(why)) = client.step(now, &self.boot, &mut over, &mut begun) {
                client.drop_for(why);
            }
        }
        for who in begun {
            self.begin_watch(&who);
        }
        for work in over {
            self.clients.iter_mut().for_each(|client| {
                client.works.remove(&work);
            });
        }
        let patience = self.patience;
        self.clients.retain(|client| !client.is_over && now < client.ends(patience));
    }

    /// Begins the watch of a process that has proved itself, unless another process is watched
    /// under the same name and incarnation. The same process may come again, on another connection.
    fn begin_watch(&mut self, who: &Who) {
        let is_proved =
            |client: &Client| matches!(&client.stage, Stage::Proved(it) if it.who == *who);
        let Some(at) = self.clients.iter().position(is_proved) else { return };
        let Some(pid) = self.clients[at].stage.subject().map(|subject| subject.pid) else { return };
        let mut others = self.clients.iter_mut().enumerate();
        let other =
            others.find(|(number, client)| *number != at && client.stage.who() == Some(who));
        if let Some((_, other)) = other {
            let again = matches!(&other.stage, Stage::Watched(it) if it.pid == pid);
            if !again {
                let why = format!("another process is watched as {who}");
                return self.clients[at].drop_for(Some(why));
            }
            other.is_over = true;
        }
        let client = &mut self.clients[at];
        let answer = Answer::Watching { by: self.name.clone() };
        let told = client.line.as_ref().map(|line| line::send(line, &answer));
        if !matches!(told, Some(Ok(()))) {
            return client.drop_for(None);
        }
        if let Stage::Proved(subject) = std::mem::replace(&mut client.stage, Stage::Begun) {
            tracing::info!("watches process {} of {who}", subject.pid);
            client.stage = Stage::Watched(subject);
        }
    }

    fn accept(&mut self, now: Time) {
        loop {
            let line = match line::accept(&self.listener) {
                Ok(line) => line,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                // The client still waits, so the listener stays readable. Pause, or this loop would
                // spin.
                Err(_) => return thread::sleep(PAUSE),
            };
            if self.clients.len() < CLIENTS_MAX {
                self.clients.push(Client::new(line, now));
            } else {
                let why =
                    format!("{CLIENTS_MAX} processes are watched already, or ask to be watched");
                line::send(&line, &Answer::Refused(why)).ok();
            }
        }
    }

    /// Prepares the report of each process that has ended and has no works left. The report waits
    /// for the end of the latest promise.
    fn bury(&mut self, now: Time) {
        for client in &mut self.clients {
            let Stage::Ended(subject) = &client.stage else { continue };
            if !client.works.is_empty() {
                continue;
            }
            let who = subject.who.clone();
            // The process has ended and writes no more, so this is its latest promise.
            let promised = subject.page.newest().filter(|due| *due < now.after(self.patience));
            let Some(promised) = promised else {
                client.drop_for(Some(format!("the page of promises of {who} makes no sense")));
                continue;
            };
            client.stage = Stage::Gone { who, due: promised.max(now), left: REPORTS };
        }
        self.clients.retain(|client| !client.is_over);
    }

    /// Sends the reports that are due; false if the node has ended.
    fn tell(&mut self, now: Time) -> bool {
        for client in &mut self.clients {
            let Stage::Gone { who, due, left } = &mut client.stage else { continue };
            if now < *due {
                continue;
            }
            if *left == REPORTS {
                tracing::info!("the process of {who} has ended: its elections are free");
            }
            if !(self.report)(who.clone()) {
                return false;
            }
            *left -= 1;
            *due = now.after(self.pause);
            client.is_over = *left == 0;
        }
        self.clients.retain(|client| !client.is_over);
        true
    }
}

impl Client {
    fn new(line: OwnedFd, since: Time) -> Self {
        let (stage, works) = (Stage::Begun, BTreeSet::new());
        Self { line: Some(line), stage, since, works, is_over: false }
    }

    /// The instant at which this client needs an action, even without news from it.
    fn due(&self, patience: Duration) -> Time {
        match &self.stage {
            Stage::Gone { due, .. } => *due,
            _ => self.ends(patience),
        }
    }

    /// The instant at which the client is dropped. A handshake may have taken too long, or the
    /// leases of a process that has ended may have run out by themselves.
    fn ends(&self, patience: Duration) -> Time {
        match &self.stage {
            Stage::Begun | Stage::Asked { .. } | Stage::Proved(_) => {
                self.since.after(HANDSHAKE_MAX)
            }
            Stage::Ended(_) => self.since.after(patience),
            Stage::Watched(_) | Stage::Gone { .. } => Time::MAX,
        }
    }

    fn drop_for(&mut self, why: Option<String>) {
        self.is_over = true;
        let Some(why) = why else { return };
        tracing::warn!("does not watch a process: {why}");
        if let Some(line) = &self.line {
            line::send(line, &Answer::Refused(why)).ok();
        }
    }

    /// Reads all frames. Checks first whether the process has ended: if it has, all of its frames
    /// are in the socket.
    fn step(
        &mut self,
        now: Time,
        boot: &BootKey,
        over: &mut Vec<u128>,
        begun: &mut Vec<Who>,
    ) -> Result<(), Dropped> {
        let ended = self.stage.living().map(line::has_ended).transpose()?.unwrap_or(false);
        while self.line.is_some() {
            match self.read(boot) {
                Ok(News::None) => {}
                Ok(News::Begins) => begun.extend(self.stage.who().cloned()),
                Ok(News::Over(work)) => over.push(work),
                Err(Read::Nothing) => break,
                Err(Read::Dropped(dropped)) => return Err(dropped),
            }
        }
        match (std::mem::replace(&mut self.stage, Stage::Begun), ended) {
            (Stage::Watched(subject), true) => {
                (self.stage, self.since) = (Stage::Ended(subject), now);
                Ok(())
            }
            (_, true) => Err(Dropped(None)),
            (Stage::Begun | Stage::Asked { .. } | Stage::Proved(_), false)
                if self.line.is_none() =>
            {
                Err(Dropped(None))
            }
            (stage, false) => {
                self.stage = stage;
                Ok(())
            }
        }
    }

    fn read(&mut self, boot: &BootKey) -> Result<News, Read> {
        let Some(line) = &self.line else { return Err(Read::Nothing) };
        let (frame, sender, page) = match &self.stage {
            Stage::Begun => line::receive_with(line)?.map(|(said, page)| (said, None, page)),
            Stage::Asked { .. } => {
                line::receive_from(line)?.map(|(said, sender)| (said, sender, None))
            }
            _ => line::receive(line)?.map(|said| (said, None, None)),
        }
        .map_or((None, None, None), |(said, sender, page)| (Some(said), sender, page));
        let Some(frame) = frame else {
            self.line = None;
            return Ok(News::None);
        };
        Ok(self.hear(frame, sender, page, boot)?)
    }

    fn hear(
        &mut self,
        said: Said,
        sender: Option<Pid>,
        page: Option<OwnedFd>,
        boot: &BootKey,
    ) -> Result<News, Dropped> {
        match (&mut self.stage, said) {
            (Stage::Begun, Said::Over(work)) => {
                self.is_over = true;
                return Ok(News::Over(work));
            }
            (Stage::Begun, Said::Hello { version, boot: theirs, who }) => {
                if version != VERSION {
                    return refuse(format!("version {version} of its frames, not {VERSION}"));
                }
                if theirs != boot.as_str() {
                    return refuse("its clock is of another boot or another time namespace");
                }
                // Accept only a page in memory: a read of another file may never return.
                let page = page.filter(|page| fcntl_get_seals(page).is_ok());
                let Some(page) = page else { return refuse("no shared page of memory came") };
                self.ask(who, page)?;
            }
            (Stage::Asked { nonce, subject }, Said::Nonce(said)) => {
                // The sender has the process id of the pidfd's process, which still lives. So both
                // are the same process: no other process can have got this id meanwhile.
                let same = sender == Some(subject.pid) && said == *nonce;
                if !same || line::has_ended(&subject.process)? {
                    return refuse("the answer comes from another process than the connection");
                }
                if let Some(line) = &self.line {
                    line::name_senders(line, false)?;
                }
                if let Stage::Asked { subject, .. } =
                    std::mem::replace(&mut self.stage, Stage::Begun)
                {
                    self.stage = Stage::Proved(subject);
                }
            }
            (Stage::Proved(_), Said::Go) => return Ok(News::Begins),
            (Stage::Proved(_) | Stage::Watched(_), Said::Begins(work)) => {
                if self.works.len() >= WORKS_MAX {
                    return refuse(format!("{WORKS_MAX} works run already"));
                }
                self.works.insert(work);
            }
            (Stage::Proved(_) | Stage::Watched(_), Said::Over(work)) => {
                self.works.remove(&work);
            }
            (Stage::Proved(_) | Stage::Watched(_), Said::Bye) => return Err(Dropped(None)),
            (_, said) => return refuse(format!("the frame {said:?} comes at the wrong time")),
        }
        Ok(News::None)
    }

    /// Opens a pidfd of the process that connected, and sends a nonce. With the answer the kernel
    /// names the process that leads.
    fn ask(&mut self, who: Who, page: OwnedFd) -> Result<(), Dropped> {
        let Some(line) = &self.line else { return Ok(()) };
        let Some(pid) = line::connected(line)? else {
            return refuse("it is in a PID namespace that this node does not see");
        };
        let process = pidfd_open(pid, PidfdFlags::empty()).map_err(io::Error::from)?;
        line::name_senders(line, true)?;
        let nonce = random().map_err(io::Error::other)?;
        line::send(line, &Answer::Nonce(nonce))?;
        let subject = Subject { who, page: SharedTime::from(page), pid, process };
        self.stage = Stage::Asked { nonce, subject };
        Ok(())
    }
}

enum Read {
    Nothing,
    Dropped(Dropped),
}

impl From<io::Error> for Read {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::WouldBlock => Self::Nothing,
            _ => Self::Dropped(error.into()),
        }
    }
}

impl From<Dropped> for Read {
    fn from(dropped: Dropped) -> Self {
        Self::Dropped(dropped)
    }
}
