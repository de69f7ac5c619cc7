//! The outputs of whole runs, started, killed and resumed, read back as their users read them: the
//! event files by `TensorBoard`'s own reader, the tables from their files.

use std::collections::BTreeMap;
use std::fs::{self, OpenOptions};
use std::path::{Path, PathBuf};
use std::process::Command;

use super::{Episode, RunReport, read_rows};

/// Steps and values by name; float32, since that is what an event file keeps.
type Scalars = BTreeMap<String, Vec<(u64, f32)>>;

/// Prints `{tag: [[step, value], …]}` of an event folder, and its texts under `texts/<tag>`.
const READER: &str = r#"
import json, logging, sys
logging.disable()
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
events = EventAccumulator(sys.argv[1], size_guidance={"scalars": 0, "tensors": 0}).Reload()
read = {tag: [[e.step, e.value] for e in events.Scalars(tag)] for tag in events.Tags()["scalars"]}
for tag in events.Tags()["tensors"]:
    plugin = events.SummaryMetadata(tag).plugin_data.plugin_name
    for e in events.Tensors(tag) if plugin == "text" else []:
        text = e.tensor_proto.string_val[0].decode()
        read[f"{plugin}/{tag}/{text}"] = [[e.step, e.tensor_proto.tensor_shape.dim[0].size]]
print(json.dumps(read))
"#;

/// What `TensorBoard` sees in `folder`.
fn tensorboard(folder: &Path) -> Scalars {
    // Cargo's configuration names the interpreter that the program is built for.
    let python = std::env::var("PYO3_PYTHON").expect("PYO3_PYTHON, which `cargo test` sets");
    let reader = Command::new(python)
        .arg("-c")
        .arg(READER)
        .arg(folder)
        .output()
        .unwrap();
    let errors = String::from_utf8_lossy(&reader.stderr);
    assert!(reader.status.success(), "{errors}");
    serde_json::from_slice(&reader.stdout).unwrap()
}

/// The columns of `updates.csv` that are filled in, by name.
fn updates(folder: &Path) -> Scalars {
    let mut reader = csv::Reader::from_path(folder.join("updates.csv")).unwrap();
    let names = reader.headers().unwrap().clone();
    let mut columns = Scalars::new();
    for row in reader.records().map(Result::unwrap) {
        let step = row[0].parse().unwrap();
        for (name, cell) in names
            .iter()
            .zip(&row)
            .skip(1)
            .filter(|(_, cell)| !cell.is_empty())
        {
            let column = columns.entry(name.into()).or_default();
            column.push((step, cell.parse::<f64>().unwrap() as f32));
        }
    }
    columns
}

/// A run that plays a game and updates once at each multiple of 128 in `steps`.
fn train(report: &mut RunReport, steps: std::ops::RangeInclusive<u64>) {
    for step in steps.filter(|step| step % 128 == 0) {
        let raw_return = step as f64 / 128.0 * 5.0;
        let game = Episode {
            step,
            env: 1,
            raw_return,
            length: 100,
            frames: 397,
            seconds: 0.0,
        };
        report.episode(game).unwrap();
        let loss = f64::from(1.0 / step as f32);
        let row = [("policy_loss", loss), ("learning_rate", 2.5e-4)];
        report.update(step, &row).unwrap();
    }
}

fn event_files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let mut files: Vec<_> = entries
        .filter(|path| path.to_string_lossy().contains("tfevents"))
        .collect();
    files.sort();
    files
}

