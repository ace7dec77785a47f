//! The processes of the demo: three nodes, two candidates, and who tells a leader to resign.

use std::ffi::OsString;
use std::fs::{self, OpenOptions};
use std::io;
use std::path::Path;
use std::time::Duration;

use rustix::process::{Pid, Signal, WaitStatus, kill_process};
use tenure::{Time, clock};

use super::below::Below;
use super::extra::{self, MYSELF, WORKER};
use super::place::{CANDIDATES, GRANTORS, Place};
use crate::exit::Exit;
use crate::failure::{Failure, clipped};

/// Who ended without our doing is started again after this.
const RESTART: Duration = Duration::from_secs(1);
/// How long everybody may take to end when asked, beyond a candidate's grace; and when killed.
const PATIENCE: Duration = Duration::from_secs(10);
const POLL: Duration = Duration::from_millis(5);

/// What a process of the cast is there for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Role {
    /// `tenure node`
    Grantor,
    /// `tenure run`
    Candidate,
}

/// Whether a process of the cast can play.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Health {
    /// It runs.
    Up,
    /// It is stopped.
    Stopped,
    /// It has ended, and is started again at this time; `None` when the script does that.
    Gone(Option<Time>),
}

struct Player {
    name: &'static str,
    role: Role,
    pid: Option<Pid>,
    health: Health,
}

/// Somebody ended who should not have.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Departed {
    pub(super) name: &'static str,
    /// In words.
    pub(super) how: String,
    /// Whether it is started again: not when it gave up by itself.
    pub(super) returns: bool,
}

/// All processes. Dropping it kills them, and waits until all are gone.
pub(super) struct Cast {
    players: Vec<Player>,
    messenger: Option<Pid>,
    below: Below,
    grace: Duration,
}

impl Cast {
    /// Starts everybody.
    pub(super) fn start(place: &Place, grace: Duration) -> Result<Self, Failure> {
        let below = Below::adopt().map_err(|error| system("looking for children", error))?;
        let mut cast = Self { players: Vec::new(), messenger: None, below, grace };
        let all = GRANTORS.map(|name| (name, Role::Grantor)).into_iter();
        for (name, role) in all.chain(CANDIDATES.map(|name| (name, Role::Candidate))) {
            let pid = spawn(place, name, player(place, name, role, true))?;
            cast.players.push(Player { name, role, pid: Some(pid), health: Health::Up });
        }
        Ok(cast)
    }

    /// Has `tenure resign` tell the leader `name`.
    pub(super) fn resign(&mut self, place: &Place, name: &str) -> Result<(), Failure> {
        let mut args = words(&["resign", "--config"], &place.settings());
        args.extend(words(&["--control"], &place.control(name)));
        self.messenger = Some(spawn(place, "resign", args)?);
        Ok(())
    }

    /// Kills a candidate's `tenure run` for good.
    pub(super) fn kill(&mut self, name: &str) {
        if let Some(player) = self.player(name) {
            player.health = Health::Gone(None);
            signal(player.pid, Signal::KILL);
        }
    }

    /// Stops a candidate's `tenure run`.
    pub(super) fn stop(&mut self, name: &str) {
        if let Some(player) = self.player(name) {
            player.health = Health::Stopped;
            signal(player.pid, Signal::STOP);
        }
    }

    /// Has a stopped candidate go on, or starts a killed one again.
    pub(super) fn mend(&mut self, place: &Place, name: &str) -> Result<(), Failure> {
        let Some(player) = self.player(name) else { return Ok(()) };
        signal(player.pid, Signal::CONT);
        if player.pid.is_none() {
            let args = self::player(place, player.name, player.role, false);
            player.pid = Some(spawn(place, player.name, args)?);
        }
        player.health = Health::Up;
        Ok(())
    }

    /// Starts again whoever is due at `now`.
    pub(super) fn restart(&mut self, place: &Place, now: Time) -> Result<(), Failure> {
        let due = |player: &Player| matches!(player.health, Health::Gone(Some(at)) if at <= now);
        let due: Vec<_> = self.players.iter().filter(|p| due(p)).map(|p| p.name).collect();
        due.into_iter().try_for_each(|name| self.mend(place, name))
    }

    /// Takes note of everybody who has ended. Tells of those who should not have.
    pub(super) fn reap(&mut self, place: &Place) -> Vec<Departed> {
        let mut departed = Vec::new();
        while let Some((pid, status)) = self.below.reap() {
            if self.messenger == Some(pid) {
                self.messenger = None;
                if status.exit_status() != Some(0) {
                    let how = how(place, "resign", status);
                    departed.push(Departed { name: "tenure resign", how, returns: false });
                }
                continue;
            }
            let all = &mut self.players;
            // Anybody else was left behind by a candidate, and ended by its guard.
            let Some(player) = all.iter_mut().find(|p| p.pid == Some(pid)) else { continue };
            player.pid = None;
            if player.health == Health::Gone(None) {
                continue;
            }
            // `tenure run` passes on how its command ended: 128 and the signal.
            let returns = status.signaled() || status.exit_status().is_some_and(|code| code > 128);
            player.health = Health::Gone(Some(clock::now().after(RESTART)));
            let how = how(place, player.name, status);
            departed.push(Departed { name: player.name, how, returns });
        }
        departed
    }

