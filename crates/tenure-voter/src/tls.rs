//! Certificates of both sides, read anew now and then.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tenure::Time;

/// How long what was read from files is used before they are read again.
const REREAD: Duration = Duration::from_secs(30);

/// Something that is made of files, and made anew so that a renewed certificate is used without a
/// restart. When that fails the earlier one stays.
pub(crate) struct Reread<T> {
    make: Box<dyn Fn() -> Result<T, Arc<str>> + Send + Sync>,
    made: Mutex<(Time, Arc<T>)>,
}

impl<T> Reread<T> {
    pub(crate) fn new(
        now: Time,
        make: impl Fn() -> Result<T, Arc<str>> + Send + Sync + 'static,
    ) -> Result<Self, Arc<str>> {
        let made = Mutex::new((now, Arc::new(make()?)));
        Ok(Self { make: Box::new(make), made })
    }

    /// It, and why it could not be made anew just now.
    pub(crate) fn get(&self, now: Time) -> (Arc<T>, Option<Arc<str>>) {
        // What it guards is assigned whole.
        let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        let mut wrong = None;
        if now.since(made.0) >= REREAD {
            made.0 = now;
            match (self.make)() {
                Ok(anew) => made.1 = Arc::new(anew),
                Err(why) => wrong = Some(why),
            }
        }
        (made.1.clone(), wrong)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;

    #[test]
    fn what_is_renewed_is_used_and_what_is_broken_is_not() {
        let file = Arc::new(AtomicU32::new(1));
        let read = file.clone();
        let make = move || match read.load(Ordering::SeqCst) {
            0 => Err("broken".into()),
            number => Ok(number),
        };
        let start = Time::from_nanos(1);
        let reread = Reread::new(start, make).unwrap();
        file.store(2, Ordering::SeqCst);
        let got = |now| {
            let (value, wrong) = reread.get(now);
            (*value, wrong)
        };
        assert_eq!(got(start), (1, None));
        assert_eq!(got(start.after(REREAD)), (2, None));
        file.store(0, Ordering::SeqCst);
        assert_eq!(got(start.after(2 * REREAD)), (2, Some("broken".into())));
        assert_eq!(got(start.after(2 * REREAD)), (2, None), "not at each request");
    }
}
