//! The environment of these tests, written in Rust.

use std::time::Duration;

use vec_env::{
    ActionSpace, Actions, BatchSpec, Dtype, EnvError, Episode, ObsSlot, ObsSpec, StepBatch, VecEnv,
};

pub const NUM_ENVS: usize = 4;

/// How the scripted environment ends its episodes.
#[derive(Clone, Copy, PartialEq)]
pub enum End {
    Terminated,
    Truncated,
}

/// Shows one of two contexts, one-hot; the action that names it is worth 1. The context is the parity of
/// the steps taken, or always the first with `constant`, and an episode takes `length` steps.
pub struct Contexts {
    pub spec: BatchSpec,
    pub constant: bool,
    pub length: i64,
    pub end: End,
    pub steps: i64,
    pub returns: [f64; NUM_ENVS],
    pub sent: Option<(Vec<i64>, ObsSlot)>,
}

impl Contexts {
    pub fn new(constant: bool, length: i64, end: End) -> Self {
        let obs_spec = ObsSpec {
            shape: vec![2],
            dtype: Dtype::Float32,
        };
        Self {
            spec: BatchSpec::new(NUM_ENVS, obs_spec, ActionSpace::Discrete { n: 2 }),
            constant,
            length,
            end,
            steps: 0,
            returns: [0.0; NUM_ENVS],
            sent: None,
        }
    }

    fn context(&self, env: usize) -> i64 {
        if self.constant {
            0
        } else {
            (self.steps + env as i64) % 2
        }
    }

    fn observe(&self, obs: &mut [u8]) {
        let row_bytes = self.spec.obs_spec.num_bytes();
        for (env, row) in obs.chunks_exact_mut(row_bytes).enumerate() {
            for (index, feature) in row.chunks_exact_mut(4).enumerate() {
                let value = f32::from(u8::from(index as i64 == self.context(env)));
                feature.copy_from_slice(&value.to_ne_bytes());
            }
        }
    }
}

impl VecEnv for Contexts {
    fn spec(&self) -> &BatchSpec {
        &self.spec
    }

    fn reset(&mut self, _seed: Option<u64>, obs: &mut [u8]) -> Result<(), EnvError> {
        (self.steps, self.returns) = (0, [0.0; NUM_ENVS]);
        self.observe(obs);
        Ok(())
    }

    fn send(&mut self, actions: Actions<'_>, obs: ObsSlot) -> Result<(), EnvError> {
        let Actions::Discrete(actions) = actions else {
            let space = self.spec.action_space.clone();
            return Err(EnvError::ActionKind { space });
        };
        self.sent = Some((actions.to_vec(), obs));
        Ok(())
    }

    fn recv_timeout(
        &mut self,
        batch: &mut StepBatch,
        _timeout: Option<Duration>,
    ) -> Result<(), EnvError> {
        let (actions, mut obs) = self
            .sent
            .take()
            .ok_or_else(|| EnvError::Order("no step in flight".to_owned()))?;
        let rewards: Vec<f32> = (0..NUM_ENVS)
            .map(|env| f32::from(u8::from(actions[env] == self.context(env))))
            .collect();
        self.steps += 1;
        let ended = self.steps % self.length == 0;
        batch.clear(NUM_ENVS, 1);
        batch.raw_reward.clone_from(&rewards);
        batch.terminated.fill(ended && self.end == End::Terminated);
        batch.truncated.fill(ended && self.end == End::Truncated);
        self.observe(&mut obs);
        for (env, reward) in rewards.iter().enumerate() {
            self.returns[env] += f64::from(*reward);
            if ended {
                let raw_return = std::mem::take(&mut self.returns[env]);
                batch.episodes.push(Episode {
                    env,
                    raw_return,
                    length: self.length,
                    frames: self.length,
                });
                let row_bytes = self.spec.obs_spec.num_bytes();
                let row = obs[env * row_bytes..][..row_bytes].to_vec();
                batch.final_obs.push((env, row));
            }
        }
        batch.reward = rewards;
        Ok(())
    }

    fn close(&mut self) -> Result<(), EnvError> {
        Ok(())
    }
}
