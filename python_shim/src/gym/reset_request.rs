//! [`ResetRequest`]: which environments a reset restarts, and how.

use crate::Value;

/// Which environments to restart, with which seeds and options; by default all of them, whose random
/// numbers go on.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ResetRequest {
    /// A seed for each environment of the batch; `None` where its random numbers go on.
    pub seeds: Option<Vec<Option<u64>>>,
    /// Which environments to restart; the others stay as they are. The first reset is of all.
    pub mask: Option<Vec<bool>>,
    /// Gymnasium's `options`.
    pub options: Vec<(String, Value)>,
}

impl ResetRequest {
    /// All environments, seeded `seed`, `seed + 1`, ….
    #[must_use]
    pub fn seeded(seed: u64, num_envs: usize) -> Self {
        Self {
            seeds: Some((seed..).take(num_envs).map(Some).collect()),
            ..Self::default()
        }
    }

    /// One environment of `num_envs`.
    #[must_use]
    pub fn only(index: usize, seed: Option<u64>, num_envs: usize) -> Self {
        let here = |env: usize| env == index;
        Self {
            seeds: seed.map(|seed| (0..num_envs).map(|env| here(env).then_some(seed)).collect()),
            mask: Some((0..num_envs).map(here).collect()),
            options: Vec::new(),
        }
    }

    /// The same with the environments that `mask` names.
    #[must_use]
    pub fn with_mask(self, mask: Vec<bool>) -> Self {
        Self {
            mask: Some(mask),
            ..self
        }
    }

    /// The same with one more of Gymnasium's `options`.
    #[must_use]
    pub fn with_option(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.options.push((name.to_owned(), value.into()));
        self
    }
}
