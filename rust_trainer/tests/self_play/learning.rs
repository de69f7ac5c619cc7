//! One network learns from both players, and knows which it is.

use std::time::Duration;

use rust_trainer::{
    algorithms,
    envs::SelfPlay,
    settings::{Algorithm, Settings},
};
use tch::Device;
use vec_env::{
    ActionSpace, Actions, BatchSpec, Dtype, EnvError, ObsSlot, ObsSpec, StepBatch, VecEnv,
};

const NUM_GAMES: usize = 4;

/// Both players see the same, and nothing: the first must take action 0 and the second action 1.
struct Roles {
    spec: BatchSpec,
    sent: Option<Vec<i64>>,
}

impl VecEnv for Roles {
    fn spec(&self) -> &BatchSpec {
        &self.spec
    }

    fn reset(&mut self, _seed: Option<u64>, _obs: &mut [u8]) -> Result<(), EnvError> {
        Ok(())
    }

    fn send(&mut self, actions: Actions<'_>, _obs: ObsSlot) -> Result<(), EnvError> {
        if let Actions::Discrete(actions) = actions {
            self.sent = Some(actions.to_vec());
        }
        Ok(())
    }

    fn recv_timeout(
        &mut self,
        step: &mut StepBatch,
        _timeout: Option<Duration>,
    ) -> Result<(), EnvError> {
        let actions = self.sent.take().unwrap();
        step.clear(NUM_GAMES, 2);
        for (row, action) in actions.into_iter().enumerate() {
            step.reward[row] = f32::from(u8::from(action == row as i64 % 2));
        }
        step.terminated.fill(true);
        Ok(())
    }

    fn close(&mut self) -> Result<(), EnvError> {
        Ok(())
    }
}

#[test]
fn one_network_learns_both_parts_from_the_indicator_alone() {
    tch::set_num_threads(1);
    let obs_spec = ObsSpec {
        shape: vec![2, 1],
        dtype: Dtype::Float32,
    };
    let space = ActionSpace::MultiDiscrete { nvec: vec![2, 2] };
    let games = Roles {
        spec: BatchSpec {
            num_players: 2,
            ..BatchSpec::new(NUM_GAMES, obs_spec, space)
        },
        sent: None,
    };
    let mut env = SelfPlay::new(Box::new(games)).unwrap();
    let changes = "num_players = 2\nnum_envs = 4\nnum_steps = 16\nlearning_rate = 3e-3\nent_coef = 0.0\n\
                   total_steps = 6_400";
    let settings = Settings::defaults(Algorithm::Ppo);
    let settings = settings.with(&toml::from_str(changes).unwrap()).unwrap();
    let mut ppo = algorithms::new(&settings, &env, Device::Cpu).unwrap();
    let mut step = StepBatch::default();
    let mut last = Vec::new();
    env.reset(Some(1), &mut ppo.next_obs()).unwrap();
    for _ in 0..settings.run.total_steps / env.num_envs() as u64 {
        let actions = ppo.act().unwrap();
        env.send(actions.as_actions(), ppo.next_obs()).unwrap();
        env.recv(&mut step).unwrap();
        ppo.observe(&step).unwrap();
        ppo.learn(&mut || false).unwrap();
        last.push(step.reward.iter().sum::<f32>() / step.reward.len() as f32);
    }
    let mean = last[last.len() - 50..].iter().sum::<f32>() / 50.0;
    assert!(
        mean > 0.95,
        "mean reward {mean}; without an indicator 0.5 at most"
    );
}
