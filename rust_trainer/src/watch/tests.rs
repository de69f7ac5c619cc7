//! The view of runs that are written here as a run writes them, on a terminal that is none.

use std::{fmt::Write as _, fs, path::Path, time::Instant};

use ratatui::{Terminal, backend::TestBackend, crossterm::event::KeyCode};
use tempfile::TempDir;

use super::{WatchedRun, run::State, runs_in, shown::Shown, summary, view};
use crate::{
    files,
    settings::{Algorithm, Settings},
    terminal::Key,
};

const UPDATES: &str = "step,update,policy_loss,value_loss,seconds_acting,seconds_stepping,seconds_learning,\
                       seconds_cpu,worker_restarts,seconds,steps_per_second,raw_return_mean_100\n";

/// A run of 1,000 steps, up to step 100 times `updates`.
fn write_run(folder: &Path, updates: u64, num_players: usize) {
    let mut settings = Settings::defaults(Algorithm::Ppo);
    (settings.run.total_steps, settings.run.seed) = (1_000, 7);
    settings.env.num_players = num_players;
    fs::create_dir_all(folder.join("checkpoints")).unwrap();
    fs::write(folder.join("settings.toml"), settings.to_toml()).unwrap();
    fs::write(
        folder.join("machine.json"),
        r#"{"from_step": 200, "earlier": [{"from_step": 0}]}"#,
    )
    .unwrap();
    fs::write(folder.join("checkpoints/step-000000000400.safetensors"), "").unwrap();
    let mut games = "step,env,raw_return,length,frames,seconds\n".to_owned();
    let mut rows = UPDATES.to_owned();
    for update in 1..=updates {
        let (step, seconds) = (100 * update, update as f64);
        writeln!(games, "{step},0,{update}.0,50,200,{seconds}").unwrap();
        writeln!(games, "{step},1,{update}.0,60,240,{seconds}").unwrap();
        writeln!(
            rows,
            "{step},{update},-0.5,{update}.25,0.25,0.125,0.5,0.9,0,{seconds},100,1"
        )
        .unwrap();
    }
    // As a resumed run puts them there.
    files::write(&folder.join("episodes.csv"), games.as_bytes()).unwrap();
    files::write(&folder.join("updates.csv"), rows.as_bytes()).unwrap();
    let evaluations = "step,mean,std,min,max,episodes,length,seconds\n\
                       300,30.5,1.5,1,9,10,5,1\n600,20.0,1.5,1,9,10,5,1\n";
    files::write(&folder.join("evaluations.csv"), evaluations.as_bytes()).unwrap();
}

fn folder_of_a_run() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    write_run(folder.path(), 8, 1);
    folder
}

fn shown(folders: &[&Path]) -> Shown {
    let folders: Vec<_> = folders.iter().map(|folder| folder.to_path_buf()).collect();
    let mut shown = Shown::new(runs_in(&folders).unwrap());
    shown.runs.iter_mut().for_each(WatchedRun::read);
    shown
}

fn drawn(shown: &Shown, (width, height): (u16, u16)) -> String {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    terminal.draw(|frame| view::draw(frame, shown)).unwrap();
    terminal.backend().to_string()
}

#[test]
fn eighty_columns_show_all_that_there_is() {
    let began = Instant::now();
    let folder = folder_of_a_run();
    let shown = shown(&[folder.path()]);
    let text = drawn(&shown, (80, 24));
    let mut ages = 0..=began.elapsed().as_secs_f64().round() as u64;
    let is_current = ages.any(|age| text.contains(&format!("running, wrote {age}s ago")));
    assert!(is_current, "{text}");
    for words in [
        "SpaceInvadersNoFrameskip-v4 with PPO, seed 7",
        "800/1k steps  80 %  2s left",
        "return, mean of the last 16 games: 4.5",
        "• evaluations",
        "mean               100",
        "acting",
        "25 %",
        "12 %",
        "50 %",
        "the rest",
        "policy loss      -0.5000 ▁",
        "value loss        8.2500 ▁▃▆█",
        "300    best eval 30.5 ±",
        "600    eval 20.0 ± 1.5",
        "checkpoint",
        "resumed",
        "started",
        "800           8     60",
    ] {
        assert!(text.contains(words), "{words}\n{text}");
    }
    let braille = text
        .chars()
        .filter(|sign| ('\u{2801}'..='\u{28ff}').contains(sign))
        .count();
    assert!(braille > 20, "a curve\n{text}");
}

#[test]
fn every_size_and_state_can_be_drawn() {
    let (folder, empty) = (folder_of_a_run(), tempfile::tempdir().unwrap());
    let mut shown = shown(&[folder.path(), empty.path()]);
    for help in [false, true] {
        shown.help = help;
        for chosen in 0..2 {
            shown.chosen = chosen;
            for size in [(1, 1), (20, 5), (59, 12), (80, 24), (300, 90)] {
                drawn(&shown, size);
            }
        }
    }
    assert!(drawn(&shown, (80, 24)).contains("scroll the lists"));
}

