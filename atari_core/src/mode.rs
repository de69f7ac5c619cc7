//! Which mode and difficulty are played, how a mode is chosen before a game begins, and the random numbers that this takes
//! in ale-py.

use crate::console::{Console, first};
use crate::games::{Held, Ram, Select};
use crate::input::switch;
use crate::mersenne_twister::MersenneTwister;
use crate::{Action, CoreError};

/// Frames of RESET before a part of the mode is chosen, and after a menu.
const CHOICE_RESET_FRAMES: u32 = 4;
/// Presses of SELECT after which a mode is taken for one that the ROM has not got: no game needs as many.
const MAX_PRESSES: u32 = 512;
/// The same of a menu's stick, which sticky actions may hold for a while.
const MAX_PUSHES: u32 = 4096;

/// ALE's random numbers while a game begins: `std::mt19937`, which its `random_seed` starts.
pub struct StartDraws<'a> {
    twister: &'a mut MersenneTwister,
    /// Probability, per frame, that the action before is repeated.
    sticky: f64,
    held: Action,
    /// Frames for which it was drawn whether an action is repeated.
    pub frames: u32,
    /// Presses of SELECT of which it was drawn how long they are.
    pub presses: u32,
}

impl<'a> StartDraws<'a> {
    /// Draws from `twister`; `sticky` is the probability of a repeated action.
    pub fn new(twister: &'a mut MersenneTwister, sticky: f64) -> Self {
        Self {
            twister,
            sticky,
            held: Action::Noop,
            frames: 0,
            presses: 0,
        }
    }

    /// The action of a frame: the one given, or the one before.
    fn sticky(&mut self, action: Action) -> Action {
        self.frames += 1;
        if self.twister.next_f64() >= self.sticky {
            self.held = action;
        }
        self.held
    }

    /// For how many frames SELECT is held.
    fn press(&mut self, held: Held) -> u32 {
        match held {
            Held::Frames(frames) => frames.into(),
            Held::Random => {
                self.presses += 1;
                2 + (self.twister.next_u32() & 0xff)
            }
        }
    }
}

impl Console {
    /// Chooses a mode for the games that begin from now on.
    ///
    /// # Errors
    /// The game has no such mode, or it is not known how games of it are begun.
    pub fn set_mode(&mut self, mode: u32) -> Result<(), CoreError> {
        if !self.game.modes.contains(&mode) {
            return Err(CoreError::Mode {
                game: self.game.name,
                mode,
                known: self.game.modes.to_vec(),
            });
        }
        if self.game.select.is_none() && mode != first(self.game.modes) {
            let game = self.game.name;
            return Err(CoreError::UnknownMode { game, mode });
        }
        self.mode = mode;
        Ok(())
    }

    /// Chooses a difficulty for the games that begin from now on.
    ///
    /// # Errors
    /// The game has no such difficulty.
    pub fn set_difficulty(&mut self, difficulty: u32) -> Result<(), CoreError> {
        if !self.game.difficulties.contains(&difficulty) {
            let known = self.game.difficulties.to_vec();
            return Err(CoreError::Difficulty {
                game: self.game.name,
                difficulty,
                known,
            });
        }
        self.difficulty = difficulty;
        Ok(())
    }

    /// Chooses the mode. The frames in which a player could act count as the game's, and its rules look at them.
    pub(crate) fn choose_mode(&mut self, select: Select, draws: &mut StartDraws<'_>) {
        match select {
            Select::Switch {
                reset_frames,
                idle_frames,
                first_press,
                held,
                shows,
            } => {
                self.press_to_choose(switch::RESET, reset_frames.into());
                for _ in 0..idle_frames {
                    self.play(draws.sticky(Action::Noop), 1.0, true);
                }
                if first_press > 0 {
                    self.select(first_press.into());
                }
                self.select_until(shows, held, draws);
            }
            Select::Stick {
                select_frames,
                shows,
                points,
            } => {
                let mode = self.mode.cast_signed();
                self.press_to_choose(switch::RESET, CHOICE_RESET_FRAMES);
                self.select_until(shows, Held::Frames(select_frames), draws);
                self.press_to_choose(switch::RESET, CHOICE_RESET_FRAMES);
                for _ in 0..MAX_PUSHES {
                    if points(self.cells(), mode) {
                        break;
                    }
                    self.play(draws.sticky(Action::Right), 1.0, true);
                }
            }
            Select::Menu {
                row,
                byte,
                options,
                then,
            } => {
                self.press_to_choose(switch::RESET, CHOICE_RESET_FRAMES);
                self.select(1);
                for (option, of_mode, bit) in options {
                    let found = self.push(draws, Action::Down, |console| {
                        console.cells().at(row) == i32::from(*option)
                    });
                    let wanted = self.mode & of_mode != 0;
                    let toward = if wanted { Action::Right } else { Action::Left };
                    let set = found
                        && self.push(draws, toward, |console| {
                            (console.cells().at(byte) & i32::from(*bit) != 0) == wanted
                        });
                    if !set {
                        break;
                    }
                }
                self.press_to_choose(switch::RESET, CHOICE_RESET_FRAMES);
                if let Some(action) = then {
                    self.push_once(draws, action);
                }
            }
        }
    }

    /// RAM as rules see it.
    fn cells(&self) -> Ram<'_> {
        Ram::new(self.ram(), &self.machine.banks.ram)
    }

    /// Pushes the stick again and again until a menu shows it; whether it did.
    fn push(
        &mut self,
        draws: &mut StartDraws<'_>,
        action: Action,
        mut shows: impl FnMut(&Self) -> bool,
    ) -> bool {
        for _ in 0..MAX_PUSHES {
            if shows(self) {
                return true;
            }
            self.push_once(draws, action);
        }
        false
    }

    /// Pushes the stick for a frame and lets it go for one.
    fn push_once(&mut self, draws: &mut StartDraws<'_>, action: Action) {
        for action in [action, Action::Noop] {
            self.play(draws.sticky(action), 1.0, true);
        }
    }

    /// Presses SELECT until RAM shows the mode.
    fn select_until(
        &mut self,
        shows: fn(Ram<'_>, i32) -> bool,
        held: Held,
        draws: &mut StartDraws<'_>,
    ) {
        let mode = self.mode.cast_signed();
        for _ in 0..MAX_PRESSES {
            if shows(self.cells(), mode) {
                return;
            }
            self.select(draws.press(held));
            if matches!(held, Held::Random) {
                // An action of its own, which ends with the game that the first mode's RAM may show.
                let action = draws.sticky(Action::Noop);
                if !self.game_over() {
                    self.play(action, 1.0, true);
                }
            }
        }
    }

    /// Presses SELECT. The frame after that counts, but sticky actions have no part in it.
    fn select(&mut self, frames: u32) {
        self.press_to_choose(switch::SELECT, frames);
        self.play(Action::Noop, 1.0, true);
    }

    /// Holds a switch while the mode is chosen: frames at which the rules of games for two do not look.
    fn press_to_choose(&mut self, switch: u8, frames: u32) {
        let before = self.progress;
        self.press(switch, frames);
        if self.game.rules_for_two.is_some() {
            self.progress = before;
        }
    }
}
