//! Presets, and every part of a recipe alone, over whole games.

#![expect(clippy::print_stdout, reason = "says which recipe fails")]

use atari_core::rl::{Preset, Recipe};
use python_shim::pyo3::{prelude::*, types::PyDict};
use serde_json::{Value, json};
use vec_env::AutoresetMode;

use crate::{
    common,
    pair::{Ends, compare, python_recipe},
};

#[test]
fn presets_are_those_of_python_in_every_part() {
    common::start();
    Python::attach(|py| {
        let recipes = py.import("atari_wrappers.recipes").unwrap();
        let presets = recipes.getattr("PRESETS").unwrap();
        assert_eq!(presets.len().unwrap(), Preset::ALL.len());
        for preset in Preset::ALL {
            let name = format!("{preset:?}").to_lowercase();
            let theirs = presets.get_item(name).unwrap();
            let mut ours = python_recipe(py, &Recipe::preset(preset));
            if preset == Preset::Gymnasium {
                // What the id says, which `atari_core` does not know.
                let nothing = PyDict::new(py);
                nothing.set_item("sticky_actions", py.None()).unwrap();
                let dataclasses = py.import("dataclasses").unwrap();
                ours = dataclasses
                    .call_method("replace", (ours,), Some(&nothing))
                    .unwrap();
            }
            assert!(ours.eq(&theirs).unwrap(), "{ours} is not {theirs}");
        }
    });
}

/// Games in which lives are soon lost: joysticks in either port, pictures that begin elsewhere, three ways to switch banks.
const GAMES: [&str; 9] = [
    "seaquest",
    "wizard_of_wor",
    "space_invaders",
    "montezuma_revenge",
    "asteroids",
    "ms_pacman",
    "qbert",
    "up_n_down",
    "atlantis",
];
/// Games that last, without lives: a joystick and no FIRE, a paddle.
const LONG_GAMES: [&str; 2] = ["freeway", "pong"];
/// A game that is soon over, with a paddle.
const SHORT_GAME: &str = "breakout";

#[test]
fn games_by_every_preset_are_those_of_python() {
    for (number, preset) in Preset::ALL.into_iter().enumerate() {
        let recipe = Recipe::preset(preset);
        // A time limit of whichever kind the preset has, shorter.
        let (most_frames, most_steps) = match recipe.max_episode_steps {
            0 => (1000, 0),
            _ => (0, 250),
        };
        let recipe = |episodic_life| Recipe {
            sticky_actions: 0.25,
            episodic_life,
            max_episode_frames: most_frames,
            max_episode_steps: most_steps,
            ..recipe.clone()
        };
        let same_step = AutoresetMode::SameStep;
        let ends = compare(SHORT_GAME, recipe(false), same_step, 260);
        assert!(ends.games_over > 0, "{ends:?} by {preset:?}");
        let ends = compare(LONG_GAMES[number % 2], recipe(true), same_step, 260);
        assert!(ends.truncated > 0, "{ends:?} by {preset:?}");
        let game = GAMES[number];
        println!("{game} {preset:?}");
        let ends = compare(game, recipe(true), same_step, 260);
        assert!(ends.lives_lost > 0, "{ends:?} by {preset:?}");
    }
}

/// Recipes with one part changed each, or a few, where that shows. Short limits and lost lives bring many ends.
const VARIATIONS: [&str; 25] = [
    "obs_type=ram frame_stack=1",
    "pooling=rgb",
    "last_frame=pooled",
    "pooling=rgb last_frame=alone",
    "pooling=rgb resizing=rgb last_frame=dropped",
    "frame_skip=1 last_frame=alone",
    "frame_skip=3 screen_size=96x72",
    "interpolation=linear screen_size=96x72",
    "grayscale=false",
    "grayscale=false interpolation=linear",
    "channels_last=true frame_stack=3",
    "grayscale=false channels_last=true padding=reset last_frame=pooled",
    "frame_stack=1 screen_size=210x160",
    "noop_max=0 seeding=hashed",
    "fire_reset=after-noops count_reset_frames=true",
    "fire_reset=steps count_reset_rewards=true noop_min=3",
    "episodic_life=true after_life_loss=go-on fire_reset=off",
    "episodic_life=true life_loss=any-drop after_life_loss=noop-step",
    "episodic_life=true after_life_loss=noops fire_reset=steps",
    "episodic_life=true life_loss=after-skip fire_reset=after-noops",
    "episodic_life=true life_loss=any-drop end_precedence=truncated max_episode_steps=60",
    "episodic_life=true after_life_loss=noop-step end_precedence=both max_episode_frames=330 clip_reward=false",
    "full_action_space=true fire_reset=steps",
    "continuous=true continuous_action_threshold=0.3",
    "continuous=true mode=0 difficulty=0",
];

/// ALE's recipe with sticky actions, a short limit, and parts as `name=value`.
pub fn varied(parts: &str) -> Recipe {
    let mut recipe = Recipe {
        sticky_actions: 0.25,
        max_episode_frames: 500,
        ..Recipe::preset(Preset::Ale)
    };
    for (name, value) in parts.split(' ').filter_map(|part| part.split_once('=')) {
        // What is no number or flag is two of them, or a name.
        let sides = value
            .split_once('x')
            .and_then(|(height, width)| Some([height.parse().ok()?, width.parse().ok()?]));
        let part = match (serde_json::from_str(value), sides) {
            (Ok(part), _) => part,
            (_, Some::<[u32; 2]>(sides)) => json!(sides),
            _ => Value::from(value),
        };
        recipe.set(name, part).unwrap();
    }
    recipe
}

#[test]
fn every_part_of_a_recipe_alone_is_that_of_python() {
    let mut ends = Ends::default();
    for (number, parts) in VARIATIONS.into_iter().enumerate() {
        let recipe = varied(parts);
        let game = match number % 3 {
            _ if recipe.episodic_life && number % 3 > 0 => "up_n_down",
            0 => SHORT_GAME,
            1 => LONG_GAMES[number % 2],
            _ => GAMES[number % GAMES.len()],
        };
        println!("{game} {parts}");
        let num_steps = 540 / recipe.frame_skip as usize;
        ends += compare(game, recipe, AutoresetMode::SameStep, num_steps);
    }
    let enough = ends.lives_lost > 10 && ends.games_over > 2 && ends.truncated > 20;
    assert!(enough, "{ends:?}");
}

/// Sticky actions reach into the starts of Berzerk and Double Dunk, and Adventure's modes take presses of random lengths.
#[test]
fn modes_and_difficulties_begin_as_in_python() {
    let cases = [
        ("adventure", 1, 0),
        ("adventure", 2, 3),
        ("berzerk", 3, 0),
        ("double_dunk", 11, 0),
        ("gravitar", 3, 0),
        ("pong", 1, 3),
        ("up_n_down", 0, 2),
    ];
    for (game, mode, difficulty) in cases {
        println!("{game} {mode} {difficulty}");
        let mut recipe = varied("frame_skip=2 obs_type=ram frame_stack=1");
        (recipe.mode, recipe.difficulty) = (Some(mode), Some(difficulty));
        recipe.max_episode_frames = 60;
        let ends = compare(game, recipe, AutoresetMode::SameStep, 150);
        assert!(ends.truncated > 0, "{ends:?}");
    }
}
