//! Numbers for people, with as many digits as are significant.

use std::time::Duration;

use tenure_sim::forecast::{Cause, Needless};

/// Three digits and a unit: `4.26 s`, `560 µs`.
pub(super) fn span(span: Duration) -> String {
    let seconds = span.as_secs_f64();
    let (number, unit) = match seconds {
        0.0 => return "0 s".into(),
        s if s < 1e-3 => (s * 1e6, "µs"),
        s if s < 1.0 => (s * 1e3, "ms"),
        s if s < 600.0 => (s, "s"),
        s if s < 36_000.0 => (s / 60.0, "min"),
        s => (s / 3_600.0, "h"),
    };
    format!("{} {unit}", digits(number))
}

/// At least three digits from 1 on, and at most two behind the point: `0.04`, `4.26`, `34.8`,
/// `1250`.
pub(super) fn digits(number: f64) -> String {
    match number.abs() {
        n if n >= 99.95 => format!("{number:.0}"),
        n if n >= 9.995 => format!("{number:.1}"),
        n if n >= 0.0095 || n == 0.0 => format!("{number:.2}"),
        _ => format!("{number:.0e}"),
    }
}

/// A share as a percentage, so precise that its difference from 100 % has two digits: `99.99984 %`.
pub(super) fn percent(share: f64) -> String {
    let missing = (1.0 - share).clamp(0.0, 1.0);
    if missing == 0.0 {
        return "100 %".into();
    }
    let places = (1.0 - (missing * 100.0).log10().floor()).clamp(1.0, 9.0) as usize;
    format!("{:.places$} %", (1.0 - missing) * 100.0)
}

/// The best estimate of needless changes in 30 days.
pub(super) fn rate(needless: &Needless) -> String {
    match needless.estimate() {
        rate if rate < 1e-4 => "< 0.0001".into(),
        rate => digits(rate),
    }
}

/// `1 crash`, `2 crashes`.
pub(super) fn counted(count: usize, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}

/// The cause of a vacancy, in a word or two.
pub(super) const fn cause(cause: Cause) -> &'static str {
    match cause {
        Cause::Crash => "crash",
        Cause::Resigned => "resignation",
        Cause::Pause => "pause",
        Cause::NoQuorum => "no quorum",
        Cause::Needless => "needless",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_digits_and_a_unit() {
        let of = |nanos| span(Duration::from_nanos(nanos));
        assert_eq!(of(559_800), "560 µs");
        assert_eq!(of(4_255_288_575), "4.26 s");
        assert_eq!(of(0), "0 s");
        assert_eq!(of(660_000_000_000), "11.0 min");
        assert_eq!([digits(1_250.4), digits(0.04), digits(0.0003)], ["1250", "0.04", "3e-4"]);
    }

    #[test]
    fn percent_shows_missing_nines() {
        assert_eq!(percent(0.999_998_352), "99.99984 %");
        assert_eq!(percent(0.9), "90.0 %");
        assert_eq!(percent(1.0), "100 %");
    }
}
