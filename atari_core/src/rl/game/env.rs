//! [`AtariEnv`]: one Atari game, preprocessed by a recipe.

use std::{f32::consts::PI, fmt, hash::BuildHasher};

use vec_env::{ActionSpace, EnvError};

use super::{
    emulator::{Emulator, Pressed},
    episodes::{Episodes, Record},
    film::{Camera, Film, FilmedGames},
    observations::Observations,
    polar::console_action,
    powered_on::PoweredOn,
};
use crate::{
    Action, Console,
    rl::{
        pixels::Palette,
        recipe::{AfterLifeLoss, EndPrecedence, Recipe},
    },
    state::{self, BadState, Tape},
};

/// What an agent does in a step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum EnvAction {
    /// An index into the actions of the game, or of the console.
    Index(usize),
    /// An index for each of two players.
    Pair([usize; 2]),
    /// `[radius 0..1, angle -π..π, fire 0..1]`.
    Polar([f32; 3]),
}

/// What a step brought beside its observation. Rewards are those of each player; the second's is 0 in a game for one.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct EnvStep {
    /// The reward to learn from, clipped if the recipe says so.
    pub reward: [f32; 2],
    /// The reward as the game gives it.
    pub raw_reward: [f32; 2],
    /// The learner's episode ended: the game, or a life.
    pub terminated: bool,
    /// A limit cut it.
    pub truncated: bool,
    /// Lives left, those of both players together or shared; 0 where the game has none.
    pub lives: i32,
    /// Of the game that the step belonged to.
    pub record: Record,
}

/// An Atari game by a recipe: uint8 observations `[frame_stack, height, width]` by default, oldest frame first
/// ([`Recipe::obs_shape`]).
///
/// Of a game for two observations have an axis of the players first. Both see the same screen, press what a reset presses,
/// and share the end of an episode; rewards and returns are each player's own.
pub struct AtariEnv {
    episodes: Episodes,
    actions: &'static [Action],
    is_ready: bool,
    /// ROM and recipe, as states name them.
    kind: String,
}

impl fmt::Debug for AtariEnv {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "AtariEnv({})", self.console().game().name)
    }
}

impl AtariEnv {
    /// A game on a console that was switched on, by the recipe for which it was; its random numbers begin anywhere.
    #[must_use]
    pub fn new(powered_on: &PoweredOn) -> Self {
        let (actions, recipe) = (powered_on.actions(), powered_on.recipe());
        let observations = Observations::new(powered_on.console(), recipe);
        let emulator = Emulator::new(powered_on.clone());
        let recipe = recipe.clone();
        Self {
            kind: format!("{} {recipe}", powered_on.console().kind()),
            episodes: Episodes::new(emulator, observations, recipe, actions, fresh_seed()),
            actions,
            is_ready: false,
        }
    }

    /// How the game becomes episodes.
    #[must_use]
    pub fn recipe(&self) -> &Recipe {
        self.episodes.recipe()
    }

