//! What a user who looks on asks for, by the same keys in the window and in the terminal.

use std::time::{Duration, Instant};

use super::{FRAMES_PER_SECOND, stick::Stick};

/// The keys, and what they do.
pub(super) const KEYS: &str =
    "h stick (arrows, space)  v values  p pause  n next frame  + - speed  q leave";

/// Slowest and fastest play.
const SPEEDS: std::ops::RangeInclusive<f64> = 1.0 / 16.0..=64.0;

/// How play goes on.
#[expect(clippy::struct_excessive_bools, reason = "each is of its own")]
#[derive(Clone, Debug)]
pub(crate) struct Controls {
    /// The user has seen enough.
    pub leaves: bool,
    /// A person has the stick.
    pub is_human: bool,
    /// The agent's numbers are shown beside the game.
    pub values: bool,
    /// No frame follows, except for one that is asked for.
    pub is_paused: bool,
    pub(super) one_frame: bool,
    /// Times as fast as the console.
    pub speed: f64,
    pub(super) stick: Stick,
    /// When the next frame is due.
    due: Option<Instant>,
}

impl Controls {
    pub fn new(is_human: bool, values: bool, speed: f64) -> Self {
        Self {
            leaves: false,
            is_human,
            values,
            is_paused: false,
            one_frame: false,
            speed,
            stick: Stick::default(),
            due: None,
        }
    }

    /// Does what a letter asks for; whether it means anything.
    pub(super) fn hear(&mut self, letter: char) -> bool {
        match letter.to_ascii_lowercase() {
            'q' => self.leaves = true,
            'h' => (self.is_human, self.stick) = (!self.is_human, Stick::default()),
            'v' => self.values = !self.values,
            'p' => self.is_paused = !self.is_paused,
            'n' => (self.is_paused, self.one_frame) = (true, true),
            '+' | '=' => self.speed = (self.speed * 2.0).min(*SPEEDS.end()),
            '-' => self.speed = (self.speed / 2.0).max(*SPEEDS.start()),
            _ => return false,
        }
        true
    }

    /// Whether play stands still; a frame that was asked for is given once.
    pub(super) fn holds(&mut self) -> bool {
        if self.leaves || std::mem::take(&mut self.one_frame) {
            return false;
        }
        self.is_paused
    }

    /// How long it is until the frame is due that is to be shown now, and the time of the next one. Where showing takes
    /// longer than a frame lasts, the game is slower, and makes up for no more than a tenth of a second.
    pub(super) fn wait(&mut self, now: Instant) -> Duration {
        let each = Duration::from_secs_f64(1.0 / (FRAMES_PER_SECOND * self.speed));
        let oldest = now.checked_sub(Duration::from_millis(100)).unwrap_or(now);
        let due = self.due.unwrap_or(now).max(oldest);
        self.due = Some(due + each);
        due.saturating_duration_since(now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_come_at_the_speed_of_the_console_and_late_ones_at_once() {
        let mut controls = Controls::new(false, false, 2.0);
        let begin = Instant::now();
        let mut now = begin;
        for _ in 0..120 {
            now += controls.wait(now);
        }
        let last = (now - begin).as_secs_f64();
        assert!((last - 119.0 / 120.0).abs() < 1e-3, "{last}");
        // After half a minute there is no half a minute to make up for.
        now += Duration::from_secs(30);
        let waits = (0..20).map(|_| controls.wait(now)).collect::<Vec<_>>();
        assert_eq!(waits[..10], [Duration::ZERO; 10]);
        assert!(waits[19] > Duration::ZERO);
    }

    #[test]
    fn keys_change_what_they_say() {
        let mut controls = Controls::new(false, false, 1.0);
        for letter in "Hv+p".chars() {
            assert!(controls.hear(letter), "{letter}");
        }
        assert!(controls.is_human && controls.values && controls.speed > 1.9);
        assert!(controls.holds());
        controls.hear('n');
        assert!(!controls.holds(), "one frame");
        assert!(controls.holds());
        controls.hear('q');
        assert!(!controls.holds() && controls.leaves);
        assert!(!controls.hear('x'));
    }
}
