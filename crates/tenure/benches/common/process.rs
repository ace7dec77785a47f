//! A process that answers one line for each line.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Duration;

use super::{CHILD, Result};

/// This program in another role. It ends when it is dropped, and when this process ends.
pub(crate) struct Process {
    child: Child,
    orders: ChildStdin,
    answers: BufReader<ChildStdout>,
}

impl Process {
    /// Starts it and waits for its first line.
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

    /// Sends an order and waits for its answer.
    pub(crate) fn ask(&mut self, order: &str) -> Result<String> {
        writeln!(self.orders, "{order}")?;
        self.line()
    }

    /// Ends it as a power cut does.
    pub(crate) fn kill(&mut self) -> Result<()> {
        Ok(self.child.kill()?)
    }

    /// The processor time that its threads have used, which the kernel counts in nanoseconds.
    pub(crate) fn processor_time(&self) -> Result<Duration> {
        let mut nanos = 0;
        for task in std::fs::read_dir(format!("/proc/{}/task", self.child.id()))? {
            let text = std::fs::read_to_string(task?.path().join("schedstat"))?;
            let used = text.split_whitespace().next().ok_or("an empty schedstat")?;
            nanos += used.parse::<u64>()?;
        }
        Ok(Duration::from_nanos(nanos))
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
