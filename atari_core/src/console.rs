//! A console with a game in it, as the Arcade Learning Environment runs one: how it is switched on, how a game
//! begins, what one frame with an action gives.

use std::sync::Arc;

use crate::cartridge::Cartridge;
use crate::games::{Game, Progress};
use crate::input::switch;
use crate::machine::Machine;
use crate::tia::WIDTH;
use crate::{Action, CoreError, start};

/// Frames that pass untouched after power on.
const IDLE_FRAMES: u32 = 60;
/// Frames of RESET before a mode is selected.
const FIRST_RESET_FRAMES: u32 = 4;

/// One console and one game. Plain data: a clone goes on exactly as the original would.
#[derive(Clone)]
pub struct Console {
    pub(crate) cartridge: Arc<Cartridge>,
    pub(crate) game: &'static Game,
    pub(crate) machine: Machine,
    pub(crate) progress: Progress,
    pub(crate) frame: u32,
    pub(crate) episode_frame: u32,
    /// How often the power was switched on: decides what the interval timer holds then.
    pub(crate) power_ons: u32,
    pub(crate) mode: u32,
    pub(crate) difficulty: u32,
}

impl Console {
    /// A console with the game begun, as ALE's `loadROM` leaves it.
    ///
    /// # Errors
    /// The cartridge is switched otherwise than the game's.
    pub fn new(cartridge: Arc<Cartridge>, game: &'static Game) -> Result<Self, CoreError> {
        if cartridge.mapper() != game.mapper {
            let name = cartridge.name().to_owned();
            return Err(CoreError::Game {
                name,
                mapper: cartridge.mapper(),
                game: game.name,
            });
        }
        let (image, top, height) = (cartridge.image(), game.top, game.height);
        let machine = Machine::new(
            image.clone(),
            game.mapper,
            top.into(),
            height.into(),
            start::RAM,
        );
        let mut console = Self {
            cartridge,
            game,
            machine,
            progress: Progress::default(),
            frame: 0,
            episode_frame: 0,
            power_ons: 0,
            mode: game.modes.first().copied().unwrap_or(0),
            difficulty: game.difficulties.first().copied().unwrap_or(0),
        };
        console.machine.tia.no_comb = game.no_comb;
        // Loading a ROM switches the console on twice; RAM keeps what the first time left in it.
        console.power_on();
        console.reset();
        Ok(console)
    }

    fn power_on(&mut self) {
        let timer = start::timer(self.power_ons);
        self.power_ons += 1;
        self.machine.power_on(self.game.mapper, timer);
        self.machine.input.release(self.game.controller);
        self.machine.input.swchb = switch::IDLE | self.difficulty_switches();
        self.frames(IDLE_FRAMES);
    }

    /// A new game, as ALE's `reset_game` begins one: power, the reset switch, the actions that start the game.
    pub fn reset(&mut self) {
        self.power_on();
        let (presses, held) = self.game.select;
        if presses > 0 {
            self.press(switch::RESET, FIRST_RESET_FRAMES);
        }
        for _ in 0..presses {
            self.press(switch::SELECT, held.into());
            self.frames(1);
        }
        self.press(switch::RESET, self.game.reset_frames.into());
        for &(action, frames) in self.game.start {
            self.machine.input.act(self.game.controller, action, 1.0);
            self.frames(frames.into());
        }
        self.progress = self
            .game
            .rules
            .map_or_else(Progress::default, |rules| rules.start);
        self.frame += u32::from(presses);
        self.episode_frame = presses.into();
    }

    /// Holds a switch of the console for some frames.
    fn press(&mut self, switch: u8, frames: u32) {
        self.machine.input.swchb &= !switch;
        self.frames(frames);
        self.machine.input.swchb |= switch;
    }

    /// Some frames, of which the last is seen.
    fn frames(&mut self, count: u32) {
        for left in (0..count).rev() {
            self.machine.frame(left == 0);
        }
    }

    /// The difficulty as the switches of both players show it.
    fn difficulty_switches(&self) -> u8 {
        (self.difficulty as u8 & 3) << 6
    }

    /// One frame with an action held: the reward. Without `draw` the picture stays as it was; all else is the same.
    pub fn act(&mut self, action: Action, draw: bool) -> i32 {
        self.act_paddle(action, 1.0, draw)
    }

    /// One frame in which a paddle turns by `strength` (0 to 1) of what a pressed direction turns it.
    pub fn act_paddle(&mut self, action: Action, strength: f32, draw: bool) -> i32 {
        let ignored = self.game.no_button && action.fire();
        let action = if ignored { Action::Noop } else { action };
        self.machine
            .input
            .act(self.game.controller, action, strength);
        self.machine.frame(draw);
        self.frame += 1;
        self.episode_frame += 1;
        if let Some(rules) = self.game.rules {
            rules.step(&self.machine.riot.ram, &mut self.progress);
        }
        self.progress.reward
    }

    /// The picture: a palette entry of the NTSC TIA for each pixel, `[height, 160]`, every entry even.
    #[must_use]
    pub fn screen(&self) -> &[u8] {
        &self.machine.tia.pictures.shown()[..self.height() * WIDTH]
    }

    /// Lets [`Console::screen`] show the last frame, if that was not drawn. Nothing else changes.
    pub fn draw_last(&mut self) {
        self.machine.draw_last();
    }

    /// Shows a picture that was saved, until a frame is drawn; of another length, nothing.
    pub(crate) fn show(&mut self, screen: &[u8]) {
        let length = self.height() * WIDTH;
        if screen.len() == length {
            self.machine.tia.pictures.shown_mut()[..length].copy_from_slice(screen);
        }
    }

    /// Lines of the picture.
    #[must_use]
    pub fn height(&self) -> usize {
        self.game.height.into()
    }

    /// The 128 bytes of RAM, $80 first.
    #[must_use]
    pub fn ram(&self) -> &[u8; 128] {
        &self.machine.riot.ram
    }

    /// Writes one byte of RAM (0 to 127; higher addresses wrap).
    pub fn set_ram(&mut self, address: u8, value: u8) {
        self.machine.riot.ram[usize::from(address & 0x7f)] = value;
    }

    /// Lives left, where the game counts them.
    #[must_use]
    pub fn lives(&self) -> i32 {
        self.progress.lives
    }

    /// Whether the game has ended.
    #[must_use]
    pub fn game_over(&self) -> bool {
        self.progress.over
    }

    /// Frames since the ROM was loaded, those of [`Console::reset`] not counted.
    #[must_use]
    pub fn frame_number(&self) -> u32 {
        self.frame
    }

    /// Frames since the game began.
    #[must_use]
    pub fn episode_frame_number(&self) -> u32 {
        self.episode_frame
    }

    /// The game that is played.
    #[must_use]
    pub fn game(&self) -> &'static Game {
        self.game
    }

    /// The cartridge that it is played from.
    #[must_use]
    pub fn cartridge(&self) -> &Arc<Cartridge> {
        &self.cartridge
    }

    /// Chooses a mode for the games that begin from now on.
    ///
    /// # Errors
    /// The game has no such mode.
    pub fn set_mode(&mut self, mode: u32) -> Result<(), CoreError> {
        if !self.game.modes.contains(&mode) {
            return Err(CoreError::Mode {
                game: self.game.name,
                mode,
                known: self.game.modes.to_vec(),
            });
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
}