    pub(super) fn health(&self, name: &str) -> Health {
        let player = self.players.iter().find(|player| player.name == name);
        player.map_or(Health::Gone(None), |player| player.health)
    }

    fn player(&mut self, name: &str) -> Option<&mut Player> {
        self.players.iter_mut().find(|player| player.name == name)
    }

    /// Asks everybody to end, the candidates first, and waits until no process is left. Returns
    /// who did not go when asked.
    pub(super) async fn end(&mut self) -> Vec<String> {
        let mut unwilling = Vec::new();
        self.tell(|_| true, Signal::CONT);
        for role in [Role::Candidate, Role::Grantor] {
            let theirs = |player: &Player| player.role == role && player.pid.is_some();
            let gone = |cast: &Self| !cast.players.iter().any(theirs);
            self.tell(theirs, Signal::TERM);
            if !self.wait(self.grace + PATIENCE, gone).await {
                let names = self.players.iter().filter(|player| theirs(player));
                unwilling.extend(names.map(|player| player.name.to_owned()));
                self.tell(theirs, Signal::KILL);
                self.wait(PATIENCE, gone).await;
            }
        }
        signal(self.messenger, Signal::TERM);
        if !self.wait(self.grace + PATIENCE, Self::is_alone).await {
            unwilling.extend(self.below.names());
        }
        unwilling
    }

    /// Reaps whoever has ended until `holds`, and returns whether that came true in time.
    async fn wait(&mut self, patience: Duration, holds: impl Fn(&Self) -> bool) -> bool {
        let limit = clock::now().after(patience);
        loop {
            self.collect();
            if holds(self) {
                return true;
            }
            if clock::now() >= limit {
                return false;
            }
            tokio::time::sleep(POLL).await;
        }
    }

    fn tell(&self, whom: impl Fn(&Player) -> bool, what: Signal) {
        self.players.iter().filter(|p| whom(p)).for_each(|player| signal(player.pid, what));
    }

    /// Reaps whoever has ended.
    fn collect(&mut self) {
        while let Some((pid, _)) = self.below.reap() {
            for player in self.players.iter_mut().filter(|p| p.pid == Some(pid)) {
                player.pid = None;
            }
            self.messenger = self.messenger.filter(|messenger| *messenger != pid);
        }
    }

    /// Whether nobody of the cast, and nothing of theirs, is left.
    fn is_alone(&self) -> bool {
        self.below.left().is_ok_and(|left| left.is_empty())
    }
}

impl Drop for Cast {
    fn drop(&mut self) {
        self.tell(|_| true, Signal::KILL);
        signal(self.messenger, Signal::KILL);
        // The guards see that their candidates are gone, and end the work.
        let limit = clock::now().after(self.grace + PATIENCE);
        self.collect();
        while !self.is_alone() && clock::now() < limit {
            std::thread::sleep(POLL);
            self.collect();
        }
    }
}

/// The arguments that make a process one of the cast.
fn player(place: &Place, name: &str, role: Role, first: bool) -> Vec<OsString> {
    let mut args = match role {
        Role::Grantor => {
            let mut args = words(&["node", "--name", name, "--state"], &place.state(name));
            args.extend(first.then(|| "--new".into()));
            args
        }
        Role::Candidate => words(&["run", "--id", name], Path::new("--value=demo")),
    };
    args.extend(words(&["--config"], &place.settings()));
    args.extend(words(&["--control"], &place.control(name)));
    if role == Role::Candidate {
        args.extend(words(&["--", MYSELF, WORKER], &place.work()));
    }
    args
}

fn words(words: &[&str], last: &Path) -> Vec<OsString> {
    words.iter().map(OsString::from).chain([last.into()]).collect()
}

/// Starts `tenure args`, which logs into the file of `name`.
fn spawn(place: &Place, name: &str, args: Vec<OsString>) -> Result<Pid, Failure> {
    let log = OpenOptions::new().create(true).append(true).open(place.log(name));
    let child = log.and_then(|log| {
        let mut command = extra::tenure(args);
        command.stdout(log.try_clone()?).stderr(log).spawn()
    });
    // It is waited for in `collect` and `reap`, with everybody else.
    child.map(|child| Pid::from_child(&child)).map_err(|error| system("starting a process", error))
}

/// Only a process that was not reaped yet is sent anything, so its number is still its own.
fn signal(pid: Option<Pid>, signal: Signal) {
    // That it has ended already is no failure.
    let _ = pid.map(|pid| kill_process(pid, signal));
}

/// How a process ended, with what it said last.
fn how(place: &Place, name: &str, status: WaitStatus) -> String {
    let log = fs::read(place.log(name)).unwrap_or_default();
    let log = String::from_utf8_lossy(&log);
    let errors = log.lines().rfind(|line| line.starts_with("error: "));
    let said = errors.map_or_else(String::new, |line| format!(" ({})", clipped(line)));
    match (status.terminating_signal(), status.exit_status()) {
        (Some(signal), _) => format!("signal {signal}"),
        (_, Some(code)) => format!("exit code {code}{said}"),
        (None, None) => "no known end".to_owned(),
    }
}

fn system(doing: &str, error: impl Into<io::Error>) -> Failure {
    let what = format!("{doing} failed: {}", error.into());
    Failure::new(Exit::System, what, "look at the limits of this process and at /proc")
}
