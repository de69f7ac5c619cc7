//! A console with a game in it, as the Arcade Learning Environment runs one: what is chosen, what one frame with an action
//! gives, what is seen. How a game begins is in `start`.

use std::sync::Arc;

use crate::action::Action;
use crate::cartridge::Cartridge;
use crate::cpu::Program;
use crate::error::CoreError;
use crate::games::{Game, Progress, Ram, Standard};
use crate::machine::Machine;
use crate::power_on::{Chance, Contents};
use crate::tia::{MAX_HEIGHT, Television, WIDTH};

/// What is chosen of modes or difficulties until another is.
fn first(choices: &[u32]) -> u32 {
    choices.first().copied().unwrap_or(0)
}

/// One console and one game. Plain data: a clone goes on exactly as the original would.
#[derive(Clone)]
pub struct Console {
    pub(crate) cartridge: Arc<Cartridge>,
    pub(crate) game: &'static Game,
    pub(crate) machine: Machine,
    pub(crate) progress: Progress,
    pub(crate) frame: u32,
    pub(crate) episode_frame: u32,
    /// How often the power was switched on: decides what chips hold then, in a game for one.
    pub(crate) power_ons: u32,
    /// What the chips hold then: follows from the count, and is no state of its own.
    pub(crate) contents: Box<Contents>,
    /// Decides it in a game for two.
    pub(crate) chance: Option<Box<Chance>>,
    pub(crate) mode: u32,
    pub(crate) difficulty: u32,
}

impl Console {
    /// A console that was never switched on.
    pub(crate) fn off(
        cartridge: Arc<Cartridge>,
        game: &'static Game,
        seed: Option<u32>,
    ) -> Result<Self, CoreError> {
        if cartridge.mapper() != game.mapper {
            let name = cartridge.name().to_owned();
            return Err(CoreError::Game {
                name,
                mapper: cartridge.mapper(),
                game: game.name,
            });
        }
        if usize::from(game.height) > MAX_HEIGHT {
            return Err(CoreError::Height {
                game: game.name,
                height: game.height,
                most: MAX_HEIGHT,
            });
        }
        let program = Program::new(&cartridge);
        Ok(Self::unpowered(cartridge, program, game, seed))
    }

    /// [`Console::off`], of a cartridge that is known to be the game's.
    pub(crate) fn unpowered(
        cartridge: Arc<Cartridge>,
        program: Arc<Program>,
        game: &'static Game,
        seed: Option<u32>,
    ) -> Self {
        let (fixed, contents) = Contents::at_load();
        let (ram, chance) = match seed {
            None => (fixed, None),
            Some(seed) => {
                let (ram, chance) = Chance::at_load(seed);
                (ram, Some(Box::new(chance)))
            }
        };
        let television = Television {
            top: game.top.into(),
            height: game.height.into(),
            is_pal: game.standard == Standard::Pal,
            no_comb: game.no_comb,
        };
        Self {
            cartridge,
            game,
            machine: Machine::new(program, television, ram),
            progress: Progress::default(),
            frame: 0,
            episode_frame: 0,
            power_ons: 0,
            contents: Box::new(contents),
            chance,
            mode: match game.rules_for_two {
                Some(rules) => rules.loaded_mode,
                None => first(game.modes),
            },
            difficulty: first(game.difficulties),
        }
    }

    /// Chooses a mode for the games that begin from now on.
    ///
    /// # Errors
    /// The game has no such mode.
    pub fn set_mode(&mut self, mode: u32) -> Result<(), CoreError> {
        self.mode = self.choice("mode", mode, self.game.modes)?;
        Ok(())
    }

    /// Chooses a difficulty for the games that begin from now on.
    ///
    /// # Errors
    /// The game has no such difficulty.
    pub fn set_difficulty(&mut self, difficulty: u32) -> Result<(), CoreError> {
        self.difficulty = self.choice("difficulty", difficulty, self.game.difficulties)?;
        Ok(())
    }

    /// A number that is known.
    fn choice(
        &self,
        what: &'static str,
        number: u32,
        known: &'static [u32],
    ) -> Result<u32, CoreError> {
        let game = self.game.name;
        known
            .contains(&number)
            .then_some(number)
            .ok_or(CoreError::Choice {
                game,
                what,
                number,
                known,
            })
    }

    /// Some frames, of which the last is seen. The rules look at each, as ALE's do.
    pub(crate) fn frames(&mut self, count: u32) {
        for left in (0..count).rev() {
            self.machine.frame(left == 0);
            self.follow();
        }
    }

    /// One frame with an action held: the reward. Nothing happens after the game's end. Without `draw` the picture stays
    /// as it was; all else is the same.
    pub fn act(&mut self, action: Action, draw: bool) -> i32 {
        self.act_paddle(action, 1.0, draw)
    }

    /// One frame in which a paddle turns by `strength` (0 to 1) of what a pressed direction turns it.
    pub fn act_paddle(&mut self, action: Action, strength: f32, draw: bool) -> i32 {
        if self.progress.over {
            return 0;
        }
        self.play([action, Action::Noop], strength, draw);
        self.progress.reward
    }

    /// One frame with an action of each player held: their rewards. As [`Console::act`], for a game for two.
    pub fn act_both(&mut self, actions: [Action; 2], draw: bool) -> [i32; 2] {
        if self.progress.over {
            return [0; 2];
        }
        self.play(actions, 1.0, draw);
        if let Some(chance) = &mut self.chance {
            chance.pass(2);
        }
        [self.progress.reward, self.progress.second.reward]
    }

    /// A frame that counts, with actions held.
    pub(crate) fn play(&mut self, mut actions: [Action; 2], strength: f32, draw: bool) {
        if self.game.no_button && actions[0].fire() {
            actions[0] = Action::Noop;
        }
        let controller = self.game.controller;
        self.machine.input.act(controller, actions, strength);
        self.machine.frame(draw);
        self.frame += 1;
        self.episode_frame += 1;
        self.follow();
    }

    /// Lets the rules look at the frame that was emulated.
    fn follow(&mut self) {
        // Not `cells`: that borrows all of the console.
        let ram = Ram::new(&self.machine.riot.ram, &self.machine.banks.ram);
        self.game.after_frame(ram, self.mode, &mut self.progress);
    }

    /// RAM as rules see it.
    pub(crate) fn cells(&self) -> Ram<'_> {
        Ram::new(&self.machine.riot.ram, &self.machine.banks.ram)
    }

    /// The picture: a palette entry of the TIA for each pixel, `[height, 160]`. Entries are even, but odd where a frame
    /// of a game for PAL has lost its colours.
    #[must_use]
    pub fn screen(&self) -> &[u8] {
        &self.machine.tia.pictures.shown()[..self.height() * WIDTH]
    }

    /// Lets [`Console::screen`] show the last frame, if that was not drawn. Nothing else changes.
    pub fn draw_last(&mut self) {
        self.machine.draw_last();
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

    /// Lives of each player of a game for two.
    #[must_use]
    pub fn lives_of_both(&self) -> [i32; 2] {
        [self.progress.lives, self.progress.second.lives]
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
}

mod state;
#[cfg(test)]
mod tests;
