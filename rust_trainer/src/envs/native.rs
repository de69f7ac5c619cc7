//! Atari games on the console in Rust, as batches or alone: Python says once what an id and settings mean, and plays no part after that.

use std::{sync::Arc, time::Duration};

use atari_core::{
    Cartridge,
    rl::{AtariVecEnv, BatchOptions, Preset, Recipe, game::PoweredOn},
};
use python_shim::Value;
use tch::Device;
use vec_env::EnvError;

use super::request::{EnvRequest, Recording};
use crate::{device, error::TrainerError, settings::Settings};

/// How long threads look for work where a GPU acts, in some 200 µs: the cores are theirs meanwhile, and to wake them would
/// take as long as to emulate a step.
const SPIN_BESIDE_GPU: Duration = Duration::from_millis(1);

/// Makes `num_envs` games that `threads` threads emulate.
///
/// # Errors
/// What `atari_wrappers` refuses; an option that is no part of a recipe; no Atari game; a game that `atari_core` does not
/// know.
pub(super) fn make(
    request: &EnvRequest<'_>,
    num_envs: usize,
    threads: usize,
) -> Result<AtariVecEnv, EnvError> {
    let game = find(request, "use another backend")?;
    let mut options = BatchOptions {
        num_players: game.num_players,
        num_threads: threads,
        autoreset: request.autoreset.mode(),
        ..BatchOptions::new(game.recipe)
    };
    if device::select(request.settings.machine.device).is_ok_and(Device::is_cuda) {
        options.spin = SPIN_BESIDE_GPU;
    }
    AtariVecEnv::new(&[game.cartridge], num_envs, &options)
}

/// A console with the game of `settings`, to play whole games with raw rewards; in another `mode` or `difficulty` than
/// they say where these are named. What cannot be played is refused with a `remedy`.
///
/// # Errors
/// As [`make`]; a mode or a difficulty that the game has not.
pub(crate) fn powered_on(
    settings: &Settings,
    (mode, difficulty): (Option<u32>, Option<u32>),
    remedy: &str,
) -> Result<PoweredOn, TrainerError> {
    let request = EnvRequest::for_evaluation(settings, &Recording::default());
    let mut game = find(&request, remedy)?;
    game.recipe.mode = mode.or(game.recipe.mode);
    game.recipe.difficulty = difficulty.or(game.recipe.difficulty);
    let powered_on = match game.num_players {
        1 => PoweredOn::new(&game.cartridge, &game.recipe),
        _ => PoweredOn::for_two(&game.cartridge, &game.recipe),
    };
    powered_on.map_err(|error| TrainerError::Usage(error.to_string()))
}

/// A game, and how it is played.
struct Found {
    cartridge: Arc<Cartridge>,
    recipe: Recipe,
    num_players: usize,
}

/// The game that is asked for; what is refused has a `remedy`.
fn find(request: &EnvRequest<'_>, remedy: &str) -> Result<Found, EnvError> {
    let env_id = request.env_id();
    let refuse = |why: &str| {
        let message = format!("backend native cannot serve `{env_id}`: {why}; {remedy}");
        EnvError::Unsupported(message)
    };
    let mut recipe = Recipe::preset(Preset::Default);
    let (parts, mut num_players) = (recipe.parts(), 1);
    for (name, value) in request.options.settings() {
        match (name.as_str(), value) {
            ("num_players", Value::Int(players @ 1..=2)) => num_players = *players as usize,
            _ if parts.contains_key(name) || ["autoreset", "preset"].contains(&&**name) => {}
            _ => return Err(refuse(&format!("{name} = {}", shown(value)))),
        }
    }
    let Some(game) = request.game()? else {
        return Err(refuse("it is no Atari game"));
    };
    for (name, value) in &game.recipe {
        let part = part(value).ok_or_else(|| refuse(&format!("{name} = {}", shown(value))))?;
        recipe.set(name, part).map_err(|error| refuse(&error))?;
    }
    let cartridge = Cartridge::load(&game.rom).map_err(|error| refuse(&error.to_string()))?;
    Ok(Found {
        cartridge,
        recipe,
        num_players,
    })
}

/// A value as a user writes it.
fn shown(value: &Value) -> String {
    match value {
        Value::Str(text) => text.clone(),
        Value::Bool(flag) => flag.to_string(),
        Value::Int(number) => number.to_string(),
        Value::Float(number) => number.to_string(),
        other => format!("{other:?}"),
    }
}

fn part(value: &Value) -> Option<serde_json::Value> {
    Some(match value {
        Value::None => serde_json::Value::Null,
        Value::Bool(flag) => (*flag).into(),
        Value::Int(number) => (*number).into(),
        Value::Float(number) => (*number).into(),
        Value::Str(name) => name.as_str().into(),
        Value::List(sides) => sides.iter().map(part).collect::<Option<Vec<_>>>()?.into(),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use python_shim::MakeOptions;

    use super::*;
    use crate::settings::{Algorithm, Autoreset, Backend, Settings};

    #[test]
    fn what_it_cannot_do_is_refused_by_name_before_python_is_asked() {
        let settings = Settings::defaults(Algorithm::Ppo);
        let options = MakeOptions::new();
        for (name, options) in [
            ("img_dir", options.clone().with("img_dir", "frames")),
            ("num_players", options.clone().with("num_players", 3_i64)),
            ("num_workers", options.clone().with("num_workers", 2_i64)),
            ("batch_size", options.with("batch_size", -1_i64)),
        ] {
            let request = EnvRequest::new(&settings, Backend::Native, Autoreset::SameStep, options);
            let error = make(&request, 1, 1).unwrap_err();
            let message = error.to_string();
            assert!(error.is_usage_error() && message.contains(name), "{error}");
            let is_rust = message.contains("Str(") || message.contains("Int(");
            assert!(!is_rust, "{message}");
        }
    }
}
