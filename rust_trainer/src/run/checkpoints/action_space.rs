//! How a checkpoint holds the action space: as TOML, for bounds may be infinite, which JSON cannot say.

use serde::{Deserialize, Serialize};
use toml::ser::{Buffer, Error, Serializer};
use vec_env::ActionSpace;

/// [`ActionSpace`], as it is written.
#[derive(Serialize, Deserialize)]
#[serde(remote = "ActionSpace", tag = "kind")]
enum Written {
    Discrete {
        n: i64,
    },
    MultiDiscrete {
        nvec: Vec<i64>,
    },
    Box {
        shape: Vec<usize>,
        low: Vec<f32>,
        high: Vec<f32>,
    },
}

pub(super) fn to_text(space: &ActionSpace) -> Result<String, Error> {
    let mut text = Buffer::new();
    Written::serialize(space, Serializer::new(&mut text))?;
    Ok(text.to_string())
}

/// The space of a text, or what is wrong with it.
pub(super) fn from_text(text: &str) -> Result<ActionSpace, String> {
    let problem = |error: toml::de::Error| error.message().to_owned();
    let space = toml::Deserializer::parse(text).map_err(problem)?;
    let space = Written::deserialize(space).map_err(problem)?;
    match &space {
        ActionSpace::Box { shape, low, high }
            if low.len() != high.len() || low.len() != shape.iter().product::<usize>() =>
        {
            Err("its bounds do not fit its shape".to_owned())
        }
        _ => Ok(space),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_space_comes_back_as_it_was() {
        for space in [
            ActionSpace::Discrete { n: 6 },
            ActionSpace::MultiDiscrete { nvec: vec![6, 18] },
            ActionSpace::Box {
                shape: vec![2],
                low: vec![f32::NEG_INFINITY, -0.1],
                high: vec![f32::INFINITY, std::f32::consts::PI],
            },
        ] {
            let text = to_text(&space).unwrap();
            assert_eq!(from_text(&text).unwrap(), space, "{text}");
        }
    }

    #[test]
    fn a_space_that_cannot_be_is_refused() {
        for text in [
            "",
            "kind = \"Discrete\"",
            "kind = \"Tuple\"\nn = 2",
            "kind = \"Box\"\nshape = [2]\nlow = [0.0]\nhigh = [1.0]",
            "kind = \"Box\"\nshape = [2]\nlow = [0.0, 0.0]\nhigh = [1.0]",
        ] {
            assert!(from_text(text).is_err(), "{text}");
        }
    }
}
