//! [`AtariEnv`]: one Atari game, preprocessed by a recipe.

use std::{fmt, hash::BuildHasher};

use vec_env::EnvError;

use super::{
    emulator::{Emulator, PoweredOn},
    film::{Film, FilmEvent},
    observations::Observations,
    polar::console_action,
    rules::{GameRules, Record, RulesState},
};
use crate::{
    Action, Console,
    rl::{
        pixels::{Palette, Simd},
        recipe::{AfterLifeLoss, EndPrecedence, Recipe},
    },
    state::{BadState, Reader, Writer},
};

/// What an agent does in a step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum EnvAction {
    /// An index into the actions of the game, or of the console.
    Index(usize),
    /// `[radius 0..1, angle -π..π, fire 0..1]`.
    Polar([f32; 3]),
}

/// What a step brought beside its observation.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct EnvStep {
    /// The reward to learn from, clipped if the recipe says so.
    pub reward: f32,
    /// The reward as the game gives it.
    pub raw_reward: f32,
    /// The learner's episode ended: the game, or a life.
    pub terminated: bool,
    /// A limit cut it.
    pub truncated: bool,
    /// Lives left; 0 where the game has none.
    pub lives: i32,
    /// Of the game that the step belonged to.
    pub record: Record,
}

/// An Atari game by a recipe: uint8 observations `[frame_stack, height, width]` by default, oldest frame first
/// ([`Recipe::obs_shape`]).
pub struct AtariEnv {
    rules: GameRules,
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
    /// A game on a console that was switched on for this recipe; its random numbers begin anywhere.
    #[must_use]
    pub fn new(powered_on: &PoweredOn, recipe: &Recipe, simd: Simd) -> Self {
        let actions = powered_on.actions(recipe);
        let observations = Observations::new(powered_on.console(), recipe, simd);
        let emulator = Emulator::new(powered_on.clone(), recipe);
        let parts = recipe
            .parts()
            .map(|(name, value)| format!(" {name}={value}"));
        let kind = powered_on.console().kind() + &parts.collect::<String>();
        let recipe = recipe.clone();
        Self {
            kind,
            rules: GameRules::new(emulator, observations, recipe, actions, fresh_seed()),
            actions,
            is_ready: false,
        }
    }

    /// How the game becomes episodes.
    #[must_use]
    pub fn recipe(&self) -> &Recipe {
        self.rules.recipe()
    }

