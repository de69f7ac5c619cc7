//! [`CartPoles`]: several of [`CartPole`], an agent each.

use super::cart_pole::CartPole;
use crate::{
    agents::{Agent, MultiAgentEnv},
    env::{Env, Transition},
    picture::Picture,
    spaces::Actions,
};

/// Bytes of a pole in a saved state: whether it takes part, then its own state.
const POLE_BYTES: usize = 1 + 48;

/// Poles on carts of their own, `pole_0` and so on: each agent balances one as in [`CartPole`], until its own falls.
#[derive(Clone, Debug)]
pub struct CartPoles {
    poles: Vec<CartPole>,
    takes_part: Vec<bool>,
    agents: Vec<Agent>,
}

impl CartPoles {
    /// `count` poles; unseeded episodes start as `seed` says.
    #[must_use]
    pub fn new(count: usize, seed: u64) -> Self {
        let poles = (0..count).map(|index| CartPole::new(pole_seed(seed, count, index)));
        let poles: Vec<CartPole> = poles.collect();
        let agent = |(index, pole): (usize, &CartPole)| Agent {
            name: format!("pole_{index}"),
            obs_spec: pole.obs_spec(),
            action_space: pole.action_space(),
        };
        Self {
            agents: poles.iter().enumerate().map(agent).collect(),
            takes_part: vec![false; count],
            poles,
        }
    }

    /// Starts an episode with each pole at a state.
    pub fn start_at(&mut self, states: &[[f64; 4]]) {
        for (pole, state) in self.poles.iter_mut().zip(states) {
            pole.start_at(*state);
        }
        self.takes_part.fill(true);
    }
}

/// The seed of a pole among `count`. Environments of a batch have seeds that follow one another: with `seed + index` the
/// poles of neighbours would have the same random numbers.
fn pole_seed(seed: u64, count: usize, index: usize) -> u64 {
    seed.wrapping_mul(count as u64).wrapping_add(index as u64)
}

impl MultiAgentEnv for CartPoles {
    fn agents(&self) -> &[Agent] {
        &self.agents
    }

    fn takes_part(&self) -> &[bool] {
        &self.takes_part
    }

    fn ends_apart(&self) -> bool {
        self.poles.len() > 1
    }

    /// Pole `i` of `n` starts as a single one does with `seed · n + i`.
    fn reset(&mut self, seed: Option<u64>, obs: &mut [Vec<u8>]) {
        let count = self.poles.len();
        for (index, (pole, obs)) in self.poles.iter_mut().zip(obs).enumerate() {
            pole.reset(seed.map(|seed| pole_seed(seed, count, index)), obs);
        }
        self.takes_part.fill(true);
    }

    fn step(
        &mut self,
        actions: &[Option<Actions<'_>>],
        obs: &mut [Vec<u8>],
    ) -> Vec<Option<Transition>> {
        let poles = self.poles.iter_mut().zip(&mut self.takes_part);
        let steps = poles.zip(actions).zip(obs);
        steps
            .map(|(((pole, takes_part), action), obs)| {
                let action = action.filter(|_| *takes_part)?;
                let transition = pole.step(action, obs);
                *takes_part = !transition.terminated && !transition.truncated;
                Some(transition)
            })
            .collect()
    }

    fn obs_bounds(&self, agent: usize) -> Option<[Vec<f32>; 2]> {
        self.poles[agent].obs_bounds()
    }

    fn render_fps(&self) -> f64 {
        self.poles.first().map_or(30.0, Env::render_fps)
    }

    /// The poles side by side.
    fn render(&self) -> Option<Picture> {
        let pictures = self.poles.iter().map(Env::render);
        Picture::side_by_side(&pictures.collect::<Option<Vec<_>>>()?)
    }

    fn save_state(&self) -> Option<Vec<u8>> {
        let mut state = Vec::new();
        for (pole, takes_part) in self.poles.iter().zip(&self.takes_part) {
            state.push(u8::from(*takes_part));
            state.extend(pole.save_state()?);
        }
        Some(state)
    }

    fn restore_state(&mut self, state: &[u8], obs: &mut [Vec<u8>]) -> bool {
        let (states, rest) = state.as_chunks::<POLE_BYTES>();
        let mut restored = self.clone();
        let mut shown = obs.to_vec();
        let fits = states.len() == self.poles.len() && rest.is_empty();
        let all = fits
            && (restored.poles.iter_mut().zip(&mut restored.takes_part))
                .zip(states)
                .zip(&mut shown)
                .all(|(((pole, takes_part), state), obs)| {
                    *takes_part = state[0] == 1;
                    state[0] <= 1 && pole.restore_state(&state[1..], obs)
                });
        if all {
            *self = restored;
            obs.clone_from_slice(&shown);
        }
        all
    }
}
