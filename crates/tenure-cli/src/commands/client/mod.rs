//! The command's side of the control sockets.

mod named;

use std::fs;
use std::future::Future;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::Value;
use tenure::clock;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};

use crate::control::{
    Answer, Request, SOCKET, STEPS_DOWN, UNKNOWN_REQUEST, socket_file, until_file,
};
use crate::exit::Exit;
use crate::failure::{self, Failure};
use crate::invocation::ask::{Runner, TellSettings};
use crate::protocol::Realms;
use crate::settings::Origins;

/// The longest wait for an answer: CMD may use its whole grace, and then other nodes must confirm
/// the release.
const PATIENCE: Duration = Duration::from_secs(90);
const ANSWER_MAX: u64 = 1 << 20;

/// The wait after which the client reports the reason of the delay.
const SILENT: Duration = Duration::from_secs(2);

/// The longest wait for the status of one named process.
const STATUS_MAX: Duration = Duration::from_secs(5);

/// The longest wait for each status in a search: a stopped runner must not hide the leader.
const STATUS_PATIENCE: Duration = Duration::from_secs(1);

/// Sends one request to the socket at `path`; returns `None` after `patience`.
pub(super) async fn ask_for(
    path: &Path,
    request: &Request,
    patience: Duration,
) -> Result<Option<Value>, Failure> {
    exchange(path, request, patience).await.transpose()
}

pub(super) async fn ask(path: &Path, request: &Request) -> Result<Value, Failure> {
    socket_file::check_length(path)?;
    ask_within(path, request, PATIENCE).await
}

/// Reads the status of the process at `path`, and refuses a process that the settings do not name.
pub(super) async fn status(
    path: &Path,
    origins: &Origins,
    realms: &Realms,
) -> Result<Value, Failure> {
    socket_file::check_length(path)?;
    let Some(status) = ask_for(path, &Request::Status, STATUS_MAX).await? else {
        let what = format!(
            "the process at the control socket {} does not answer within {STATUS_MAX:?}: it is \
             stopped, or hangs",
            path.display()
        );
        let fix = "let the process continue (kill -CONT), check its disk and its log, or end it";
        return Err(Failure::new(Exit::Unreachable, what, fix));
    };
    named::check(None, &status, origins, realms).map(|()| status)
}

/// Reads the status before a request, and waits for it as long as for the request itself.
async fn patient_status(
    path: &Path,
    settings: &TellSettings,
    origins: &Origins,
) -> Result<(), Failure> {
    let status = ask(path, &Request::Status).await?;
    named::check(None, &status, origins, &settings.realms)
}

async fn ask_within(path: &Path, request: &Request, patience: Duration) -> Result<Value, Failure> {
    exchange(path, request, patience).await.unwrap_or_else(|| {
        let what = format!("no answer at the control socket {} in {patience:?}", path.display());
        let fix = "check the log of the process, which still carries out the request. CMD may need \
                   long to end, or the other nodes may not have confirmed the resignation yet";
        Err(Failure::new(Exit::Unreachable, what, fix))
    })
}

async fn exchange(
    path: &Path,
    request: &Request,
    patience: Duration,
) -> Option<Result<Value, Failure>> {
    let unreachable = |error: io::Error| {
        if error.kind() == io::ErrorKind::PermissionDenied {
            let what =
                format!("this user may not use the control socket {}: {error}", path.display());
            let fix = "run this command as the user of that process, or as root";
            return Failure::new(Exit::System, what, fix);
        }
        if let Some(killed) = killed(path, &error) {
            return killed;
        }
        let what = format!("no process answers at the control socket {}: {error}", path.display());
        let fix = match a_role_of(path) {
            Some(one) => {
                format!(
                    "give --control the socket of one role of the process, such as {}",
                    one.display()
                )
            }
            None => "start the process, or give --control PATH. If a running process has lost its \
                     socket, the process makes the socket again within a second, or warns why it \
                     cannot"
                .to_owned(),
        };
        Failure::new(Exit::Unreachable, what, fix)
    };
    let exchange = told(path, patience, talk(path, request));
    let answer = tokio::time::timeout(patience, exchange).await.ok()?;
    Some(match answer {
        Ok(Ok(Answer::Done(value))) => Ok(value),
        Ok(Ok(Answer::Refused { what, .. })) if what.starts_with(UNKNOWN_REQUEST) => {
            Err(unknown(path, &what))
        }
        Ok(Ok(Answer::Refused { what, fix })) => Err(Failure::new(Exit::Refused, what, fix)),
        Ok(Err(refused)) => Err(refused),
        Err(error) => Err(unreachable(error)),
    })
}

