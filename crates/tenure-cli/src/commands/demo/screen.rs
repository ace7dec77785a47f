//! The terminal, for as long as the demo has it.

use std::io::{self, IsTerminal, Write, stdin, stdout};
use std::panic;
use std::sync::Mutex;

use rustix::process::getpgrp;
use rustix::termios::{
    LocalModes, OptionalActions, SpecialCodeIndex, Termios, tcgetattr, tcgetpgrp, tcgetwinsize,
    tcsetattr,
};

/// The other screen, without a cursor.
const ENTER: &str = "\x1b[?1049h\x1b[?25l\x1b[2J";
const LEAVE: &str = "\x1b[?25h\x1b[?1049l";

/// How the terminal was before the demo had it; `None` while it does not have it.
static BEFORE: Mutex<Option<Before>> = Mutex::new(None);

struct Before(Option<Termios>);

/// The terminal of standard output. Dropping it gives it back as it was, and so does a panic.
pub(super) struct Screen {
    colored: bool,
}

impl Screen {
    /// Takes the terminal; `None` when there is none that can be drawn on.
    pub(super) fn take() -> Option<Self> {
        let dumb = std::env::var_os("TERM").is_none_or(|term| term.is_empty() || term == "dumb");
        if !stdout().is_terminal() || dumb {
            return None;
        }
        if let Ok(mut before) = BEFORE.lock() {
            *before = Some(Before(quiet()));
        }
        let report = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            give_back();
            report(info);
        }));
        write(ENTER).ok()?;
        Some(Self { colored: std::env::var_os("NO_COLOR").is_none() })
    }

    /// Shows what `rows` makes for a number of columns and lines, and for colours or none.
    pub(super) fn draw(&self, rows: impl Fn(usize, usize, bool) -> Vec<String>) -> io::Result<()> {
        let size = tcgetwinsize(stdout()).ok().filter(|size| size.ws_col > 0 && size.ws_row > 0);
        let (columns, height) = size.map_or((80, 24), |size| (size.ws_col, size.ws_row));
        let rows = rows(columns.into(), height.into(), self.colored);
        // No line end after the last row: it would scroll a full screen.
        write(&format!("\x1b[H{}\x1b[K\x1b[J", rows.join("\x1b[K\r\n")))
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        give_back();
    }
}

/// Keys are not shown, and Ctrl-Z does not stop the demo alone, without its processes. Returns
/// how it was, if standard input is this process's terminal.
fn quiet() -> Option<Termios> {
    // In the background the system would stop whoever changes the terminal.
    let ours = tcgetpgrp(stdin()).is_ok_and(|group| group == getpgrp());
    let before = tcgetattr(stdin()).ok().filter(|_| ours)?;
    let mut after = before.clone();
    after.local_modes.remove(LocalModes::ECHO);
    // 0 is no key at all.
    after.special_codes[SpecialCodeIndex::VSUSP] = 0;
    tcsetattr(stdin(), OptionalActions::Now, &after).ok()?;
    Some(before)
}

fn give_back() {
    let Ok(mut before) = BEFORE.lock() else { return };
    let Some(Before(termios)) = before.take() else { return };
    // The terminal may be gone; then there is nothing to give back.
    let _ = write(LEAVE);
    let _ = termios.map(|termios| tcsetattr(stdin(), OptionalActions::Flush, &termios));
}

fn write(text: &str) -> io::Result<()> {
    let mut out = stdout().lock();
    out.write_all(text.as_bytes())?;
    out.flush()
}
