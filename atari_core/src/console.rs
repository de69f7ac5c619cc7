//! A console with a game in it, as the Arcade Learning Environment runs one: how it is switched on, how a game
//! begins, what one frame with an action gives.

use std::sync::Arc;

use crate::cartridge::Cartridge;
use crate::games::{Game, Progress, Standard};
use crate::input::switch;
use crate::machine::Machine;
use crate::mersenne_twister::MersenneTwister;
use crate::mode::StartDraws;
use crate::start::{Chance, Contents};
use crate::tia::{MAX_HEIGHT, WIDTH};
use crate::{Action, CoreError};

/// Frames that pass untouched after power on.
const IDLE_FRAMES: u32 = 60;
/// Lines after which ale-py ends a frame of a game that it takes for one for NTSC consoles, as it takes every game when
/// it switches the console on for the first time: a frame of a game for PAL consoles comes in two parts then.
const LONGEST_NTSC_FRAME: i32 = 291;

/// The console before its power is switched on.
fn switched_off(cartridge: &Cartridge, game: &Game, ram: [u8; 128]) -> Machine {
    let (image, top, height) = (cartridge.image(), game.top, game.height);
    let mut machine = Machine::new(image.clone(), game.mapper, top.into(), height.into(), ram);
    machine.tia.no_comb = game.no_comb;
    machine.tia.is_pal = game.standard == Standard::Pal;
    machine
}

/// What is chosen of modes or difficulties until another is.
pub(crate) fn first(choices: &[u32]) -> u32 {
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
    contents: Box<Contents>,
    /// Decides it in a game for two.
    pub(crate) chance: Option<Box<Chance>>,
    pub(crate) mode: u32,
    pub(crate) difficulty: u32,
}

impl Console {
    /// A console with the game begun, as ALE's `loadROM` leaves it.
    ///
    /// # Errors
    /// The cartridge is switched otherwise than the game's, or the game's picture is taller than 256 lines.
    pub fn new(cartridge: Arc<Cartridge>, game: &'static Game) -> Result<Self, CoreError> {
        let mut twister = MersenneTwister::new(0);
        Self::new_with(cartridge, game, &mut StartDraws::new(&mut twister, 0.0))
    }

    /// [`Console::new`] with ALE's random numbers, as [`Console::reset_with`] takes them.
    ///
    /// # Errors
    /// As [`Console::new`].
    pub fn new_with(
        cartridge: Arc<Cartridge>,
        game: &'static Game,
        draws: &mut StartDraws<'_>,
    ) -> Result<Self, CoreError> {
        let mut console = Self::off(cartridge, game, None)?;
        console.load(None, draws);
        Ok(console)
    }