/// The failure for a process that does not know the request. The process goes on, and may lead.
fn unknown(path: &Path, what: &str) -> Failure {
    let what = format!("the process at the control socket {} says: {what}", path.display());
    let fix = "restart that process with this version of tenure: its own version does not know \
               this request";
    Failure::new(Exit::Unreachable, what, fix)
}

/// The failure for a runner that was killed while it led. Its socket has no listener, and the
/// deadline of its CMD is still to come.
fn killed(path: &Path, error: &io::Error) -> Option<Failure> {
    let is_refused = error.kind() == io::ErrorKind::ConnectionRefused;
    let until = socket_file::deadline(&until_file(path)).filter(|_| is_refused)?;
    let left = until.since(clock::now());
    let what = format!(
        "the runner at the control socket {} has ended without resigning: its lease runs out by \
         itself, in {left:.1?}",
        path.display()
    );
    Some(Failure::new(Exit::Unreachable, what, "wait, then ask tenure leader who leads"))
}

/// The first existing socket `PATH.0`, `PATH.1`, … of a process with several roles.
fn a_role_of(path: &Path) -> Option<PathBuf> {
    let name = path.file_name()?.to_str()?;
    let role = |file: PathBuf| {
        let role = file.file_name()?.to_str()?.strip_prefix(name)?.strip_prefix('.')?;
        Some((role.parse::<u32>().ok()?, file))
    };
    let directory = path.parent().filter(|of| !of.as_os_str().is_empty());
    let directory = directory.unwrap_or(Path::new("."));
    let files = directory.read_dir().ok()?.flatten().map(|entry| entry.path());
    files.filter_map(role).min().map(|(_, file)| file)
}

async fn talk(path: &Path, request: &Request) -> io::Result<Result<Answer, Failure>> {
    let mut stream = match socket_file::connect(path).await {
        Ok(connected) => connected?,
        Err(refused) => return Ok(Err(refused)),
    };
    let mut line = serde_json::to_vec(request).map_err(io::Error::other)?;
    line.push(b'\n');
    stream.write_all(&line).await?;
    let mut answer = String::new();
    BufReader::new(stream.take(ANSWER_MAX)).read_line(&mut answer).await?;
    if answer.is_empty() {
        let why = "the process ended without an answer";
        return Err(io::Error::new(io::ErrorKind::UnexpectedEof, why));
    }
    serde_json::from_str(&answer).map(Ok).map_err(io::Error::other)
}

/// Describes why the process at `path` does not answer. The socket of a process that is stopped by
/// SIGSTOP still accepts a request.
pub(super) async fn held_up_by(path: &Path) -> String {
    let status = tokio::time::timeout(STATUS_PATIENCE, talk(path, &Request::Status)).await;
    let Ok(Ok(Ok(Answer::Done(status)))) = status else {
        return "the process does not answer: it is stopped, hangs, or ends".to_owned();
    };
    match (status["waiting"]["text"].as_str(), status["pid"].as_u64()) {
        (Some(waiting), _) => waiting.to_owned(),
        (None, Some(pid)) => format!("CMD, process {pid}, has not ended"),
        (None, None) => "the other nodes have not confirmed the resignation".to_owned(),
    }
}

/// Awaits `exchange`. After [`SILENT`], reports the reason of the delay, and for how long the
/// command still waits at most.
async fn told<T>(path: &Path, patience: Duration, exchange: impl Future<Output = T>) -> T {
    tokio::pin!(exchange);
    tokio::select! {
        biased;
        answer = &mut exchange => return answer,
        () = tokio::time::sleep(SILENT) => {}
    }
    let says = async {
        let why = held_up_by(path).await;
        let path = path.display();
        let left = patience.saturating_sub(SILENT);
        failure::warn(&format!(
            "no answer at the control socket {path} yet: {why}; this command waits at most \
             {left:?} more"
        ));
    };
    tokio::select! {
        biased;
        answer = &mut exchange => return answer,
        () = says => {}
    }
    exchange.await
}

/// Finds the socket of the leading runner: several candidates of one election may run on this
/// machine, and at most one of them leads. A socket given by the user must belong to the named
/// runner.
pub(super) async fn find_leader(
    settings: &TellSettings,
    origins: &Origins,
) -> Result<PathBuf, Failure> {
    match &settings.runner {
        Runner::Socket(path) => {
            patient_status(path, settings, origins).await.map(|()| path.clone())
        }
        Runner::Among { directory, prefix } => {
            let is_meant = |status: &Value, socket: &Path| {
                named::check(Some(socket), status, origins, &settings.realms)
            };
            search(directory, prefix, settings, is_meant).await
        }
    }
}

