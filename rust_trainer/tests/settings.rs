//! Settings as files and the command line hold them.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use rust_trainer::settings::{
    Algorithm, AlgorithmSettings, FireReset, OrRecipe, Preset, Recipe, SettingType, Settings,
};
use toml::{Table, Value};

fn resolve(text: &str) -> Result<Settings, String> {
    Settings::layered(None, None, &toml::from_str(text).unwrap()).map_err(|error| error.to_string())
}

#[test]
fn settings_come_back_as_they_were_written() {
    let mut settings = Settings::defaults(Algorithm::A2c);
    settings.env.recipe = Recipe::Envpool;
    settings.env.fire_reset = OrRecipe::Value(FireReset::AfterNoops);
    settings.env.frame_skip = OrRecipe::Value(2);
    settings.run.run_name = "a \"name\"\\".to_owned();
    assert_eq!(resolve(&settings.to_toml()).unwrap(), settings);
    let json = serde_json::to_string(&settings).unwrap();
    assert_eq!(serde_json::from_str::<Settings>(&json).unwrap(), settings);
}

#[test]
fn an_algorithm_brings_its_own_defaults() {
    for algorithm in Algorithm::ALL {
        let read = resolve(&format!("algorithm = '{algorithm}'")).unwrap();
        assert_eq!(read, Settings::defaults(*algorithm));
    }
    assert_eq!(resolve("").unwrap().env.num_envs, 8);
    assert_eq!(resolve("algorithm = 'a2c'").unwrap().env.num_envs, 16);
    let read = resolve("algorithm = 'a2c'\nnum_envs = 3\nlearning_rate = 1").unwrap();
    assert_eq!(read.env.num_envs, 3);
    let AlgorithmSettings::A2c(a2c) = read.algorithm else {
        unreachable!("a2c was asked for")
    };
    assert!((a2c.learning_rate - 1.0).abs() < f64::EPSILON);
}

#[test]
fn a_setting_that_the_algorithm_does_not_read_is_refused() {
    for (text, words) in [
        (
            "algorithm = 'a2c'\nclip_coef = 0.2",
            ["`clip_coef`", "a2c", "ppo"],
        ),
        ("rmsprop_eps = 1e-3", ["`rmsprop_eps`", "ppo", "a2c"]),
        (
            "backend = 'sync'\nenv_timeout = 9.0",
            ["`env_timeout`", "auto or async", "sync"],
        ),
        (
            "gama = 0.9",
            ["`gama` is not a setting", "`gamma`", "--help"],
        ),
    ] {
        let message = resolve(text).unwrap_err();
        assert!(words.iter().all(|word| message.contains(word)), "{message}");
    }
}

#[test]
fn a_setting_that_another_one_switches_off_is_refused() {
    let message = resolve("net = 'nature'\nmlp_width = 128").unwrap_err();
    for word in ["`mlp_width`", "128", "auto or mlp", "`net` is nature"] {
        assert!(message.contains(word), "{message}");
    }
    let message = resolve("eval_greedy = true").unwrap_err();
    assert!(message.contains("`eval_every` is 0"), "{message}");
    // At its default, too; what a run writes of itself does not hold it.
    let message = resolve("net = 'nature'\nmlp_width = 64").unwrap_err();
    assert!(
        message.contains("`mlp_width` = 64 is not read"),
        "{message}"
    );
    let nature = resolve("net = 'nature'").unwrap();
    assert!(
        !nature.to_toml().contains("mlp_width"),
        "{}",
        nature.to_toml()
    );
    let evaluation = toml::from_str("eval_episodes = 10").unwrap();
    assert!(nature.with(&evaluation).is_err());
    resolve("net = 'mlp'\nmlp_width = 128").unwrap();
}

