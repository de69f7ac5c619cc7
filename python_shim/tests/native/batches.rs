//! Parts of batches, threads, states, several games, and wrong calls.

use atari_core::rl::{AtariVecEnv, BatchOptions, Preset, Recipe, game::PoweredOn, recipe::ObsType};
use vec_env::{Actions, EnvError, ObsBuffer, StepBatch, VecEnv, env::Random};

use crate::cartridge;

fn batch(num_envs: usize, options: &BatchOptions) -> AtariVecEnv {
    AtariVecEnv::new(&[cartridge("breakout")], num_envs, options).unwrap()
}

/// What an environment showed and was told, step by step.
type Seen = Vec<(Vec<u8>, f32, bool)>;

#[test]
fn parts_of_a_batch_and_threads_change_no_game() {
    const NUM: usize = 7;
    let options = BatchOptions::new(Recipe {
        sticky_actions: 0.25,
        ..Recipe::preset(Preset::Default)
    });
    let action = |step: usize, env: usize| ((step * 7 + env * 3) % 4) as i64;
    let mut seen: Vec<Vec<Seen>> = Vec::new();
    for (num_threads, batch_size, in_steps) in [
        (1, 0, false),
        (4, 0, false),
        (1, 3, false),
        (4, 3, false),
        (4, 3, true),
    ] {
        let options = BatchOptions {
            num_threads,
            batch_size,
            ..options.clone()
        };
        let mut envs = batch(NUM, &options);
        let row_bytes = envs.obs_spec().num_bytes();
        let mut obs = vec![0; NUM * row_bytes];
        VecEnv::reset(&mut envs, Some(1), &mut obs).unwrap();
        let rows = obs.chunks(row_bytes);
        let mut games: Vec<Seen> = rows.map(|row| vec![(row.to_vec(), 0.0, false)]).collect();
        let (mut step, mut ids) = (StepBatch::default(), (0..NUM).collect::<Vec<_>>());
        while games.iter().any(|game| game.len() < 150) {
            let actions: Vec<i64> = ids
                .iter()
                .map(|&env| action(games[env].len(), env))
                .collect();
            let buffer = ObsBuffer::new(envs.batch_size() * row_bytes);
            let actions = Actions::Discrete(&actions);
            if in_steps {
                // Rows are offered when some may be ready already.
                envs.begin_step(actions, &ids, None).unwrap();
                std::thread::yield_now();
                envs.offer(buffer.slot()).unwrap();
                assert!(envs.receive(batch_size + 1).is_err());
                let received = envs.receive(batch_size).unwrap();
                envs.read(&received, None, None, &mut step).unwrap();
            } else {
                envs.send(actions, buffer.slot()).unwrap();
                envs.recv(&mut step).unwrap();
            }
            let obs = buffer.take();
            ids.clone_from(&step.env_ids);
            for (row, obs) in obs.chunks(row_bytes).enumerate() {
                games[ids[row]].push((obs.to_vec(), step.reward[row], step.terminated[row]));
            }
        }
        for game in &mut games {
            game.truncate(150);
        }
        seen.push(games);
    }
    assert!(seen.iter().all(|games| *games == seen[0]), "games differ");
}

#[test]
fn states_bring_games_back_to_the_last_bit() {
    for preset in Preset::ALL {
        let options = BatchOptions::new(Recipe {
            sticky_actions: 0.25,
            episodic_life: true,
            ..Recipe::preset(preset)
        });
        let mut envs = batch(2, &options);
        let mut obs = vec![0; 2 * envs.obs_spec().num_bytes()];
        let mut step = StepBatch::default();
        VecEnv::reset(&mut envs, Some(1), &mut obs).unwrap();
        let mut play = |envs: &mut AtariVecEnv, from: i64, count: i64| {
            let steps = (from..from + count).map(|number| {
                let actions = [number % 4, number / 3 % 4];
                envs.step(Actions::Discrete(&actions), &mut obs, &mut step)
                    .unwrap();
                (obs.clone(), step.clone(), envs.render(1).unwrap())
            });
            steps.collect::<Vec<_>>()
        };
        let before = play(&mut envs, 0, 61);
        let states = envs.save_state().unwrap();
        let after = play(&mut envs, 61, 90);
        let mut other = batch(2, &options);
        let mut shown = vec![0; 2 * other.obs_spec().num_bytes()];
        VecEnv::reset(&mut other, Some(9), &mut shown).unwrap();
        other.restore_state(&states, &mut shown).unwrap();
        assert!(
            Some(&shown) == before.last().map(|(obs, ..)| obs),
            "{preset:?} shows another screen"
        );
        assert_eq!(other.save_state().unwrap(), states);
        assert!(
            play(&mut other, 61, 90) == after,
            "{preset:?} goes on otherwise"
        );

        let mut damaged = states.clone();
        damaged[1].pop();
        let error = other.restore_state(&damaged, &mut shown).unwrap_err();
        assert!(
            matches!(error, EnvError::State(ref text) if text.contains("environment 1")),
            "{error}"
        );
        let foreign = BatchOptions::new(Recipe::preset(Preset::Default));
        let mut foreign = batch(2, &foreign);
        VecEnv::reset(&mut foreign, None, &mut shown).unwrap();
        assert!(matches!(
            foreign.restore_state(&states, &mut shown),
            Err(EnvError::State(_))
        ));
    }
}