/// Finds the leading runner that `is_meant` accepts. Two clusters may have elections of one name.
async fn search(
    directory: &Path,
    prefix: &str,
    settings: &TellSettings,
    is_meant: impl Fn(&Value, &Path) -> Result<(), Failure>,
) -> Result<PathBuf, Failure> {
    let election = settings.election.as_str();
    let is_ours = |status: &Value| is_of(settings, status);
    socket_file::sweep_all(directory).await;
    let mut asked = 0;
    let mut found = Vec::new();
    let mut leaving = None;
    let mut mute = SilentCandidates::default();
    let mut other = None;
    for socket in sockets(directory, prefix) {
        let status = ask_within(&socket.path(), &Request::Status, STATUS_PATIENCE).await;
        let Ok(status) = status else {
            mute.add(&socket.path()).await;
            continue;
        };
        if is_ours(&status)
            && let Err(failure) = is_meant(&status, &socket.path())
        {
            other = Some(failure);
            continue;
        }
        asked += 1;
        if is_ours(&status) {
            RunnerStatus::add(&mut found, socket.path(), &status);
        }
        let waits = &status["waiting"];
        let gives_up = ["promised", "giving-up"].iter().any(|kind| waits["waiting"] == *kind);
        if is_ours(&status) && gives_up {
            leaving = waits["text"].as_str().map(ToOwned::to_owned).or(leaving);
        }
    }
    if let Some(socket) = chosen(settings, found)? {
        return Ok(socket);
    }
    Err(match leaving {
        Some(why) => {
            let what = format!("nobody leads {election} now: {why}");
            Failure::new(Exit::Refused, what, "wait, then ask tenure leader who leads")
        }
        None if asked == 0
            && let Some(other) = other =>
        {
            other
        }
        None => match mute.failure(election) {
            Some(failure) => failure,
            None if asked == 0 => nobody(settings, &running(directory, settings).await),
            None => nobody_leads(election, asked),
        },
    })
}

/// A process that stands for the election. With roles, `socket` belongs to a role that the process
/// leads, if it leads any.
#[derive(Debug)]
struct RunnerStatus {
    socket: PathBuf,
    /// Id of the process, if the election has roles: several sockets then belong to one process.
    id: Option<Value>,
    leads: bool,
}

impl RunnerStatus {
    fn add(found: &mut Vec<Self>, socket: PathBuf, status: &Value) {
        let id = (status["of"].is_string()).then(|| status["id"].clone());
        let leads = status["leading"] == true;
        match found.iter_mut().find(|other| id.is_some() && other.id == id) {
            Some(other) if leads && !other.leads => (other.socket, other.leads) = (socket, true),
            Some(_) => {}
            None => found.push(Self { socket, id, leads }),
        }
    }
}

/// Chooses the leading runner. `--all` also accepts a single runner that leads nothing: the service
/// may have given the runner roles that it does not lead yet.
fn chosen(
    settings: &TellSettings,
    mut found: Vec<RunnerStatus>,
) -> Result<Option<PathBuf>, Failure> {
    let leading = found.iter().filter(|one| one.leads).count();
    if settings.alone {
        return match found.len() {
            0 | 1 => Ok(found.pop().map(|one| one.socket)),
            _ => Err(several(settings, leading, &found)),
        };
    }
    if leading > 1 || (leading == 0 && settings.all && found.len() > 1) {
        return Err(several(settings, leading, &found));
    }
    found.retain(|one| one.leads || (settings.all && leading == 0));
    Ok(found.pop().map(|one| one.socket))
}

/// Whether the refusal of an order passes by itself: a runner steps down, or candidates on this
/// machine wait, and know no leader.
pub(super) async fn may_pass(settings: &TellSettings, refused: &Failure) -> bool {
    if refused.what == STEPS_DOWN {
        return true;
    }
    let sockets = match &settings.runner {
        Runner::Socket(path) => vec![path.clone()],
        Runner::Among { directory, prefix } => {
            sockets(directory, prefix).map(|socket| socket.path()).collect()
        }
    };
    for socket in sockets {
        let status = ask_within(&socket, &Request::Status, STATUS_PATIENCE).await;
        if status.is_ok_and(|status| is_of(settings, &status) && is_undecided(&status)) {
            return true;
        }
    }
    false
}

/// Whether a candidate waits for the end of an election, and not for a leader or a fault.
fn is_undecided(status: &Value) -> bool {
    let waits = &status["waiting"];
    status["leading"] == false
        && match waits["waiting"].as_str() {
            None | Some("promised" | "giving-up" | "drawing") => true,
            Some("behind") => waits["leading"] == false,
            Some(_) => false,
        }
}

