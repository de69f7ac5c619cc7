//! [`MountainCar`] and [`MountainCarContinuous`]: Gymnasium's `MountainCar-v0` and `MountainCarContinuous-v0`, number for
//! number but for the random starts.

use crate::{
    env::{Env, Random, Transition, bytes_to_words, words_to_bytes, write_floats},
    picture::Picture,
    spaces::{ActionSpace, Actions, Dtype, ObsSpec},
};

const MIN_POSITION: f64 = -1.2;
const MAX_POSITION: f64 = 0.6;
const MAX_SPEED: f64 = 0.07;
const GRAVITY: f64 = 0.0025;

/// Where the car is, and how its episode stands: what both tasks share.
#[derive(Clone, Debug)]
struct Car {
    position: f64,
    velocity: f64,
    num_steps: u32,
    random: Random,
}

impl Car {
    fn new(seed: u64) -> Self {
        Self {
            position: -0.5,
            velocity: 0.0,
            num_steps: 0,
            random: Random::new(seed),
        }
    }

    fn start_at(&mut self, position: f64, velocity: f64) {
        (self.position, self.velocity, self.num_steps) = (position, velocity, 0);
    }

    fn start(&mut self, seed: Option<u64>, obs: &mut [u8]) {
        if let Some(seed) = seed {
            self.random = Random::new(seed);
        }
        let position = self.random.uniform(-0.6, -0.4);
        self.start_at(position, 0.0);
        self.observe(obs);
    }

    /// Moves by a velocity that the engine and the slope have changed; a wall to the left stops it. Numbers are kept as
    /// `kept` says.
    fn roll(&mut self, velocity: f64, kept: impl Fn(f64) -> f64) {
        self.velocity = kept(velocity.clamp(-MAX_SPEED, MAX_SPEED));
        self.position = kept((self.position + self.velocity).clamp(MIN_POSITION, MAX_POSITION));
        if self.position <= kept(MIN_POSITION) && self.velocity < 0.0 {
            self.velocity = 0.0;
        }
        self.num_steps += 1;
    }

    fn observe(&self, obs: &mut [u8]) {
        write_floats(obs, [self.position as f32, self.velocity as f32]);
    }

    fn draw(&self, goal: f64) -> Picture {
        let height = |position: f64| (3.0 * position).sin() * 0.45 + 0.55;
        let at = |position: f64, above: f64| {
            let x = (position - MIN_POSITION) / (MAX_POSITION - MIN_POSITION) * 600.0;
            [x, 380.0 - 300.0 * height(position) - above]
        };
        let mut picture = Picture::new(600, 400, [255; 3]);
        let place =
            |step: usize| MIN_POSITION + (MAX_POSITION - MIN_POSITION) * step as f64 / 100.0;
        for step in 0..100 {
            picture.line(at(place(step), 0.0), at(place(step + 1), 0.0), 2.0, [0; 3]);
        }
        picture.line(at(goal, 0.0), at(goal, 50.0), 2.0, [0; 3]);
        picture.line(at(goal, 45.0), at(goal + 0.05, 45.0), 10.0, [204, 204, 0]);
        picture.line(
            at(self.position - 0.04, 14.0),
            at(self.position + 0.04, 14.0),
            16.0,
            [0; 3],
        );
        for wheel in [-0.03, 0.03] {
            picture.disc(at(self.position + wheel, 6.0), 6.0, [128; 3]);
        }
        picture
    }

    fn save(&self) -> Vec<u8> {
        words_to_bytes(&[
            self.position.to_bits(),
            self.velocity.to_bits(),
            u64::from(self.num_steps),
            self.random.state(),
        ])
    }

    fn restore(&mut self, state: &[u8], max_steps: u32, obs: &mut [u8]) -> bool {
        let Some([position, velocity, num_steps, random]) = bytes_to_words(state) else {
            return false;
        };
        let num_steps = u32::try_from(num_steps).unwrap_or(u32::MAX);
        if num_steps > max_steps {
            return false;
        }
        self.start_at(f64::from_bits(position), f64::from_bits(velocity));
        (self.num_steps, self.random) = (num_steps, Random::new(random));
        self.observe(obs);
        true
    }
}

/// The nearest number that float32 has.
fn rounded(number: f64) -> f64 {
    f64::from(number as f32)
}