#[test]
fn damaged_states_are_refused_or_are_states_of_a_game() {
    let options = BatchOptions::new(Recipe {
        sticky_actions: 0.25,
        obs_type: ObsType::Ram,
        ..Recipe::preset(Preset::Default)
    });
    let mut envs = batch(1, &options);
    let (mut obs, mut step) = (vec![0; 128], StepBatch::default());
    VecEnv::reset(&mut envs, Some(1), &mut obs).unwrap();
    let state = envs.save_state().unwrap();
    // The console's numbers, those of everything around it, and between them its pictures, which may be any.
    let behind = 8 + 2_500 + 12 + 128 + 2_500 + 3 + 4 + 4 * 8;
    let first = state[0].len() - behind - 2 * 33_600 - 450;
    let (mut random, mut num_refused) = (Random::new(3), 0);
    for round in 0..600 {
        let mut damaged = state.clone();
        for _ in 0..=random.below(3) {
            let place = match random.below(2) {
                0 => random.below(450),
                _ => 450 + 2 * 33_600 + random.below(behind),
            };
            damaged[0][first + place] = random.next_u64() as u8;
        }
        if let Err(error) = envs.restore_state(&damaged, &mut obs) {
            assert!(matches!(error, EnvError::State(_)), "{error}");
            num_refused += 1;
        }
        for action in 0..3 {
            envs.step(Actions::Discrete(&[action]), &mut obs, &mut step)
                .unwrap_or_else(|error| panic!("round {round}: {error}"));
        }
    }
    assert!((50..550).contains(&num_refused), "{num_refused} of 600");

    // From its end a state holds five numbers, three flags, and a Mersenne Twister. One that gives nothing but zeros would
    // be asked for another number for ever.
    let flags = state[0].len() - 4 * 8 - 4 - 3;
    let mut dead = state.clone();
    dead[0][flags - 625 * 4..flags - 4].fill(0);
    let error = envs.restore_state(&dead, &mut obs).unwrap_err();
    assert!(error.to_string().contains("a Mersenne Twister"), "{error}");
    // Nor does a game that is over go on as if it were not.
    let mut over = state;
    assert_eq!(over[0][flags..flags + 3], [0; 3]);
    over[0][flags] = 1;
    let error = envs.restore_state(&over, &mut obs).unwrap_err();
    assert!(error.to_string().contains("episode has ended"), "{error}");
}

#[test]
fn states_whose_numbers_break_a_learner_are_refused_with_all_others() {
    let recipe = Recipe {
        obs_type: ObsType::Ram,
        ..Recipe::preset(Preset::Default)
    };
    let mut envs = batch(2, &BatchOptions::new(recipe));
    let (mut obs, mut step) = (vec![0; 256], StepBatch::default());
    VecEnv::reset(&mut envs, Some(1), &mut obs).unwrap();
    let early = envs.save_state().unwrap();
    for _ in 0..20 {
        envs.step(Actions::Discrete(&[1, 2]), &mut obs, &mut step)
            .unwrap();
    }
    let now = envs.save_state().unwrap();
    // Behind the header: a flag, four rewards, four flags, the lives, two returns, the length and the frames.
    let header = 8 + u32::from_le_bytes(*early[0][4..].first_chunk().unwrap()) as usize;
    let rewards = (0..4).map(|reward| header + 1 + 4 * reward);
    let f32s = rewards.flat_map(|place| {
        [f32::NAN, f32::INFINITY, -1e30].map(|number| (place, number.to_le_bytes().to_vec()))
    });
    let counts = header + 1 + 4 * 4 + 4 + 4;
    let returns = [(counts, f64::NAN), (counts + 8, f64::NEG_INFINITY)];
    let f64s = returns.map(|(place, number)| (place, number.to_le_bytes().to_vec()));
    // The frames of the emulator, of which the limit of time is subtracted, lie behind the pictures.
    let frames = early[1].len() - (8 + 2_500 + 12 + 128 + 2_500 + 3 + 4 + 4 * 8);
    let i64s = [counts + 16, counts + 24, frames].map(|place| (place, i64::MIN / 2 + 1));
    let i64s = i64s.map(|(place, number)| (place, number.to_le_bytes().to_vec()));
    let mut crafted: Vec<(usize, Vec<u8>)> = f32s.chain(f64s).chain(i64s).collect();
    // It terminated, and no episode has ended.
    crafted.push((header + 1 + 4 * 4, vec![2]));
    for (place, bytes) in crafted {
        let mut states = early.clone();
        states[1][place..place + bytes.len()].copy_from_slice(&bytes);
        let error = envs.restore_state(&states, &mut obs).unwrap_err();
        assert!(
            error.to_string().contains("environment 1: it was damaged"),
            "{bytes:?} at {place}: {error}"
        );
        assert!(
            envs.save_state().unwrap() == now,
            "a refused state left traces"
        );
    }
    envs.restore_state(&early, &mut obs).unwrap();
}

