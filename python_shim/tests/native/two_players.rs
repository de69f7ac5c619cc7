//! Games for two: their states, and what is refused.

use atari_core::{
    Action, Console,
    games::two,
    rl::{AtariVecEnv, BatchOptions, Preset, Recipe},
};
use serde_json::json;
use vec_env::{ActionSpace, Actions, EnvError, StepBatch, VecEnv};

use crate::cartridge;

fn for_two(recipe: Recipe) -> BatchOptions {
    BatchOptions {
        num_players: 2,
        num_threads: 2,
        ..BatchOptions::new(recipe)
    }
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
    for (part, value, words) in [
        ("continuous", json!(true), "not with continuous=true"),
        ("mode", json!(1), "pong has no mode 1; it has [3, 4"),
        ("difficulty", json!(9), "pong has no difficulty 9"),
    ] {
        let mut options = own.clone();
        options.recipe.set(part, value).unwrap();
        let refused = refusal("pong", &options);
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
