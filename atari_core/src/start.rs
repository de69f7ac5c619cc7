//! How a game begins: the ROM is loaded, the power switched on, the mode chosen, RESET held and pressed what starts the
//! game. And the random numbers that this takes in ale-py.

use std::sync::Arc;

use crate::action::Action;
use crate::cartridge::Cartridge;
use crate::console::Console;
use crate::error::CoreError;
use crate::games::{Game, Held, Select, Shown, Standard, Switch};
use crate::input::switch;
use crate::mersenne_twister::MersenneTwister;
use crate::power_on::Chance;

/// Frames that pass untouched after power on.
const IDLE_FRAMES: u32 = 60;
/// Lines after which ale-py ends a frame of a game that it takes for one for NTSC consoles, as it takes every game when
/// it switches the console on for the first time: a frame of a game for PAL consoles comes in two parts then.
const LONGEST_NTSC_FRAME: i32 = 291;
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
        console.load_with(seed);
        Ok(console)
    }

    /// Loads the ROM of a game for two anew, as `multi_agent_ale_py` does with another `random_seed`; mode and difficulty
    /// stay. [`Console::reset`] begins a game of these.
    pub fn load_for_two(&mut self, seed: u32) {
        let (mode, difficulty) = (self.mode, self.difficulty);
        let (cartridge, program) = (self.cartridge.clone(), self.machine.program.clone());
        *self = Self::unpowered(cartridge, program, self.game, Some(seed));
        self.load_with(seed);
        (self.mode, self.difficulty) = (mode, difficulty);
    }

    fn load_with(&mut self, seed: u32) {
        let mut twister = MersenneTwister::new(0);
        self.load(Some(seed), &mut StartDraws::new(&mut twister, 0.0));
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
        self.machine.input.swchb = switch::IDLE | (self.difficulty as u8 & 3) << 6;
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
        self.progress = self.game.at_start;
        self.episode_frame = 0;
        if let Some(select) = self.game.select {
            self.choose_mode(select, draws);
        }
        self.press(switch::RESET, self.game.reset_frames.into());
        // Of two players one after the other, each of whom rests for a frame then.
        let (players, rest): (_, &[_]) = match self.game.rules_for_two {
            Some(_) => (0..2, &[(Action::Noop, 1)]),
            None => (0..1, &[]),
        };
        for player in players {
            for &(action, frames) in self.game.start.iter().chain(rest) {
                let mut actions = [Action::Noop; 2];
                actions[player] = action;
                self.machine.input.act(self.game.controller, actions, 1.0);
                self.frames(frames.into());
            }
        }
    }

    /// Holds a switch of the console for some frames, and no controller.
    fn press(&mut self, switch: u8, frames: u32) {
        let nothing = [Action::Noop; 2];
        self.machine.input.act(self.game.controller, nothing, 1.0);
        self.machine.input.swchb &= !switch;
        self.frames(frames);
        self.machine.input.swchb |= switch;
    }

    /// Chooses the mode. The frames in which a player could act count as the game's, and its rules look at them.
    fn choose_mode(&mut self, select: Select, draws: &mut StartDraws<'_>) {
        match select {
            Select::Switch(Switch {
                reset_frames,
                idle_frames,
                first_press,
                held,
                shows,
            }) => {
                self.press_to_choose(switch::RESET, reset_frames.into());
                for _ in 0..idle_frames {
                    self.push(draws, Action::Noop);
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
                self.select_until(Shown::If(shows), Held::Frames(select_frames), draws);
                self.press_to_choose(switch::RESET, CHOICE_RESET_FRAMES);
                for _ in 0..MAX_PUSHES {
                    if points(self.cells(), mode) {
                        break;
                    }
                    self.push(draws, Action::Right);
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
                    let found = self.push_until(draws, Action::Down, |console| {
                        console.cells().at(row) == i32::from(*option)
                    });
                    let wanted = self.mode & of_mode != 0;
                    let toward = if wanted { Action::Right } else { Action::Left };
                    let set = found
                        && self.push_until(draws, toward, |console| {
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

    /// Pushes the stick again and again until a menu shows it; whether it did.
    fn push_until(
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
            self.push(draws, action);
        }
    }

    /// A frame that counts, the stick pushed or as it was.
    fn push(&mut self, draws: &mut StartDraws<'_>, action: Action) {
        self.play([draws.sticky(action), Action::Noop], 1.0, true);
    }

    /// Presses SELECT until RAM shows the mode.
    fn select_until(&mut self, shows: Shown, held: Held, draws: &mut StartDraws<'_>) {
        let mode = self.mode.cast_signed();
        for _ in 0..MAX_PRESSES {
            if shows.by(self.cells(), mode) {
                return;
            }
            self.select(draws.press(held));
            if matches!(held, Held::Random) {
                // An action of its own, which ends with the game that the first mode's RAM may show.
                let action = draws.sticky(Action::Noop);
                if !self.game_over() {
                    self.play([action, Action::Noop], 1.0, true);
                }
            }
        }
    }

    /// Presses SELECT. The frame after that counts, but sticky actions have no part in it.
    fn select(&mut self, frames: u32) {
        self.press_to_choose(switch::SELECT, frames);
        self.play([Action::Noop; 2], 1.0, true);
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
