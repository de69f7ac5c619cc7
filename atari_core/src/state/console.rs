//! A console's state: its chips (`chips`), how far the game is, both pictures of the TIA, and the frames that left
//! either undrawn. What a later frame leaves out shows from these.

use super::{BadState, Reader, Tape, Writer, check};
use crate::CoreError;
use crate::console::Console;
use crate::games::Progress;
use crate::machine::Chips;
use crate::mersenne_twister::MersenneTwister;
use crate::power_on::Chance;
use crate::tia::{PicturesState, WIDTH};

/// Scores, and what rules remember beside them, lie far below: sums of two cannot overflow.
pub(crate) const MOST_POINTS: i32 = 1 << 28;
/// Frames and power-ons that a state may count: 400 days of emulated time.
const MOST_FRAMES: u32 = i32::MAX as u32;

/// All but the pictures: some 500 bytes, and as many for each frame that is undrawn.
struct Numbers {
    chips: Chips,
    undrawn: [Option<Chips>; 2],
    progress: Progress,
    frame: u32,
    episode_frame: u32,
    power_ons: u32,
    mode: u32,
    difficulty: u32,
    /// In a game for two.
    chance: Option<Box<Chance>>,
}

/// What [`Console::read`] has found, to be put in place.
pub(crate) struct ConsoleState<'a> {
    numbers: Numbers,
    pictures: PicturesState<'a>,
}

impl Console {
    /// Everything that decides how the game goes on and what it shows: two pictures, and about 500 bytes more.
    #[must_use]
    pub fn save_state(&self) -> Vec<u8> {
        let mut state = Writer::new(&self.kind());
        self.save(&mut state);
        state.0
    }

    /// Goes on from a state of [`Console::save_state`], to the last pixel.
    ///
    /// # Errors
    /// The bytes are no state, or one of another game or version; the console is as before.
    pub fn restore_state(&mut self, state: &[u8]) -> Result<(), CoreError> {
        let read = || {
            let mut state = Reader::new(state, &self.kind())?;
            let read = self.read(&mut state)?;
            state.end()?;
            Ok(read)
        };
        let game = self.game.name;
        let read = read().map_err(|source| CoreError::State { game, source })?;
        self.put(read);
        Ok(())
    }

    /// What two consoles agree in that may take each other's states.
    pub(crate) fn kind(&self) -> String {
        let players = if self.chance.is_some() {
            " players=2"
        } else {
            ""
        };
        format!("rom={}{players}", self.cartridge.md5())
    }

    /// Appends the console's state.
    pub(crate) fn save(&self, state: &mut Writer) {
        let mut numbers = Numbers::of(self);
        // A writer takes everything.
        let _written = numbers.walk(state);
        if let Some(chance) = &numbers.chance {
            chance.twister.save(state);
        }
        let pictures = &self.machine.tia.pictures;
        pictures.save(self.height() * WIDTH, state);
    }

    /// A state that this console can go on from.
    pub(crate) fn read<'a>(&self, state: &mut Reader<'a>) -> Result<ConsoleState<'a>, BadState> {
        let mut numbers = Numbers::of(self);
        numbers.walk(state)?;
        if let Some(chance) = &mut numbers.chance {
            chance.twister = MersenneTwister::read(state)?;
        }
        numbers.check(self)?;
        let pictures = PicturesState::read(self.height() * WIDTH, state)?;
        Ok(ConsoleState { numbers, pictures })
    }

    /// Goes on from a state of [`Console::read`].
    pub(crate) fn put(&mut self, state: ConsoleState<'_>) {
        let numbers = state.numbers;
        self.machine.restore(numbers.chips, numbers.undrawn);
        self.machine.tia.pictures.put(&state.pictures);
        self.progress = numbers.progress;
        self.frame = numbers.frame;
        self.episode_frame = numbers.episode_frame;
        self.power_ons = numbers.power_ons;
        self.mode = numbers.mode;
        self.difficulty = numbers.difficulty;
        self.chance = numbers.chance;
    }
}

impl Numbers {
    fn of(console: &Console) -> Self {
        Self {
            chips: console.machine.chips(),
            undrawn: console.machine.undrawn.clone(),
            progress: console.progress,
            frame: console.frame,
            episode_frame: console.episode_frame,
            power_ons: console.power_ons,
            mode: console.mode,
            difficulty: console.difficulty,
            chance: console.chance.clone(),
        }
    }

    fn check(&self, console: &Console) -> Result<(), BadState> {
        for chips in self.undrawn.iter().flatten().chain([&self.chips]) {
            chips.check(&console.machine.tia)?;
        }
        let Progress {
            score,
            reward,
            lives,
            over: _,
            memory,
            second,
        } = self.progress;
        let of_both = [
            [score, reward, lives, memory[0], memory[1]],
            second.numbers(),
        ];
        let mut points = of_both.iter().flatten();
        let are_small = points.all(|points| (-MOST_POINTS..MOST_POINTS).contains(points));
        check(are_small, "the score")?;
        let counts = [self.frame, self.episode_frame, self.power_ons];
        let counts = counts.map(|count| count < MOST_FRAMES);
        check(counts == [true; 3], "a count of frames")?;
        // Loading a ROM begins a mode that a game for two has not got.
        let loaded = console.game.rules_for_two.map(|rules| rules.loaded_mode);
        let has_mode = console.game.modes.contains(&self.mode) || loaded == Some(self.mode);
        check(has_mode, "the mode")?;
        let difficulties = console.game.difficulties;
        check(difficulties.contains(&self.difficulty), "the difficulty")
    }

    fn walk(&mut self, tape: &mut impl Tape) -> Result<(), BadState> {
        self.chips.walk(tape)?;
        for undrawn in &mut self.undrawn {
            let mut is_undrawn = undrawn.is_some();
            tape.flag(&mut is_undrawn)?;
            if is_undrawn {
                undrawn
                    .get_or_insert_with(|| self.chips.clone())
                    .walk(tape)?;
            } else {
                *undrawn = None;
            }
        }
        let progress = &mut self.progress;
        for points in [
            &mut progress.score,
            &mut progress.reward,
            &mut progress.lives,
            &mut progress.second.score,
            &mut progress.second.reward,
            &mut progress.second.lives,
        ] {
            tape.int(points)?;
        }
        tape.flag(&mut progress.over)?;
        for number in progress
            .memory
            .iter_mut()
            .chain(&mut progress.second.memory)
        {
            tape.int(number)?;
        }
        for count in [
            &mut self.frame,
            &mut self.episode_frame,
            &mut self.power_ons,
            &mut self.mode,
            &mut self.difficulty,
        ] {
            tape.word(count)?;
        }
        Ok(())
    }
}
