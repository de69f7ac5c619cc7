//! Which rank the others wait for.

use std::mem;

/// Updates after which the ranks are compared.
const UPDATES: u32 = 100;

/// How much longer than that of the others the slowest one's work takes before it is worth a word.
const NOTICEABLE: f64 = 1.25;

/// How long each rank worked since they were compared last.
#[derive(Debug, Default)]
pub(crate) struct WorkTimes {
    busy: Vec<f64>,
    updates: u32,
}

impl WorkTimes {
    /// Notes the seconds that each rank worked in an update. Once in a hundred updates: the slowest one, its
    /// seconds, and the median of the others', if the difference is worth a word.
    pub fn note(&mut self, busy: &[f64]) -> Option<(usize, f64, f64)> {
        self.busy.resize(busy.len(), 0.0);
        for (sum, busy) in self.busy.iter_mut().zip(busy) {
            *sum += busy;
        }
        self.updates += 1;
        if self.updates < UPDATES {
            return None;
        }
        self.updates = 0;
        slowest(&mem::take(&mut self.busy))
    }
}

fn slowest(busy: &[f64]) -> Option<(usize, f64, f64)> {
    let (rank, &most) = busy
        .iter()
        .enumerate()
        .max_by(|one, other| one.1.total_cmp(other.1))?;
    let mut others: Vec<f64> = busy.to_vec();
    others.remove(rank);
    others.sort_by(f64::total_cmp);
    let &median = others.get(others.len() / 2)?;
    (most > median * NOTICEABLE).then_some((rank, most, median))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rank_that_the_others_wait_for_is_named_with_its_seconds() {
        assert_eq!(slowest(&[1.0, 1.1, 0.9, 2.0]), Some((3, 2.0, 1.0)));
        assert_eq!(slowest(&[1.0, 1.2]), None);
        assert_eq!(slowest(&[1.0]), None);
        let mut pace = WorkTimes::default();
        for update in 1..=2 * UPDATES {
            let said = pace.note(&[0.25, 0.5]);
            let is_time = update % UPDATES == 0;
            assert_eq!(said, is_time.then_some((1, 50.0, 25.0)), "{update}");
        }
    }
}
