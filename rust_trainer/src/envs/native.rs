//! Atari games on the console in Rust: Python says once what an id and settings mean, and plays no part after that.

use atari_core::{
    Cartridge,
    rl::{AtariVecEnv, BatchOptions, Part, Preset, Recipe},
};
use python_shim::{AtariRequest, MakeOptions, Value};
use vec_env::{AutoresetMode, EnvError};

const NO_GAME: &str = "it is no Atari game";

/// Makes `num_envs` games that `threads` threads emulate. Beside the settings of recipes it knows `num_players`,
/// `autoreset`, `batch_size`, `num_threads`, which takes the place of `threads`, `cores`, a list of those that the threads run on, and
/// `draw_all`, which draws every frame.
///
/// # Errors
/// What `atari_wrappers` refuses; any other setting; no Atari game; a game that `atari_core` does not know.
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
    let mut recipe = Recipe::preset(Preset::Default);
    let mut of_recipe = MakeOptions::new();
    let mut batch = BatchOptions {
        num_threads: threads,
        ..BatchOptions::new(recipe.clone())
    };
    for (name, value) in options.settings() {
        let is_part = recipe.parts().any(|(part, _)| part == name);
        if is_part || ["preset", "recipe"].contains(&name.as_str()) {
            of_recipe.set(name, value.clone());
        } else if set(&mut batch, name, value).is_none() {
            return Err(refuse(&format!("{name} = {}", shown(value))));
        }
    }
    // Games for two have modes of their own.
    of_recipe.set("num_players", batch.num_players as i64);
    let Some(request) = AtariRequest::resolve(env_id, &of_recipe)? else {
        return Err(refuse(NO_GAME));
    };
    for (name, value) in &request.recipe {
        let part = part(value).ok_or_else(|| refuse(&format!("{name} = {}", shown(value))))?;
        recipe.set(name, &part).map_err(|error| refuse(&error))?;
    }
    let cartridge = Cartridge::load(&request.rom).map_err(|error| refuse(&error.to_string()))?;
    batch.recipe = recipe;
    AtariVecEnv::new(&[cartridge], num_envs, &batch)
}

/// Why an Atari game is not played on this console; `None` where it could be, or where it is none.
pub(super) fn refusal(env_id: &str, options: &MakeOptions) -> Option<String> {
    let refusal = make(env_id, 1, 1, options).err()?.to_string();
    (!refusal.contains(NO_GAME)).then_some(refusal)
}

/// A value as a user writes it.
fn shown(value: &Value) -> String {
    match value {
        Value::Str(text) => text.clone(),
        Value::Bool(flag) => flag.to_string(),
        Value::Int(number) => number.to_string(),
        Value::Float(number) => number.to_string(),
        Value::List(values) => {
            let values: Vec<_> = values.iter().map(shown).collect();
            format!("[{}]", values.join(", "))
        }
        other => format!("{other:?}"),
    }
}

/// Takes over a setting that says how a batch runs; `None` for one that is not known, or has no such value.
fn set(batch: &mut BatchOptions, name: &str, value: &Value) -> Option<()> {
    let count = |value: &Value| match value {
        Value::Int(count) => usize::try_from(*count).ok(),
        _ => None,
    };
    match (name, value) {
        ("autoreset", Value::Str(mode)) => {
            batch.autoreset = match mode.as_str() {
                "same-step" => AutoresetMode::SameStep,
                "next-step" => AutoresetMode::NextStep,
                "disabled" => AutoresetMode::Disabled,
                _ => return None,
            };
        }
        ("batch_size", size) => batch.batch_size = count(size)?,
        ("num_threads", threads) => batch.num_threads = count(threads)?,
        ("cores", Value::List(cores)) => {
            batch.cores = cores.iter().map(count).collect::<Option<_>>()?;
        }
        ("draw_all", Value::Bool(draws)) => batch.draw_all = *draws,
        ("num_players", Value::Int(players @ 1..=2)) => batch.num_players = *players as usize,
        _ => return None,
    }
    Some(())
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
            ("num_players", options.clone().with("num_players", 3_i64)),
            ("autoreset", options.clone().with("autoreset", "sometimes")),
            ("num_workers", options.clone().with("num_workers", 2_i64)),
            ("batch_size", options.with("batch_size", -1_i64)),
        ] {
            let error = make("PongNoFrameskip-v4", 1, 1, &options).unwrap_err();
            let message = error.to_string();
            assert!(error.is_usage_error() && message.contains(name), "{error}");
            let is_rust = message.contains("Str(") || message.contains("Int(");
            assert!(!is_rust, "{message}");
        }
    }

    #[test]
    fn settings_say_how_the_batch_runs() {
        let mut batch = BatchOptions::new(Recipe::preset(Preset::Default));
        let cores = Value::List(vec![Value::Int(1), Value::Int(0)]);
        for (name, value) in [
            ("autoreset", "next-step".into()),
            ("batch_size", Value::Int(3)),
            ("num_threads", Value::Int(2)),
            ("cores", cores),
            ("draw_all", true.into()),
            ("num_players", Value::Int(2)),
        ] {
            assert_eq!(set(&mut batch, name, &value), Some(()), "{name}");
        }
        assert_eq!(batch.autoreset, AutoresetMode::NextStep);
        assert_eq!((batch.batch_size, batch.num_threads), (3, 2));
        assert_eq!(batch.num_players, 2);
        assert!(batch.cores == [1, 0] && batch.draw_all);
    }
}
