//! Settings as files hold them.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use rust_trainer::settings::{Algorithm, FireReset, OrPreset, Overrides, Preset, Settings};

/// Written by version 0.1.0, before there were presets.
const OLD: &str = include_str!("../../docs/results/space-invaders-ppo-1m-seed1/settings.toml");

#[test]
fn settings_of_older_runs_still_load() {
    let read: Settings = toml::from_str(OLD).unwrap();
    assert_eq!(read.preset, Preset::Default);
    assert_eq!(read.noop_max, OrPreset::Value(30));
    assert_eq!(read.fire_reset, OrPreset::Value(FireReset::On));
    assert_eq!(read.clip_reward, OrPreset::Preset, "it was `auto`");
    assert_eq!(read.sticky_actions, OrPreset::Value(0.0));
    // A checkpoint holds the same as JSON.
    let json = serde_json::to_string(&toml::from_str::<toml::Table>(OLD).unwrap()).unwrap();
    assert_eq!(serde_json::from_str::<Settings>(&json).unwrap(), read);
}

#[test]
fn settings_come_back_as_they_were_written() {
    let settings = Settings {
        preset: Preset::Envpool,
        fire_reset: OrPreset::Value(FireReset::AfterNoops),
        frame_skip: OrPreset::Value(2),
        ..Settings::defaults(Algorithm::A2c)
    };
    let text = toml::to_string(&settings).unwrap();
    assert_eq!(toml::from_str::<Settings>(&text).unwrap(), settings);
    let overrides: Overrides = toml::from_str(&text).unwrap();
    let again = Settings::defaults(Algorithm::Ppo).with(&overrides);
    assert_eq!(again, settings);
}

#[test]
fn values_out_of_range_are_refused_where_they_are_named() {
    let named = |name: &str| {
        let overrides: Overrides = toml::from_str(name).unwrap();
        Settings::resolve(None, &overrides)
    };
    for text in [
        "frame_skip = 0",
        "frame_stack = -1",
        "noop_max = -1",
        "max_episode_frames = -4",
        "sticky_actions = 1.5",
    ] {
        let message = named(text).unwrap_err().to_string();
        let (name, value) = text.split_once(" = ").unwrap();
        assert!(
            message.contains(name) && message.contains(value),
            "{message}"
        );
    }
    for text in [
        "noop_max = 0",
        "max_episode_frames = 0",
        "frame_skip = 'preset'",
    ] {
        named(text).unwrap();
    }
}