#[derive(Default)]
struct SilentCandidates {
    silent: Vec<String>,
    killed: Option<Failure>,
}

impl SilentCandidates {
    async fn add(&mut self, path: &Path) {
        match socket_file::connect(path).await {
            Ok(Err(error)) if socket_file::is_gone(&error) => {
                self.killed = killed(path, &error).or(self.killed.take());
            }
            Ok(_) => self.silent.push(path.display().to_string()),
            // Sockets in an unsafe directory are ignored.
            Err(_) => {}
        }
    }

    fn failure(self, election: &str) -> Option<Failure> {
        let stopped = || {
            let what = format!(
                "no runner that answers on this machine leads {election}, and no answer comes from \
                 the control socket {}",
                self.silent.join(", ")
            );
            let fix = "the process of that socket may be stopped: let it continue (kill -CONT), or \
                       end it";
            Failure::new(Exit::Unreachable, what, fix)
        };
        self.killed.or_else(|| (!self.silent.is_empty()).then(stopped))
    }
}

/// Whether the runner stands for the given election, or for one of its roles.
fn is_of(settings: &TellSettings, status: &Value) -> bool {
    let election = settings.election.as_str();
    let role = settings.role.is_none_or(|role| status["role"] == role);
    status["election"] == election || (status["of"] == election && role)
}

/// The failure when several processes lead. With roles, each process of a group leads some roles.
/// Without roles, one process has lost the leadership since its answer, or the processes belong to
/// two clusters.
fn several(settings: &TellSettings, leading: usize, found: &[RunnerStatus]) -> Failure {
    let TellSettings { election, all, alone, .. } = settings;
    let lead = match leading {
        0 => "none of them leads".to_owned(),
        _ => format!("{leading} of them lead"),
    };
    let what = format!(
        "{} processes stand for {election} on this machine, and {lead}: no request was sent",
        found.len()
    );
    let fix = match (*all, leading) {
        _ if *alone => "name the process by --control",
        (true, 0) => {
            "ask again when one of the processes leads, or name the process that is to join again, \
             by --control"
        }
        (true, _) => "name each process that is to give back its roles, by --control",
        (false, _) => "ask again, or name the right process, by --control",
    };
    let meant = found.iter().filter(|one| one.leads || leading == 0 || *alone);
    let paths: Vec<_> = meant.map(|one| one.socket.display().to_string()).collect();
    Failure::new(Exit::Refused, what, format!("{fix}: {}", paths.join(", ")))
}

/// The control sockets with this prefix, of running and of dead processes.
fn sockets(directory: &Path, prefix: &str) -> impl Iterator<Item = fs::DirEntry> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    entries.filter(move |entry| {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        name.starts_with(prefix) && name.ends_with(SOCKET)
    })
}

const ELSEWHERE: &str = "run this command on the machine of the leader (tenure leader names the \
                         leader), as the user of its runner; or give --control PATH; or give \
                         --remote, if the protocol has it. If a running process has lost its \
                         socket, the process makes the socket again within a second, or warns why \
                         it cannot";

fn nobody(settings: &TellSettings, running: &[String]) -> Failure {
    let TellSettings { election, sought, .. } = settings;
    let what = format!("no candidate for {election} ({sought}) runs here as this user");
    match running {
        [] => Failure::new(Exit::Unreachable, what, ELSEWHERE),
        running => {
            let what = format!("{what}; other candidates here: {}", running.join("; "));
            let fix = format!(
                "name the right process, by --protocol and by --cluster, --namespace or --group; \
                 or {ELSEWHERE}"
            );
            Failure::new(Exit::Unreachable, what, fix)
        }
    }
}

fn nobody_leads(election: &str, asked: usize) -> Failure {
    let what = format!("none of the {asked} candidates for {election} on this machine leads");
    Failure::new(Exit::Refused, what, ELSEWHERE)
}

/// The largest number of runners that an error names.
const NAMED_MAX: usize = 4;
/// The largest number of runners that are asked.
const ASKED_MAX: usize = 64;