/// Files of runs held every setting once; such runs go on.
#[test]
fn a_run_goes_on_whose_file_holds_what_is_not_read() {
    let settings = Settings::defaults(Algorithm::Ppo);
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(&file, toml::to_string(&settings.table()).unwrap()).unwrap();
    assert_eq!(Settings::of_run(file.path()).unwrap(), settings);
    let message = Settings::layered(None, Some(file.path()), &toml::Table::new()).unwrap_err();
    assert!(message.to_string().contains("is not read"), "{message}");
}

#[test]
fn a_layer_that_switches_something_off_takes_with_it_what_was_said_of_it_before() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let layered = |in_file: &str, named: &str| {
        std::fs::write(&file, in_file).unwrap();
        Settings::layered(None, Some(file.path()), &toml::from_str(named).unwrap())
    };
    let off = layered("mlp_width = 128", "net = 'nature'").unwrap();
    assert_eq!(off.net.mlp_width, 64);
    assert_eq!(resolve(&off.to_toml()).unwrap(), off);
    // A switch that goes takes with it what it switches.
    let past_selves = "num_players = 2\nopponent_games = 4\nopponent_every = 100000";
    let alone = layered(past_selves, "num_players = 1").unwrap();
    assert_eq!(alone.env.opponent_games, 0);
    let on = layered("mlp_width = 128\nnet = 'mlp'", "seed = 3").unwrap();
    assert_eq!(on.net.mlp_width, 128);
    // Named where it is off already, in whichever layer, it would count for nothing.
    assert!(layered("net = 'nature'", "mlp_width = 128").is_err());
    assert!(layered("net = 'nature'\nmlp_width = 128", "seed = 3").is_err());
    assert!(layered("mlp_width = 128", "net = 'nature'\nmlp_width = 256").is_err());
}

#[test]
fn values_out_of_range_are_refused_where_they_are_named() {
    for text in [
        "frame_skip = 0",
        "frame_stack = -1",
        "noop_max = -1",
        "noop_max = 9223372036854775807",
        "frame_skip = 9223372036854775807",
        "frame_stack = 100000",
        "max_episode_frames = -4",
        "sticky_actions = 1.5",
        "num_envs = 4294967296",
        "num_steps = 4294967296",
        "num_steps = 1000000000000",
        "total_steps = 0",
        "torch_threads = 2000000000",
        "env_threads = 2000000000",
        "num_minibatches = 2000",
        "learning_rate = nan",
        "gamma = inf",
        "num_envs = -1",
        "num_envs = true",
        "env_id = 5",
        "algorithm = 'sarsa'",
    ] {
        let message = resolve(text).unwrap_err();
        let (name, value) = text.split_once(" = ").unwrap();
        let value = value.trim_matches('\'');
        assert!(
            message.contains(name) && message.contains(value),
            "{message}"
        );
    }
    for text in [
        "noop_max = 0",
        "max_episode_frames = 0",
        "frame_skip = 'recipe'",
        "total_steps = 9223372036854775807",
    ] {
        resolve(text).unwrap();
    }
}

#[test]
fn values_beyond_what_a_file_can_hold_are_refused_and_not_rounded() {
    let mut settings = Settings::defaults(Algorithm::Ppo);
    settings.run.seed = u64::MAX;
    let message = settings.with(&toml::Table::new()).unwrap_err().to_string();
    assert!(message.contains("seed"), "{message}");
}

#[test]
fn self_play_is_for_algorithms_without_a_replay_memory() {
    for algorithm in Algorithm::ALL {
        let read = resolve(&format!("algorithm = '{algorithm}'\nnum_players = 2"));
        match algorithm.name() {
            "ppo" | "a2c" | "pqn" => assert_eq!(read.unwrap().env.num_players, 2),
            _ => assert!(
                read.unwrap_err()
                    .contains("`num_players` = 2 is not read: it needs `algorithm`")
            ),
        }
    }
    assert!(
        resolve("num_players = 3")
            .unwrap_err()
            .contains("between 1 and 2")
    );
    // Twice the rows make twice the samples.
    let few = "num_envs = 1\nnum_steps = 4\nnum_minibatches = 4";
    assert!(resolve(few).unwrap_err().contains("minibatches"));
    resolve(&format!("{few}\nnum_players = 2")).unwrap();
    // How many agents there are by themselves, the environment says.
    resolve(&format!("{few}\nenv_id = 'simple_spread'")).unwrap();
    let one = format!("{few}\nenv_id = 'simple_spread'\nnum_agents = 1");
    assert!(resolve(&one).unwrap_err().contains("minibatches"));
}

