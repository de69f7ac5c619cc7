//! Presets, and every part of a recipe alone, over whole games.

#![expect(clippy::print_stdout, reason = "says which recipe fails")]

use atari_core::rl::{Part, Preset, Recipe};
use python_shim::pyo3::{prelude::*, types::PyDict};
use vec_env::AutoresetMode;

use crate::{
    common,
    pair::{compare, python_recipe},
};

#[test]
fn presets_are_those_of_python_in_every_part() {
    common::start();
    Python::attach(|py| {
        let recipes = py.import("atari_wrappers.recipes").unwrap();
        let presets = recipes.getattr("PRESETS").unwrap();
        assert_eq!(presets.len().unwrap(), Preset::ALL.len());
        for preset in Preset::ALL {
            let theirs = presets.get_item(preset.name()).unwrap();
            let mut ours = python_recipe(py, &Recipe::preset(*preset));
            if *preset == Preset::Gymnasium {
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

#[test]
fn whole_games_by_every_preset_are_those_of_python() {
    let games = [
        "space_invaders",
        "breakout",
        "pong",
        "seaquest",
        "ms_pacman",
    ];
    let mut num_games = 0;
    for (game, preset) in games.into_iter().zip(Preset::ALL) {
        let recipe = Recipe {
            sticky_actions: 0.25,
            ..Recipe::preset(*preset)
        };
        num_games += compare(game, recipe, AutoresetMode::SameStep, 800);
    }
    assert!(num_games > 0, "no game has ended");
}

/// Recipes with one part changed each, or a few, where that shows. Short limits and lost lives bring many ends.
const VARIATIONS: [&str; 22] = [
    "obs_type=ram frame_stack=1",
    "pooling=rgb",
    "last_frame=pooled",
    "pooling=rgb last_frame=alone",
    "frame_skip=1 last_frame=alone",
    "frame_skip=3 screen_size=96x72",
    "grayscale=false",
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
fn varied(parts: &str) -> Recipe {
    let mut recipe = Recipe {
        sticky_actions: 0.25,
        max_episode_frames: 500,
        ..Recipe::preset(Preset::Ale)
    };
    for (name, value) in parts.split(' ').filter_map(|part| part.split_once('=')) {
        let number = value.parse().map(Part::Number);
        let sides = value
            .split_once('x')
            .map(|(height, width)| (height.parse(), width.parse()));
        let part = match (value.parse(), number, sides) {
            (Ok(flag), ..) => Part::Flag(flag),
            (_, Ok(number), _) => number,
            (_, _, Some((Ok(height), Ok(width)))) => Part::Size(height, width),
            _ => Part::Name(value.to_owned()),
        };
        recipe.set(name, &part).unwrap();
    }
    recipe
}

#[test]
fn every_part_of_a_recipe_alone_is_that_of_python() {
    let mut num_games = 0;
    for (index, parts) in VARIATIONS.into_iter().enumerate() {
        let game = ["breakout", "breakout", "space_invaders"][index % 3];
        println!("{game} {parts}");
        let recipe = varied(parts);
        let num_steps = 500 / recipe.frame_skip as usize;
        num_games += compare(game, recipe, AutoresetMode::SameStep, num_steps);
    }
    assert!(num_games > 20, "{num_games} games are too few");
}
