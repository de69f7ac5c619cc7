//! [`Recall`]: the smallest task that takes a memory.

use crate::{
    env::{Env, Random, Transition, bytes_to_words, words_to_bytes, write_floats},
    spaces::{ActionSpace, Actions, Dtype, ObsSpec},
};

/// One of `num_cues` cues is shown at the first step only; the action that names it is worth 1 at the
/// last, `delay` steps later, where the episode ends. The other actions count for nothing: who does not
/// remember is right in one of `num_cues` games (as `memory_len` of Osband et al. 2020, "Behaviour suite
/// for reinforcement learning").
///
/// Observations are float32 `[num_cues + 1]`: 1 for the cue while it is shown, and at the end 1 where it is
/// asked for, the last number.
#[derive(Clone, Debug)]
pub struct Recall {
    num_cues: usize,
    delay: u32,
    cue: usize,
    num_steps: u32,
    random: Random,
}

impl Recall {
    /// At least two cues and a delay of at least one step; unseeded episodes start as `seed` says.
    #[must_use]
    pub fn new(num_cues: usize, delay: u32, seed: u64) -> Self {
        Self {
            num_cues: num_cues.max(2),
            delay: delay.max(1),
            cue: 0,
            num_steps: 0,
            random: Random::new(seed),
        }
    }

    fn observe(&self, obs: &mut [u8]) {
        let mut shown = vec![0.0; self.num_cues + 1];
        if self.num_steps == 0 {
            shown[self.cue] = 1.0;
        }
        if self.num_steps == self.delay {
            shown[self.num_cues] = 1.0;
        }
        write_floats(obs, shown);
    }
}

impl Env for Recall {
    fn obs_spec(&self) -> ObsSpec {
        ObsSpec {
            shape: vec![self.num_cues + 1],
            dtype: Dtype::Float32,
        }
    }

    fn action_space(&self) -> ActionSpace {
        ActionSpace::Discrete {
            n: self.num_cues as i64,
        }
    }

    fn reset(&mut self, seed: Option<u64>, obs: &mut [u8]) {
        if let Some(seed) = seed {
            self.random = Random::new(seed);
        }
        self.cue = self.random.below(self.num_cues);
        self.num_steps = 0;
        self.observe(obs);
    }

    fn step(&mut self, action: Actions<'_>, obs: &mut [u8]) -> Transition {
        let is_asked = self.num_steps == self.delay;
        let is_right = is_asked && action.first() == self.cue as i64;
        self.num_steps += 1;
        self.observe(obs);
        Transition {
            reward: f32::from(u8::from(is_right)),
            terminated: is_asked,
            truncated: false,
        }
    }

    fn save_state(&self) -> Option<Vec<u8>> {
        let (cue, num_steps) = (self.cue as u64, u64::from(self.num_steps));
        Some(words_to_bytes(&[cue, num_steps, self.random.state()]))
    }

    fn restore_state(&mut self, state: &[u8], obs: &mut [u8]) -> bool {
        let Some([cue, num_steps, random]) = bytes_to_words(state) else {
            return false;
        };
        let (cue, num_steps) = (cue as usize, num_steps.try_into().unwrap_or(u32::MAX));
        // An episode that has ended is one step longer.
        if cue >= self.num_cues || num_steps > self.delay.saturating_add(1) {
            return false;
        }
        (self.cue, self.num_steps, self.random) = (cue, num_steps, Random::new(random));
        self.observe(obs);
        true
    }
}
