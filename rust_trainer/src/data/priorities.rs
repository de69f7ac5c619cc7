//! Proportional prioritized replay (Schaul et al. 2016, "Prioritized experience replay", section 3.3).

use rand::{Rng, RngExt};

use crate::error::TrainerError;

/// Priorities of the transitions of a replay memory: a tree of sums, in which a change and a draw take
/// as many steps as it is high.
///
/// A leaf holds `p^α`; the priority p of a transition that was never learned from is the largest so far.
#[derive(Debug)]
pub(crate) struct Priorities {
    /// Node `i` is the sum of `2i` and `2i + 1`; the root is 1, the leaves begin at `first_leaf`.
    sums: Vec<f64>,
    first_leaf: usize,
    capacity: usize,
    alpha: f64,
    largest: f64,
}

/// Keeps a transition without an error from never being drawn again.
const SMALLEST: f64 = 1e-6;

impl Priorities {
    /// `capacity` leaves that cannot be drawn; `alpha` is 0 for uniform draws and 1 for those in
    /// proportion to the priorities.
    pub fn new(capacity: usize, alpha: f64) -> Self {
        let first_leaf = capacity.max(1).next_power_of_two();
        Self {
            sums: vec![0.0; 2 * first_leaf],
            first_leaf,
            capacity,
            alpha,
            largest: 1.0,
        }
    }

    /// A new transition: of the largest priority so far, so that it is learned from at least once.
    pub fn push(&mut self, leaf: usize) {
        self.write(leaf, self.largest.powf(self.alpha));
    }

    /// Sets the priority of a transition: how wrong it was. An error below 0, to which rounding brings a
    /// divergence, counts as none.
    pub fn set(&mut self, leaf: usize, error: f64) {
        let priority = error.max(0.0) + SMALLEST;
        self.largest = self.largest.max(priority);
        self.write(leaf, priority.powf(self.alpha));
    }

    fn write(&mut self, leaf: usize, value: f64) {
        let mut node = self.first_leaf + leaf;
        self.sums[node] = value;
        while node > 1 {
            node /= 2;
            self.sums[node] = self.sums[2 * node] + self.sums[2 * node + 1];
        }
    }

    /// Draws `count` leaves: the sum of all is cut into as many equal parts, and one falls in each.
    ///
    /// # Panics
    /// If there is no transition yet.
    pub fn sample(&self, count: usize, rng: &mut impl Rng) -> Vec<usize> {
        let part = self.sums[1] / count as f64;
        let draw = |index| self.find((index as f64 + rng.random::<f64>()) * part);
        (0..count).map(draw).collect()
    }

    /// The leaf in whose share of the sum `mass` falls.
    fn find(&self, mut mass: f64) -> usize {
        assert!(self.sums[1] > 0.0, "nothing to draw from");
        let mut node = 1;
        while node < self.first_leaf {
            let (left, right) = (self.sums[2 * node], self.sums[2 * node + 1]);
            // Rounding may leave a mass behind the last leaf, where there is nothing.
            let goes_right = mass >= left && right > 0.0;
            node = 2 * node + usize::from(goes_right);
            if goes_right {
                mass -= left;
            }
        }
        node - self.first_leaf
    }

    /// The probability with which a leaf is drawn.
    pub fn probability(&self, leaf: usize) -> f64 {
        self.sums[self.first_leaf + leaf] / self.sums[1]
    }

    /// Importance-sampling weights of drawn leaves, `(N · P(i))^−β` over the largest among them, where
    /// `num_held` transitions can be drawn.
    pub fn weights(&self, leaves: &[usize], num_held: usize, beta: f64) -> Vec<f32> {
        let weight = |&leaf| (num_held as f64 * self.probability(leaf)).powf(-beta);
        let weights: Vec<f64> = leaves.iter().map(weight).collect();
        let largest = weights.iter().copied().fold(0.0, f64::max);
        let scaled = weights.iter().map(|weight| (weight / largest) as f32);
        scaled.collect()
    }

    /// All leaves, and the largest priority so far.
    pub fn state(&self) -> (&[f64], f64) {
        let leaves = &self.sums[self.first_leaf..][..self.capacity];
        (leaves, self.largest)
    }

    /// Goes on from what [`Priorities::state`] gave.
    ///
    /// # Errors
    /// [`TrainerError::State`] for another number of leaves, and for priorities that are none; nothing
    /// changes then.
    pub fn load(&mut self, leaves: &[f64], largest: f64) -> Result<(), TrainerError> {
        let is_priority = |value: &f64| value.is_finite() && *value >= 0.0;
        if leaves.len() != self.capacity || !leaves.iter().chain([&largest]).all(is_priority) {
            let problem = "priorities: not those of this replay memory".to_owned();
            return Err(TrainerError::State(problem));
        }
        self.sums[self.first_leaf..][..self.capacity].copy_from_slice(leaves);
        for node in (1..self.first_leaf).rev() {
            self.sums[node] = self.sums[2 * node] + self.sums[2 * node + 1];
        }
        self.largest = largest;
        Ok(())
    }
}

#[cfg(test)]
mod tests;
