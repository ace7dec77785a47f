//! Fair handling of input: one input of each kind in turn.

/// Handles input, one input of each kind in turn. Stops when none is left, when each kind has had
/// `limit - 1` turns, or when `is_late` returns true. So a kind whose input never ends delays
/// neither other kinds nor the driver's work between batches. Returns whether input may be left.
pub(super) fn handle_fairly<D, H>(
    driver: &mut D,
    limit: usize,
    kinds: usize,
    take: impl Fn(&mut D, usize) -> Option<H>,
    on: impl Fn(&mut D, H),
    is_late: impl Fn() -> bool,
) -> bool {
    for _ in 1..limit {
        if is_late() {
            break;
        }
        let mut is_quiet = true;
        for kind in 0..kinds {
            if let Some(happened) = take(driver, kind) {
                on(driver, happened);
                is_quiet = false;
            }
        }
        if is_quiet {
            return false;
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    /// A driver whose inputs are letters, with an endless supply of `a`.
    #[derive(Default)]
    struct Driver {
        b: usize,
        c: usize,
        asked: usize,
        handled: String,
    }

    impl Driver {
        fn take(&mut self, kind: usize) -> Option<char> {
            match kind {
                0 => Some('a'),
                1 => {
                    self.asked += 1;
                    self.b = self.b.checked_sub(1)?;
                    Some('b')
                }
                _ => {
                    self.c = self.c.checked_sub(1)?;
                    Some('c')
                }
            }
        }

        fn on(&mut self, letter: char) {
            self.handled.push(letter);
            self.c += usize::from(letter == 'b');
        }
    }

    #[test]
    fn endless_input_is_bounded() {
        let mut driver = Driver { b: 2, ..Driver::default() };
        assert!(handle_fairly(&mut driver, 5, 3, Driver::take, Driver::on, || false));
        assert_eq!(driver.handled, "abcabcaa");
    }

    #[test]
    fn late_batch_ends_early() {
        let mut driver = Driver { b: 9, ..Driver::default() };
        let turns = Cell::new(0);
        let is_late = || turns.replace(turns.get() + 1) == 2;
        assert!(handle_fairly(&mut driver, 64, 3, Driver::take, Driver::on, is_late));
        assert_eq!(driver.handled, "abcabc");
    }

    #[test]
    fn empty_input_ends_the_batch() {
        let mut driver = Driver { b: 1, ..Driver::default() };
        let take = |driver: &mut Driver, kind| driver.take(kind + 1);
        assert!(!handle_fairly(&mut driver, 64, 2, take, Driver::on, || false));
        assert_eq!((&*driver.handled, driver.asked), ("bc", 2));
    }
}