#[test]
fn several_games_share_a_batch_where_their_actions_agree() {
    let games = ["breakout", "pong", "atlantis"].map(cartridge);
    let own = Recipe::preset(Preset::Default);
    for pair in [[0, 1], [0, 2]] {
        // Breakout has fewer actions than Pong, and as many as Atlantis, but others.
        let pair = pair.map(|game| games[game].clone());
        let refused = AtariVecEnv::new(&pair, 2, &BatchOptions::new(own.clone())).unwrap_err();
        let refused = refused.to_string();
        assert!(refused.contains("full_action_space"), "{refused}");
    }
    let options = BatchOptions::new(Recipe {
        full_action_space: true,
        ..own
    });
    let mut together = AtariVecEnv::new(&games, 3, &options).unwrap();
    let row_bytes = together.obs_spec().num_bytes();
    let mut alone: Vec<AtariVecEnv> = games
        .iter()
        .map(|game| AtariVecEnv::new(std::slice::from_ref(game), 1, &options).unwrap())
        .collect();
    let (mut obs, mut own_obs) = (vec![0; 3 * row_bytes], vec![0; row_bytes]);
    let (mut step, mut own_step) = (StepBatch::default(), StepBatch::default());
    VecEnv::reset(&mut together, Some(1), &mut obs).unwrap();
    for (seed, env) in (1..).zip(&mut alone) {
        VecEnv::reset(env, Some(seed), &mut own_obs).unwrap();
    }
    let mut num_episodes = 0;
    for number in 0..400 {
        let actions = [number * 5 % 18, number / 3 * 7 % 18, number / 7 * 11 % 18];
        together
            .step(Actions::Discrete(&actions), &mut obs, &mut step)
            .unwrap();
        num_episodes += step.episodes.len();
        for (row, env) in alone.iter_mut().enumerate() {
            env.step(
                Actions::Discrete(&actions[row..=row]),
                &mut own_obs,
                &mut own_step,
            )
            .unwrap();
            assert!(
                obs[row * row_bytes..][..row_bytes] == own_obs,
                "step {number}"
            );
            assert_eq!(step.raw_reward[row..=row], own_step.raw_reward);
            assert_eq!(step.lives[row], own_step.lives[0]);
        }
    }
    assert!(num_episodes > 0, "no game has ended");
    assert_eq!(together.env(1).unwrap().console().game().name, "pong");
}

#[test]
fn what_is_not_known_to_be_ale_pys_game_is_refused() {
    let refusal = |name: &str, recipe: &Recipe| {
        let options = BatchOptions::new(recipe.clone());
        let error = AtariVecEnv::new(&[cartridge(name)], 1, &options).unwrap_err();
        assert!(error.is_usage_error());
        error.to_string()
    };
    let own = Recipe::preset(Preset::Default);
    assert!(refusal("backgammon", &own).contains("equal to ale-py's: how its reward"));
    assert!(refusal("superman", &own).contains("its score, lives and end are not known"));
    let mode = Some(5);
    let other = refusal(
        "breakout",
        &Recipe {
            mode,
            ..own.clone()
        },
    );
    assert!(other.contains("no mode 5; it has [0, 4, 8"), "{other}");
    // Whoever makes a single environment is told the same.
    let frame_skip = 0;
    let none = PoweredOn::new(&cartridge("breakout"), &Recipe { frame_skip, ..own });
    let none = none.err().unwrap().to_string();
    assert_eq!(none, "frame_skip must be at least 1, not 0");
}

#[test]
fn calls_out_of_order_and_wrong_actions_are_refused_and_change_nothing() {
    let mut envs = batch(2, &BatchOptions::new(Recipe::preset(Preset::Default)));
    let num_bytes = 2 * envs.obs_spec().num_bytes();
    let (mut obs, mut step) = (vec![0; num_bytes], StepBatch::default());
    let slot = || ObsBuffer::new(num_bytes).slot();
    let is_order = |error: Result<(), EnvError>| matches!(error, Err(EnvError::Order(_)));
    let still = Actions::Discrete(&[0, 0]);
    assert!(is_order(envs.send(still, slot())));
    VecEnv::reset(&mut envs, Some(1), &mut obs).unwrap();
    assert!(is_order(envs.recv(&mut step)));
    let refused = envs.send(Actions::Discrete(&[0, 4]), slot()).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "action 4 of environment 1 is out of range: valid actions are 0 to 3"
    );
    assert!(is_order(envs.begin_step(still, &[1, 1], Some(slot()))));
    assert!(matches!(
        envs.begin_step(still, &[0, 2], Some(slot())),
        Err(EnvError::NoSuchEnv { index: 2, .. })
    ));
    envs.send(still, slot()).unwrap();
    assert!(is_order(envs.send(still, slot())) && is_order(envs.save_state().map(drop)));
    envs.recv(&mut step).unwrap();
    assert_eq!(step.episode_length, [1, 1]);
    envs.close().unwrap();
    assert_eq!(envs.recv(&mut step), Err(EnvError::Closed));
}
