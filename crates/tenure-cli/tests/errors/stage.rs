//! The stage of a case, and the run of its command.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File, Permissions};
use std::net::UdpSocket;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use tempfile::TempDir;
use tenure_services::addresses;
use tenure_testkit::processes::wait;

use crate::case::{Case, Outcome, Step, words};

const MEMBERS: &str = "a=127.0.0.1:7101,b=127.0.0.1:7102,c=127.0.0.1:7103";
/// The user `nobody`, on all systems.
const NOBODY: u32 = 65_534;

type Result<T, E = Box<dyn std::error::Error>> = std::result::Result<T, E>;

pub(crate) type Text = (String, String);

/// Sets the stage of `case`, runs its command, and cleans up in any event. `texts` fill
/// placeholders of the case.
pub(crate) fn perform(case: &Case, texts: &[Text]) -> Result<Outcome> {
    let mut stage = Stage::new()?;
    stage.texts.extend(texts.iter().cloned());
    for step in &case.steps {
        stage.take(step).map_err(|error| format!("{} {}: {error}", step.verb, step.rest))?;
    }
    stage.run(&case.command)
}

struct Stage {
    dir: TempDir,
    /// Output of the processes; beside the directory, which belongs to the case.
    outputs: TempDir,
    variables: Vec<(OsString, OsString)>,
    texts: BTreeMap<String, String>,
    sockets: Vec<UdpSocket>,
    processes: BTreeMap<String, Child>,
    unprivileged: bool,
    /// Paths with changed modes, which would resist the cleaning up.
    closed: Vec<PathBuf>,
}

impl Stage {
    fn new() -> Result<Self> {
        let dir = TempDir::new()?;
        let texts = BTreeMap::from([
            ("{members}".into(), MEMBERS.into()),
            ("{dir}".into(), dir.path().display().to_string()),
        ]);
        Ok(Self {
            dir,
            outputs: TempDir::new()?,
            variables: Vec::new(),
            texts,
            sockets: Vec::new(),
            processes: BTreeMap::new(),
            unprivileged: false,
            closed: Vec::new(),
        })
    }

    fn take(&mut self, step: &Step) -> Result<()> {
        let rest = step.rest.as_str();
        match step.verb.as_str() {
            "env" => {
                let (name, value) = rest.split_once('=').ok_or("NAME=VALUE")?;
                self.variables.push((self.bytes(name), self.bytes(value)));
            }
            "file" => {
                let content = step.block.iter().flat_map(|line| {
                    let mut line = self.bytes(line).into_vec();
                    line.push(b'\n');
                    line
                });
                fs::write(self.path(rest), content.collect::<Vec<_>>())?;
            }
            "dir" => fs::create_dir_all(self.path(rest))?,
            "mode" => {
                let (path, mode) = rest.split_once(' ').ok_or("PATH MODE")?;
                let mode = Permissions::from_mode(u32::from_str_radix(mode, 8)?);
                fs::set_permissions(self.path(path), mode)?;
                self.closed.push(self.path(path));
            }
            "link" => {
                let (path, target) = rest.split_once(' ').ok_or("PATH TARGET")?;
                symlink(target, self.path(path))?;
            }
            "busy" | "free" => {
                let [address] = addresses();
                self.texts.insert(format!("{{port:{rest}}}"), address.port().to_string());
                if step.verb == "busy" {
                    self.sockets.push(UdpSocket::bind(address)?);
                }
            }
            "start" => self.start(rest)?,
            "until" => {
                let (name, text) = rest.split_once(' ').ok_or("NAME TEXT")?;
                self.until(name, text)?;
            }
            _ => self.unprivileged = true,
        }
        Ok(())
    }

    fn start(&mut self, rest: &str) -> Result<()> {
        let (name, line) = rest.split_once(' ').ok_or("NAME COMMAND")?;
        let (out, err) = (self.output(name, "out"), self.output(name, "err"));
        let mut command = self.command(&words(line))?;
        let child = command.stdout(File::create(out)?).stderr(File::create(err)?).spawn()?;
        self.texts.insert(format!("{{pid:{name}}}"), child.id().to_string());
        self.processes.insert(name.into(), child);
        Ok(())
    }

    fn until(&mut self, name: &str, text: &str) -> Result<()> {
        let (out, err) = (self.output(name, "out"), self.output(name, "err"));
        let child = self.processes.get_mut(name).ok_or("no such process")?;
        wait::eventually(&format!("{name} says {text}"), || {
            // Read the output only afterwards: a process may print the text just before its end.
            let ended = child.try_wait().unwrap();
            let seen = fs::read_to_string(&out).unwrap() + &fs::read_to_string(&err).unwrap();
            match (seen.contains(text), ended) {
                (true, _) => Some(Ok(())),
                (false, Some(status)) => {
                    Some(Err(format!("it has ended, {status}: {seen}").into()))
                }
                (false, None) => None,
            }
        })
    }

    fn run(&mut self, line: &[String]) -> Result<Outcome> {
        let mut command = self.command(line)?;
        if self.unprivileged && rustix::process::geteuid().is_root() {
            command = self.as_nobody(line)?;
        }
        let Output { status, stdout, stderr } = wait::output(&mut command);
        Ok(Outcome {
            exit: status.code().ok_or_else(|| format!("ended by a signal: {status}"))?,
            stderr: self.hide(&String::from_utf8(stderr)?),
            stdout: self.hide(&String::from_utf8(stdout)?),
        })
    }

