//! What a batch of environments is, observes and takes: sizes, shapes, types, ranges, and when episodes restart.

use std::fmt;

/// What a batch of environments is, from its making to its end.
#[derive(Clone, Debug, PartialEq)]
pub struct BatchSpec {
    /// What steps the environments: `ale`, `sync` or `async` for those of Python.
    pub backend: String,
    /// Number of environments in the batch.
    pub num_envs: usize,
    /// Players in each environment, 1 or 2.
    pub num_players: usize,
    /// Agents of each environment that have rows of their own, side by side; 1 where rows are environments. With more,
    /// `num_envs` counts the rows.
    pub num_agents: usize,
    /// Whether agents are known to end apart: see [`MultiAgentEnv::ends_apart`](crate::MultiAgentEnv::ends_apart).
    pub ends_apart: bool,
    /// Environments that one [`VecEnv::recv`](crate::VecEnv::recv) waits for.
    pub batch_size: usize,
    /// Shape and type of one observation.
    pub obs_spec: ObsSpec,
    /// The actions of one environment.
    pub action_space: ActionSpace,
    /// When an ended episode is followed by the next.
    pub autoreset_mode: AutoresetMode,
}

impl BatchSpec {
    /// A batch for one player, received as a whole, whose episodes restart within the step that ends them.
    #[must_use]
    pub fn new(num_envs: usize, obs_spec: ObsSpec, action_space: ActionSpace) -> Self {
        Self {
            backend: "rust".to_owned(),
            num_envs,
            num_players: 1,
            num_agents: 1,
            ends_apart: false,
            batch_size: num_envs,
            obs_spec,
            action_space,
            autoreset_mode: AutoresetMode::SameStep,
        }
    }

    /// Bytes that the observations of all environments take.
    #[must_use]
    pub fn obs_bytes(&self) -> usize {
        self.num_envs * self.obs_spec.num_bytes()
    }
}

/// The type of an observation's numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dtype {
    /// Bytes: images, and the RAM of a console.
    Uint8,
    /// Flat observations.
    Float32,
}

impl Dtype {
    /// Bytes that one number takes.
    #[must_use]
    pub fn num_bytes(self) -> usize {
        match self {
            Self::Uint8 => 1,
            Self::Float32 => 4,
        }
    }
}

/// The shape and element type of one environment's observation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObsSpec {
    /// Without the leading `num_envs`: `[4, 84, 84]` for stacked Atari frames, oldest first; with two
    /// players, an axis of 2 comes first.
    pub shape: Vec<usize>,
    /// Numbers of type [`Dtype::Uint8`] are 0 to 255 and want scaling before a network sees them.
    pub dtype: Dtype,
}

impl ObsSpec {
    /// Bytes that one environment's observation takes.
    #[must_use]
    pub fn num_bytes(&self) -> usize {
        self.shape.iter().product::<usize>() * self.dtype.num_bytes()
    }

    /// Whether it is a picture or a stack of them; the RAM of a console is not.
    #[must_use]
    pub fn is_image(&self) -> bool {
        self.dtype == Dtype::Uint8 && self.shape.len() >= 3
    }
}

/// The actions of one environment.
#[derive(Clone, Debug, PartialEq)]
pub enum ActionSpace {
    /// One of `0..n`.
    Discrete {
        /// How many there are.
        n: i64,
    },
    /// Several choices at once, such as one for each of two players: the `i`-th of `0..nvec[i]`.
    MultiDiscrete {
        /// How many values each choice has.
        nvec: Vec<i64>,
    },
    /// Real numbers within bounds: `[radius, angle, fire]` for an Atari game's polar actions.
    Box {
        /// Of one action.
        shape: Vec<usize>,
        /// Least value of each number, in C order.
        low: Vec<f32>,
        /// Greatest value of each number, in C order.
        high: Vec<f32>,
    },
}

impl fmt::Display for ActionSpace {
    /// As Gymnasium writes it, the bounds of a box aside: `Discrete(6)`, `MultiDiscrete([6, 6])`, `Box(3,)`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Discrete { n } => write!(f, "Discrete({n})"),
            Self::MultiDiscrete { nvec } => write!(f, "MultiDiscrete({nvec:?})"),
            Self::Box { shape, .. } => {
                let lengths: Vec<_> = shape.iter().map(usize::to_string).collect();
                let comma = if lengths.len() == 1 { "," } else { "" };
                write!(f, "Box({}{comma})", lengths.join(", "))
            }
        }
    }
}

impl ActionSpace {
    /// Number of [`ActionSpace::Discrete`] actions, 0 for other spaces.
    #[must_use]
    pub fn num_actions(&self) -> i64 {
        match self {
            Self::Discrete { n } => *n,
            Self::MultiDiscrete { .. } | Self::Box { .. } => 0,
        }
    }

