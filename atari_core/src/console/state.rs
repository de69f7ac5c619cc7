//! A console's state: its chips, the frames that left a picture undrawn, how far the game is, and both pictures of the TIA.
//! What a later frame leaves out shows from these.

use super::Console;
use crate::error::CoreError;
use crate::games::{Progress, Second};
use crate::state::{self, BadState, MOST_POINTS, Tape};
use crate::tia::WIDTH;

/// Frames and power-ons that a state may count: 400 days of emulated time.
const MOST_FRAMES: u32 = i32::MAX as u32;

impl Console {
    /// Everything that decides how the game goes on and what it shows: two pictures, and about 500 bytes more.
    #[must_use]
    pub fn save_state(&mut self) -> Vec<u8> {
        state::save(&self.kind(), |tape| self.walk(tape))
    }

    /// Goes on from a state of [`Console::save_state`], to the last pixel.
    ///
    /// # Errors
    /// The bytes are no state, or one of another game or version; the console is as before.
    pub fn restore_state(&mut self, state: &[u8]) -> Result<(), CoreError> {
        let game = self.game.name;
        state::restore(state, &self.kind(), |tape| self.walk(tape))
            .map_err(|source| CoreError::State { game, source })
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

    pub(crate) fn walk(&mut self, tape: &mut Tape<'_>) -> Result<(), BadState> {
        self.machine.walk(tape)?;
        let Progress {
            score,
            reward,
            lives,
            over,
            memory,
            second,
        } = &mut self.progress;
        let of_first = [score, reward, lives].into_iter().chain(memory);
        let Second {
            score,
            reward,
            lives,
            memory,
        } = second;
        let of_second = [score, reward, lives].into_iter().chain(memory);
        for points in of_first.chain(of_second) {
            tape.within(points, -MOST_POINTS..MOST_POINTS, "the score")?;
        }
        tape.number(over)?;
        for count in [
            &mut self.frame,
            &mut self.episode_frame,
            &mut self.power_ons,
        ] {
            tape.within(count, ..MOST_FRAMES, "a count of frames")?;
        }
        let mode = tape.number(&mut self.mode)?;
        // Loading a ROM begins a mode that a game for two has not got.
        let loaded = self.game.rules_for_two.map(|rules| rules.loaded_mode);
        let has_mode = self.game.modes.contains(&mode) || loaded == Some(mode);
        tape.check(has_mode, "the mode")?;
        let difficulty = tape.number(&mut self.difficulty)?;
        let has_difficulty = self.game.difficulties.contains(&difficulty);
        tape.check(has_difficulty, "the difficulty")?;
        if let Some(chance) = &mut self.chance {
            chance.twister.walk(tape)?;
        }
        let num_pixels = self.height() * WIDTH;
        self.machine.tia.pictures.walk(tape, num_pixels)
    }
}