    /// A console with a game for two begun, as `multi_agent_ale_py` leaves it when it loads a ROM with this
    /// `random_seed`: of [`crate::games::two`], in its mode for one. [`Console::set_mode`] and [`Console::reset`] begin one
    /// for two.
    ///
    /// # Errors
    /// The cartridge is switched otherwise than the game's, or the game's picture is taller than 256 lines.
    pub fn for_two(
        cartridge: Arc<Cartridge>,
        game: &'static Game,
        seed: u32,
    ) -> Result<Self, CoreError> {
        let mut console = Self::off(cartridge, game, Some(seed))?;
        let mut twister = MersenneTwister::new(0);
        console.load(Some(seed), &mut StartDraws::new(&mut twister, 0.0));
        Ok(console)
    }

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
        Ok(Self::unpowered(cartridge, game, seed))
    }

    /// [`Console::off`], of a cartridge that is known to be the game's.
    fn unpowered(cartridge: Arc<Cartridge>, game: &'static Game, seed: Option<u32>) -> Self {
        let (fixed, contents) = Contents::at_load();
        let (ram, chance) = match seed {
            None => (fixed, None),
            Some(seed) => {
                let (ram, chance) = Chance::at_load(seed);
                (ram, Some(Box::new(chance)))
            }
        };
        let machine = switched_off(&cartridge, game, ram);
        Self {
            cartridge,
            game,
            machine,
            progress: Progress::default(),
            frame: 0,
            episode_frame: 0,
            power_ons: 0,
            contents: Box::new(contents),
            chance,
            mode: game
                .rules_for_two
                .map_or_else(|| first(game.modes), |rules| rules.loaded_mode),
            difficulty: first(game.difficulties),
        }
    }

    /// Loads the ROM of a game for two anew, as `multi_agent_ale_py` does with another `random_seed`; mode and difficulty
    /// stay. [`Console::reset`] begins a game of these.
    pub fn load_for_two(&mut self, seed: u32) {
        let (mode, difficulty) = (self.mode, self.difficulty);
        *self = Self::unpowered(self.cartridge.clone(), self.game, Some(seed));
        let mut twister = MersenneTwister::new(0);
        self.load(Some(seed), &mut StartDraws::new(&mut twister, 0.0));
        (self.mode, self.difficulty) = (mode, difficulty);
    }

    /// Loads the ROM, which begins a game; with a seed that of a game for two.
    pub(crate) fn load(&mut self, seed: Option<u32>, draws: &mut StartDraws<'_>) {
        // It switches the console on twice; RAM keeps what the first time left in it.
        self.switch_on();
        match self.game.standard {
            Standard::Ntsc => self.frames(IDLE_FRAMES),
            Standard::Pal => {
                for _ in 0..IDLE_FRAMES {
                    self.machine.lines(LONGEST_NTSC_FRAME);
                }
            }
        }
        // A second time twice over, which a chip in the cartridge notices.
        self.machine.power_on(0);
        if let Some(seed) = seed {
            self.chance = Some(Box::new(Chance::of(seed)));
        }
        self.reset_with(draws);
    }

    fn switch_on(&mut self) {
        let (timer, ram) = match &mut self.chance {
            None => {
                let with_ram = self.machine.banks.has_ram();
                self.contents.at_power_on(self.power_ons, with_ram)
            }
            Some(chance) => (chance.timer(), [0; 128]),
        };
        self.power_ons += 1;
        self.machine.power_on(timer);
        self.machine.banks.ram = ram;
        self.machine.input.release(self.game.controller);
        self.machine.input.swchb = switch::IDLE | self.difficulty_switches();
    }

    /// A new game, as ALE's `reset_game` begins one: power, the choice of the mode, the reset switch, the actions that
    /// start the game. Where ALE draws random numbers for that, they are those of seed 0, the same each time.
    pub fn reset(&mut self) {
        self.reset_with(&mut StartDraws::new(&mut MersenneTwister::new(0), 0.0));
    }

    /// [`Console::reset`] with ALE's random numbers: sticky actions reach into how some games begin, and Adventure's modes
    /// are chosen by presses of random lengths.
    pub fn reset_with(&mut self, draws: &mut StartDraws<'_>) {
        self.switch_on();
        self.frames(IDLE_FRAMES);
        self.progress = self.game.at_start();
        self.episode_frame = 0;
        if let Some(select) = self.game.select {
            self.choose_mode(select, draws);
        }
        self.press(switch::RESET, self.game.reset_frames.into());
        if self.game.rules_for_two.is_some() {
            self.start_for_two();
            return;
        }
        for &(action, frames) in self.game.start {
            self.machine.input.act(self.game.controller, action, 1.0);
            self.frames(frames.into());
        }
    }

    /// Starts the game for one player after the other, each of whom rests for a frame then.
    fn start_for_two(&mut self) {
        for player in 0..2 {
            for &(action, frames) in self.game.start.iter().chain(&[(Action::Noop, 1)]) {
                let mut actions = [Action::Noop; 2];
                actions[player] = action;
                self.machine.input.act_both(self.game.controller, actions);
                self.frames(frames.into());
            }
        }
    }

    /// Holds a switch of the console for some frames, and no controller.
    pub(crate) fn press(&mut self, switch: u8, frames: u32) {
        self.machine
            .input
            .act(self.game.controller, Action::Noop, 1.0);
        self.machine.input.swchb &= !switch;
        self.frames(frames);
        self.machine.input.swchb |= switch;
    }

    /// Some frames, of which the last is seen. The rules look at each, as ALE's do.
    fn frames(&mut self, count: u32) {
        for left in (0..count).rev() {
            self.machine.frame(left == 0);
            self.follow();
        }
    }

    /// The difficulty as the switches of both players show it.
    fn difficulty_switches(&self) -> u8 {
        (self.difficulty as u8 & 3) << 6
    }

    /// One frame with an action held: the reward. Nothing happens after the game's end. Without `draw` the picture stays as it was; all else is the same.
    pub fn act(&mut self, action: Action, draw: bool) -> i32 {
        self.act_paddle(action, 1.0, draw)
    }

    /// One frame in which a paddle turns by `strength` (0 to 1) of what a pressed direction turns it.
    pub fn act_paddle(&mut self, action: Action, strength: f32, draw: bool) -> i32 {
        if self.progress.over {
            return 0;
        }
        self.play(action, strength, draw);
        self.progress.reward
    }

    /// A frame that counts, with an action held.
    pub(crate) fn play(&mut self, action: Action, strength: f32, draw: bool) {
        let ignored = self.game.no_button && action.fire();
        let action = if ignored { Action::Noop } else { action };
        self.machine
            .input
            .act(self.game.controller, action, strength);
        self.count_frame(draw);
    }

    /// One frame with an action of each player held: their rewards. As [`Console::act`], for a game for two.
    pub fn act_both(&mut self, actions: [Action; 2], draw: bool) -> [i32; 2] {
        if self.progress.over {
            return [0; 2];
        }
        self.machine.input.act_both(self.game.controller, actions);
        self.count_frame(draw);
        if let Some(chance) = &mut self.chance {
            chance.pass(2);
        }
        [self.progress.reward, self.progress.second.reward]
    }

    fn count_frame(&mut self, draw: bool) {
        self.machine.frame(draw);
        self.frame += 1;
        self.episode_frame += 1;
        self.follow();
    }

    /// Lets the rules look at the frame that was emulated.
    fn follow(&mut self) {
        let ram = &self.machine.riot.ram;
        if let Some(rules) = self.game.rules {
            rules.step(ram, &self.machine.banks.ram, &mut self.progress);
        } else if let Some(rules) = self.game.rules_for_two {
            rules.step(ram, self.mode, &mut self.progress);
        }
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

#[cfg(test)]
mod tests;
