//! The latest entries, up to a number of entries and a number of bytes of their texts.

use std::collections::VecDeque;

#[derive(Debug)]
pub(crate) struct Ring<T> {
    entries: VecDeque<T>,
    /// The bytes of all texts.
    bytes: usize,
    most: usize,
    bytes_most: usize,
}

impl<T: AsRef<str>> Ring<T> {
    pub(crate) const fn new(most: usize, bytes_most: usize) -> Self {
        Self { entries: VecDeque::new(), bytes: 0, most, bytes_most }
    }

    pub(crate) const fn entries(&self) -> &VecDeque<T> {
        &self.entries
    }

    /// Adds an entry. An entry whose text alone is too long empties the ring, and is not kept.
    pub(crate) fn push(&mut self, entry: T) {
        self.bytes += entry.as_ref().len();
        self.entries.push_back(entry);
        while self.entries.len() > self.most || self.bytes > self.bytes_most {
            let Some(gone) = self.entries.pop_front() else { break };
            self.bytes -= gone.as_ref().len();
        }
    }

    /// Removes the last entry if `is` accepts that entry.
    pub(crate) fn pop_if(&mut self, is: impl FnOnce(&T) -> bool) {
        if let Some(gone) = self.entries.pop_back_if(|last| is(last)) {
            self.bytes -= gone.as_ref().len();
        }
    }
}
