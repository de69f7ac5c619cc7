//! Games for two against those of `multi_agent_ale_py`, which the backend `sync` plays.

#![expect(clippy::print_stdout, reason = "says which game fails")]

use atari_core::{
    Action, Console,
    games::two,
    rl::{AtariVecEnv, BatchOptions, Preset, Recipe},
};
use vec_env::{ActionSpace, Actions, AutoresetMode, EnvError, StepBatch, VecEnv};

use crate::{
    pair::{Ends, Pair, Seeds, cartridge, compare_batches, seeded},
    recipes::varied,
};

fn for_two(recipe: Recipe) -> BatchOptions {
    BatchOptions {
        num_players: 2,
        num_threads: 2,
        ..BatchOptions::new(recipe)
    }
}

/// Lives that are shared, each one's own, and none; paddles, joysticks in either port, a television of Europe; chance from
/// the seed, and from the games before.
const GAMES: [(&str, Preset, AutoresetMode); 8] = [
    ("space_invaders", Preset::Baselines, AutoresetMode::SameStep),
    ("space_invaders", Preset::Envpool, AutoresetMode::Disabled),
    ("pong", Preset::Gymnasium, AutoresetMode::NextStep),
    ("pong", Preset::Default, AutoresetMode::SameStep),
    ("entombed", Preset::Default, AutoresetMode::NextStep),
    ("mario_bros", Preset::Baselines, AutoresetMode::Disabled),
    ("ice_hockey", Preset::Envpool, AutoresetMode::SameStep),
    ("space_war", Preset::Ale, AutoresetMode::SameStep),
];

#[test]
fn games_for_two_are_those_of_python() {
    let mut ends = Ends::default();
    for (game, preset, autoreset) in GAMES {
        println!("{game} {preset:?}");
        let recipe = Recipe {
            sticky_actions: 0.25,
            episodic_life: true,
            max_episode_frames: 700,
            ..Recipe::preset(preset)
        };
        let options = BatchOptions {
            autoreset,
            ..for_two(recipe)
        };
        ends += compare_batches(game, &options, 240);
    }
    let enough = ends.lives_lost > 5 && ends.truncated > 10;
    assert!(enough, "{ends:?}");
}

#[test]
fn parts_of_recipes_are_those_of_python_for_two() {
    for (game, parts) in [
        ("pong", "obs_type=ram frame_stack=1 mode=14"),
        (
            "boxing",
            "grayscale=false pooling=rgb full_action_space=true difficulty=2",
        ),
        (
            "wizard_of_wor",
            "channels_last=true frame_stack=3 fire_reset=steps count_reset_rewards=true",
        ),
        (
            "surround",
            "screen_size=96x72 frame_skip=3 clip_reward=false",
        ),
        (
            "flag_capture",
            "seeding=hashed padding=reset last_frame=pooled",
        ),
    ] {
        println!("{game} {parts}");
        let mut recipe = varied(parts);
        recipe.max_episode_frames = 300;
        let ends = compare_batches(game, &for_two(recipe), 110);
        assert!(ends.truncated > 0, "{ends:?}");
    }
    // A seed in the midst of things, for one of them.
    let mut pair = Pair::new("tennis", &for_two(varied("noop_max=7")));
    pair.reset(Some(seeded(3)), None);
    for seed in [None, Some(5), None] {
        pair.play(20);
        let seeds: Option<Seeds> = seed.map(|seed| [None, Some(seed)]);
        pair.reset(seeds, Some(&[false, true]));
    }
    pair.play(20);
}

