//! The code blocks of a page in Markdown.

/// A code block.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Block<'a> {
    /// Language, such as `sh`.
    pub(super) language: &'a str,
    /// Machines on which a reader uses the block; empty for the machine at hand.
    pub(super) machines: Vec<&'a str>,
    pub(super) text: String,
    /// Line of the page on which the block begins.
    pub(super) line: usize,
}

/// A command of a session, and the output that the page shows.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Exchange {
    pub(super) command: String,
    pub(super) output: Vec<String>,
}

/// The blocks of a page, in order. The fence of a block may be indented, as in a list.
pub(super) fn blocks(page: &str) -> Vec<Block<'_>> {
    let mut blocks = Vec::new();
    let mut open: Option<(usize, Block<'_>)> = None;
    for (line, text) in (1..).zip(page.lines()) {
        let bare = text.trim_start();
        match &mut open {
            Some((_, block)) if bare == "```" => {
                blocks.push(block.clone());
                open = None;
            }
            Some((indent, block)) => {
                block.text.push_str(text.get(*indent..).unwrap_or_default());
                block.text.push('\n');
            }
            None => {
                if let Some(info) = bare.strip_prefix("```") {
                    let mut words = info.split_whitespace();
                    let language = words.next().unwrap_or_default();
                    let block =
                        Block { language, machines: words.collect(), text: String::new(), line };
                    open = Some((text.len() - bare.len(), block));
                }
            }
        }
    }
    blocks
}

/// The commands of a session, after a `$` each; a line that ends with a backslash goes on.
pub(super) fn exchanges(session: &str) -> Vec<Exchange> {
    let mut exchanges: Vec<Exchange> = Vec::new();
    for line in session.lines() {
        match (line.strip_prefix("$ "), exchanges.last_mut()) {
            (Some(command), _) => {
                exchanges.push(Exchange { command: command.to_owned(), output: Vec::new() });
            }
            (None, Some(last)) if last.command.ends_with('\\') => {
                last.command.push('\n');
                last.command.push_str(line);
            }
            (None, Some(last)) => last.output.push(line.to_owned()),
            (None, None) => panic!("a session begins with a command: {line}"),
        }
    }
    exchanges
}

/// Whether a printed line is like a line of the page. All words with a digit count as equal,
/// because numbers, times and ids differ; `…` stands for any text.
pub(super) fn is_like(shown: &str, printed: &str) -> bool {
    let same = |words: &str| -> Vec<String> {
        let word = |word: &str| match word.chars().any(|letter| letter.is_ascii_digit()) {
            true => "0".to_owned(),
            false => word.to_owned(),
        };
        words.split_whitespace().map(word).collect()
    };
    match shown.split_once('…') {
        None => same(shown) == same(printed),
        Some((first, last)) => {
            let (first, last, printed) = (same(first), same(last), same(printed));
            printed.len() >= first.len() + last.len()
                && printed.starts_with(&first)
                && printed.ends_with(&last)
        }
    }
}

/// Whether the output has these lines, among others, in any order: several processes may write to
/// one terminal.
pub(super) fn has_lines(output: &str, shown: &[String]) -> bool {
    shown.iter().all(|shown| output.lines().any(|line| is_like(shown, line)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_have_languages_and_machines() {
        let page = "text\n\n1. a\n\n   ```sh a b\n   echo x\n     y\n   ```\n\n```toml\nz\n```\n";
        let of = |language, machines: &[&'static str], text: &str, line| Block {
            language,
            machines: machines.to_vec(),
            text: text.to_owned(),
            line,
        };
        let expected = [of("sh", &["a", "b"], "echo x\n  y\n", 5), of("toml", &[], "z\n", 10)];
        assert_eq!(blocks(page), expected);
    }

    #[test]
    fn sessions_are_commands_with_outputs() {
        let session = "$ one \\\n    more\nsaid\n$ two\n";
        let of = |command: &str, output: &[&str]| Exchange {
            command: command.to_owned(),
            output: output.iter().map(|&line| line.to_owned()).collect(),
        };
        assert_eq!(exchanges(session), [of("one \\\n    more", &["said"]), of("two", &[])]);
    }

    #[test]
    fn numbers_may_differ_and_words_not() {
        assert!(is_like("leader one, fence 7, for 4.6s", "leader one, fence 12, for 900ms"));
        assert!(!is_like("leader one, fence 7", "leader two, fence 7"));
        assert!(is_like("error: … set it", "error: lease 1s is short; set it"));
        assert!(!is_like("error: … set it", "error: lease 1s is short"));
        let shown = ["a 1".to_owned(), "c".to_owned()];
        assert!(has_lines("c\nb\na 5\n", &shown) && !has_lines("b\na 1\n", &shown));
    }
}
