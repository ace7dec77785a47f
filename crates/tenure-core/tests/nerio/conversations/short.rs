//! Long identities and exact times as people read them.

use std::collections::BTreeMap;

/// Short forms of the identities in one story, each by its printed form.
#[derive(Debug, Default)]
pub(super) struct Short(BTreeMap<String, String>);

impl Short {
    /// From now on `short` stands for `long`, and for nothing else.
    pub(super) fn add(&mut self, long: String, short: String) {
        if let Some(before) = self.0.insert(long.clone(), short.clone()) {
            assert_eq!(before, short, "{long} stands for two things");
        }
    }

    /// A printed line with every identity, instant and span in it shortened.
    pub(super) fn line(&self, text: &str) -> String {
        let part = |c: char| c.is_ascii_alphanumeric() || ".:~".contains(c);
        let mut line = String::new();
        let mut token = String::new();
        for c in text.chars() {
            if part(c) {
                token.push(c);
                continue;
            }
            line += &self.token(&std::mem::take(&mut token));
            line.push(c);
        }
        line + &self.token(&token)
    }

    fn token(&self, token: &str) -> String {
        let known = self.0.get(token).cloned();
        known.or_else(|| instant(token)).or_else(|| span(token)).unwrap_or_else(|| token.to_owned())
    }
}

/// `10.001000` in seconds is 10001 in milliseconds; with a boot before it and a counter behind,
/// `1:10.001000.2` is 1:10001+2.
fn instant(token: &str) -> Option<String> {
    let (boot, rest) = token.split_once(':').unwrap_or(("", token));
    let mut parts = rest.split('.');
    let seconds = parts.next()?;
    let micros = parts.next().filter(|micros| micros.len() == 6)?;
    let counter = parts.next().unwrap_or("0");
    let all = [seconds, micros, counter];
    let digits = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
    if parts.next().is_some() || !all.into_iter().all(digits) {
        return None;
    }
    let micros = seconds.parse::<u64>().ok()? * 1_000_000 + micros.parse::<u64>().ok()?;
    let boot = if boot.is_empty() { String::new() } else { format!("{boot}:") };
    let counter = if counter == "0" { String::new() } else { format!("+{counter}") };
    Some(format!("{boot}{}{counter}", millis(micros * 1_000)))
}

/// Nanoseconds as milliseconds, cut to a tenth.
pub(super) fn millis(nanos: u64) -> String {
    let tenths = nanos / 100_000;
    match tenths % 10 {
        0 => format!("{}", tenths / 10),
        tenth => format!("{}.{tenth}", tenths / 10),
    }
}

/// A span that is printed with its unit, cut to a tenth of a millisecond.
fn span(token: &str) -> Option<String> {
    let (number, unit, places) = match token.strip_suffix("ms") {
        Some(number) => (number, "ms", 1),
        None => (token.strip_suffix('s')?, "s", 4),
    };
    let (whole, fraction) = number.split_once('.')?;
    let digits = |part: &str| part.bytes().all(|b| b.is_ascii_digit());
    if !digits(whole) || !digits(fraction) {
        return None;
    }
    let fraction = fraction[..fraction.len().min(places)].trim_end_matches('0');
    let point = if fraction.is_empty() { "" } else { "." };
    Some(format!("{whole}{point}{fraction}{unit}"))
}
