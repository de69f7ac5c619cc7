//! How reward, lives and the end of a game follow from its RAM.

/// What the rules remember from one frame to the next.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// The score as it was last seen.
    pub score: i32,
    /// Points of the last frame.
    pub reward: i32,
    /// Lives left.
    pub lives: i32,
    /// The game is over.
    pub over: bool,
    /// Whatever else a game's rules have to remember.
    pub memory: [i32; 2],
}

/// The rules of a game: `step` is called after every frame with RAM, address 0 being $80.
#[derive(Clone, Copy, Debug)]
pub struct Rules {
    /// What a game begins with.
    pub start: Progress,
    /// Takes in one frame.
    pub step: fn(&[u8; 128], &mut Progress),
}
