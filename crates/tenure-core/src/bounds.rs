//! Bounds of settings, the error for a value beyond them, and settings that passed their check.

use alloc::boxed::Box;
use alloc::format;
use alloc::string::String;
use alloc::sync::Arc;
use core::error::Error;
use core::fmt;
use core::ops::Deref;
use core::time::Duration;

use crate::drift::Drift;

/// The shortest span above zero.
pub(crate) const NANOSECOND: Duration = Duration::from_nanos(1);

/// The bounds of a setting, under the name by which operators know the setting.
///
/// ```
/// use tenure_core::Bounds;
///
/// let priority = Bounds::between("priority", 0_u32, 255).because("it is one byte");
/// assert!(priority.check(255).is_ok());
/// let refused = priority.check(256).unwrap_err().to_string();
/// assert_eq!(refused, "priority is 256; it must be from 0 to 255: it is one byte");
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Bounds<T> {
    /// Name of the setting in flags and files.
    pub setting: &'static str,
    /// Values that pass.
    pub range: Range<T>,
    /// Settings that this limit follows from, as a formula in words; empty for a fixed limit.
    pub of: &'static str,
    /// Names of the settings that this limit follows from.
    pub beside: &'static [&'static str],
    /// Reason of the limit, in words; empty where the numbers say enough.
    pub why: &'static str,
}

/// Values that pass, both ends included.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Range<T> {
    /// This value and all above.
    AtLeast(T),
    /// This value and all below.
    AtMost(T),
    /// The first value, the second, and all between them.
    Between(T, T),
}

/// A value of any kind of setting that has bounds.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Quantity {
    Span(Duration),
    /// Clock drift, ρ.
    Drift(Drift),
    Number(u64),
}

impl<T: Copy> Bounds<T> {
    /// From `least` to `most`.
    #[must_use]
    pub const fn between(setting: &'static str, least: T, most: T) -> Self {
        Self::new(setting, Range::Between(least, most))
    }

    /// `least` and more.
    #[must_use]
    pub const fn at_least(setting: &'static str, least: T) -> Self {
        Self::new(setting, Range::AtLeast(least))
    }

    /// `most` and less.
    #[must_use]
    pub const fn at_most(setting: &'static str, most: T) -> Self {
        Self::new(setting, Range::AtMost(most))
    }

    const fn new(setting: &'static str, range: Range<T>) -> Self {
        Self { setting, range, of: "", beside: &[], why: "" }
    }

    /// Adds `of`, the formula by which the limit follows from the settings `beside`.
    #[must_use]
    pub const fn of(self, of: &'static str, beside: &'static [&'static str]) -> Self {
        Self { of, beside, ..self }
    }

    /// Adds the reason of the limit.
    #[must_use]
    pub const fn because(self, why: &'static str) -> Self {
        Self { why, ..self }
    }
}

impl<T: Copy + PartialOrd + Into<Quantity>> Bounds<T> {
    /// Returns `Ok` for a value within the bounds.
    ///
    /// # Errors
    ///
    /// For a value beyond the bounds; the error prints the value, the bounds and their reason.
    pub fn check(&self, value: T) -> Result<(), Box<OutOfRange>> {
        let passes = match self.range {
            Range::AtLeast(least) => value >= least,
            Range::AtMost(most) => value <= most,
            Range::Between(least, most) => (least..=most).contains(&value),
        };
        if passes {
            return Ok(());
        }
        let Self { setting, of, beside, why, .. } = *self;
        let range = match self.range {
            Range::AtLeast(least) => Range::AtLeast(least.into()),
            Range::AtMost(most) => Range::AtMost(most.into()),
            Range::Between(least, most) => Range::Between(least.into(), most.into()),
        };
        let bounds = Bounds { setting, range, of, beside, why };
        Err(Box::new(OutOfRange { value: value.into(), bounds }))
    }
}

/// The bounds of ρ.
pub(crate) const fn drift(most: Drift) -> Bounds<Drift> {
    Bounds::at_most("drift", most).because("repair a clock with a larger error")
}

pub(crate) const fn kill_margin(grace: Duration) -> Bounds<Duration> {
    let bounds = Bounds::at_most("kill-margin", grace).of("grace", &["grace"]);
    bounds.because("work is asked to stop before it is killed")
}

/// A value of a setting beyond its [`Bounds`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct OutOfRange {
    pub value: Quantity,
    pub bounds: Bounds<Quantity>,
}

