//! One game on its console, frame by frame, with sticky actions. No rules here.

use std::sync::Arc;

use crate::{
    Action, Cartridge, Console, CoreError,
    games::Select,
    rl::{random::MersenneTwister, recipe::Recipe},
    state::{BadState, Numbers, Reader, Writer, check},
};

/// A console as the first game finds it: switched on, mode and difficulty set. Emulators of one game share it, so that
/// a seed costs a copy and not a start.
#[derive(Clone)]
pub struct PoweredOn(Arc<Consoles>);

struct Consoles {
    powered_on: Console,
    /// After its first reset, which is the same each time where sticky actions play no part in it.
    first_game: Console,
    /// How many random numbers that takes: one for each action by which the mode is chosen.
    num_draws: u32,
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
        let mut console = Console::new(cartridge.clone(), game)?;
        if let Some(mode) = recipe.mode {
            console.set_mode(mode)?;
        }
        if let Some(difficulty) = recipe.difficulty {
            console.set_difficulty(difficulty)?;
        }
        let (mut first_game, mut num_draws) = (console.clone(), 0);
        first_game.reset_with(&mut |action| {
            num_draws += 1;
            action
        });
        Ok(Self(Arc::new(Consoles {
            powered_on: console,
            first_game,
            num_draws,
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
    twister: MersenneTwister,
    held: (Action, f32),
}

impl Emulator {
    pub(super) fn new(powered_on: PoweredOn, recipe: &Recipe) -> Self {
        Self {
            console: powered_on.console().clone(),
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
        // Loading a ROM begins a game, for which ALE draws as for any other.
        if let Some(Select::Switch { idle_frames, .. }) = self.console.game().select {
            for _ in 0..idle_frames {
                self.twister.next_f64();
            }
        }
    }

    pub(super) fn new_game(&mut self) {
        self.begin();
        // Not always 0: frames in which the start of a game chooses its mode are the game's for ALE.
        self.frames = self.console.episode_frame_number().into();
    }

    fn begin(&mut self) {
        self.held = (Action::Noop, 1.0);
        let consoles = &self.powered_on.0;
        if std::mem::take(&mut self.is_first) {
            if consoles.num_draws == 0 || self.sticky == 0.0 {
                self.console.clone_from(&consoles.first_game);
                for _ in 0..consoles.num_draws {
                    self.twister.next_f64();
                }
                return;
            }
            self.console.clone_from(&consoles.powered_on);
        }
        let (twister, probability) = (&mut self.twister, self.sticky);
        let mut held = Action::Noop;
        self.console.reset_with(&mut |action| {
            if twister.next_f64() >= probability {
                held = action;
            }
            held
        });
    }

    /// Emulates a frame and returns its reward; `strength`, 0 to 1, is how far a paddle turns. Without `draw` the
    /// screen stays as it was.
    pub(super) fn act(&mut self, action: Action, strength: f32, draw: bool) -> i32 {
        self.frames += 1;
        if self.sticky == 0.0 || self.twister.next_f64() >= self.sticky {
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
