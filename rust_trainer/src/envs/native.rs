//! Atari games on the console in Rust: Python says once what an id and settings mean, and plays no part after that.

use atari_core::{
    Cartridge,
    rl::{AtariVecEnv, BatchOptions, Part, Preset, Recipe},
};
use python_shim::{AtariRequest, MakeOptions, Value};
use vec_env::EnvError;

/// Makes `num_envs` games that `threads` threads emulate.
///
/// # Errors
/// What `atari_wrappers` refuses; no Atari game, several players, recordings; a game that `atari_core` does not know.
pub(super) fn make(
    env_id: &str,
    num_envs: usize,
    threads: usize,
    options: &MakeOptions,
) -> Result<AtariVecEnv, EnvError> {
    let refuse = |why: &str| {
        let message = format!("backend native cannot serve `{env_id}`: {why}; use another backend");
        EnvError::Unsupported(message)
    };
    for (name, value) in options.settings() {
        let is_refused = match name.as_str() {
            "img_dir" | "video_dir" => true,
            "num_players" => *value != Value::Int(1),
            _ => false,
        };
        if is_refused {
            return Err(refuse(&format!("{name}={value:?}")));
        }
    }
    let Some(request) = AtariRequest::resolve(env_id, options)? else {
        return Err(refuse("it is no Atari game"));
    };
    let mut recipe = Recipe::preset(Preset::Default);
    for (name, value) in &request.recipe {
        let part = part(value).ok_or_else(|| refuse(&format!("{name}={value:?}")))?;
        recipe.set(name, &part).map_err(|error| refuse(&error))?;
    }
    let cartridge = Cartridge::load(&request.rom).map_err(|error| refuse(&error.to_string()))?;
    let options = BatchOptions {
        num_threads: threads,
        ..BatchOptions::new(recipe)
    };
    AtariVecEnv::new(&[cartridge], num_envs, &options)
}

fn part(value: &Value) -> Option<Part> {
    Some(match value {
        Value::None => Part::None,
        Value::Bool(flag) => Part::Flag(*flag),
        Value::Int(number) => Part::Number(*number as f64),
        Value::Float(number) => Part::Number(*number),
        Value::Str(name) => Part::Name(name.clone()),
        Value::List(sides) => match sides.as_slice() {
            [Value::Int(height), Value::Int(width)] => Part::Size(*height as f64, *width as f64),
            _ => return None,
        },
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_it_cannot_do_is_refused_by_name_before_python_is_asked() {
        let options = MakeOptions::new();
        for (name, options) in [
            ("img_dir", options.clone().with("img_dir", "frames")),
            ("num_players", options.with("num_players", 2_i64)),
        ] {
            let error = make("PongNoFrameskip-v4", 1, 1, &options).unwrap_err();
            assert!(
                error.is_usage_error() && error.to_string().contains(name),
                "{error}"
            );
        }
    }
}
