//! The table of games: for each its ROM, its actions, how it is started, and how score, lives and end follow from
//! RAM.
//!
//! Where a new game goes: in a row of its own in the file of its first letter, alphabetically; one for two in the table of
//! [`two`]. A row begins with `game`, or `pal` where the console is a European one, which has what is usual,
//! and says what is not: modes and difficulties, what is pressed at the start, the actions that do something, where score
//! and lives lie in RAM, when the game is over. What takes more than a line or two stands in `special`. Until
//! `scripts/atari_sweep` says `exact` of the ROM (a test here compares its file with the table) the row also says why it is
//! `unproved`.

mod a_to_f;
mod actions;
mod g_to_p;
mod game;
mod q_to_z;
mod ram;
mod rules;
mod select;
mod special;
#[cfg(test)]
mod tests;
pub mod two;

#[cfg(test)]
pub(crate) use game::game;
pub use game::{Game, Standard};
pub use ram::Ram;
pub use rules::{Progress, Reward, Rules, RulesForTwo, Second};
pub use select::{Held, Select, Shown, Switch};

/// Every game for one, in alphabetical order.
pub fn all() -> impl Iterator<Item = &'static Game> {
    [a_to_f::GAMES, g_to_p::GAMES, q_to_z::GAMES]
        .into_iter()
        .flatten()
}

/// The game whose ROM has this MD5.
#[must_use]
pub fn by_md5(md5: &str) -> Option<&'static Game> {
    all().find(|game| game.md5 == md5)
}

/// The game of a name: "breakout".
#[must_use]
pub fn by_name(name: &str) -> Option<&'static Game> {
    all().find(|game| game.name == name)
}
