//! The choices that parts of a recipe have, under the names of the Python settings: `AfterSkip` is `"after-skip"`.

use serde::{Deserialize, Serialize};

/// What is observed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ObsType {
    /// The screen.
    Screen,
    /// The console's memory, uint8 `[128]`, as the step's last frame left it; what is said of pictures and
    /// stacks does not apply.
    Ram,
}

/// Of which pictures the pixel-wise maximum of a step's last two frames is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Pooling {
    /// Of colours, turned to gray afterwards.
    Rgb,
    /// Of gray ones.
    Gray,
}

/// Which pictures are brought to the size of an observation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Resizing {
    /// Gray ones.
    Gray,
    /// Those of colours, turned to gray afterwards.
    Rgb,
}

/// How pictures are brought to the size of an observation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Interpolation {
    /// OpenCV's `INTER_AREA`.
    Area,
    /// Its `INTER_LINEAR`.
    Linear,
}

/// What becomes of the frame with which a game ends inside of the skip.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LastFrame {
    /// If it is among those to be pooled, it is pooled with the other place's, which may be the last full
    /// step's.
    Pooled,
    /// What was seen before stays.
    Dropped,
    /// If it is among those to be pooled, it is seen alone.
    Alone,
}

/// What stands in the stack before an episode's first frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Padding {
    /// Zeros.
    Zero,
    /// The first frame again.
    Reset,
}

/// How a game that has the action FIRE is started.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FireReset {
    /// It is not.
    Off,
    /// Action 1 and then action 2 after the no-ops, a whole agent step each.
    Steps,
    /// A single frame of FIRE in place of one no-op, before the others.
    BeforeNoops,
    /// The same, after the others.
    AfterNoops,
}

/// When a lost life ends an episode.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LifeLoss {
    /// Where at the end of the agent step fewer lives are left than before, and at least one.
    AfterSkip,
    /// The same, but within the skip, which stops there.
    InSkip,
    /// As that, and the last life counts too.
    AnyDrop,
}

/// What the reset after a lost life does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AfterLifeLoss {
    /// Nothing: the loss is a signal.
    GoOn,
    /// One agent step of no-op in the same game, and FIRE as at the start.
    NoopStep,
    /// No-ops and FIRE in the same game; the stack is kept.
    Noops,
    /// Another game: the one given up counts as terminated.
    NewGame,
}

/// Which flag is set where a game, or a life, ends in the step that meets the limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum EndPrecedence {
    /// Both.
    Both,
    /// `terminated`.
    Terminated,
    /// `truncated`.
    Truncated,
}

/// Where random numbers come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Seeding {
    /// As gymnasium's Atari environment derives ALE's seed and its own generator from a seed.
    Hashed,
    /// As the vector environments of ALE and EnvPool: the seed itself for ALE, and a Mersenne Twister of the
    /// same seed for the no-ops.
    Raw,
}