impl OutOfRange {
    /// The nearest value that passes.
    #[must_use]
    pub fn nearest(&self) -> Quantity {
        match self.bounds.range {
            Range::AtLeast(limit) | Range::AtMost(limit) => limit,
            Range::Between(least, most) if self.value > least => most,
            Range::Between(least, _) => least,
        }
    }
}

impl fmt::Display for OutOfRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Bounds { setting, range, of, why, .. } = self.bounds;
        write!(f, "{} is {}; it must be ", setting.replace('-', " "), self.value)?;
        let of = if of.is_empty() { String::new() } else { format!("{of}, ") };
        match range {
            Range::AtLeast(least) => write!(f, "at least {of}{least}")?,
            Range::AtMost(most) => write!(f, "at most {of}{most}")?,
            Range::Between(least, most) => write!(f, "from {least} to {of}{most}")?,
        }
        if why.is_empty() { Ok(()) } else { write!(f, ": {why}") }
    }
}

impl Error for OutOfRange {}

/// An error about settings that cannot work.
pub trait SettingsError: Error {
    /// The fault, with the names by which operators know the settings.
    fn fault(&self) -> Fault<'_>;
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fault<'a> {
    /// A setting is beyond its bounds.
    Value(&'a OutOfRange),
    /// These settings cannot be used, or do not work together.
    Settings(&'static [&'static str]),
}

impl fmt::Display for Quantity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Span(span) => write!(f, "{span:?}"),
            Self::Drift(drift) => drift.fmt(f),
            Self::Number(number) => number.fmt(f),
        }
    }
}

impl From<Duration> for Quantity {
    fn from(span: Duration) -> Self {
        Self::Span(span)
    }
}

impl From<Drift> for Quantity {
    fn from(drift: Drift) -> Self {
        Self::Drift(drift)
    }
}

impl From<u32> for Quantity {
    fn from(number: u32) -> Self {
        Self::Number(number.into())
    }
}

impl From<u64> for Quantity {
    fn from(number: u64) -> Self {
        Self::Number(number)
    }
}

impl From<usize> for Quantity {
    fn from(number: usize) -> Self {
        Self::Number(u64::try_from(number).unwrap_or(u64::MAX))
    }
}

/// Settings that have passed their `check`. Cheap to clone.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Checked<C>(Arc<C>);

impl<C> Checked<C> {
    pub(crate) fn new(config: C) -> Self {
        Self(Arc::new(config))
    }
}

impl<C> Deref for Checked<C> {
    type Target = C;

    fn deref(&self) -> &C {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use alloc::string::ToString;

    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn error_names_limit_and_origin() {
        let told = |bounds: Bounds<Duration>, value| bounds.check(value).unwrap_err().to_string();
        let poll = Bounds::at_least("max-poll-interval", SECOND);
        assert_eq!(told(poll, SECOND / 2), "max poll interval is 500ms; it must be at least 1s");
        let poll = poll.of("the session timeout", &["session-timeout"]);
        let said = "max poll interval is 500ms; it must be at least the session timeout, 1s";
        assert_eq!(told(poll, SECOND / 2), said);
        let said = "kill margin is 2s; it must be at most grace, 1s: work is asked to stop before \
                    it is killed";
        assert_eq!(told(kill_margin(SECOND), 2 * SECOND), said);
    }

    #[test]
    fn nearest_value_passes() {
        let bounds = Bounds::between("partitions", 1_u32, 4_096);
        for (value, nearest) in [(0, 1), (4_097, 4_096)] {
            let refused = bounds.check(value).unwrap_err();
            assert_eq!(refused.nearest(), Quantity::from(nearest));
            bounds.check(nearest).unwrap();
        }
    }
}
