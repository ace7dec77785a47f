//! Checks the clock of leases: its source, and the correction of its rate by the kernel.
//!
//! The kernel applies the corrections of a time service to CLOCK_MONOTONIC and CLOCK_BOOTTIME, and
//! none to CLOCK_MONOTONIC_RAW. The difference of the rates is the service's estimate of the error
//! of this machine's oscillator. While the service moves the time of day, the difference is larger.

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};
use tenure_core::Drift;

use super::finding::Finding;

const SOURCE: &str = "/sys/devices/system/clocksource/clocksource0/current_clocksource";

/// Sources that count ticks of the processor or of the hypervisor.
const GOOD: [&str; 6] =
    ["tsc", "kvm-clock", "arch_sys_counter", "hyperv_clocksource", "xen", "riscv_clocksource"];

/// The span of the comparison: an error of a microsecond is four parts in a million of it.
const SPAN: Duration = Duration::from_millis(250);

/// Attempts to read both clocks without a pause between them.
const READS: usize = 16;

const MILLION: f64 = 1e6;

pub(super) async fn check(drift: Drift) -> Finding {
    let before = read();
    tokio::time::sleep(SPAN).await;
    let after = read();
    let source = std::fs::read_to_string(SOURCE).unwrap_or_default();
    judge(source.trim(), correction(before, after), bound(drift))
}

/// Nanoseconds of CLOCK_MONOTONIC_RAW and of CLOCK_MONOTONIC at one instant.
fn read() -> (i128, i128) {
    let nanos = |clock| {
        let read = clock_gettime(clock);
        i128::from(read.tv_sec) * 1_000_000_000 + i128::from(read.tv_nsec)
    };
    let once = |_| {
        let before = nanos(ClockId::MonotonicRaw);
        let corrected = nanos(ClockId::Monotonic);
        let after = nanos(ClockId::MonotonicRaw);
        (after - before, (before.midpoint(after), corrected))
    };
    (0..READS).map(once).min().map_or((0, 0), |(_, pair)| pair)
}

/// Parts in a million by which the corrected clock is faster.
fn correction(before: (i128, i128), after: (i128, i128)) -> f64 {
    let (raw, corrected) = (after.0 - before.0, after.1 - before.1);
    #[expect(clippy::cast_precision_loss, reason = "a quarter of a second in nanoseconds")]
    let ratio = (corrected - raw) as f64 / raw.max(1) as f64;
    ratio * MILLION
}

/// The bound on the rate error of clocks, in parts in a million.
fn bound(drift: Drift) -> f64 {
    drift.to_string().parse::<f64>().unwrap_or_default() * MILLION
}

fn judge(source: &str, correction: f64, bound: f64) -> Finding {
    let shown = if source.is_empty() { "unknown" } else { source };
    let text = format!(
        "source {shown}; the kernel corrects its rate by {correction:+.1} parts in a million, and \
         drift allows {bound:.0}"
    );
    if correction.abs() > bound {
        let fix = "wait until the time service has set the clock, mend the clock, or give all \
                   nodes a larger --drift";
        return Finding::fails("clock", text, fix);
    }
    if correction.abs() > bound / 2.0 {
        let fix = "look at the time service (chronyc tracking, timedatectl timesync-status): the \
                   correction uses more than half of --drift";
        return Finding::warning("clock", text, fix);
    }
    if !source.is_empty() && !GOOD.iter().any(|good| source.starts_with(good)) {
        let fix = "see dmesg for the reason why the kernel does not use the processor's counter";
        return Finding::warning("clock", text, fix);
    }
    Finding::ok("clock", text)
}

#[cfg(test)]
mod tests {
    use super::super::finding::Grade;
    use super::*;

    #[test]
    fn corrections_are_compared_with_drift() {
        let second = 1_000_000_000;
        let faster = |by: i128| correction((5, 7), (5 + second, 7 + second + by));
        assert!((faster(-20_000) + 20.0).abs() < 1e-6);
        for (source, by, grade) in [
            ("tsc", 12_000, Grade::Ok),
            ("hyperv_clocksource_tsc_page", -12_000, Grade::Ok),
            ("", 0, Grade::Ok),
            ("hpet", 0, Grade::Warning),
            ("kvm-clock", -600_000, Grade::Warning),
            ("tsc", 1_200_000, Grade::Fails),
        ] {
            assert_eq!(judge(source, faster(by), 1_000.0).grade, grade, "{source} {by}");
        }
    }

    #[test]
    fn bound_is_in_parts_of_million() {
        assert!((bound(Drift::DEFAULT) - 1_000.0).abs() < 1e-6);
    }
}
