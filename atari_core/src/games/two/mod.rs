//! The games for two players, as `multi_agent_ale_py` 0.1.12 (the ALE behind `PettingZoo`) plays them: modes of ROMs that
//! have others for one, and ROMs that have no others.
//!
//! Rules and starts were read out of it as those of the games for one out of ale-py, and differ from them: modes have other
//! numbers, both players have points, and in some games who waits is punished.

mod special;
mod table;

use super::game::Game;

/// Every game for two, in alphabetical order.
pub fn all() -> impl Iterator<Item = &'static Game> {
    table::GAMES.iter()
}

/// The game for two whose ROM has this MD5.
#[must_use]
pub fn by_md5(md5: &str) -> Option<&'static Game> {
    all().find(|game| game.md5 == md5)
}

/// The game for two of a name: "pong".
#[must_use]
pub fn by_name(name: &str) -> Option<&'static Game> {
    all().find(|game| game.name == name)
}
