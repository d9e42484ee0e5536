//! Counters of retired instructions that can be set and stopped.

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Counter {
    /// While it counts: its value minus the number of retired instructions. While it is stopped: its value.
    offset: u64,
    pub stopped: bool,
}

impl Counter {
    /// Returns the value when `retired` instructions have retired.
    pub fn value(&self, retired: u64) -> u64 {
        if self.stopped { self.offset } else { self.offset.wrapping_add(retired) }
    }

    pub fn set(&mut self, value: u64, retired: u64) {
        self.offset = if self.stopped { value } else { value.wrapping_sub(retired) };
    }

    pub fn stop(&mut self, stopped: bool, retired: u64) {
        let value = self.value(retired);
        self.stopped = stopped;
        self.set(value, retired);
    }
}

#[cfg(test)]
mod tests {
    use super::Counter;

    #[test]
    fn stopped_counters_keep_their_value() {
        let mut counter = Counter::default();
        assert_eq!(counter.value(7), 7);
        counter.stop(true, 10);
        assert_eq!(counter.value(50), 10);
        counter.set(3, 60);
        assert_eq!(counter.value(70), 3);
        counter.stop(false, 100);
        assert_eq!(counter.value(105), 8);
        counter.set(u64::MAX, 105);
        assert_eq!(counter.value(107), 1);
    }
}
