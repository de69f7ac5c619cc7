//! [`GridWorld`]: the smallest task with a goal, in bytes.

use crate::{
    env::{Env, Random, Transition, bytes_to_words, words_to_bytes},
    spaces::{ActionSpace, Actions, Dtype, ObsSpec},
};

/// A square of cells, an agent and a goal, both at random places. The agent goes up, down, left or right
/// (actions 0 to 3) and stays where a wall is; reaching the goal is worth 1 and ends the episode, which
/// is cut after `4 · size²` steps.
///
/// Observations are uint8 `[2 · size · size]`: 255 where the agent is, then where the goal is, else 0.
#[derive(Clone, Debug)]
pub struct GridWorld {
    size: usize,
    agent: usize,
    goal: usize,
    num_steps: usize,
    random: Random,
}

impl GridWorld {
    /// `size` by `size` cells, at least 2 by 2; unseeded episodes start as `seed` says.
    #[must_use]
    pub fn new(size: usize, seed: u64) -> Self {
        Self {
            size: size.max(2),
            agent: 0,
            goal: 1,
            num_steps: 0,
            random: Random::new(seed),
        }
    }

    fn observe(&self, obs: &mut [u8]) {
        obs.fill(0);
        obs[self.agent] = u8::MAX;
        obs[self.size * self.size + self.goal] = u8::MAX;
    }
}

impl Env for GridWorld {
    fn obs_spec(&self) -> ObsSpec {
        ObsSpec {
            shape: vec![2 * self.size * self.size],
            dtype: Dtype::Uint8,
        }
    }

    fn action_space(&self) -> ActionSpace {
        ActionSpace::Discrete { n: 4 }
    }

    fn reset(&mut self, seed: Option<u64>, obs: &mut [u8]) {
        if let Some(seed) = seed {
            self.random = Random::new(seed);
        }
        let num_cells = self.size * self.size;
        self.agent = self.random.below(num_cells);
        // Any cell but the agent's.
        self.goal = (self.agent + 1 + self.random.below(num_cells - 1)) % num_cells;
        self.num_steps = 0;
        self.observe(obs);
    }

    fn step(&mut self, action: Actions<'_>, obs: &mut [u8]) -> Transition {
        let (row, column, last) = (
            self.agent / self.size,
            self.agent % self.size,
            self.size - 1,
        );
        let (row, column) = match action.first() {
            0 => (row.saturating_sub(1), column),
            1 => ((row + 1).min(last), column),
            2 => (row, column.saturating_sub(1)),
            _ => (row, (column + 1).min(last)),
        };
        self.agent = row * self.size + column;
        self.num_steps += 1;
        self.observe(obs);
        let terminated = self.agent == self.goal;
        Transition {
            reward: f32::from(u8::from(terminated)),
            terminated,
            truncated: !terminated && self.num_steps >= 4 * self.size * self.size,
        }
    }

    fn save_state(&self) -> Option<Vec<u8>> {
        let places = [self.size, self.agent, self.goal, self.num_steps];
        let [size, agent, goal, num_steps] = places.map(|number| number as u64);
        let words = [size, agent, goal, num_steps, self.random.state()];
        Some(words_to_bytes(&words))
    }

    fn restore_state(&mut self, state: &[u8], obs: &mut [u8]) -> bool {
        let Some([places @ .., random]) = bytes_to_words::<5>(state) else {
            return false;
        };
        let [size, agent, goal, num_steps] = places.map(|number| number as usize);
        let num_cells = self.size * self.size;
        if size != self.size || agent >= num_cells || goal >= num_cells {
            return false;
        }
        (self.agent, self.goal, self.num_steps) = (agent, goal, num_steps);
        self.random = Random::new(random);
        self.observe(obs);
        true
    }
}
