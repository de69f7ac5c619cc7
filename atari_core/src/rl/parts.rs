//! Parts of a [`Recipe`] by their names, as whoever reads settings has them.

use std::fmt;

use super::recipe::Recipe;

/// The value of a part.
#[derive(Clone, Debug, PartialEq)]
pub enum Part {
    /// None: the game's default, where a part has one.
    None,
    /// Yes or no.
    Flag(bool),
    /// A number.
    Number(f64),
    /// Height and width.
    Size(f64, f64),
    /// The name of a choice.
    Name(String),
}

impl fmt::Display for Part {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => formatter.write_str("none"),
            Self::Flag(flag) => flag.fmt(formatter),
            Self::Number(number) => number.fmt(formatter),
            Self::Size(height, width) => write!(formatter, "{height}x{width}"),
            Self::Name(name) => formatter.write_str(name),
        }
    }
}

/// A type that a part has.
pub(super) trait PartType: Copy {
    fn from_part(part: &Part) -> Option<Self>;
    fn to_part(self) -> Part;
}

/// What is said of every part stands here once; the compiler sees that none is missing.
macro_rules! parts {
    ($($name:ident)+) => {
        impl Recipe {
            /// Every part with its name and value.
            pub fn parts(&self) -> impl Iterator<Item = (&'static str, Part)> + use<> {
                let Self { $($name,)+ } = self;
                [$((stringify!($name), $name.to_part()),)+].into_iter()
            }

            fn set_if_known(&mut self, name: &str, value: &Part) -> Option<()> {
                match name {
                    $(stringify!($name) => self.$name = PartType::from_part(value)?,)+
                    _ => return None,
                }
                Some(())
            }
        }
    };
}

parts! {
    obs_type pooling resizing last_frame frame_skip screen_size grayscale frame_stack channels_last padding noop_min
    noop_max fire_reset episodic_life life_loss after_life_loss clip_reward max_episode_frames count_reset_frames
    count_reset_rewards max_episode_steps end_precedence sticky_actions full_action_space continuous
    continuous_action_threshold mode difficulty seeding
}

impl Recipe {
    /// Sets the part `name`; [`Recipe::check`] checks ranges.
    ///
    /// # Errors
    /// A message that names a part that there is not, or a value that it cannot have.
    pub fn set(&mut self, name: &str, value: &Part) -> Result<(), String> {
        self.set_if_known(name, value).ok_or_else(|| {
            format!("{name}={value} is no part of a recipe of atari_core, or no value of it")
        })
    }
}

/// A whole number.
fn whole(number: f64) -> Option<u32> {
    let is_whole = (0.0..=f64::from(u32::MAX)).contains(&number) && number.fract() == 0.0;
    is_whole.then_some(number as u32)
}

impl PartType for bool {
    fn from_part(part: &Part) -> Option<Self> {
        match part {
            Part::Flag(flag) => Some(*flag),
            _ => None,
        }
    }

    fn to_part(self) -> Part {
        Part::Flag(self)
    }
}

impl PartType for u32 {
    fn from_part(part: &Part) -> Option<Self> {
        match part {
            Part::Number(number) => whole(*number),
            _ => None,
        }
    }

    fn to_part(self) -> Part {
        Part::Number(self.into())
    }
}

impl PartType for usize {
    fn from_part(part: &Part) -> Option<Self> {
        u32::from_part(part).map(|number| number as usize)
    }

    fn to_part(self) -> Part {
        Part::Number(self as f64)
    }
}

impl PartType for f32 {
    fn from_part(part: &Part) -> Option<Self> {
        match part {
            Part::Number(number) => Some(*number as f32),
            _ => None,
        }
    }

    fn to_part(self) -> Part {
        Part::Number(self.into())
    }
}

impl PartType for (usize, usize) {
    fn from_part(part: &Part) -> Option<Self> {
        match part {
            Part::Size(height, width) => Some((whole(*height)? as usize, whole(*width)? as usize)),
            _ => None,
        }
    }

    fn to_part(self) -> Part {
        Part::Size(self.0 as f64, self.1 as f64)
    }
}

impl PartType for Option<u32> {
    fn from_part(part: &Part) -> Option<Self> {
        match part {
            Part::None => Some(None),
            part => u32::from_part(part).map(Some),
        }
    }

    fn to_part(self) -> Part {
        self.map_or(Part::None, PartType::to_part)
    }
}