#[test]
fn tensorboard_reads_what_the_tables_hold() {
    let folder = tempfile::tempdir().unwrap();
    let mut report = RunReport::open(folder.path(), "title", 100_000, None).unwrap();
    let settings = toml::from_str("gamma = 0.99\nanneal_lr = true\nnet = 'nature'").unwrap();
    report.settings(&settings).unwrap();
    report
        .update(64, &[("policy_loss", 0.1), ("learning_rate", 2.5e-4)])
        .unwrap();
    // Enough games for the mean to forget the first, and steps of more than one varint byte.
    train(&mut report, 128..=128 * 150);
    assert_eq!(report.games.mean_and_count(), Some((502.5, 100)));
    let curve = report.finish(128 * 150).unwrap();
    assert_eq!(curve, folder.path().join("curve.png"));
    assert!(curve.exists());

    let events = tensorboard(folder.path());
    let episodes = read_rows::<Episode>(&folder.path().join("episodes.csv")).unwrap();
    let returns: Vec<_> = episodes
        .iter()
        .map(|game| (game.step, game.raw_return as f32))
        .collect();
    assert_eq!(events["charts/episodic_return"], returns);
    assert_eq!(events["charts/episodic_length"].len(), 150);
    let text = "|param|value|\n|-|-|\n|anneal_lr|true|\n|gamma|0.99|\n|net|\"nature\"|";
    assert_eq!(events[&format!("text/hyperparameters/{text}")], [(0, 1.0)]);

    let table = updates(folder.path());
    assert_eq!(events["losses/policy_loss"], table["policy_loss"]);
    assert_eq!(events["charts/SPS"], table["steps_per_second"]);
    for name in ["learning_rate", "seconds", "raw_return_mean_100"] {
        assert_eq!(events[&format!("charts/{name}")], table[name], "{name}");
    }
    assert_eq!(table["policy_loss"].len(), 151);
    assert_eq!(table["raw_return_mean_100"].len(), 150);
    assert_eq!(
        table["raw_return_mean_100"].last(),
        Some(&(128 * 150, 502.5))
    );
}

#[test]
fn a_resumed_run_holds_each_step_once() {
    let folder = tempfile::tempdir().unwrap();
    let mut report = RunReport::open(folder.path(), "title", 2_560, None).unwrap();
    train(&mut report, 1..=1_280);
    drop(report);
    // Its last checkpoint was taken at step 640, after longer than the last game before it.
    let mut report =
        RunReport::open(folder.path(), "title", 2_560, Some((640, 640, 50.0))).unwrap();
    assert_eq!(report.games.mean_and_count(), Some((15.0, 5)));
    train(&mut report, 641..=2_560);
    report.finish(2_560).unwrap();

    let steps: Vec<u64> = (1..=20).map(|update| 128 * update).collect();
    let of = |column: &[(u64, f32)]| column.iter().map(|&(step, _)| step).collect::<Vec<_>>();
    let events = tensorboard(folder.path());
    assert_eq!(of(&events["charts/episodic_return"]), steps);
    assert_eq!(of(&events["losses/policy_loss"]), steps);
    let table = updates(folder.path());
    assert_eq!(of(&table["policy_loss"]), steps);
    assert_eq!(
        events["charts/raw_return_mean_100"],
        table["raw_return_mean_100"]
    );
    let episodes = read_rows::<Episode>(&folder.path().join("episodes.csv")).unwrap();
    assert_eq!(
        episodes.iter().map(|game| game.step).collect::<Vec<_>>(),
        steps
    );
    assert!(episodes.is_sorted_by(|one, next| one.seconds <= next.seconds));
    let seconds = &table["seconds"];
    assert!(
        seconds.is_sorted_by(|one, next| one.1 <= next.1),
        "{seconds:?}"
    );
    assert!(seconds[4].1 < 50.0 && seconds[5].1 >= 50.0, "{seconds:?}");
}

#[test]
fn a_record_cut_short_costs_no_other() {
    let folder = tempfile::tempdir().unwrap();
    let mut report = RunReport::open(folder.path(), "title", 2_560, None).unwrap();
    train(&mut report, 1..=1_280);
    drop(report);
    let torn = OpenOptions::new()
        .write(true)
        .open(&event_files(folder.path())[0])
        .unwrap();
    torn.set_len(torn.metadata().unwrap().len() - 7).unwrap();
    // The last record is the update at step 1280.
    assert_eq!(tensorboard(folder.path())["losses/policy_loss"].len(), 9);

    let mut report =
        RunReport::open(folder.path(), "title", 2_560, Some((1_280, 1_280, 1.0))).unwrap();
    train(&mut report, 1_281..=2_560);
    report.finish(2_560).unwrap();
    assert_eq!(event_files(folder.path()).len(), 2);
    let events = tensorboard(folder.path());
    assert_eq!(events["losses/policy_loss"].len(), 19);
    assert_eq!(events["charts/episodic_return"].len(), 20);
}

#[test]
fn returns_are_of_all_lives_only_where_there_are_lives() {
    let folder = tempfile::tempdir().unwrap();
    let mut report = RunReport::open(folder.path(), "title", 10, None).unwrap();
    report.lives(&[0, 0]);
    assert_eq!(report.returns(), "raw return");
    report.lives(&[0, 3]);
    report.lives(&[0, 0]);
    assert_eq!(report.returns(), "raw return (all lives)");
}
