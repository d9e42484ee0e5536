//! Items that a thread reads ahead of the one that takes them.

use std::ops::ControlFlow;
use std::panic::resume_unwind;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{self, JoinHandle};
use std::vec;

/// Items that another thread reads ahead, in order. `R` is the result of reading.
#[derive(Debug)]
pub struct Ahead<T, R> {
    /// Batches to come; `None` after the last.
    batches: Option<Receiver<Vec<T>>>,
    batch: vec::IntoIter<T>,
    thread: JoinHandle<R>,
}

/// The reading end of an [`Ahead`], which sends items in batches. Dropping it sends the items that are left.
#[derive(Debug)]
pub struct Batches<T> {
    batch: Vec<T>,
    /// Items of a full batch.
    size: usize,
    to: SyncSender<Vec<T>>,
    /// Set when nobody takes items any more.
    is_done: bool,
}

impl<T: Send + 'static, R: Send + 'static> Ahead<T, R> {
    /// Runs `read` on a thread. At most `waiting` batches wait to be taken. Items that are pushed one by one are sent `size` at a time.
    pub fn new((size, waiting): (usize, usize), read: impl FnOnce(Batches<T>) -> R + Send + 'static) -> Self {
        let (to, batches) = sync_channel(waiting);
        let to = Batches { batch: Vec::new(), size, to, is_done: false };
        let thread = thread::spawn(move || read(to));
        Self { batches: Some(batches), batch: Vec::new().into_iter(), thread }
    }

    /// Stops reading, and returns its result. If the thread panicked, so does this.
    pub fn finish(self) -> R {
        self.stop().join().unwrap_or_else(|panic| resume_unwind(panic))
    }

    /// Stops reading, and returns the thread, which ends soon.
    pub fn stop(self) -> JoinHandle<R> {
        // Sending fails from here on, so reading stops.
        drop(self.batches);
        self.thread
    }

    /// Returns the result of reading, or its panic, if all items were taken.
    #[cfg(feature = "capture")]
    pub fn result_at_end(self) -> Option<thread::Result<R>> {
        self.batches.is_none().then(|| self.thread.join())
    }
}

impl<T, R> Iterator for Ahead<T, R> {
    type Item = T;

    #[inline]
    fn next(&mut self) -> Option<T> {
        loop {
            if let Some(next) = self.batch.next() {
                return Some(next);
            }
            match self.batches.as_ref()?.recv() {
                Ok(batch) => self.batch = batch.into_iter(),
                Err(_) => self.batches = None,
            }
        }
    }
}

impl<T> Batches<T> {
    /// Adds an item to the batch, and sends the batch if it is full.
    #[inline]
    pub fn push(&mut self, item: T) {
        self.batch.push(item);
        if self.batch.len() == self.size {
            let batch = std::mem::replace(&mut self.batch, Vec::with_capacity(self.size));
            let _ = self.send(batch);
        }
    }

    /// Sends a whole batch, ahead of items that were pushed and not sent yet. Returns `Break` if nobody takes items any more.
    pub fn send(&mut self, batch: Vec<T>) -> ControlFlow<()> {
        self.is_done |= self.to.send(batch).is_err();
        if self.is_done { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    /// Returns whether nobody takes items any more.
    pub fn is_done(&self) -> bool {
        self.is_done
    }
}

impl<T> Drop for Batches<T> {
    fn drop(&mut self) {
        let rest = std::mem::take(&mut self.batch);
        let _ = self.send(rest);
    }
}
