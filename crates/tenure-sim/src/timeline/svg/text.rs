//! How wide a text will be, without the font: as wide as in the widest font usually found.

/// The width of `text` set in `size`, rather too much than too little: the widths are those of
/// DejaVu Sans, which is wider than what browsers take elsewhere.
pub(super) fn width(text: &str, size: f64, bold: bool) -> f64 {
    let ems: f64 = text.chars().map(ems).sum();
    ems * size * if bold { 1.13 } else { 1.0 }
}

fn ems(c: char) -> f64 {
    match c {
        'i' | 'j' | 'l' | 'I' | 'J' | '\'' => 0.30,
        ' ' | '.' | ',' | ':' | ';' | '|' | '!' | '/' | '·' => 0.34,
        'f' | 'r' | 't' | '-' | '(' | ')' | '[' | ']' | '{' | '}' => 0.42,
        'c' | 's' | 'z' | 'k' | '_' | '"' => 0.58,
        'w' | '=' | '+' | '<' | '>' | '#' | '~' | '→' => 0.84,
        'm' | 'M' | 'W' | '@' | '%' | '…' => 1.0,
        'A'..='Z' => 0.79,
        ' '..='\u{17f}' | '\u{370}'..='\u{5ff}' => 0.65,
        _ => 1.05,
    }
}

/// `text` on one line, or as much of its beginning as fits into `room`, with an ellipsis; `None`
/// where not even three characters fit.
pub(super) fn fit(text: &str, room: f64, size: f64, bold: bool) -> Option<String> {
    let text = one_line(text);
    if text.is_empty() {
        return None;
    }
    if width(&text, size, bold) <= room {
        return Some(text);
    }
    let mut kept = String::new();
    let mut taken = width("…", size, bold);
    for c in text.chars() {
        taken += width(c.encode_utf8(&mut [0; 4]), size, bold);
        if taken > room {
            break;
        }
        kept.push(c);
    }
    let kept = kept.trim_end();
    (kept.chars().count() >= 3).then(|| format!("{kept}…"))
}

/// `text` with every run of white space made one space.
pub(super) fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// `text` broken between words into lines of at most `room`, `most` of them; what is left over
/// ends in an ellipsis. A word that is longer than a line is cut.
pub(super) fn wrap(text: &str, room: f64, size: f64, most: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    let mut line = String::new();
    let mut words = text.split_whitespace().peekable();
    while let Some(word) = words.peek() {
        let longer = if line.is_empty() { (*word).to_owned() } else { format!("{line} {word}") };
        if width(&longer, size, false) <= room {
            line = longer;
            words.next();
        } else if line.is_empty() {
            line = fit(word, room, size, false).unwrap_or_else(|| "…".to_owned());
            words.next();
        } else if lines.len() + 1 == most {
            line = fit(&format!("{line} {word} "), room, size, false).unwrap_or(line);
            break;
        } else {
            lines.push(std::mem::take(&mut line));
        }
    }
    if !line.is_empty() {
        lines.push(line);
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_texts_stay_and_long_ones_end_in_an_ellipsis() {
        assert_eq!(fit("  two\n words ", 200.0, 10.0, false).as_deref(), Some("two words"));
        let short = fit("a rather long sentence", 60.0, 10.0, false).unwrap();
        assert!(short.ends_with('…') && width(&short, 10.0, false) <= 60.0, "{short}");
        assert_eq!(fit("sentence", 12.0, 10.0, false), None);
        assert_eq!(fit("", 100.0, 10.0, false), None);
    }

    #[test]
    fn wrapping_keeps_to_the_room_and_to_the_number_of_lines() {
        let text = "the quick brown fox jumps over the lazy dog and then over the other one";
        let lines = wrap(text, 100.0, 10.0, 20);
        assert_eq!(lines.join(" "), text);
        let few = wrap(text, 100.0, 10.0, 2);
        assert_eq!(few.len(), 2);
        assert!(few[1].ends_with('…'), "{few:?}");
        for line in lines.iter().chain(&few) {
            assert!(width(line, 10.0, false) <= 100.0, "{line}");
        }
        let word = "x".repeat(500);
        assert_eq!(wrap(&word, 100.0, 10.0, 3).len(), 1);
    }
}