    /// What the indices of actions stand for.
    #[must_use]
    pub fn actions(&self) -> &'static [Action] {
        self.actions
    }

    /// The console, to look into.
    #[must_use]
    pub fn console(&self) -> &Console {
        &self.rules.emulator.console
    }

    /// Whether a game is in play, so that a step can be taken.
    #[must_use]
    pub fn is_in_play(&self) -> bool {
        self.is_ready && !self.rules.is_over()
    }

    /// Draws every frame from now on, and not only those that are observed: for whoever looks at the screen.
    pub fn draw_all(&mut self) {
        self.rules.draws_all = true;
    }

    /// Keeps a picture of every frame from now on, for [`AtariEnv::take_film`].
    pub fn keep_film(&mut self) {
        self.draw_all();
        self.rules.film.get_or_insert_default();
    }

    /// What was filmed since it was last taken; nothing where no film is kept ([`AtariEnv::keep_film`]).
    pub fn take_film(&mut self) -> Film {
        self.rules
            .film
            .as_mut()
            .map(std::mem::take)
            .unwrap_or_default()
    }

    /// Emulated frames since the game began.
    #[must_use]
    pub fn frame_number(&self) -> i64 {
        self.rules.emulator.frames
    }

    /// Starts an episode: after a lost life as the recipe says, else with a new game. A `seed` begins all random numbers
    /// anew, and a new game; `new_game` asks for one after a lost life too.
    pub fn reset(&mut self, seed: Option<u64>, new_game: bool) -> EnvStep {
        let rules = &mut self.rules;
        let goes_on = self.is_ready && rules.life_lost && !rules.is_over();
        if seed.is_some() || new_game || !goes_on {
            rules.new_game(seed);
        } else {
            rules.next_life();
        }
        self.is_ready = true;
        EnvStep {
            lives: rules.lives,
            record: rules.cut_off.unwrap_or_else(|| rules.record()),
            ..EnvStep::default()
        }
    }

    /// Takes a step of `frame_skip` frames.
    ///
    /// # Errors
    /// [`EnvError::Order`] where none can be taken ([`AtariEnv::is_in_play`]), [`EnvError::ActionRange`] for an action
    /// that is none of the game's; nothing has happened then.
    pub fn step(&mut self, action: EnvAction) -> Result<EnvStep, EnvError> {
        if !self.is_in_play() {
            let problem = "step: no game is in play; reset the environment first";
            return Err(EnvError::Order(problem.to_owned()));
        }
        let (action, strength) = match action {
            EnvAction::Index(index) => match self.actions.get(index) {
                Some(action) => (*action, 1.0),
                None => {
                    return Err(EnvError::ActionRange {
                        env: 0,
                        action: index as i64,
                        num_actions: self.actions.len() as i64,
                    });
                }
            },
            EnvAction::Polar(polar) => {
                console_action(polar, self.recipe().continuous_action_threshold)
            }
        };
        let raw_reward = self.rules.step(action, strength);
        let (terminated, truncated) = self.flags();
        let record = self.rules.record();
        if let Some(film) = &mut self.rules.film {
            let game_over = record.game_terminated || record.game_truncated;
            film.events.push(FilmEvent::Step { game_over });
        }
        let reward = if self.recipe().clip_reward {
            raw_reward.signum()
        } else {
            raw_reward
        };
        Ok(EnvStep {
            reward: reward as f32,
            raw_reward: raw_reward as f32,
            terminated,
            truncated,
            lives: self.rules.lives,
            record,
        })
    }

    /// What a learner is told of the step: whether it terminated, and was truncated.
    fn flags(&self) -> (bool, bool) {
        let (rules, recipe) = (&self.rules, self.recipe());
        // Where a lost life is a mere signal, the end of the game goes before it.
        let is_signal = recipe.after_life_loss == AfterLifeLoss::GoOn && rules.truncated;
        let terminated = rules.terminated || (rules.life_lost && !is_signal);
        match (terminated && rules.truncated, recipe.end_precedence) {
            (true, EndPrecedence::Terminated) => (true, false),
            (true, EndPrecedence::Truncated) => (false, true),
            _ => (terminated, rules.truncated),
        }
    }

    /// Writes the observation of the last step or reset.
    pub fn write_obs(&self, out: &mut [u8]) {
        self.rules.observations.write_to(out);
    }

    /// Lets the console's screen show the last frame, if that was not drawn as nobody observes it.
    pub fn draw_last(&mut self) {
        self.rules.emulator.console.draw_last();
    }

    /// The last frame, in colours: uint8 `[height, 160, 3]`.
    pub fn render(&mut self) -> Vec<u8> {
        self.draw_last();
        Palette::of(self.console().game()).rgb_of(self.console().screen())
    }

    /// Writes one byte of the console's RAM (0 to 127; higher addresses wrap).
    pub fn set_ram(&mut self, address: u8, value: u8) {
        self.rules.emulator.console.set_ram(address, value);
    }

    /// What two games agree in that may take each other's states.
    pub(in crate::rl) fn kind(&self) -> &str {
        &self.kind
    }

    /// The whole state, random numbers included, as plain data.
    #[must_use]
    pub fn save_state(&self) -> Vec<u8> {
        let mut state = Writer::new(&self.kind);
        self.save(&mut state);
        state.0
    }

    /// Goes to a state that [`AtariEnv::save_state`] returned, of this environment or of another one of the same game
    /// and recipe; what follows is the same to the last bit.
    ///
    /// # Errors
    /// The bytes are none of its states; the environment is as before.
    pub fn restore_state(&mut self, state: &[u8]) -> Result<(), BadState> {
        let mut state = Reader::new(state, &self.kind)?;
        let read = self.read(&mut state)?;
        state.end()?;
        self.put(read);
        Ok(())
    }

    pub(in crate::rl) fn save(&self, state: &mut Writer) {
        state.bool(self.is_ready);
        self.rules.save(state);
        state.bytes(self.console().screen());
    }

    pub(in crate::rl) fn read<'a>(&self, state: &mut Reader<'a>) -> Result<EnvState<'a>, BadState> {
        Ok(EnvState {
            is_ready: state.bool()?,
            rules: self.rules.read(state)?,
            screen: state.bytes(self.console().screen().len())?,
        })
    }

    pub(in crate::rl) fn put(&mut self, state: EnvState<'_>) {
        self.is_ready = state.is_ready;
        self.rules.put(state.rules);
        // A reset may observe it before another frame is drawn.
        self.rules.emulator.console.show(state.screen);
    }
}

/// What [`AtariEnv::read`] has found, to be put in place.
pub(in crate::rl) struct EnvState<'a> {
    is_ready: bool,
    rules: RulesState<'a>,
    screen: &'a [u8],
}

impl EnvState<'_> {
    /// [`AtariEnv::is_in_play`] of the state.
    pub(in crate::rl) fn is_in_play(&self) -> bool {
        self.is_ready && !self.rules.is_over()
    }
}

/// A seed out of the system's entropy, in the range of seeds that all environments take.
fn fresh_seed() -> u64 {
    std::hash::RandomState::new().hash_one(0) >> 33
}
