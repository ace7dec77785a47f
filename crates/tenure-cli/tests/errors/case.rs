//! The format of a case.
//!
//! ```text
//! ## what is wrong
//! env TENURE_LEASE=5              a variable; all others of TENURE_ are unset
//! file tenure.toml                a file with these lines
//! | lease = "5s"
//! dir state                       a directory
//! mode state 500                  its mode
//! link a b                        a symbolic link a to b
//! busy p                          a UDP port on loopback that is held
//! free q                          one that was free a moment ago
//! start n tenure node --name a    a process in the background, killed at the end
//! until n granting                waits until its output has this text
//! nobody                          the command runs without root's privileges
//! $ tenure leader --config tenure.toml
//! exit 2
//! | error: …                      standard error
//! stdout
//! | …                             standard output, unless it is empty
//! ```
//!
//! Words may be put in `'`. Everywhere `\xHH`, `\n`, `\t` and `\\` stand for bytes, and
//! `{members}`, `{dir}`, `{repeat:x:65}`, `{port:p}` and `{pid:n}` for texts. In the output of the
//! command, ports, process ids and the directory become placeholders again; digests become
//! `{digest}`, and reasons of the system's resolver `{resolver}`.

use std::fmt;

/// A file of cases.
pub(crate) struct Suite {
    preface: Vec<String>,
    pub(crate) cases: Vec<Case>,
}

/// A command line with its stage and its expected answer.
#[derive(Default)]
pub(crate) struct Case {
    pub(crate) title: String,
    pub(crate) steps: Vec<Step>,
    /// Words of the command, unexpanded.
    pub(crate) command: Vec<String>,
    written: String,
    pub(crate) expected: Outcome,
}

/// A line of preparation: its words, and the lines below it.
pub(crate) struct Step {
    pub(crate) verb: String,
    pub(crate) rest: String,
    pub(crate) block: Vec<String>,
}

#[derive(Default, PartialEq)]
pub(crate) struct Outcome {
    pub(crate) exit: i32,
    pub(crate) stderr: String,
    pub(crate) stdout: String,
}

const VERBS: [&str; 10] =
    ["env", "file", "dir", "mode", "link", "busy", "free", "start", "until", "nobody"];

impl Suite {
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let mut suite = Self { preface: Vec::new(), cases: Vec::new() };
        let mut in_stdout = false;
        for (number, line) in text.lines().enumerate() {
            let wrong = |what: &str| Err(format!("line {}: {what}: {line}", number + 1));
            if let Some(title) = line.strip_prefix("## ") {
                suite.cases.push(Case { title: title.into(), ..Case::default() });
                suite.last().expected.exit = -1;
                in_stdout = false;
                continue;
            }
            if suite.cases.is_empty() {
                suite.preface.push(line.into());
                continue;
            }
            let case = suite.last();
            let (verb, rest) = line.split_once(' ').unwrap_or((line, ""));
            let answered = case.expected.exit >= 0;
            match verb {
                "" => {}
                "|" if answered && in_stdout => case.expected.stdout += &format!("{rest}\n"),
                "|" if answered => case.expected.stderr += &format!("{rest}\n"),
                "|" => match case.steps.last_mut() {
                    Some(step) if step.verb == "file" => step.block.push(rest.into()),
                    _ => return wrong("a block belongs to a file or an exit"),
                },
                "$" => {
                    case.written = rest.into();
                    case.command = words(rest);
                }
                "exit" if case.command.is_empty() => return wrong("no command before"),
                "exit" => match rest.parse() {
                    Ok(exit) => case.expected.exit = exit,
                    Err(_) => return wrong("not a number"),
                },
                "stdout" if answered => in_stdout = true,
                _ if VERBS.contains(&verb) && case.command.is_empty() => case.steps.push(Step {
                    verb: verb.into(),
                    rest: rest.into(),
                    block: Vec::new(),
                }),
                _ => return wrong("not understood"),
            }
        }
        match suite.cases.iter().find(|case| case.expected.exit < 0) {
            Some(case) => Err(format!("{:?} has no exit line", case.title)),
            None => Ok(suite),
        }
    }

    fn last(&mut self) -> &mut Case {
        self.cases.last_mut().expect("a title came first")
    }
}

/// Splits at spaces outside `'`.
pub(crate) fn words(line: &str) -> Vec<String> {
    let (mut words, mut word, mut quoted) = (Vec::new(), None::<String>, false);
    for c in line.chars() {
        match c {
            '\'' => {
                quoted = !quoted;
                word.get_or_insert_default();
            }
            ' ' if !quoted => words.extend(word.take()),
            _ => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    words
}

impl fmt::Display for Suite {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for line in &self.preface {
            writeln!(f, "{line}")?;
        }
        for (nth, case) in self.cases.iter().enumerate() {
            if nth > 0 {
                writeln!(f)?;
            }
            writeln!(f, "## {}", case.title)?;
            for Step { verb, rest, block } in &case.steps {
                writeln!(f, "{}", format!("{verb} {rest}").trim_end())?;
                block
                    .iter()
                    .try_for_each(|line| writeln!(f, "{}", format!("| {line}").trim_end()))?;
            }
            writeln!(f, "$ {}", case.written)?;
            write!(f, "{}", case.expected)?;
        }
        Ok(())
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "exit {}", self.exit)?;
        self.stderr.lines().try_for_each(|line| writeln!(f, "| {line}"))?;
        if !self.stdout.is_empty() {
            writeln!(f, "stdout")?;
            self.stdout.lines().try_for_each(|line| writeln!(f, "| {line}"))?;
        }
        Ok(())
    }
}
