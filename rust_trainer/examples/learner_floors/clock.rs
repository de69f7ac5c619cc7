//! Times of whatever is done again and again, in milliseconds.

use std::{collections::BTreeMap, time::Instant};

use rust_trainer::device::cpu_time;

/// Wall and CPU time of everything timed, in milliseconds.
#[derive(Default)]
pub struct Clock {
    pub samples: BTreeMap<&'static str, Vec<[f64; 2]>>,
}

impl Clock {
    /// Times `work`.
    pub fn time<T>(&mut self, what: &'static str, work: impl FnOnce() -> T) -> T {
        let (started, cpu) = (Instant::now(), cpu_time());
        let result = work();
        let (wall, cpu) = (
            started.elapsed().as_secs_f64() * 1e3,
            cpu_time().saturating_sub(cpu).as_secs_f64() * 1e3,
        );
        self.samples.entry(what).or_default().push([wall, cpu]);
        result
    }

    /// Of all times.
    pub fn median(&self, what: &str) -> f64 {
        self.middle(what, 0)
    }

    /// The same of CPU time.
    pub fn median_cpu(&self, what: &str) -> f64 {
        self.middle(what, 1)
    }

    fn middle(&self, what: &str, column: usize) -> f64 {
        let mut times: Vec<f64> = self.samples[what]
            .iter()
            .map(|times| times[column])
            .collect();
        times.sort_by(f64::total_cmp);
        times[times.len() / 2]
    }
}