    /// What the indices of actions stand for.
    #[must_use]
    pub fn actions(&self) -> &'static [Action] {
        self.actions
    }

    /// Players of the game: 1 or 2.
    #[must_use]
    pub fn num_players(&self) -> usize {
        self.episodes.emulator.num_players
    }

    /// Shape of an observation: [`Recipe::obs_shape`], with an axis of two players before it.
    #[must_use]
    pub fn obs_shape(&self) -> Vec<usize> {
        let players = [2];
        let players = if self.num_players() == 2 {
            &players[..]
        } else {
            &[]
        };
        [players, &self.recipe().obs_shape()].concat()
    }

    /// What a step takes.
    #[must_use]
    pub fn action_space(&self) -> ActionSpace {
        let n = self.actions.len() as i64;
        match (self.num_players(), self.recipe().continuous) {
            (2, _) => ActionSpace::MultiDiscrete { nvec: vec![n; 2] },
            (_, false) => ActionSpace::Discrete { n },
            (_, true) => ActionSpace::Box {
                shape: vec![3],
                low: vec![0.0, -PI, 0.0],
                high: vec![1.0, PI, 1.0],
            },
        }
    }

    /// The console, to look into.
    #[must_use]
    pub fn console(&self) -> &Console {
        &self.episodes.emulator.console
    }

    /// Whether a game is in play, so that a step can be taken.
    #[must_use]
    pub fn is_in_play(&self) -> bool {
        self.is_ready && !self.episodes.is_over()
    }

    /// Keeps a picture of every frame of some games, for [`AtariEnv::take_film`]: those that begin from now on.
    pub fn film(&mut self, games: FilmedGames) {
        self.episodes.camera = Some(Camera::new(games));
    }

    /// What was filmed since it was last taken; nothing where no game is filmed ([`AtariEnv::film`]).
    pub fn take_film(&mut self) -> Film {
        let camera = self.episodes.camera.as_mut();
        camera.map(Camera::take).unwrap_or_default()
    }

    /// Lives that the console shows, those of both players together or shared; 0 where the game has none.
    #[must_use]
    pub fn lives(&self) -> i32 {
        self.episodes.emulator.lives()
    }

    /// Emulated frames since the game began.
    #[must_use]
    pub fn frame_number(&self) -> i64 {
        self.episodes.emulator.frames
    }

    /// Starts an episode: after a lost life as the recipe says, else with a new game. A `seed` begins all random numbers
    /// anew, and a new game; `new_game` asks for one after a lost life too.
    pub fn reset(&mut self, seed: Option<u64>, new_game: bool) -> EnvStep {
        let episodes = &mut self.episodes;
        let goes_on = self.is_ready && episodes.life_lost && !episodes.is_over();
        if seed.is_some() || new_game || !goes_on {
            episodes.new_game(seed);
        } else {
            episodes.next_life();
        }
        self.is_ready = true;
        EnvStep {
            lives: episodes.lives,
            record: episodes.cut_off.unwrap_or_else(|| episodes.record()),
            ..EnvStep::default()
        }
    }

    /// Takes a step of `frame_skip` frames.
    ///
    /// # Errors
    /// [`EnvError::Order`] where none can be taken ([`AtariEnv::is_in_play`]), [`EnvError::ActionRange`] for an action
    /// that is none of the game's, [`EnvError::ActionKind`] for one of another kind; nothing has happened then.
    pub fn step(&mut self, action: EnvAction) -> Result<EnvStep, EnvError> {
        if !self.is_in_play() {
            let problem = "step: no game is in play; reset the environment first";
            return Err(EnvError::Order(problem.to_owned()));
        }
        let pressed = self.pressed(action)?;
        let raw_reward = self.episodes.step(pressed);
        let (terminated, truncated) = self.flags();
        let record = self.episodes.record();
        if let Some(camera) = &mut self.episodes.camera {
            camera.step(record.game_terminated || record.game_truncated);
        }
        let reward = if self.recipe().clip_reward {
            raw_reward.map(i32::signum)
        } else {
            raw_reward
        };
        Ok(EnvStep {
            reward: reward.map(|reward| reward as f32),
            raw_reward: raw_reward.map(|reward| reward as f32),
            terminated,
            truncated,
            lives: self.episodes.lives,
            record,
        })
    }

    /// What an action presses.
    fn pressed(&self, action: EnvAction) -> Result<Pressed, EnvError> {
        let action_of = |index: usize| {
            let action = self.actions.get(index).copied();
            action.ok_or(EnvError::ActionRange {
                env: 0,
                action: i64::try_from(index).unwrap_or(i64::MAX),
                num_actions: self.actions.len() as i64,
            })
        };
        match (action, self.num_players(), self.recipe().continuous) {
            (EnvAction::Index(index), 1, false) => Ok(Pressed::by_all(action_of(index)?)),
            (EnvAction::Polar(polar), 1, true) => {
                let threshold = self.recipe().continuous_action_threshold;
                let (action, strength) = console_action(polar, threshold);
                Ok(Pressed {
                    strength,
                    ..Pressed::by_all(action)
                })
            }
            (EnvAction::Pair([first, second]), 2, _) => Ok(Pressed {
                actions: [action_of(first)?, action_of(second)?],
                strength: 1.0,
            }),
            _ => Err(EnvError::ActionKind {
                space: self.action_space(),
            }),
        }
    }

    /// What a learner is told of the step: whether it terminated, and was truncated.
    fn flags(&self) -> (bool, bool) {
        let (episodes, recipe) = (&self.episodes, self.recipe());
        // Where a lost life is a mere signal, the end of the game goes before it.
        let is_signal = recipe.after_life_loss == AfterLifeLoss::GoOn && episodes.truncated;
        let terminated = episodes.terminated || (episodes.life_lost && !is_signal);
        match (terminated && episodes.truncated, recipe.end_precedence) {
            (true, EndPrecedence::Terminated) => (true, false),
            (true, EndPrecedence::Truncated) => (false, true),
            _ => (terminated, episodes.truncated),
        }
    }

    /// Writes the observation of the last step or reset: `out` has as many bytes as [`AtariEnv::obs_shape`] says.
    pub fn write_obs(&self, out: &mut [u8]) {
        let (first, second) = out.split_at_mut(out.len() / self.num_players());
        self.episodes.observations.write_to(first);
        if !second.is_empty() {
            second.copy_from_slice(first);
        }
    }

    /// Lets the console's screen show the last frame, if that was not drawn as nobody observes it.
    pub fn draw_last(&mut self) {
        self.episodes.emulator.console.draw_last();
    }

    /// The last frame, in colours: uint8 `[height, 160, 3]`.
    pub fn render(&mut self) -> Vec<u8> {
        self.draw_last();
        Palette::of(self.console().game()).rgb_of(self.console().screen())
    }

    /// Writes one byte of the console's RAM (0 to 127; higher addresses wrap).
    pub fn set_ram(&mut self, address: u8, value: u8) {
        self.episodes.emulator.console.set_ram(address, value);
    }

    /// What two games agree in that may take each other's states.
    pub(in crate::rl) fn kind(&self) -> &str {
        &self.kind
    }

    /// The whole state, random numbers included, as plain data; before its first reset not with what the console of a
    /// game for two begins with.
    #[must_use]
    pub fn save_state(&mut self) -> Vec<u8> {
        let kind = self.kind.clone();
        state::save(&kind, |tape| self.walk(tape).map(drop))
    }

    /// Goes to a state that [`AtariEnv::save_state`] returned, of this environment or of another one of the same game
    /// and recipe; what follows is the same to the last bit.
    ///
    /// # Errors
    /// The bytes are none of its states; the environment is as before.
    pub fn restore_state(&mut self, state: &[u8]) -> Result<(), BadState> {
        let kind = self.kind.clone();
        state::restore(state, &kind, |tape| self.walk(tape).map(drop))
    }

    /// Goes over its state; [`AtariEnv::is_in_play`] of that.
    pub(in crate::rl) fn walk(&mut self, tape: &mut Tape<'_>) -> Result<bool, BadState> {
        let is_ready = tape.number(&mut self.is_ready)?;
        let is_over = self.episodes.walk(tape)?;
        Ok(is_ready && !is_over)
    }
}

/// A seed out of the system's entropy, in the range of seeds that all environments take.
fn fresh_seed() -> u64 {
    std::hash::RandomState::new().hash_one(0) >> 33
}