#[test]
fn states_for_two_bring_games_back_and_what_chance_makes_of_the_next() {
    for game in ["space_invaders", "ice_hockey"] {
        // Games end soon after the state, so that the timer at the power-ons that follow is part of it.
        let options = for_two(Recipe {
            sticky_actions: 0.25,
            max_episode_steps: 40,
            ..Recipe::preset(Preset::Default)
        });
        let batch = || AtariVecEnv::new(&[cartridge(game)], 2, &options).unwrap();
        let (mut envs, mut other) = (batch(), batch());
        let mut obs = vec![0; 2 * envs.obs_spec().num_bytes()];
        let mut step = StepBatch::default();
        let mut play = |envs: &mut AtariVecEnv, from: i64, count: i64| {
            let steps = (from..from + count).map(|number| {
                let actions = [1, number % 4, number / 3 % 4, number / 2 % 5];
                envs.step(Actions::Discrete(&actions), &mut obs, &mut step)
                    .unwrap();
                (obs.clone(), step.clone(), envs.render(1).unwrap())
            });
            steps.collect::<Vec<_>>()
        };
        let mut shown = vec![0; 2 * envs.obs_spec().num_bytes()];
        VecEnv::reset(&mut envs, Some(1), &mut shown).unwrap();
        VecEnv::reset(&mut other, Some(9), &mut shown).unwrap();
        let before = play(&mut envs, 0, 61);
        let states = envs.save_state().unwrap();
        let after = play(&mut envs, 61, 90);
        other.restore_state(&states, &mut shown).unwrap();
        assert!(Some(&shown) == before.last().map(|(obs, ..)| obs), "{game}");
        assert_eq!(other.save_state().unwrap(), states);
        assert!(
            play(&mut other, 61, 90) == after,
            "{game} goes on otherwise"
        );

        let alone = BatchOptions {
            num_players: 1,
            ..options.clone()
        };
        let mut alone = AtariVecEnv::new(&[cartridge(game)], 2, &alone).unwrap();
        let mut shown = vec![0; 2 * alone.obs_spec().num_bytes()];
        VecEnv::reset(&mut alone, None, &mut shown).unwrap();
        let error = alone.restore_state(&states, &mut shown).unwrap_err();
        assert!(error.to_string().contains("players=2"), "{error}");
    }
}

#[test]
fn a_consoles_state_for_two_has_its_chance_in_it() {
    let game = two::by_name("tennis").unwrap();
    let console = |seed| Console::for_two(cartridge("tennis"), game, seed).unwrap();
    let (mut one, mut other) = (console(3), console(4));
    let play = |console: &mut Console| {
        let mut seen = Vec::new();
        for _ in 0..2 {
            for frame in 0..90 {
                let actions = [Action::ALL[frame % 18], Action::ALL[frame / 7 % 18]];
                let rewards = console.act_both(actions, true);
                seen.push((rewards, *console.ram(), console.screen().to_vec()));
            }
            console.reset();
        }
        seen
    };
    one.set_mode(4).unwrap();
    one.reset();
    play(&mut one);
    let state = one.save_state();
    let expected = play(&mut one);
    other.restore_state(&state).unwrap();
    assert!(play(&mut other) == expected);
    assert!(play(&mut console(4)) != expected);

    let own = cartridge("tennis").game().unwrap();
    let mut for_one = Console::new(cartridge("tennis"), own).unwrap();
    let error = for_one.restore_state(&state).unwrap_err().to_string();
    assert!(error.contains("not a state of tennis"), "{error}");
}

#[test]
fn what_two_cannot_play_is_refused_by_name() {
    let refusal = |name: &str, options: &BatchOptions| {
        let error = AtariVecEnv::new(&[cartridge(name)], 1, options).unwrap_err();
        assert!(error.is_usage_error());
        error.to_string()
    };
    let own = for_two(Recipe::preset(Preset::Default));
    for name in ["backgammon", "breakout"] {
        let unknown = refusal(name, &own);
        let words = format!("{name}: how two play it is not known");
        assert!(unknown.contains(&words), "{unknown}");
    }
    for (parts, words) in [
        ("continuous=true", "not with continuous=true"),
        ("mode=1", "pong has no mode 1; it has [3, 4"),
        ("difficulty=9", "pong has no difficulty 9"),
    ] {
        let refused = refusal("pong", &for_two(varied(parts)));
        assert!(refused.contains(words), "{refused}");
    }
    let crowd = BatchOptions {
        num_players: 3,
        ..own.clone()
    };
    assert!(refusal("pong", &crowd).contains("num_players must be 1 or 2, not 3"));

    let mut pong = AtariVecEnv::new(&[cartridge("pong")], 2, &own).unwrap();
    let space = ActionSpace::MultiDiscrete { nvec: vec![6, 6] };
    assert_eq!((pong.num_players(), pong.action_space()), (2, &space));
    assert_eq!(pong.obs_spec().shape, [2, 4, 84, 84]);
    let mut obs = vec![0; 2 * pong.obs_spec().num_bytes()];
    VecEnv::reset(&mut pong, Some(1), &mut obs).unwrap();
    let mut step = StepBatch::default();
    for (actions, env) in [([0, 5, 0, 6], 1), ([-1, 0, 0, 0], 0)] {
        let refused = pong.step(Actions::Discrete(&actions), &mut obs, &mut step);
        assert!(
            matches!(refused, Err(EnvError::ActionRange { env: of, .. }) if of == env),
            "{refused:?}"
        );
    }
    let short = pong.step(Actions::Discrete(&[0, 0]), &mut obs, &mut step);
    assert!(
        matches!(short, Err(EnvError::ActionCount { .. })),
        "{short:?}"
    );
}
