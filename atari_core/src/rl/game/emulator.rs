//! One game on its console, frame by frame, with sticky actions. No rules here.

use std::sync::Arc;

use crate::{
    Action, Cartridge, Console, CoreError, StartDraws,
    rl::{random::MersenneTwister, recipe::Recipe},
    state::{BadState, Numbers, Reader, Writer, check},
};

/// A console as the first game finds it: switched on, mode and difficulty set. Emulators of one game share it, so that
/// a seed costs a copy and not a start.
#[derive(Clone)]
pub struct PoweredOn(Arc<Consoles>);

struct Consoles {
    /// With which an emulator begins whose ROM is loaded with random numbers.
    off: Console,
    powered_on: Console,
    /// After its first reset, which is the same each time where random numbers play no part in it.
    first_game: Console,
    /// Frames for which it is drawn whether an action is repeated: in loading a ROM, and in beginning the first game.
    load_draws: u32,
    first_draws: u32,
    /// How games begin that random numbers play a part in.
    chance: Chance,
}

/// Which part random numbers play in how a game begins.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Chance {
    None,
    /// Sticky actions change what is pressed.
    Actions,
    /// They say for how long SELECT is pressed, and are drawn whether actions are sticky or not.
    Presses,
}

impl PoweredOn {
    /// Switches a console on.
    ///
    /// # Errors
    /// The ROM is no game of the table, or one that is not proved equal to ale-py's; or the game has no such mode or difficulty.
    pub fn new(cartridge: &Arc<Cartridge>, recipe: &Recipe) -> Result<Self, CoreError> {
        let game = cartridge.game()?;
        if let Some(reason) = game.unproved() {
            let game = game.name;
            return Err(CoreError::Unproved { game, reason });
        }
        let off = Console::off(cartridge.clone(), game, None)?;
        let mut twister = MersenneTwister::new(0);
        let (mut powered_on, mut draws) = (off.clone(), StartDraws::new(&mut twister, 0.0));
        powered_on.load(None, &mut draws);
        let load_draws = draws.frames;
        if let Some(mode) = recipe.mode {
            powered_on.set_mode(mode)?;
        }
        if let Some(difficulty) = recipe.difficulty {
            powered_on.set_difficulty(difficulty)?;
        }
        let (mut first_game, mut draws) = (powered_on.clone(), StartDraws::new(&mut twister, 0.0));
        first_game.reset_with(&mut draws);
        let chance = if draws.presses > 0 {
            Chance::Presses
        } else if draws.frames > 0 && recipe.sticky_actions > 0.0 {
            Chance::Actions
        } else {
            Chance::None
        };
        Ok(Self(Arc::new(Consoles {
            off,
            powered_on,
            first_game,
            load_draws,
            first_draws: draws.frames,
            chance,
        })))
    }

    /// The console.
    #[must_use]
    pub fn console(&self) -> &Console {
        &self.0.powered_on
    }

    /// The actions that a recipe gives an agent, in order.
    #[must_use]
    pub fn actions(&self, recipe: &Recipe) -> &'static [Action] {
        if recipe.full_action_space || recipe.continuous {
            &Action::ALL
        } else {
            self.console().game().actions
        }
    }
}

pub(super) struct Emulator {
    powered_on: PoweredOn,
    /// The next game is the first on the console that was switched on.
    is_first: bool,
    pub(super) console: Console,
    /// Frames since the game began.
    pub(super) frames: i64,
    /// Probability, per frame, that the action before is repeated, as ALE compares it: from a float32.
    sticky: f64,
    /// Whether a number is drawn for each frame.
    draws: bool,
    twister: MersenneTwister,
    held: (Action, f32),
}

impl Emulator {
    pub(super) fn new(powered_on: PoweredOn, recipe: &Recipe) -> Self {
        Self {
            console: powered_on.console().clone(),
            draws: recipe.sticky_actions > 0.0 || powered_on.0.chance == Chance::Presses,
            powered_on,
            is_first: true,
            frames: 0,
            sticky: f64::from(recipe.sticky_actions),
            twister: MersenneTwister::new(0),
            held: (Action::Noop, 1.0),
        }
    }

    /// Switches the console on anew, with random numbers from `seed`: some games remember those before them.
    pub(super) fn load(&mut self, seed: u32) {
        self.is_first = true;
        self.twister = MersenneTwister::new(seed);
        let consoles = &self.powered_on.0;
        if consoles.chance == Chance::Actions {
            let mut draws = StartDraws::new(&mut self.twister, self.sticky);
            self.console.clone_from(&consoles.off);
            self.console.load(None, &mut draws);
            self.console.mode = consoles.powered_on.mode;
            self.console.difficulty = consoles.powered_on.difficulty;
        } else {
            self.pass(consoles.load_draws);
        }
    }

    /// Passes over what is drawn for some frames.
    fn pass(&mut self, frames: u32) {
        for _ in 0..frames {
            self.twister.next_f64();
        }
    }

    pub(super) fn new_game(&mut self) {
        self.begin();
        // Not always 0: frames in which the start of a game chooses its mode are the game's for ALE.
        self.frames = self.console.episode_frame_number().into();
    }

    fn begin(&mut self) {
        self.held = (Action::Noop, 1.0);
        let consoles = self.powered_on.0.clone();
        if std::mem::take(&mut self.is_first) {
            match consoles.chance {
                Chance::None => {
                    self.console.clone_from(&consoles.first_game);
                    self.pass(consoles.first_draws);
                    return;
                }
                Chance::Actions => {}
                Chance::Presses => self.console.clone_from(&consoles.powered_on),
            }
        }
        let mut draws = StartDraws::new(&mut self.twister, self.sticky);
        self.console.reset_with(&mut draws);
    }

    /// Emulates a frame and returns its reward; `strength`, 0 to 1, is how far a paddle turns. Without `draw` the
    /// screen stays as it was.
    pub(super) fn act(&mut self, action: Action, strength: f32, draw: bool) -> i32 {
        self.frames += 1;
        if !self.draws || self.twister.next_f64() >= self.sticky {
            self.held = (action, strength);
        }
        self.console.act_paddle(self.held.0, self.held.1, draw)
    }

    pub(super) fn save(&self, state: &mut Writer) {
        self.console.save(state);
        state.i64(self.frames);
        self.twister.save(state);
        state.u32(self.held.0 as u32);
        state.u32(self.held.1.to_bits());
    }

    pub(super) fn read(&self, state: &mut Reader<'_>) -> Result<EmulatorState, BadState> {
        let console = self.console.read(state)?;
        let frames = state.sum()?;
        let twister = MersenneTwister::read(state)?;
        let action = Action::from_index(state.index(Action::ALL.len() - 1)?);
        let held = (action.unwrap_or_default(), f32::from_bits(state.u32()?));
        check((0.0..=1.0).contains(&held.1), "how far a paddle turns")?;
        Ok(EmulatorState {
            console,
            frames,
            twister,
            held,
        })
    }

    pub(super) fn put(&mut self, state: EmulatorState) {
        self.is_first = false;
        self.console.put(state.console);
        self.frames = state.frames;
        self.twister = state.twister;
        self.held = state.held;
    }
}

/// What [`Emulator::read`] has found, to be put in place.
pub(super) struct EmulatorState {
    console: Numbers,
    frames: i64,
    twister: MersenneTwister,
    held: (Action, f32),
}
