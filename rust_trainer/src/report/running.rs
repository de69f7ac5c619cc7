//! The two running numbers of a run, each computed in one place: the mean return of the last
//! true games and the training rate. The progress bar, the tables, the event file and the curve
//! all read them from here, so they cannot disagree.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// Games in the running mean, the number the field reports.
pub const GAMES: usize = 100;

/// Time over which the rate is averaged, at least: short enough to follow a change.
const RATE_WINDOW: Duration = Duration::from_secs(20);
/// Closest spacing of the samples kept, which bounds the window to 80 of them.
const RATE_SPACING: Duration = Duration::from_millis(250);

/// What the last true games, [`GAMES`] of them, came to: raw returns (all lives, rewards not clipped), or another
/// number of each.
#[derive(Debug, Clone)]
pub struct GameWindow {
    /// What the numbers are called.
    pub what: &'static str,
    capacity: usize,
    values: VecDeque<f64>,
    /// Games since the start of the run.
    pub played: u64,
}

impl GameWindow {
    /// A window of what is called `what`.
    pub fn of(what: &'static str) -> Self {
        Self::of_last(GAMES, what)
    }

    /// The same of another number of games.
    pub fn of_last(games: usize, what: &'static str) -> Self {
        Self {
            what,
            capacity: games,
            values: VecDeque::new(),
            played: 0,
        }
    }

    /// Takes in the number of a game that has just ended.
    pub fn push(&mut self, value: f64) {
        if self.values.len() == self.capacity {
            self.values.pop_front();
        }
        self.values.push_back(value);
        self.played += 1;
    }

    /// Mean of the games in the window, `None` before the first game has ended.
    ///
    /// Summed afresh at each call: a running sum would drift over a million games.
    pub fn mean(&self) -> Option<f64> {
        (!self.values.is_empty())
            .then(|| self.values.iter().sum::<f64>() / self.values.len() as f64)
    }

    /// The mean, and how many games it is of: at most [`GAMES`].
    pub fn mean_and_count(&self) -> Option<(f64, usize)> {
        Some((self.mean()?, self.values.len()))
    }
}

/// The mean of [`GameWindow`] after each of `games` (step and raw return), thinned to the last one
/// of each `spacing` steps: a line with many points in a pixel is slow to draw and no truer.
pub fn running_mean(games: &[(u64, f64)], spacing: f64) -> Vec<(f64, f64)> {
    let mut window = GameWindow::of("return");
    let mut points: Vec<(f64, f64)> = Vec::new();
    for &(step, raw_return) in games.iter().filter(|(_, value)| value.is_finite()) {
        window.push(raw_return);
        let point = (step as f64, window.mean().unwrap_or(raw_return));
        let bin = |step: f64| (step / spacing) as u64;
        match points.last_mut() {
            Some(last) if bin(last.0) == bin(point.0) => *last = point,
            _ => points.push(point),
        }
    }
    points
}

/// Agent steps per second over the last 20 seconds of training, or the last update where that takes longer.
#[derive(Debug, Clone)]
pub struct Rate {
    kept: VecDeque<(Instant, u64)>,
    latest: (Instant, u64),
}

impl Rate {
    /// Starts measuring at `step`: the steps of an earlier, interrupted run do not count.
    pub fn new(now: Instant, step: u64) -> Self {
        Self {
            kept: VecDeque::from([(now, step)]),
            latest: (now, step),
        }
    }

    /// Notes that an update has ended at `step`, so that a rate is of whole updates: in a part of one all steps are
    /// made, or none. Neither time nor step may go back. The same step again changes nothing.
    pub fn record(&mut self, now: Instant, step: u64) {
        if step == self.latest.1 {
            return;
        }
        self.latest = (now, step);
        let newest = self.kept.back().map_or(now, |&(time, _)| time);
        if now.duration_since(newest) < RATE_SPACING {
            return;
        }
        self.kept.push_back(self.latest);
        // The front stays just outside the window, so that the span never falls short of it.
        while self
            .kept
            .get(1)
            .is_some_and(|&(time, _)| now.duration_since(time) >= RATE_WINDOW)
        {
            self.kept.pop_front();
        }
    }

    /// Leaves out the last `time`, in which there were no steps to be made.
    pub fn pause(&mut self, time: Duration) {
        for (at, _) in &mut self.kept {
            *at += time;
        }
        self.latest.0 += time;
    }

    /// Agent steps per second, `None` before an update has ended.
    pub fn per_second(&self) -> Option<f64> {
        let &(start, first) = self.kept.front()?;
        let seconds = self.latest.0.duration_since(start).as_secs_f64();
        (seconds > 0.0).then(|| self.latest.1.saturating_sub(first) as f64 / seconds)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mean_covers_the_last_hundred_games_only() {
        let mut games = GameWindow::of("return");
        assert_eq!(games.mean(), None);
        for game in 0..250 {
            games.push(f64::from(game));
        }
        assert_eq!(
            games.mean(),
            Some((150..250).sum::<i32>().into()).map(|sum: f64| sum / 100.0)
        );
        assert_eq!((games.values.len(), games.played), (100, 250));
    }

    #[test]
    fn the_mean_is_thinned_but_exact_where_it_stands() {
        let games: Vec<_> = (0..1_000).map(|game| (game, game as f64)).collect();
        let points = running_mean(&games, 10.0);
        assert_eq!(points.len(), 100);
        // After game 9 the mean is of games 0 to 9, after game 999 of games 900 to 999.
        assert_eq!((points[0], points[99]), ((9.0, 4.5), (999.0, 949.5)));
    }

    #[test]
    fn rate_counts_new_steps_only() {
        let start = Instant::now();
        let mut rate = Rate::new(start, 1_000_000);
        assert_eq!(rate.per_second(), None);
        rate.record(start + Duration::from_secs(2), 1_001_000);
        assert_eq!(rate.per_second(), Some(500.0));
        rate.pause(Duration::from_secs(60));
        assert_eq!(rate.per_second(), Some(500.0));
        rate.record(start + Duration::from_secs(64), 1_002_000);
        assert_eq!(rate.per_second(), Some(500.0));
    }

    #[test]
    fn rate_is_of_whole_updates_however_long_they_take() {
        let start = Instant::now();
        let mut rate = Rate::new(start, 0);
        for update in 1..=4_u64 {
            rate.record(start + Duration::from_secs(40 * update), 1_000 * update);
            assert_eq!(rate.per_second(), Some(25.0));
            rate.record(
                start + Duration::from_secs(40 * update + 30),
                1_000 * update,
            );
            assert_eq!(rate.per_second(), Some(25.0));
        }
    }

    #[test]
    fn rate_forgets_what_is_older_than_its_window() {
        let start = Instant::now();
        let mut rate = Rate::new(start, 0);
        let mut step = 0;
        // A minute at 100 steps/s, then 20 s at 700 steps/s, a record each 100 ms.
        for tenth in 1..=800_u64 {
            step += if tenth <= 600 { 10 } else { 70 };
            rate.record(start + Duration::from_millis(100 * tenth), step);
        }
        let measured = rate.per_second().unwrap();
        assert!((690.0..=700.0).contains(&measured), "{measured}");
        assert!(rate.kept.len() <= 82, "{}", rate.kept.len());
    }
}