    /// How many numbers one environment's action has.
    #[must_use]
    pub fn num_values(&self) -> usize {
        match self {
            Self::Discrete { .. } => 1,
            Self::MultiDiscrete { nvec } => nvec.len(),
            Self::Box { low, .. } => low.len(),
        }
    }

    /// Memory for one action: zeros.
    #[must_use]
    pub fn any_action(&self) -> ActionBatch {
        match self {
            Self::Discrete { .. } | Self::MultiDiscrete { .. } => {
                ActionBatch::Discrete(vec![0; self.num_values()])
            }
            Self::Box { .. } => ActionBatch::Continuous(vec![0.0; self.num_values()]),
        }
    }

    /// `actions` with each number of a [`ActionSpace::Box`] moved within its bounds; what is no number, and other actions,
    /// as they are.
    #[must_use]
    pub fn clipped(&self, actions: &ActionBatch) -> ActionBatch {
        match (self, actions) {
            (Self::Box { low, high, .. }, ActionBatch::Continuous(values)) => {
                let bounds = low.iter().zip(high).cycle();
                let values = values.iter().zip(bounds);
                let clipped = values.map(|(value, (low, high))| {
                    if value.is_nan() {
                        *value
                    } else {
                        value.max(*low).min(*high)
                    }
                });
                ActionBatch::Continuous(clipped.collect())
            }
            _ => actions.clone(),
        }
    }
}

/// Actions of several environments, C order: `[num_envs, ...]`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Actions<'a> {
    /// For [`ActionSpace::Discrete`] one number an environment, for [`ActionSpace::MultiDiscrete`] as
    /// many as it has choices.
    Discrete(&'a [i64]),
    /// For [`ActionSpace::Box`].
    Continuous(&'a [f32]),
}

impl<'a> Actions<'a> {
    /// The action of one environment of several, each of which has `num_values` numbers.
    #[must_use]
    pub fn row(self, env: usize, num_values: usize) -> Actions<'a> {
        let range = env * num_values..(env + 1) * num_values;
        match self {
            Self::Discrete(values) => Self::Discrete(&values[range]),
            Self::Continuous(values) => Self::Continuous(&values[range]),
        }
    }

    /// The first number, which is all of a [`ActionSpace::Discrete`] action; 0 where it is a real one.
    #[must_use]
    pub fn first(self) -> i64 {
        match self {
            Self::Discrete(values) => values.first().copied().unwrap_or_default(),
            Self::Continuous(_) => 0,
        }
    }

    /// The same in memory of its own.
    #[must_use]
    pub fn to_batch(self) -> ActionBatch {
        match self {
            Self::Discrete(values) => ActionBatch::Discrete(values.to_vec()),
            Self::Continuous(values) => ActionBatch::Continuous(values.to_vec()),
        }
    }

    /// How many numbers there are.
    #[must_use]
    pub fn len(&self) -> usize {
        match self {
            Self::Discrete(values) => values.len(),
            Self::Continuous(values) => values.len(),
        }
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// Actions that own their memory.
#[derive(Clone, Debug, PartialEq)]
pub enum ActionBatch {
    /// As [`Actions::Discrete`].
    Discrete(Vec<i64>),
    /// As [`Actions::Continuous`].
    Continuous(Vec<f32>),
}

impl ActionBatch {
    /// Becomes equal to `actions`, in the memory that this has where that suffices.
    pub fn copy_from(&mut self, actions: Actions<'_>) {
        match (self, actions) {
            (Self::Discrete(own), Actions::Discrete(values)) => {
                own.clear();
                own.extend_from_slice(values);
            }
            (Self::Continuous(own), Actions::Continuous(values)) => {
                own.clear();
                own.extend_from_slice(values);
            }
            (own, actions) => *own = actions.to_batch(),
        }
    }

    /// Whether all are numbers, and none is infinite.
    #[must_use]
    pub fn is_finite(&self) -> bool {
        match self {
            Self::Discrete(_) => true,
            Self::Continuous(values) => values.iter().all(|value| value.is_finite()),
        }
    }

    /// The actions, to be sent.
    #[must_use]
    pub fn as_actions(&self) -> Actions<'_> {
        match self {
            Self::Discrete(values) => Actions::Discrete(values),
            Self::Continuous(values) => Actions::Continuous(values),
        }
    }
}

/// When an environment whose episode has ended starts the next one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AutoresetMode {
    /// Within the step that ends it: the observation received is the next episode's first one.
    #[default]
    SameStep,
    /// In the following step, whose action counts for nothing.
    NextStep,
    /// Not by itself: a reset with a mask starts it.
    Disabled,
}
