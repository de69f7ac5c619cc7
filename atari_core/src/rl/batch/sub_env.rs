//! [`SubEnv`]: one environment of a batch with what it is to do, and what that brings: stepped, and restarted when
//! the autoreset mode says so.

use vec_env::{Actions, AutoresetMode, EnvError, pool::Work};

use crate::{
    rl::game::{AtariEnv, EnvAction, EnvStep},
    state::{self, BadState, MOST_POINTS, Tape},
};

/// What an environment is to do.
#[derive(Clone, Copy, Debug)]
pub(super) enum Command {
    Step(EnvAction),
    Reset { seed: Option<u64>, new_game: bool },
}

impl Command {
    /// A step with the action at `place` of several for environments of so many players. They were checked to be such.
    pub(super) fn step(actions: Actions<'_>, place: usize, num_players: usize) -> Self {
        Self::Step(match actions {
            Actions::Discrete(actions) if num_players == 2 => {
                EnvAction::Pair(actions.as_chunks().0[place].map(|action| action as usize))
            }
            Actions::Discrete(actions) => EnvAction::Index(actions[place] as usize),
            Actions::Continuous(actions) => EnvAction::Polar(actions.as_chunks::<3>().0[place]),
        })
    }
}

/// The last step of an episode that was followed by another one at once.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct FinalStep {
    pub(super) obs: Vec<u8>,
    pub(super) lives: i32,
}

/// What a step or a reset brought.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct StepResult {
    pub(super) step: EnvStep,
    /// The end of the episode before, where the environment has restarted since.
    pub(super) last: Option<FinalStep>,
}

pub(super) struct SubEnv {
    pub(super) env: AtariEnv,
    pub(super) result: StepResult,
    pub(super) command: Command,
    /// The episode has ended and no reset has followed.
    pub(super) ended: bool,
    /// What the last step failed with.
    pub(super) error: Option<EnvError>,
    mode: AutoresetMode,
}

impl SubEnv {
    pub(super) fn new(env: AtariEnv, mode: AutoresetMode) -> Self {
        Self {
            env,
            result: StepResult::default(),
            command: Command::Reset {
                seed: None,
                new_game: true,
            },
            ended: false,
            error: None,
            mode,
        }
    }

    fn reset(&mut self, seed: Option<u64>, new_game: bool) {
        self.result = StepResult {
            step: self.env.reset(seed, new_game),
            last: None,
        };
        self.ended = false;
        self.error = None;
    }

    fn step(&mut self, action: EnvAction) {
        let mut step = match self.env.step(action) {
            Ok(step) => step,
            Err(error) => {
                self.error = Some(error);
                return;
            }
        };
        self.ended = step.terminated || step.truncated;
        self.result.last = None;
        if self.ended && self.mode == AutoresetMode::SameStep {
            let mut obs = vec![0; self.env.obs_shape().iter().product()];
            self.env.write_obs(&mut obs);
            let lives = step.lives;
            self.result.last = Some(FinalStep { obs, lives });
            let first = self.env.reset(None, false);
            self.ended = false;
            step.lives = first.lives;
            if first.record.game_terminated || first.record.game_truncated {
                // The reset was to go on after a lost life, and the game ended meanwhile.
                step.record = first.record;
            }
        }
        self.result.step = step;
    }

    /// The environment's state, and what it showed last.
    pub(super) fn save(&mut self) -> Vec<u8> {
        let kind = self.env.kind().to_owned();
        state::save(&kind, |tape| self.walk(tape))
    }

    /// Whether [`SubEnv::restore`] would take a state.
    pub(super) fn check(&mut self, state: &[u8]) -> Result<(), BadState> {
        let kind = self.env.kind().to_owned();
        state::check(state, &kind, |tape| self.walk(tape))
    }

    /// Goes to a state that [`SubEnv::save`] returned.
    pub(super) fn restore(&mut self, state: &[u8]) -> Result<(), BadState> {
        let kind = self.env.kind().to_owned();
        state::restore(state, &kind, |tape| self.walk(tape))
    }

    fn walk(&mut self, tape: &mut Tape<'_>) -> Result<(), BadState> {
        let ended = tape.number(&mut self.ended)?;
        let step = &mut self.result.step;
        let most = MOST_POINTS as f32;
        for reward in [&mut step.reward, &mut step.raw_reward]
            .into_iter()
            .flatten()
        {
            tape.within(reward, -most..=most, "a reward")?;
        }
        let has_ended = tape.number(&mut step.terminated)? | tape.number(&mut step.truncated)?;
        let record = &mut step.record;
        tape.number(&mut record.game_terminated)?;
        tape.number(&mut record.game_truncated)?;
        tape.number(&mut step.lives)?;
        for sum in &mut record.episode_return {
            tape.within(sum, f64::MIN..=f64::MAX, "a return")?;
        }
        tape.count(&mut record.episode_length)?;
        tape.count(&mut record.episode_frames)?;
        let is_in_play = self.env.walk(tape)?;
        // In same-step mode no episode stays ended; and whoever may step must find a game in play.
        let is_same_step = self.mode == AutoresetMode::SameStep;
        if ended && is_same_step {
            return Err(BadState::Ended);
        }
        let fits = if ended { has_ended } else { is_in_play };
        tape.check(fits, "whether its episode has ended")?;
        if tape.reads() {
            self.result.last = None;
            self.error = None;
            if !is_same_step && !ended {
                // Where it was saved another episode had followed in the same step.
                let step = &mut self.result.step;
                (step.terminated, step.truncated) = (false, false);
            }
        }
        Ok(())
    }
}

impl Work for SubEnv {
    fn work(&mut self) {
        match self.command {
            Command::Step(_) if self.ended && self.mode == AutoresetMode::NextStep => {
                self.reset(None, false);
            }
            Command::Step(action) => self.step(action),
            Command::Reset { seed, new_game } => self.reset(seed, new_game),
        }
    }

    fn write_to(&self, row: &mut [u8]) {
        self.env.write_obs(row);
    }
}
