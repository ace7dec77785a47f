//! A reader of the documents, whose machines carry out the commands of a page.
//!
//! A [`Reader`] takes the code blocks of a page in order. A block runs on the machines that stand
//! behind its language (```` ```sh a b ````); without machines, on the machine at hand. All blocks
//! of a machine share one folder, which has `/etc`, `/var`, `/run`, `/srv` and `/tmp` of the page.
//!
//! | block | treatment |
//! |---|---|
//! | `sh` | runs; every command must succeed |
//! | `console` | runs what stands behind `$`; the output must have the lines of the page |
//! | a block that begins with `# PATH` | becomes this file |
//! | `text`, and others | left alone: commands that cannot run here |
//!
//! Each machine has one shell for all blocks, so that variables and background jobs last.

mod page;

use std::fs::{self, File, Permissions};
use std::io::Write;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};

use rustix::process::Signal;
use tempfile::TempDir;
use tenure_services::last_lines;

use self::page::{Block, blocks, exchanges, has_lines};
use super::marked::{MARK, Marked};
use super::network::own_net;
use super::wait::eventually;

/// Folders of the system that each machine has for itself.
const FOLDERS: [&str; 5] = ["/etc/", "/var/", "/run/", "/srv/", "/tmp/"];

/// The machine of blocks that name no machine.
const HERE: &str = "here";

/// A reader with machines. Dropping it kills all processes that the page has started.
#[must_use]
pub struct Reader {
    folder: TempDir,
    /// Texts of pages, and the texts in their place.
    replaced: Vec<(String, String)>,
    shells: Vec<(String, Shell)>,
    commands: usize,
}

/// The terminal of a machine.
struct Shell {
    child: Child,
    input: ChildStdin,
}

impl Reader {
    /// A reader whose machines have the command `tenure`, `env!("CARGO_BIN_EXE_tenure")`. The
    /// addresses 10.0.0.N and 127.0.0.1 of a page become addresses of this reader on loopback.
    pub fn new(tenure: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("bin")).unwrap();
        symlink(tenure, folder.path().join("bin/tenure")).unwrap();
        let [high, low] = own_net();
        Self { folder, replaced: Vec::new(), shells: Vec::new(), commands: 0 }
            .with("10.0.0.", &format!("127.{high}.{low}."))
            .with("127.0.0.1:", &format!("127.{high}.{low}.10:"))
            .with("\"127.0.0.1\"", &format!("\"127.{high}.{low}.10\""))
    }

    /// Replaces a text of all pages. A text that is given later takes precedence over earlier
    /// texts.
    pub fn with(mut self, text: &str, by: &str) -> Self {
        self.replaced.insert(0, (text.to_owned(), by.to_owned()));
        self
    }

    /// Puts a script in the place of a program that this machine lacks, or must not run. `$ROOT` is
    /// the folder of the machine.
    pub fn stand_in(self, program: &str, script: &str) -> Self {
        let path = self.folder.path().join("bin").join(program);
        fs::write(&path, script).unwrap();
        fs::set_permissions(&path, Permissions::from_mode(0o755)).unwrap();
        self
    }

    /// The folder of a machine.
    pub fn root(&self, machine: &str) -> PathBuf {
        self.folder.path().join(machine)
    }

    /// Follows a page from its first block to its last.
    pub fn follow(&mut self, page: &str) {
        self.follow_on(HERE, page);
    }

    /// Follows a page, with this machine at hand.
    pub fn follow_on(&mut self, machine: &str, page: &str) {
        let blocks = blocks(page);
        let mut followed = 0;
        for block in &blocks {
            let here = vec![machine];
            let machines = if block.machines.is_empty() { &here } else { &block.machines };
            for machine in machines {
                followed += usize::from(self.use_block(machine, block));
            }
        }
        assert!(followed > 0, "the page has no block to run");
    }

    /// Uses a block on a machine; returns whether there was something to run.
    fn use_block(&mut self, machine: &str, block: &Block<'_>) -> bool {
        let text = self.replace(machine, &block.text);
        if let Some(path) = text.lines().next().and_then(|line| line.strip_prefix("# "))
            && let Some(file) = self.file(machine, path)
        {
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, &text).unwrap();
            return false;
        }
        let place = format!("{machine}, line {}", block.line);
        match block.language {
            "sh" => self.run(machine, &place, &format!("set -e\n{text}set +e\n"), &[]),
            "console" => {
                for exchange in exchanges(&text) {
                    let command = format!("{}\n", exchange.command);
                    match is_question(&exchange.command) {
                        true => self.ask(machine, &place, &command, &exchange.output),
                        false => self.run(machine, &place, &command, &exchange.output),
                    }
                }
            }
            _ => return false,
        }
        true
    }

    /// The file that the first line of a block names, if it is a path and no comment.
    fn file(&self, machine: &str, path: &str) -> Option<PathBuf> {
        let is_path = Path::new(path).extension().is_some() && !path.contains(' ');
        is_path.then(|| self.root(machine).join("home").join(path))
    }

    /// The text as this machine uses it. The result of a replacement is not replaced again.
    fn replace(&self, machine: &str, text: &str) -> String {
        let text = with_folders_below(&self.root(machine), text);
        let mut new = String::new();
        let mut rest = text.as_str();
        while let Some(letter) = rest.chars().next() {
            match self.replaced.iter().find(|(said, _)| rest.starts_with(said)) {
                Some((said, meant)) => {
                    new.push_str(meant);
                    rest = &rest[said.len()..];
                }
                None => {
                    new.push(letter);
                    rest = &rest[letter.len_utf8()..];
                }
            }
        }
        new
    }

    /// Runs commands in the shell of a machine, and waits for these lines on its terminal. Jobs in
    /// the background may write these lines, too.
    fn run(&mut self, machine: &str, place: &str, commands: &str, shown: &[String]) {
        let before = self.execute(machine, place, commands);
        let terminal = self.terminal(machine);
        let wanted = format!("{place}: {commands}{}", shown.join("\n"));
        eventually(&wanted, || has_lines(&said(&terminal, before), shown).then_some(()));
    }

    /// Asks until the answer has these lines: on a busy machine, members may answer late.
    fn ask(&mut self, machine: &str, place: &str, question: &str, shown: &[String]) {
        let terminal = self.terminal(machine);
        let wanted = format!("{place}: {question}{}", shown.join("\n"));
        eventually(&wanted, || {
            let before = self.execute(machine, place, question);
            has_lines(&said(&terminal, before), shown).then_some(())
        });
    }

    /// Runs commands to their end, and returns the length of the terminal's text before.
    fn execute(&mut self, machine: &str, place: &str, commands: &str) -> usize {
        self.commands += 1;
        let [script, mark] = ["sh", "done"].map(|extension| {
            self.folder.path().join(format!("{:03}-{machine}.{extension}", self.commands))
        });
        fs::write(&script, commands).unwrap();
        let terminal = self.terminal(machine);
        let before = fs::read(&terminal).map_or(0, |log| log.len());
        let line = format!(". '{}' </dev/null\n: >'{}'\n", script.display(), mark.display());
        let shell = self.shell(machine);
        shell.input.write_all(line.as_bytes()).unwrap();
        eventually(&format!("{place}: {commands}"), || {
            let ended = shell.child.try_wait().unwrap();
            let said = said(&terminal, before);
            assert!(ended.is_none(), "{place}: a command failed:\n{commands}\n{said}");
            mark.exists().then_some(())
        });
        before
    }

    fn terminal(&self, machine: &str) -> PathBuf {
        self.folder.path().join(format!("{machine}.log"))
    }

    fn shell(&mut self, machine: &str) -> &mut Shell {
        if let Some(nth) = self.shells.iter().position(|(name, _)| name == machine) {
            return &mut self.shells[nth].1;
        }
        let root = self.root(machine);
        for folder in ["home", "etc/tenure", "var/lib", "run", "srv", "tmp"] {
            fs::create_dir_all(root.join(folder)).unwrap();
        }
        let path = std::env::var("PATH").unwrap_or_default();
        let terminal = File::create(self.terminal(machine)).unwrap();
        let mut child = Command::new("sh")
            .current_dir(root.join("home"))
            .env_clear()
            .env("PATH", format!("{}:{path}", self.folder.path().join("bin").display()))
            .env("ROOT", &root)
            .env("HOME", root.join("home"))
            .env("HOST", machine)
            .env("XDG_RUNTIME_DIR", root.join("run"))
            .env(MARK, self.folder.path())
            .stdin(Stdio::piped())
            .stdout(terminal.try_clone().unwrap())
            .stderr(terminal)
            .spawn()
            .unwrap();
        let input = child.stdin.take().unwrap();
        self.shells.push((machine.to_owned(), Shell { child, input }));
        let Some((_, shell)) = self.shells.last_mut() else { unreachable!("one was added") };
        shell
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        if std::thread::panicking() {
            print_logs(self.folder.path());
        }
        // A process may start another process before it is killed, so look again.
        loop {
            let left = Marked::all(self.folder.path());
            if left.is_empty() {
                break;
            }
            left.iter().for_each(|process| process.signal(Signal::KILL));
            for (_, shell) in &mut self.shells {
                let _ = shell.child.try_wait();
            }
        }
        for (_, shell) in &mut self.shells {
            let _ = shell.child.wait();
        }
    }
}

