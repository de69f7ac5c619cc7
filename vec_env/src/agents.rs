//! [`MultiAgentEnv`]: an environment of several agents who act at once, as in `PettingZoo`'s parallel API.

use crate::{
    env::Transition,
    error::EnvError,
    picture::Picture,
    spaces::{ActionSpace, Actions, ObsSpec},
};

/// One of the agents of an environment.
#[derive(Clone, Debug, PartialEq)]
pub struct Agent {
    /// Its name, of no other agent.
    pub name: String,
    /// Shape and type of what it observes.
    pub obs_spec: ObsSpec,
    /// Its actions.
    pub action_space: ActionSpace,
}

impl Agent {
    /// Refuses actions of `agents` that do not fit: one for each that takes part, as `takes_part` says, and none for the
    /// others.
    ///
    /// # Errors
    /// [`EnvError::Order`] names the agent whose action is missing, or who does not take part; those of
    /// [`ActionSpace::check`], whose environment is the place of the agent.
    pub fn check(
        agents: &[Self],
        takes_part: &[bool],
        actions: &[Option<Actions<'_>>],
    ) -> Result<(), EnvError> {
        if actions.len() != agents.len() {
            return Err(EnvError::ActionCount {
                expected: agents.len(),
                got: actions.len(),
                num_values: 1,
            });
        }
        for (place, agent) in agents.iter().enumerate() {
            let problem = match (takes_part[place], actions[place]) {
                (true, Some(action)) => {
                    agent.action_space.check(action, 1, |_| place)?;
                    continue;
                }
                (false, None) => continue,
                (true, None) => "needs an action",
                (false, Some(_)) => "takes no part any more",
            };
            let problem = format!("step: agent `{}` {problem}", agent.name);
            return Err(EnvError::Order(problem));
        }
        Ok(())
    }
}

/// An environment of several agents, each with spaces, rewards and an end of its own. In each step all who take part act at
/// once; an agent whose episode ended takes no part until a reset, and the episode of the environment is over once none is
/// left. What belongs to agents stands in the order of [`MultiAgentEnv::agents`].
///
/// It checks nothing: [`Agent::check`] is for whoever calls it with actions of others.
pub trait MultiAgentEnv: Send {
    /// All agents that there may be; they stay that.
    fn agents(&self) -> &[Agent];

    /// Which of them take part now.
    fn takes_part(&self) -> &[bool];

    /// Whether it is known that an agent's episode may end before those of the others. Where nobody knows, as of
    /// environments that are not in Rust, it is not.
    fn ends_apart(&self) -> bool {
        false
    }

    /// Starts an episode and writes what each agent observes first to its `obs`, [`ObsSpec::num_bytes`] long. Equal seeds
    /// start equal futures; without one the random numbers go on.
    fn reset(&mut self, seed: Option<u64>, obs: &mut [Vec<u8>]);

    /// Takes an action of each agent that takes part, `None` for the others, and writes what these agents observe next to
    /// their `obs`, that of the others staying as it is. Gives each of them its transition.
    fn step(
        &mut self,
        actions: &[Option<Actions<'_>>],
        obs: &mut [Vec<u8>],
    ) -> Vec<Option<Transition>>;

    /// What went wrong in the calls before, of environments that can fail; the batch gives it to whoever receives.
    fn take_error(&mut self) -> Option<EnvError> {
        None
    }

    /// As [`Env::obs_bounds`](crate::Env::obs_bounds), of the agent at this place.
    fn obs_bounds(&self, _agent: usize) -> Option<[Vec<f32>; 2]> {
        None
    }

    /// What it looks like now, also before the first reset; `None` where it cannot be drawn.
    fn render(&self) -> Option<Picture> {
        None
    }

    /// Pictures a second at which it is to be watched.
    fn render_fps(&self) -> f64 {
        30.0
    }

    /// As [`Env::save_state`](crate::Env::save_state).
    fn save_state(&self) -> Option<Vec<u8>> {
        None
    }

    /// As [`Env::restore_state`](crate::Env::restore_state); writes what the agents that take part observe.
    fn restore_state(&mut self, _state: &[u8], _obs: &mut [Vec<u8>]) -> bool {
        false
    }
}