/// What an environment of a car is beside its actions.
macro_rules! as_car {
    ($goal:expr) => {
        fn obs_spec(&self) -> ObsSpec {
            ObsSpec {
                shape: vec![2],
                dtype: Dtype::Float32,
            }
        }

        fn obs_bounds(&self) -> Option<[Vec<f32>; 2]> {
            let bounds = [[MIN_POSITION, -MAX_SPEED], [MAX_POSITION, MAX_SPEED]];
            Some(bounds.map(|ends| ends.map(|end| end as f32).to_vec()))
        }

        fn reset(&mut self, seed: Option<u64>, obs: &mut [u8]) {
            self.0.start(seed, obs);
        }

        fn render(&self) -> Option<Picture> {
            Some(self.0.draw($goal))
        }

        fn save_state(&self) -> Option<Vec<u8>> {
            Some(self.0.save())
        }

        fn restore_state(&mut self, state: &[u8], obs: &mut [u8]) -> bool {
            self.0.restore(state, Self::MAX_STEPS, obs)
        }
    };
}

/// A car in a valley whose engine is too weak for the hill: pushed left (action 0), not at all (1) or right (2); every step
/// costs 1 until the car is at 0.5, 200 steps at most (Moore 1990).
///
/// Observations are float32 `[2]`: position, velocity.
#[derive(Clone, Debug)]
pub struct MountainCar(Car);

impl MountainCar {
    const GOAL: f64 = 0.5;
    const FORCE: f64 = 0.001;
    const MAX_STEPS: u32 = 200;

    /// One whose unseeded episodes start as `seed` says.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self(Car::new(seed))
    }

    /// Starts an episode at a position with a velocity.
    pub fn start_at(&mut self, position: f64, velocity: f64) {
        self.0.start_at(position, velocity);
    }
}

impl Env for MountainCar {
    as_car!(Self::GOAL);

    fn action_space(&self) -> ActionSpace {
        ActionSpace::Discrete { n: 3 }
    }

    fn step(&mut self, action: Actions<'_>, obs: &mut [u8]) -> Transition {
        let car = &mut self.0;
        let push = (action.first() - 1) as f64 * Self::FORCE;
        let velocity = car.velocity + (push + (3.0 * car.position).cos() * -GRAVITY);
        car.roll(velocity, |number| number);
        car.observe(obs);
        Transition {
            reward: -1.0,
            terminated: car.position >= Self::GOAL && car.velocity >= 0.0,
            truncated: car.num_steps >= Self::MAX_STEPS,
        }
    }
}

/// The same with an engine of any force of -1 to 1, float32 `[1]`; a force out of bounds counts as the nearest within. A step
/// costs a tenth of the squared action, and arriving at 0.45 brings 100; 999 steps at most.
#[derive(Clone, Debug)]
pub struct MountainCarContinuous(Car);

impl MountainCarContinuous {
    const GOAL: f64 = 0.45;
    const POWER: f64 = 0.0015;
    const MAX_STEPS: u32 = 999;

    /// One whose unseeded episodes start as `seed` says.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self(Car::new(seed))
    }

    /// Starts an episode at a position with a velocity.
    pub fn start_at(&mut self, position: f64, velocity: f64) {
        self.0.start_at(position, velocity);
    }
}

impl Env for MountainCarContinuous {
    as_car!(Self::GOAL);

    fn action_space(&self) -> ActionSpace {
        ActionSpace::Box {
            shape: vec![1],
            low: vec![-1.0],
            high: vec![1.0],
        }
    }

    fn step(&mut self, action: Actions<'_>, obs: &mut [u8]) -> Transition {
        let Actions::Continuous(&[action]) = action else {
            unreachable!("a batch checks actions before they come here")
        };
        let car = &mut self.0;
        // Gymnasium reckons in float32 but for the start and what it clips, and small differences grow.
        let is_first = car.num_steps == 0;
        let kept = |number: f64| if is_first { number } else { rounded(number) };
        let slope = GRAVITY * kept(3.0 * car.position).cos();
        let push = match f64::from(action) {
            force if force.abs() > 1.0 => force.signum() * Self::POWER - slope,
            force => rounded(rounded(force * rounded(Self::POWER)) - rounded(slope)),
        };
        car.roll(kept(car.velocity + kept(push)), kept);
        (car.position, car.velocity) = (rounded(car.position), rounded(car.velocity));
        car.observe(obs);
        let terminated = car.position >= kept(Self::GOAL) && car.velocity >= 0.0;
        let cost = f64::from(action).powi(2) * 0.1;
        Transition {
            reward: (if terminated { 100.0 } else { 0.0 } - cost) as f32,
            terminated,
            truncated: car.num_steps >= Self::MAX_STEPS,
        }
    }
}
