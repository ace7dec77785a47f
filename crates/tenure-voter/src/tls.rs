//! Certificates of both sides, read anew now and then.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tenure::Time;

use crate::options::Texts;

/// How long what was read from files is used before they are read again.
const REREAD: Duration = Duration::from_secs(30);

/// Something that is made of files, and made anew when they have changed, so that a renewed
/// certificate is used without a restart. When that fails the earlier one stays. It stays, too, as
/// long as the files do: a client keeps its connections.
pub(crate) struct Reread<T, F = Texts> {
    read: Box<dyn Fn() -> Result<F, Arc<str>> + Send + Sync>,
    make: Box<dyn Fn() -> Result<T, Arc<str>> + Send + Sync>,
    made: Mutex<Made<T, F>>,
}

struct Made<T, F> {
    read_at: Time,
    /// What the files held just before it was made.
    of: F,
    it: Arc<T>,
}

impl<T, F: PartialEq> Reread<T, F> {
    pub(crate) fn new(
        now: Time,
        read: impl Fn() -> Result<F, Arc<str>> + Send + Sync + 'static,
        make: impl Fn() -> Result<T, Arc<str>> + Send + Sync + 'static,
    ) -> Result<Self, Arc<str>> {
        let (of, it) = (read()?, make()?.into());
        let made = Mutex::new(Made { read_at: now, of, it });
        Ok(Self { read: Box::new(read), make: Box::new(make), made })
    }

    /// It, and why it could not be made anew just now.
    pub(crate) fn get(&self, now: Time) -> (Arc<T>, Option<Arc<str>>) {
        // What it guards is whole after each assignment.
        let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        let mut wrong = None;
        if now.since(made.read_at) >= REREAD {
            made.read_at = now;
            wrong = self.renew(&mut made).err();
        }
        (made.it.clone(), wrong)
    }

    fn renew(&self, made: &mut Made<T, F>) -> Result<(), Arc<str>> {
        let of = (self.read)()?;
        if of != made.of {
            let it = (self.make)()?.into();
            *made = Made { of, it, ..*made };
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;

    /// What is made of a file with a number; zero is broken, and one cannot be read.
    fn of(file: &Arc<AtomicU32>) -> Reread<u32, u32> {
        let (file, made) = (file.clone(), file.clone());
        let read = move || match file.load(Ordering::SeqCst) {
            1 => Err("unreadable".into()),
            number => Ok(number),
        };
        let make = move || match made.load(Ordering::SeqCst) {
            0 => Err("broken".into()),
            number => Ok(number),
        };
        Reread::new(START, read, make).unwrap()
    }

    const START: Time = Time::from_nanos(1);

    #[test]
    fn what_is_renewed_is_used_and_what_is_broken_is_not() {
        let file = Arc::new(AtomicU32::new(2));
        let reread = of(&file);
        file.store(3, Ordering::SeqCst);
        let got = |now| {
            let (value, wrong) = reread.get(now);
            (*value, wrong)
        };
        assert_eq!(got(START), (2, None));
        let mut now = START;
        for (number, wanted) in
            [(3, (3, None)), (0, (3, Some("broken".into()))), (1, (3, Some("unreadable".into())))]
        {
            file.store(number, Ordering::SeqCst);
            now = now.after(REREAD);
            assert_eq!(got(now), wanted);
            assert_eq!(got(now), (wanted.0, None), "not at each request");
        }
        // One that is still broken is told again.
        now = now.after(REREAD);
        assert_eq!(got(now), (3, Some("unreadable".into())));
        file.store(4, Ordering::SeqCst);
        assert_eq!(got(now.after(REREAD)), (4, None));
    }

    /// Connections are part of a client.
    #[test]
    fn what_has_not_changed_is_not_made_anew() {
        let reread = of(&Arc::new(AtomicU32::new(2)));
        let first = reread.get(START).0;
        let later = reread.get(START.after(REREAD)).0;
        assert!(Arc::ptr_eq(&first, &later));
    }
}