    /// Runs a copy of the program that every user can reach: the build may be in root's home.
    fn as_nobody(&self, line: &[String]) -> Result<Command> {
        let program = self.outputs.path().join("tenure");
        if !program.exists() {
            // Copy in another process. If this process wrote the copy, a fork of another thread
            // could keep the copy open for writing, and the system runs no such file.
            let mut copy = Command::new("cp");
            wait::output(copy.arg(env!("CARGO_BIN_EXE_tenure")).arg(&program));
        }
        for open in [self.outputs.path(), self.dir.path(), &program] {
            fs::set_permissions(open, Permissions::from_mode(0o755))?;
        }
        let mut command = self.command_of(program.as_os_str(), line)?;
        command.uid(NOBODY).gid(NOBODY);
        Ok(command)
    }

    fn command(&self, line: &[String]) -> Result<Command> {
        match line.first().map(String::as_str) {
            Some("tenure") => self.command_of(env!("CARGO_BIN_EXE_tenure").as_ref(), line),
            Some(other) => self.command_of(other.as_ref(), line),
            None => Err("an empty command".into()),
        }
    }

    fn command_of(&self, program: &OsStr, line: &[String]) -> Result<Command> {
        let arguments = line.iter().skip(1);
        let mut command = Command::new(program);
        command
            .args(arguments.map(|argument| self.bytes(argument)))
            .current_dir(self.dir.path())
            .env_clear()
            .env("PATH", path_with_command())
            .env("XDG_RUNTIME_DIR", self.dir.path());
        if !self.processes.is_empty() {
            // With this round trip, a node counts as silent after 2 s without an answer, not after
            // 250 ms.
            command.env("TENURE_ROUND_TRIP", "100ms");
        }
        command.envs(self.variables.iter().cloned()).stdin(Stdio::null());
        Ok(command)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(self.bytes(name))
    }

    fn output(&self, name: &str, stream: &str) -> PathBuf {
        Path::join(self.outputs.path(), format!("{name}.{stream}"))
    }

    /// `text` with placeholders and escapes replaced.
    fn bytes(&self, text: &str) -> OsString {
        let mut text = repeated(text);
        for (placeholder, value) in &self.texts {
            text = text.replace(placeholder, value);
        }
        OsString::from_vec(unescaped(&text))
    }

    /// The output of a process, with placeholders for texts that differ between runs.
    fn hide(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for (placeholder, value) in &self.texts {
            // A port, a process id and a number of seconds may be the same number.
            text = match placeholder.split_once(':') {
                Some(("{port", _)) => replace_number(&text, ":", value, placeholder),
                Some(("{pid", _)) => replace_number(&text, "process ", value, placeholder),
                _ if placeholder == "{members}" => text,
                _ => text.replace(value, placeholder),
            };
        }
        hide_resolver(hide_digests(text))
    }
}

/// Each system says in its own words why a name does not resolve.
fn hide_resolver(mut text: String) -> String {
    let before = "does not resolve (";
    let mut from = 0;
    while let Some(found) = text[from..].find(before) {
        from += found + before.len();
        let Some(end) = text[from..].find(')') else { break };
        text.replace_range(from..from + end, "{resolver}");
    }
    text
}

/// Digests cover the ports, which differ in each run.
fn hide_digests(mut text: String) -> String {
    for before in ["(digest ", ", here "] {
        let mut from = 0;
        while let Some(found) = text[from..].find(before) {
            from += found + before.len();
            let digits = text[from..].bytes().take_while(u8::is_ascii_hexdigit).count();
            if digits == 16 {
                text.replace_range(from..from + digits, "{digest}");
            }
        }
    }
    text
}

/// The search path, with the command in it for shells.
fn path_with_command() -> OsString {
    let command = Path::new(env!("CARGO_BIN_EXE_tenure")).parent().unwrap();
    let others = std::env::var_os("PATH").unwrap_or_default();
    let all = [command.to_owned()].into_iter().chain(std::env::split_paths(&others));
    std::env::join_paths(all).unwrap()
}

impl Drop for Stage {
    fn drop(&mut self) {
        for child in self.processes.values_mut() {
            // An ended process cannot be killed.
            let _ = child.kill();
            let _ = child.wait();
        }
        for path in self.closed.iter().rev() {
            let _ = fs::set_permissions(path, Permissions::from_mode(0o700));
        }
    }
}

/// Expands `{repeat:x:3}` to `xxx`.
fn repeated(text: &str) -> String {
    let Some((before, rest)) = text.split_once("{repeat:") else { return text.into() };
    let Some((inside, after)) = rest.split_once('}') else { return text.into() };
    match inside.rsplit_once(':').and_then(|(what, times)| Some((what, times.parse().ok()?))) {
        Some((what, times)) => format!("{before}{}{}", what.repeat(times), repeated(after)),
        None => text.into(),
    }
}

fn unescaped(text: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        match (byte, byte == b'\\') {
            (_, false) => bytes.push(byte),
            (_, true) => match rest.next() {
                Some(b'n') => bytes.push(b'\n'),
                Some(b't') => bytes.push(b'\t'),
                Some(b'x') => {
                    let digits = [rest.next().unwrap(), rest.next().unwrap()];
                    let digits = str::from_utf8(&digits).unwrap();
                    bytes.push(u8::from_str_radix(digits, 16).unwrap());
                }
                other => bytes.extend(other),
            },
        }
    }
    bytes
}

/// Replaces `number` after these words where it stands alone: 71 is not in 7101.
fn replace_number(text: &str, behind: &str, number: &str, with: &str) -> String {
    let is_digit = |c: char| c.is_ascii_digit();
    let (mut done, mut rest) = (String::new(), text);
    while let Some(at) = rest.find(number) {
        let (before, after) = (&rest[..at], &rest[at + number.len()..]);
        let alone = !before.ends_with(is_digit) && !after.starts_with(is_digit);
        done += before;
        done += if alone && before.ends_with(behind) { with } else { number };
        rest = after;
    }
    done + rest
}
