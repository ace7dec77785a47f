//! A conversation as a file: prose, directives, and under each directive what was recorded.

use std::fmt;

/// How a directive begins.
const PROMPT: &str = "> ";
/// How recorded lines begin, and nothing else does.
const MARGIN: &str = "  ";

/// A file, line by line, without what was recorded.
#[derive(PartialEq, Eq, Debug)]
pub(super) struct Script {
    pub(super) title: String,
    /// Text before the first directive.
    pub(super) preface: String,
    pub(super) lines: Vec<Line>,
}

#[derive(PartialEq, Eq, Debug)]
pub(super) enum Line {
    /// The author's; blank ones too.
    Prose(String),
    Directive {
        /// The line of the file it is on, from 1.
        number: usize,
        text: String,
        recorded: Vec<String>,
    },
}

impl Script {
    /// Reads a file without the recorded lines, which are recorded anew.
    pub(super) fn parse(text: &str) -> Result<Self, (usize, String)> {
        let mut lines = Vec::new();
        for (number, line) in (1..).zip(text.lines()) {
            let after_directive = matches!(lines.last(), Some(Line::Directive { .. }));
            if let Some(text) = line.strip_prefix(PROMPT) {
                let text = text.to_owned();
                let recorded = Vec::new();
                lines.push(Line::Directive { number, text, recorded });
            } else if !line.starts_with(' ') {
                if line.starts_with('>') {
                    return Err((number, "a directive begins with `> `".into()));
                }
                lines.push(Line::Prose(line.to_owned()));
            } else if !after_directive {
                let what = "what is recorded follows a directive; prose begins at the margin";
                return Err((number, what.into()));
            }
        }
        let prose = lines.iter().map_while(|line| match line {
            Line::Prose(text) => Some(text.as_str()),
            Line::Directive { .. } => None,
        });
        let preface: Vec<&str> = prose.collect();
        let title = preface.first().and_then(|line| line.strip_prefix("# "));
        let Some(title) = title.filter(|title| !title.trim().is_empty()) else {
            return Err((1, "the first line is the title: `# ...`".into()));
        };
        let title = title.to_owned();
        let preface = preface[1..].join(" ").trim().to_owned();
        Ok(Self { title, preface, lines })
    }

    /// How many lines are recorded.
    pub(super) fn recorded(&self) -> usize {
        let count = |line: &Line| match line {
            Line::Directive { recorded, .. } => recorded.len(),
            Line::Prose(_) => 0,
        };
        self.lines.iter().map(count).sum()
    }
}

impl fmt::Display for Script {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for line in &self.lines {
            match line {
                Line::Prose(text) => writeln!(f, "{text}")?,
                Line::Directive { text, recorded, .. } => {
                    writeln!(f, "{PROMPT}{text}")?;
                    recorded.iter().try_for_each(|line| writeln!(f, "{MARGIN}{line}"))?;
                }
            }
        }
        Ok(())
    }
}
