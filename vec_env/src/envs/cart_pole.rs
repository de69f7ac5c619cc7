//! [`CartPole`]: Gymnasium's `CartPole-v1`, number for number but for the random starts.

use std::f64::consts::PI;

use crate::{
    env::{Env, Random, Transition, bytes_to_words, words_to_bytes, write_floats},
    picture::Picture,
    spaces::{ActionSpace, Actions, Dtype, ObsSpec},
};

const GRAVITY: f64 = 9.8;
const MASS_CART: f64 = 1.0;
const MASS_POLE: f64 = 0.1;
const TOTAL_MASS: f64 = MASS_CART + MASS_POLE;
/// Half of the pole's.
const LENGTH: f64 = 0.5;
const FORCE: f64 = 10.0;
/// Seconds between two steps.
const TAU: f64 = 0.02;
const MAX_ANGLE: f64 = 12.0 * 2.0 * PI / 360.0;
const MAX_POSITION: f64 = 2.4;
const MAX_STEPS: u32 = 500;

/// A pole on a cart that is pushed left (action 0) or right (1); every step is worth 1 until the pole
/// leans 12° or the cart is 2.4 from the middle, 500 steps at most (Barto, Sutton and Anderson 1983).
///
/// Observations are float32 `[4]`: position, velocity, angle, angular velocity.
#[derive(Clone, Debug)]
pub struct CartPole {
    state: [f64; 4],
    num_steps: u32,
    random: Random,
}

impl CartPole {
    /// One whose unseeded episodes start as `seed` says.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self {
            state: [0.0; 4],
            num_steps: 0,
            random: Random::new(seed),
        }
    }

    /// Starts an episode at a state.
    pub fn start_at(&mut self, state: [f64; 4]) {
        self.state = state;
        self.num_steps = 0;
    }

    fn observe(&self, obs: &mut [u8]) {
        write_floats(obs, self.state.map(|number| number as f32));
    }
}

impl Env for CartPole {
    fn obs_spec(&self) -> ObsSpec {
        ObsSpec {
            shape: vec![4],
            dtype: Dtype::Float32,
        }
    }

    fn action_space(&self) -> ActionSpace {
        ActionSpace::Discrete { n: 2 }
    }

    fn obs_bounds(&self) -> Option<[Vec<f32>; 2]> {
        let greatest = [
            2.0 * MAX_POSITION,
            f64::INFINITY,
            2.0 * MAX_ANGLE,
            f64::INFINITY,
        ];
        let greatest = greatest.map(|bound| bound as f32);
        Some([greatest.map(|bound| -bound).to_vec(), greatest.to_vec()])
    }

    fn reset(&mut self, seed: Option<u64>, obs: &mut [u8]) {
        if let Some(seed) = seed {
            self.random = Random::new(seed);
        }
        let start = [0; 4].map(|_| self.random.uniform(-0.05, 0.05));
        self.start_at(start);
        self.observe(obs);
    }

    fn step(&mut self, action: Actions<'_>, obs: &mut [u8]) -> Transition {
        let [position, velocity, angle, angular_velocity] = self.state;
        let force = if action.first() == 1 { FORCE } else { -FORCE };
        let (sin, cos) = angle.sin_cos();
        let pole = MASS_POLE * LENGTH;
        let push = (force + pole * (angular_velocity * angular_velocity) * sin) / TOTAL_MASS;
        let angular_acceleration = (GRAVITY * sin - cos * push)
            / (LENGTH * (4.0 / 3.0 - MASS_POLE * (cos * cos) / TOTAL_MASS));
        let acceleration = push - pole * angular_acceleration * cos / TOTAL_MASS;
        self.state = [
            position + TAU * velocity,
            velocity + TAU * acceleration,
            angle + TAU * angular_velocity,
            angular_velocity + TAU * angular_acceleration,
        ];
        self.num_steps += 1;
        self.observe(obs);
        Transition {
            reward: 1.0,
            terminated: self.state[0].abs() > MAX_POSITION || self.state[2].abs() > MAX_ANGLE,
            truncated: self.num_steps >= MAX_STEPS,
        }
    }

    fn render(&self) -> Option<Picture> {
        let [position, _, angle, _] = self.state;
        let mut picture = Picture::new(600, 400, [255; 3]);
        let scale = 600.0 / (2.0 * MAX_POSITION);
        let (x, y) = (300.0 + position * scale, 300.0);
        picture.line([0.0, y], [600.0, y], 1.0, [0; 3]);
        picture.rectangle([x - 25.0, y - 15.0], [x + 25.0, y + 15.0], [0; 3]);
        let (sin, cos) = angle.sin_cos();
        let (axle, length) = ([x, y - 7.5], 2.0 * LENGTH * scale);
        let top = [axle[0] + length * sin, axle[1] - length * cos];
        picture.line(axle, top, 10.0, [202, 152, 101]);
        picture.disc(axle, 5.0, [129, 132, 203]);
        Some(picture)
    }

    fn render_fps(&self) -> f64 {
        1.0 / TAU
    }

    fn save_state(&self) -> Option<Vec<u8>> {
        let [position, velocity, angle, angular_velocity] = self.state.map(f64::to_bits);
        Some(words_to_bytes(&[
            position,
            velocity,
            angle,
            angular_velocity,
            u64::from(self.num_steps),
            self.random.state(),
        ]))
    }

    fn restore_state(&mut self, state: &[u8], obs: &mut [u8]) -> bool {
        let Some([state @ .., num_steps, random]) = bytes_to_words::<6>(state) else {
            return false;
        };
        let num_steps = u32::try_from(num_steps).unwrap_or(u32::MAX);
        if num_steps > MAX_STEPS {
            return false;
        }
        let state: [u64; 4] = state;
        self.start_at(state.map(f64::from_bits));
        (self.num_steps, self.random) = (num_steps, Random::new(random));
        self.observe(obs);
        true
    }
}