#[test]
fn a_run_that_wrote_nothing_says_so_and_grows_from_there() {
    let folder = tempfile::tempdir().unwrap();
    let mut shown = shown(&[folder.path()]);
    assert_eq!(shown.runs[0].state, State::Waiting);
    let text = drawn(&shown, (80, 24));
    assert!(
        text.contains("nothing written yet") && text.contains("no game has ended yet"),
        "{text}"
    );
    write_run(folder.path(), 3, 1);
    shown.runs[0].read();
    assert!(drawn(&shown, (80, 24)).contains("300/1k steps"));
}

#[test]
fn a_resumed_run_that_cut_its_tables_is_read_afresh() {
    let folder = folder_of_a_run();
    let mut run = WatchedRun::in_folder(folder.path());
    run.read();
    assert_eq!(
        (run.games.count(), run.updates.count, run.step()),
        (16, 8, 800)
    );
    run.read();
    assert_eq!(
        (run.games.count(), run.updates.count),
        (16, 8),
        "nothing new"
    );
    write_run(folder.path(), 2, 1);
    run.read();
    assert_eq!(
        (run.games.count(), run.updates.count, run.step()),
        (4, 2, 200)
    );
    assert_eq!(run.evaluations.len(), 2);
    write_run(folder.path(), 10, 1);
    run.read();
    assert_eq!((run.state, run.step()), (State::Finished, 1_000));
}

#[test]
fn a_run_of_this_machine_that_no_process_works_on_was_stopped() {
    let folder = folder_of_a_run();
    let mut run = WatchedRun::in_folder(folder.path());
    let host = files::host_name();
    for (events, state) in [
        (
            "events.out.tfevents.0000000001.elsewhere.7".to_owned(),
            State::Running(None),
        ),
        (
            format!("events.out.tfevents.0000000002.{host}.7"),
            State::Stopped,
        ),
    ] {
        fs::write(folder.path().join(events), "").unwrap();
        run.read();
        assert_eq!(run.state, state);
    }
}

#[test]
fn self_play_shows_lengths() {
    let folder = tempfile::tempdir().unwrap();
    write_run(folder.path(), 4, 2);
    let shown = shown(&[folder.path()]);
    let text = drawn(&shown, (80, 24));
    assert!(
        text.contains("length, mean of the last 4 games: 50.0"),
        "{text}"
    );
}

#[test]
fn several_runs_are_tabs_and_keys_choose() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["one", "two"] {
        write_run(&folder.path().join(name), 5, 1);
    }
    let mut shown = shown(&[folder.path()]);
    assert!(drawn(&shown, (80, 24)).contains("one │ two"));
    for (key, chosen) in [
        (Key::Named(KeyCode::Right), 1),
        (Key::Named(KeyCode::Right), 0),
        (Key::Named(KeyCode::Left), 1),
        (Key::Letter('1'), 0),
        (Key::Letter('9'), 1),
    ] {
        assert!(shown.hear(key));
        assert_eq!(shown.chosen, chosen, "{key:?}");
    }
    let narrow = drawn(&shown, (8, 24));
    assert!(
        narrow.lines().next().unwrap().contains("two"),
        "the chosen one\n{narrow}"
    );
    for _ in 0..99 {
        shown.hear(Key::Named(KeyCode::Down));
    }
    assert_eq!(shown.scrolled, 9, "to the last game");
    assert!(shown.hear(Key::Letter('h')) && shown.help);
    assert!(shown.hear(Key::Named(KeyCode::Esc)) && !shown.help);
    for key in [Key::Letter('q'), Key::Interrupt, Key::Named(KeyCode::Esc)] {
        assert!(!shown.hear(key), "{key:?}");
    }
}

#[test]
fn a_summary_has_the_numbers() {
    let folder = folder_of_a_run();
    let mut run = WatchedRun::in_folder(folder.path());
    run.read();
    let text = summary(&run);
    for words in [
        "800/1k steps  80 %",
        "100/s now, 100/s mean, 8s of training",
        "acting 25 %, stepping 12 %, learning 50 %, the rest 12 %",
        "16; mean return of the last 16: 4.5",
        "20.0 ± 1.5 at step 600; best 30.5 at step 300",
        "policy_loss -0.5000",
    ] {
        assert!(text.contains(words), "{words}\n{text}");
    }
}

#[test]
fn ten_million_steps_open_at_once() {
    let mut rows = UPDATES.to_owned();
    for update in 1..=10_000_u64 {
        let (step, seconds) = (1_024 * update, update as f64);
        writeln!(
            rows,
            "{step},{update},-0.5,0.25,0.25,0.125,0.5,0.9,0,{seconds},100,1"
        )
        .unwrap();
    }
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("updates.csv"), rows).unwrap();
    let took = [(); 5].map(|()| {
        let began = Instant::now();
        let mut run = WatchedRun::in_folder(folder.path());
        run.read();
        assert_eq!(run.updates.count, 10_000);
        began.elapsed()
    });
    // The others, on a machine that is busy.
    let least = took.iter().min().unwrap();
    assert!(least.as_secs_f64() < 2.0, "{took:?}");
}
