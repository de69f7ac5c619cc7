//! [`Pendulum`]: Gymnasium's `Pendulum-v1`, number for number but for the random starts.

use std::f64::consts::{PI, TAU};

use crate::{
    env::{Env, Random, Transition, bytes_to_words, words_to_bytes, write_floats},
    picture::Picture,
    spaces::{ActionSpace, Actions, Dtype, ObsSpec},
};

const GRAVITY: f64 = 10.0;
const MASS: f32 = 1.0;
const LENGTH: f32 = 1.0;
const MAX_TORQUE: f32 = 2.0;
const MAX_SPEED: f64 = 8.0;
/// Seconds between two steps.
const STEP: f64 = 0.05;
const MAX_STEPS: u32 = 200;

/// A pendulum that hangs somewhere and is to be swung up and held by a torque of −2 to 2, which alone is
/// too weak to lift it. A step costs the squared angle from upright, and a little for speed and torque;
/// 200 steps make an episode, which only the time limit ends.
///
/// Observations are float32 `[3]`: cosine and sine of the angle, angular velocity. Actions are float32
/// `[1]`; a torque out of bounds counts as the nearest within.
#[derive(Clone, Debug)]
pub struct Pendulum {
    angle: f64,
    speed: f64,
    num_steps: u32,
    random: Random,
}

impl Pendulum {
    /// One whose unseeded episodes start as `seed` says.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self {
            angle: 0.0,
            speed: 0.0,
            num_steps: 0,
            random: Random::new(seed),
        }
    }

    /// Starts an episode at an angle, 0 for upright, with a speed.
    pub fn start_at(&mut self, angle: f64, speed: f64) {
        (self.angle, self.speed, self.num_steps) = (angle, speed, 0);
    }

    fn observe(&self, obs: &mut [u8]) {
        let (sin, cos) = self.angle.sin_cos();
        write_floats(obs, [cos, sin, self.speed].map(|number| number as f32));
    }
}

impl Env for Pendulum {
    fn obs_spec(&self) -> ObsSpec {
        ObsSpec {
            shape: vec![3],
            dtype: Dtype::Float32,
        }
    }

    fn action_space(&self) -> ActionSpace {
        ActionSpace::Box {
            shape: vec![1],
            low: vec![-MAX_TORQUE],
            high: vec![MAX_TORQUE],
        }
    }

    fn obs_bounds(&self) -> Option<[Vec<f32>; 2]> {
        let greatest = vec![1.0, 1.0, MAX_SPEED as f32];
        Some([greatest.iter().map(|bound| -bound).collect(), greatest])
    }

    fn reset(&mut self, seed: Option<u64>, obs: &mut [u8]) {
        if let Some(seed) = seed {
            self.random = Random::new(seed);
        }
        let (angle, velocity) = (self.random.uniform(-PI, PI), self.random.uniform(-1.0, 1.0));
        self.start_at(angle, velocity);
        self.observe(obs);
    }

    fn step(&mut self, action: Actions<'_>, obs: &mut [u8]) -> Transition {
        let Actions::Continuous(&[torque]) = action else {
            unreachable!("a batch checks actions before they come here")
        };
        // What is of the torque alone is float32 in Gymnasium, and small differences grow.
        let torque = torque.clamp(-MAX_TORQUE, MAX_TORQUE);
        let (effort, push) = (
            0.001 * torque.powi(2),
            3.0 / (MASS * LENGTH.powi(2)) * torque,
        );
        let from_upright = (self.angle + PI).rem_euclid(TAU) - PI;
        let cost = from_upright.powi(2) + 0.1 * self.speed.powi(2) + f64::from(effort);
        let acceleration =
            3.0 * GRAVITY / (2.0 * f64::from(LENGTH)) * self.angle.sin() + f64::from(push);
        self.speed = (self.speed + acceleration * STEP).clamp(-MAX_SPEED, MAX_SPEED);
        self.angle += self.speed * STEP;
        self.num_steps += 1;
        self.observe(obs);
        Transition {
            reward: -cost as f32,
            terminated: false,
            truncated: self.num_steps >= MAX_STEPS,
        }
    }

    fn render(&self) -> Option<Picture> {
        let mut picture = Picture::new(500, 500, [255; 3]);
        let (axle, length) = ([250.0; 2], 500.0 / 4.4);
        let end = [
            axle[0] - length * self.angle.sin(),
            axle[1] - length * self.angle.cos(),
        ];
        picture.line(axle, end, 40.0, [204, 77, 77]);
        picture.disc(axle, 6.0, [0; 3]);
        Some(picture)
    }

    fn save_state(&self) -> Option<Vec<u8>> {
        Some(words_to_bytes(&[
            self.angle.to_bits(),
            self.speed.to_bits(),
            u64::from(self.num_steps),
            self.random.state(),
        ]))
    }

    fn restore_state(&mut self, state: &[u8], obs: &mut [u8]) -> bool {
        let Some([angle, speed, num_steps, random]) = bytes_to_words(state) else {
            return false;
        };
        let num_steps = u32::try_from(num_steps).unwrap_or(u32::MAX);
        if num_steps > MAX_STEPS {
            return false;
        }
        self.start_at(f64::from_bits(angle), f64::from_bits(speed));
        (self.num_steps, self.random) = (num_steps, Random::new(random));
        self.observe(obs);
        true
    }
}
