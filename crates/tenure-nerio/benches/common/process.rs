//! A process that answers each line with a line.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use super::{CHILD, Result};

/// This program in another role. Dropping the handle kills the program without warning. The program
/// also ends with this process.
pub(crate) struct Process {
    pub(crate) child: Child,
    orders: ChildStdin,
    answers: BufReader<ChildStdout>,
}

impl Process {
    /// Starts the process and waits for its first line.
    pub(crate) fn start(arguments: &[String]) -> Result<(Self, String)> {
        let mut child = Command::new(std::env::current_exe()?)
            .arg(CHILD)
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let orders = child.stdin.take().ok_or("no pipe to a child")?;
        let answers = BufReader::new(child.stdout.take().ok_or("no pipe from a child")?);
        let mut process = Self { child, orders, answers };
        let ready = process.line()?;
        Ok((process, ready))
    }

    pub(crate) fn ask(&mut self, order: &str) -> Result<String> {
        writeln!(self.orders, "{order}")?;
        self.line()
    }

    fn line(&mut self) -> Result<String> {
        let mut line = String::new();
        if self.answers.read_line(&mut line)? == 0 {
            return Err(format!("a child ended: {:?}", self.child.wait()?).into());
        }
        Ok(line.trim().to_owned())
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