/// The text with each path in [`FOLDERS`] below `root`. A folder within a longer path stays.
fn with_folders_below(root: &Path, text: &str) -> String {
    let mut moved = String::new();
    let mut before = '\n';
    for (place, letter) in text.char_indices() {
        let is_start = matches!(before, '\n' | ' ' | '"' | '\'' | '=' | '>' | '<' | '@' | ':');
        if is_start && FOLDERS.iter().any(|folder| text[place..].starts_with(folder)) {
            moved.push_str(&root.display().to_string());
        }
        moved.push(letter);
        before = letter;
    }
    moved
}

/// Whether a command only asks for a state, and changes nothing.
fn is_question(command: &str) -> bool {
    let words: Vec<_> = command.split_whitespace().collect();
    match words[..] {
        ["tenure", "leader" | "candidates" | "elections", ..] | ["tenure", "members"] => true,
        ["tenure", "members", option, ..] => option.starts_with("--"),
        _ => false,
    }
}

/// The text of a terminal after its first `before` bytes.
fn said(terminal: &Path, before: usize) -> String {
    let log = fs::read(terminal).unwrap_or_default();
    String::from_utf8_lossy(&log[before.min(log.len())..]).into_owned()
}

/// Prints the ends of the terminals of all machines.
fn print_logs(folder: &Path) {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut files: Vec<_> = entries.map(|entry| entry.path()).collect();
    files.retain(|path| path.extension().is_some_and(|extension| extension == "log"));
    files.sort();
    for path in files {
        let log = fs::read(&path).unwrap_or_default();
        let name = path.file_name().unwrap_or_default().display();
        eprintln!("--- {name}\n{}", last_lines(&String::from_utf8_lossy(&log)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_of_system_are_the_machines() {
        let text = "cat >/etc/a \"/var/b\" c/etc/d https://e/run/f x=/run/g\n/tmp/h";
        let moved = "cat >/r/etc/a \"/r/var/b\" c/etc/d https://e/run/f x=/r/run/g\n/r/tmp/h";
        assert_eq!(with_folders_below(Path::new("/r"), text), moved);
    }
}
