//! Long identities and exact times as people read them.

use std::collections::BTreeMap;

/// How the identities of one story are shortened: what is printed, and what stands for it.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identities_and_times_are_short() {
        let mut short = Short::default();
        short.add("d~64000001".into(), "d.1".into());
        short.add("61800001".into(), "a/1".into());
        short.add("127.0.0.1:7104".into(), "d".into());
        for (long, expected) in [
            (
                "held by d~64000001 for 1.099999999s start 40.000000, parked",
                "held by d.1 for 1.0999s start 40000, parked",
            ),
            ("{61800001@1:10.001200.0 x@2:10.000000.7}", "{a/1@1:10001.2 x@2:10000+7}"),
            ("verify 127.0.0.1:7104", "verify d"),
            ("for 909.090909ms then 2.4s, 300ms and 1s", "for 909ms then 2.4s, 300ms and 1s"),
            ("d~64000002 db: 1.2.3 0.1 words 7", "d~64000002 db: 1.2.3 0.1 words 7"),
        ] {
            assert_eq!(short.line(long), expected);
        }
    }
}
