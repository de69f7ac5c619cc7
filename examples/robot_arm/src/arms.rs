//! Several robot arms, an agent each.

use vec_env::{Actions, Agent, Env, MultiAgentEnv, Picture, Transition};

use super::RobotArm;

/// Arms side by side, `arm_0` and so on, each as [`RobotArm`] and with a target of its own; one whose hand is there takes no
/// part any more.
#[derive(Clone, Debug)]
pub struct RobotArms {
    arms: Vec<RobotArm>,
    agents: Vec<Agent>,
    takes_part: Vec<bool>,
}

impl RobotArms {
    /// `count` arms, whose episodes are cut after `max_steps`; unseeded ones start as `seed` says.
    #[must_use]
    pub fn new(count: usize, max_steps: u32, seed: u64) -> Self {
        let arms = (0..count).map(|index| RobotArm::new(max_steps, arm_seed(seed, count, index)));
        let arms: Vec<_> = arms.collect();
        let agent = |(index, arm): (usize, &RobotArm)| Agent {
            name: format!("arm_{index}"),
            obs_spec: arm.obs_spec(),
            action_space: arm.action_space(),
        };
        Self {
            agents: arms.iter().enumerate().map(agent).collect(),
            takes_part: vec![false; count],
            arms,
        }
    }
}

/// The seed of an arm among `count`; with `seed + index` those of neighbours in a batch would be the same.
fn arm_seed(seed: u64, count: usize, index: usize) -> u64 {
    seed.wrapping_mul(count as u64).wrapping_add(index as u64)
}

impl MultiAgentEnv for RobotArms {
    fn agents(&self) -> &[Agent] {
        &self.agents
    }

    fn takes_part(&self) -> &[bool] {
        &self.takes_part
    }

    /// Arm `i` of `n` starts as a single one does with `seed · n + i`.
    fn reset(&mut self, seed: Option<u64>, obs: &mut [Vec<u8>]) {
        let count = self.arms.len();
        for (index, (arm, obs)) in self.arms.iter_mut().zip(obs).enumerate() {
            arm.reset(seed.map(|seed| arm_seed(seed, count, index)), obs);
        }
        self.takes_part.fill(true);
    }

    fn step(
        &mut self,
        actions: &[Option<Actions<'_>>],
        obs: &mut [Vec<u8>],
    ) -> Vec<Option<Transition>> {
        let arms = self.arms.iter_mut().zip(&mut self.takes_part);
        let steps = arms.zip(actions).zip(obs);
        steps
            .map(|(((arm, takes_part), action), obs)| {
                let transition = arm.step((*action)?, obs);
                *takes_part = !transition.terminated && !transition.truncated;
                Some(transition)
            })
            .collect()
    }

    // What follows may be left out.

    fn ends_apart(&self) -> bool {
        self.arms.len() > 1
    }

    fn obs_bounds(&self, agent: usize) -> Option<[Vec<f32>; 2]> {
        self.arms[agent].obs_bounds()
    }

    fn render(&self) -> Option<Picture> {
        let pictures = self.arms.iter().map(Env::render);
        Picture::side_by_side(&pictures.collect::<Option<Vec<_>>>()?)
    }

    fn render_fps(&self) -> f64 {
        self.arms.first().map_or(30.0, Env::render_fps)
    }

    /// Of each arm whether it takes part, and its state.
    fn save_state(&self) -> Option<Vec<u8>> {
        let mut state = Vec::new();
        for (arm, takes_part) in self.arms.iter().zip(&self.takes_part) {
            state.push(u8::from(*takes_part));
            state.extend(arm.save_state()?);
        }
        Some(state)
    }

    fn restore_state(&mut self, state: &[u8], obs: &mut [Vec<u8>]) -> bool {
        let (mut restored, mut shown) = (self.clone(), obs.to_vec());
        if self.arms.is_empty() || !state.len().is_multiple_of(self.arms.len()) {
            return false;
        }
        let states = state.chunks(1.max(state.len() / self.arms.len()));
        let parts = restored.arms.iter_mut().zip(&mut restored.takes_part);
        let fits = !state.is_empty()
            && parts
                .zip(states)
                .zip(&mut shown)
                .all(|(((arm, takes_part), state), obs)| {
                    *takes_part = state[0] == 1;
                    state[0] <= 1 && arm.restore_state(&state[1..], obs)
                });
        if fits {
            *self = restored;
            obs.clone_from_slice(&shown);
        }
        fits
    }
}