#[test]
fn fixed_returns_lie_apart_in_float32() {
    for (ends, name) in [
        ("v_min = 0.0\nv_max = 0.0", "v_min"),
        ("v_min = 0.0\nv_max = 1e300", "v_max"),
        ("v_min = 0.0\nv_max = 1e-300", "v_max"),
    ] {
        let text = format!("algorithm = 'dqn'\ndistributional = 'c51'\n{ends}");
        let message = resolve(&text).unwrap_err();
        assert!(message.contains(&format!("`{name}`")), "{message}");
    }
}

#[test]
fn each_preset_is_whole_and_says_what_it_is() {
    for preset in Preset::ALL {
        let name = preset.name;
        let settings = Settings::layered(Some(preset), None, &Table::new()).unwrap();
        let table = preset.table().unwrap();
        assert!(table.contains_key("algorithm"), "{name}");
        assert!(table.contains_key("total_steps"), "{name}");
        let algorithm = settings.algorithm.algorithm();
        let has_name = name.contains(algorithm.name());
        let has_name = has_name || name.contains("rainbow") || name.contains("iqn");
        assert!(has_name, "{name}");
        assert!(preset.about().len() > 20, "{name}");
        assert_eq!(Preset::named(name), Some(*preset));
    }
}

/// A number in a preset that is no setting of this type would otherwise be taken at its default.
#[test]
fn each_value_of_a_preset_arrives() {
    for preset in Preset::ALL {
        let table = preset.table().unwrap();
        let settings = Settings::layered(Some(preset), None, &Table::new()).unwrap();
        let all = settings.table();
        for (name, value) in &table {
            let arrived = &all[name];
            let as_float = value.as_integer().map(|whole| (whole as f64).into());
            let is_same = arrived == value || Some(arrived) == as_float.as_ref();
            assert!(is_same, "{}: {name} = {arrived}", preset.name);
        }
        // And nothing is in it that is not read.
        assert_eq!(Settings::layered(None, None, &table).unwrap(), settings);
    }
}

#[test]
fn values_stand_as_themselves() {
    let values = [
        OrRecipe::Value(30).to_value(),
        OrRecipe::<f64>::Recipe.to_value(),
        OrRecipe::Value(FireReset::On).to_value(),
        OrRecipe::Value(FireReset::Steps).to_value(),
    ];
    let expected: [Value; 4] = [30.into(), "recipe".into(), true.into(), "steps".into()];
    assert_eq!(values, expected);
    let [count, part, on, steps] = &values;
    assert_eq!(OrRecipe::from_value(count), Ok(OrRecipe::Value(30_i64)));
    assert_eq!(OrRecipe::<f64>::from_value(part), Ok(OrRecipe::Recipe));
    for (value, way) in [(on, FireReset::On), (steps, FireReset::Steps)] {
        assert_eq!(OrRecipe::from_value(value), Ok(OrRecipe::Value(way)));
    }
}

#[test]
fn what_is_neither_is_named() {
    let error = OrRecipe::<i64>::from_value(&"many".into()).unwrap_err();
    assert!(
        error.contains("whole number") && error.contains("recipe"),
        "{error}"
    );
    let error = OrRecipe::<FireReset>::from_value(&"fast".into()).unwrap_err();
    assert!(error.contains("before-noops"), "{error}");
}