/// Describes the runners of this user that answer, those of the given election first.
async fn running(directory: &Path, settings: &TellSettings) -> Vec<String> {
    let mut found = Vec::new();
    // A socket of a dead process has no listener, and fails at once.
    for socket in sockets(directory, "run-").take(ASKED_MAX) {
        let asked = ask_within(&socket.path(), &Request::Status, STATUS_PATIENCE).await;
        let named = asked.ok().and_then(|it| Some((!is_of(settings, &it), named::runner(&it)?)));
        found.extend(named);
    }
    found.sort_by_key(|(other, _)| *other);
    let more = found.len().saturating_sub(NAMED_MAX);
    let named = found.into_iter().take(NAMED_MAX).map(|(_, named)| named);
    named.chain((more > 0).then(|| format!("and {more} more"))).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// The socket that a search chooses among these ids, roles and leaderships.
    fn among(all: bool, roles: &[(&str, u32, bool)]) -> Result<Option<PathBuf>, Failure> {
        choose(all, false, roles)
    }

    fn choose(
        all: bool,
        alone: bool,
        roles: &[(&str, u32, bool)],
    ) -> Result<Option<PathBuf>, Failure> {
        let settings = TellSettings {
            election: "r".parse().unwrap(),
            role: None,
            all,
            alone,
            runner: Runner::Socket(PathBuf::new()),
            realms: Realms { names: Vec::new(), rosters: Vec::new() },
            sought: String::new(),
        };
        let mut found = Vec::new();
        for (id, role, leading) in roles {
            let status = json!({"of": "r", "id": id, "role": role, "leading": leading});
            RunnerStatus::add(&mut found, format!("{id}.{role}").into(), &status);
        }
        chosen(&settings, found)
    }

    #[test]
    fn resign_finds_the_one_leader() {
        let standing = ("a", 0, false);
        for all in [false, true] {
            let socket = among(all, &[standing, ("b", 0, false), ("b", 1, true), ("b", 2, true)]);
            assert_eq!(socket, Ok(Some("b.1".into())), "{all}");
        }
        assert_eq!(among(false, &[standing]), Ok(None));
        assert_eq!(among(true, &[standing]), Ok(Some("a.0".into())));
    }

    #[test]
    fn only_process_is_found() {
        let alone = |roles: &[_]| choose(false, true, roles);
        assert_eq!(alone(&[]), Ok(None));
        assert_eq!(alone(&[("a", 0, false), ("a", 1, true)]), Ok(Some("a.1".into())));
        let two = alone(&[("a", 0, false), ("b", 0, true)]).unwrap_err();
        assert_eq!(two.fix, "name the process by --control: a.0, b.0");
    }

    #[test]
    fn resign_counts_those_that_lead() {
        let none = among(true, &[("a", 0, false), ("a", 1, false), ("b", 0, false)]).unwrap_err();
        let both = among(true, &[("a", 0, true), ("b", 1, true), ("c", 0, false)]).unwrap_err();
        let asked = "on this machine, and";
        assert_eq!(
            [none.what, both.what],
            [
                format!("2 processes stand for r {asked} none of them leads: no request was sent"),
                format!("3 processes stand for r {asked} 2 of them lead: no request was sent"),
            ]
        );
        assert!(none.fix.ends_with(": a.0, b.0"), "{}", none.fix);
        assert!(both.fix.ends_with(": a.0, b.1"), "{}", both.fix);
    }

    #[test]
    fn order_awaits_undecided_election() {
        let waits = |waiting: Value| {
            is_undecided(&json!({"election": "e", "leading": false, "waiting": waiting}))
        };
        let behind = |leading| json!({"waiting": "behind", "behind": "one", "leading": leading});
        assert!(waits(Value::Null) && waits(json!({"waiting": "promised"})));
        assert!(waits(behind(false)) && !waits(behind(true)));
        assert!(!waits(json!({"waiting": "no-quorum"})));
        assert!(!is_undecided(&json!({"election": "e", "leading": true})));
    }

    /// The answer of a process that was started before its package was replaced.
    #[tokio::test]
    async fn earlier_version_does_not_answer() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("c.sock");
        let listener = tokio::net::UnixListener::bind(&path).unwrap();
        let refuses = async {
            let (mut stream, _) = listener.accept().await.unwrap();
            BufReader::new(&mut stream).read_line(&mut String::new()).await.unwrap();
            let what = "not a request: unknown variant `edict`".to_owned();
            let refused = Answer::Refused { what, fix: String::new() };
            let line = format!("{}\n", serde_json::to_string(&refused).unwrap());
            stream.write_all(line.as_bytes()).await.unwrap();
        };
        let (failed, ()) = tokio::join!(ask(&path, &Request::Edict { fence: 7 }), refuses);
        let failed = failed.unwrap_err();
        assert_eq!(failed.exit, Exit::Unreachable, "{}", failed.what);
        assert!(failed.what.contains("not a request: unknown variant"), "{}", failed.what);
    }
}
