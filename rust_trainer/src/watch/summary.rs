//! A run in a few lines, for where there is no terminal.

use super::{
    run::WatchedRun,
    view::{number, progress_of, state, when},
};
use crate::report::format::{duration, short};

/// How a run stands, a line for each thing that is known.
pub(crate) fn summary(run: &WatchedRun) -> String {
    let mut lines = vec![format!("{}: {}", run.name, state(run).0)];
    let mut add = |name: &str, text: String| lines.push(format!("  {name:<12}{text}"));
    let title = run.title();
    if !title.is_empty() {
        add("run", title);
    }
    add("progress", progress_of(run));
    let speeds = [(when(run), run.updates.speed()), ("mean", run.mean_speed())];
    let speeds = speeds
        .iter()
        .filter_map(|(when, speed)| Some(format!("{:.0}/s {when}", (*speed)?)));
    let speeds: Vec<String> = speeds.collect();
    if !speeds.is_empty() {
        add(
            "speed",
            format!(
                "{}, {} of training",
                speeds.join(", "),
                duration(run.seconds())
            ),
        );
    }
    if let Some(phases) = run.updates.phases() {
        let phases = phases
            .iter()
            .map(|(name, share)| format!("{name} {:.0} %", 100.0 * share));
        add("time", phases.collect::<Vec<_>>().join(", "));
    }
    if let Some((mean, count)) = run.games.mean() {
        let (what, played) = (run.games.what(), run.games.count());
        add(
            "games",
            format!("{played}; mean {what} of the last {count}: {mean:.1}"),
        );
    }
    if let Some((mean, step)) = run.games.best {
        add(
            "best mean",
            format!("{mean:.1} at step {}", short(step as f64)),
        );
    }
    if let (Some(best), Some(last)) = (run.best_evaluation(), run.evaluations.last()) {
        let (best_step, last_step) = (short(best.step as f64), short(last.step as f64));
        let text = format!(
            "{:.1} ± {:.1} at step {last_step}; best {:.1} at step {best_step}",
            last.mean, last.std, best.mean
        );
        add("evaluated", text);
    }
    let losses = run.updates.losses();
    let losses = losses
        .filter_map(|(name, series)| Some(format!("{name} {}", number(series.last()?.value))));
    let losses: Vec<String> = losses.collect();
    if !losses.is_empty() {
        add("learning", losses.join(", "));
    }
    if let Some(problem) = &run.problem {
        add("problem", problem.clone());
    }
    lines.join("\n")
}
