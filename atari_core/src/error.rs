//! What can go wrong: a cartridge that cannot be used, a setting that a game does not have, a state that is not one.

use crate::mapper::Mapper;
use crate::state::BadState;

/// Errors of the console. Each names the value, the place and the remedy.
#[derive(Debug, thiserror::Error)]
pub enum CoreError {
    /// The ROM file could not be read.
    #[error("cannot read the ROM {path}: {source}")]
    Read {
        /// The file that was asked for.
        path: String,
        /// Why the system refused.
        source: std::io::Error,
    },
    /// The length is not one that the bank switching can have.
    #[error("{name}: {length} bytes cannot be a {mapper:?} cartridge")]
    Length {
        /// The name of the ROM.
        name: String,
        /// Its length in bytes.
        length: usize,
        /// The bank switching that was asked for.
        mapper: Mapper,
    },
    /// The MD5 of the ROM is in no entry of the table of games.
    #[error("{name}: no game has the MD5 {md5}; known are the ROMs that ale-py ships")]
    Unknown {
        /// The name of the ROM.
        name: String,
        /// MD5 of its bytes, in hexadecimal digits.
        md5: String,
    },
    /// The cartridge holds another kind of ROM than the game is.
    #[error(
        "{name} is switched as {mapper:?}, {game} is not: take the game that belongs to the ROM"
    )]
    Game {
        /// The name of the ROM.
        name: String,
        /// Its bank switching.
        mapper: Mapper,
        /// The game.
        game: &'static str,
    },
    /// The game's picture is taller than any that the console draws.
    #[error("{game} has a picture of {height} lines: {most} at most")]
    Height {
        /// The game.
        game: &'static str,
        /// Its lines.
        height: u16,
        /// As many as there can be.
        most: usize,
    },
    /// A part of the recipe is out of its range, or two do not go together.
    #[error("{0}")]
    Recipe(String),
    /// The game has no such mode, or no such difficulty.
    #[error("{game} has no {what} {number}; it has {known:?}")]
    Choice {
        /// The game.
        game: &'static str,
        /// "mode" or "difficulty".
        what: &'static str,
        /// The one that was asked for.
        number: u32,
        /// Those that the game has.
        known: &'static [u32],
    },
    /// The game is not proved to be what ale-py makes of it.
    #[error("{game} is not proved equal to ale-py's: {reason}; play it on ale-py")]
    Unproved {
        /// The game.
        game: &'static str,
        /// What is missing, or what is known to differ.
        reason: &'static str,
    },
    /// No game for two is known of the ROM, whose name this is.
    #[error("{0}: how two play it is not known; play it on multi_agent_ale_py")]
    NotForTwo(String),
    /// The game for two is not proved to be what `multi_agent_ale_py` makes of it.
    #[error("{game} for two is not proved equal to multi_agent_ale_py's: {reason}; play it there")]
    UnprovedForTwo {
        /// The game.
        game: &'static str,
        /// What is missing, or what is known to differ.
        reason: &'static str,
    },
    /// The bytes are not a state of this console.
    #[error("not a state of {game}: {source}")]
    State {
        /// The game that is running.
        game: &'static str,
        /// What is wrong with the bytes.
        source: BadState,
    },
}
