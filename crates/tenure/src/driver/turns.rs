//! What is there is handled in turns.

/// Handles what is there, one of each kind in turn, until nothing is or each kind has had
/// `turns - 1` turns: one kind that never ends keeps no other waiting, nor what its driver does
/// between batches.
pub fn take_turns<D, H>(
    driver: &mut D,
    turns: usize,
    kinds: &[fn(&mut D) -> Option<H>],
    on: impl Fn(&mut D, H),
) {
    for _ in 1..turns {
        let mut is_quiet = true;
        for take in kinds {
            if let Some(happened) = take(driver) {
                on(driver, happened);
                is_quiet = false;
            }
        }
        if is_quiet {
            break;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Letters of which `a` never ends, and what was handled.
    #[derive(Default)]
    struct Driver {
        b: usize,
        c: usize,
        asked: usize,
        handled: String,
    }

    impl Driver {
        #[expect(clippy::unnecessary_wraps, reason = "one of several kinds")]
        fn take_a(&mut self) -> Option<char> {
            Some('a')
        }

        fn take_b(&mut self) -> Option<char> {
            self.asked += 1;
            self.b = self.b.checked_sub(1)?;
            Some('b')
        }

        fn take_c(&mut self) -> Option<char> {
            self.c = self.c.checked_sub(1)?;
            Some('c')
        }

        fn on(&mut self, letter: char) {
            self.handled.push(letter);
            // What is handled gives rise to more.
            self.c += usize::from(letter == 'b');
        }
    }

    #[test]
    fn what_never_ends_keeps_nothing_waiting_and_is_bounded() {
        let mut driver = Driver { b: 2, ..Driver::default() };
        let kinds = [Driver::take_a as fn(&mut Driver) -> _, Driver::take_b, Driver::take_c];
        take_turns(&mut driver, 5, &kinds, Driver::on);
        assert_eq!(driver.handled, "abcabcaa");
    }

    #[test]
    fn when_nothing_is_there_it_ends() {
        let mut driver = Driver { b: 1, ..Driver::default() };
        let kinds = [Driver::take_b as fn(&mut Driver) -> _, Driver::take_c];
        take_turns(&mut driver, 64, &kinds, Driver::on);
        assert_eq!((&*driver.handled, driver.asked), ("bc", 2));
    }
}
