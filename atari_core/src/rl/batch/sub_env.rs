//! [`SubEnv`]: one environment of a batch with what it is to do, and what that brings: stepped, and restarted when
//! the autoreset mode says so.

use vec_env::{Actions, AutoresetMode, EnvError};

use super::{pool::Work, rows::ObsRow};
use crate::{
    rl::game::{AtariEnv, EnvAction, EnvState, EnvStep},
    state::{BadState, MOST_POINTS, Reader, Writer, check},
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
    /// Where the observation goes as soon as it is there; `None` where it is fetched.
    pub(super) destination: Option<ObsRow>,
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
            destination: None,
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
    pub(super) fn save(&self) -> Vec<u8> {
        let mut state = Writer::new(self.env.kind());
        state.bool(self.ended);
        let step = &self.result.step;
        for number in [step.reward, step.raw_reward].as_flattened() {
            state.u32(number.to_bits());
        }
        for flag in [
            step.terminated,
            step.truncated,
            step.record.game_terminated,
            step.record.game_truncated,
        ] {
            state.bool(flag);
        }
        let record = &step.record;
        let [first, second] = record.episode_return;
        for number in [
            step.lives.into(),
            first.to_bits().cast_signed(),
            second.to_bits().cast_signed(),
            record.episode_length,
            record.episode_frames,
        ] {
            state.i64(number);
        }
        self.env.save(&mut state);
        state.0
    }

    /// Reads a saved state, which [`SubEnv::put`] goes to.
    pub(super) fn read<'a>(&self, state: &'a [u8]) -> Result<SubEnvState<'a>, BadState> {
        let mut state = Reader::new(state, self.env.kind())?;
        let ended = state.bool()?;
        let mut reward = || {
            let reward = f32::from_bits(state.u32()?);
            check(reward.abs() <= MOST_POINTS as f32, "a reward")?;
            Ok(reward)
        };
        let [reward, raw_reward] = [[reward()?, reward()?], [reward()?, reward()?]];
        let mut step = EnvStep {
            reward,
            raw_reward,
            terminated: state.bool()?,
            truncated: state.bool()?,
            ..EnvStep::default()
        };
        step.record.game_terminated = state.bool()?;
        step.record.game_truncated = state.bool()?;
        step.lives = i32::try_from(state.i64()?).map_err(|_| BadState::Range("the lives"))?;
        for sum in &mut step.record.episode_return {
            *sum = f64::from_bits(state.i64()?.cast_unsigned());
            check(sum.is_finite(), "a return")?;
        }
        step.record.episode_length = state.count()?;
        step.record.episode_frames = state.count()?;
        let env = self.env.read(&mut state)?;
        state.end()?;
        // In same-step mode no episode stays ended; and whoever may step must find a game in play.
        if ended && self.mode == AutoresetMode::SameStep {
            return Err(BadState::Ended);
        }
        let has_ended = step.terminated || step.truncated;
        let fits = self.mode == AutoresetMode::SameStep || ended == has_ended;
        let may_go_on = ended || env.is_in_play();
        check(fits && may_go_on, "whether its episode has ended")?;
        Ok(SubEnvState { step, ended, env })
    }

    pub(super) fn put(&mut self, state: SubEnvState<'_>) {
        let step = state.step;
        self.result = StepResult { step, last: None };
        self.ended = state.ended;
        self.error = None;
        self.env.put(state.env);
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
        if let Some(row) = self.destination.take() {
            self.write_to(row);
        }
    }

    fn write_to(&self, row: ObsRow) {
        row.write(|row| self.env.write_obs(row));
    }
}

/// What [`SubEnv::read`] has found, to be put in place.
pub(super) struct SubEnvState<'a> {
    step: EnvStep,
    ended: bool,
    env: EnvState<'a>,
}
