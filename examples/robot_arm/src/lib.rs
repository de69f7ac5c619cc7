//! A planar robot arm of two joints that reaches for a target, and several of them.

mod arms;

pub use arms::RobotArms;

use std::f64::consts::PI;

use vec_env::{
    ActionSpace, Actions, Dtype, Env, ObsSpec, Picture, Transition,
    env::{Random, bytes_to_words, words_to_bytes, write_floats},
};

/// Seconds between two steps.
const TAU: f64 = 0.05;
/// Of each joint, in radians a second at full action.
const SPEED: f64 = 3.0;

/// Two links of length 1. An action, float32 `[2]` from -1 to 1, turns each joint at that share of its greatest speed. A
/// step costs the distance of the hand from the target; within 0.1 of it the episode ends.
///
/// Observations are float32 `[6]`: cosine and sine of both joints' angles, and from the hand to the target.
#[derive(Clone, Debug)]
pub struct RobotArm {
    angles: [f64; 2],
    target: [f64; 2],
    num_steps: u32,
    max_steps: u32,
    random: Random,
}

impl RobotArm {
    /// One whose episodes are cut after `max_steps`; unseeded ones start as `seed` says.
    #[must_use]
    pub fn new(max_steps: u32, seed: u64) -> Self {
        Self {
            angles: [0.0; 2],
            target: [1.0, 1.0],
            num_steps: 0,
            max_steps,
            random: Random::new(seed),
        }
    }

    /// Where the elbow and the hand are.
    fn joints(&self) -> [[f64; 2]; 2] {
        let (first, second) = (self.angles[0], self.angles[0] + self.angles[1]);
        let elbow = [first.cos(), first.sin()];
        [elbow, [elbow[0] + second.cos(), elbow[1] + second.sin()]]
    }

    fn to_target(&self) -> [f64; 2] {
        let [_, hand] = self.joints();
        [self.target[0] - hand[0], self.target[1] - hand[1]]
    }

    fn observe(&self, obs: &mut [u8]) {
        let ([first, second], [x, y]) = (self.angles, self.to_target());
        let numbers = [first.cos(), first.sin(), second.cos(), second.sin(), x, y];
        write_floats(obs, numbers.map(|number| number as f32));
    }
}

impl Env for RobotArm {
    fn obs_spec(&self) -> ObsSpec {
        ObsSpec {
            shape: vec![6],
            dtype: Dtype::Float32,
        }
    }

    fn action_space(&self) -> ActionSpace {
        ActionSpace::Box {
            shape: vec![2],
            low: vec![-1.0; 2],
            high: vec![1.0; 2],
        }
    }

    fn reset(&mut self, seed: Option<u64>, obs: &mut [u8]) {
        if let Some(seed) = seed {
            self.random = Random::new(seed);
        }
        self.angles = [0; 2].map(|_| self.random.uniform(-PI, PI));
        let (angle, reach) = (self.random.uniform(-PI, PI), self.random.uniform(0.5, 1.9));
        self.target = [reach * angle.cos(), reach * angle.sin()];
        self.num_steps = 0;
        self.observe(obs);
    }

    fn step(&mut self, action: Actions<'_>, obs: &mut [u8]) -> Transition {
        if let Actions::Continuous(&[first, second]) = action {
            let turns = [first, second].map(|turn| f64::from(turn) * SPEED * TAU);
            self.angles = [self.angles[0] + turns[0], self.angles[1] + turns[1]];
        }
        self.num_steps += 1;
        self.observe(obs);
        let [x, y] = self.to_target();
        let terminated = x.hypot(y) < 0.1;
        Transition {
            reward: -x.hypot(y) as f32,
            terminated,
            truncated: !terminated && self.num_steps >= self.max_steps,
        }
    }

    // What follows may be left out: without it there are no bounds, no pictures and no saved states.

    fn obs_bounds(&self) -> Option<[Vec<f32>; 2]> {
        let greatest = vec![1.0, 1.0, 1.0, 1.0, 4.0, 4.0];
        Some([greatest.iter().map(|bound| -bound).collect(), greatest])
    }

    fn render(&self) -> Option<Picture> {
        let at = |[x, y]: [f64; 2]| [160.0 + 72.0 * x, 160.0 - 72.0 * y];
        let mut picture = Picture::new(320, 320, [255; 3]);
        let [elbow, hand] = self.joints();
        picture.disc(at(self.target), 7.2, [220, 60, 50]);
        picture.line(at([0.0; 2]), at(elbow), 12.0, [60, 90, 150]);
        picture.line(at(elbow), at(hand), 8.0, [90, 130, 200]);
        for joint in [[0.0; 2], elbow, hand] {
            picture.disc(at(joint), 4.0, [30, 40, 60]);
        }
        Some(picture)
    }

    fn render_fps(&self) -> f64 {
        1.0 / TAU
    }

    fn save_state(&self) -> Option<Vec<u8>> {
        let [first, second] = self.angles.map(f64::to_bits);
        let [x, y] = self.target.map(f64::to_bits);
        let (num_steps, random) = (u64::from(self.num_steps), self.random.state());
        Some(words_to_bytes(&[first, second, x, y, num_steps, random]))
    }

    fn restore_state(&mut self, state: &[u8], obs: &mut [u8]) -> bool {
        let Some([first, second, x, y, num_steps, random]) = bytes_to_words(state) else {
            return false;
        };
        let num_steps = u32::try_from(num_steps).unwrap_or(u32::MAX);
        if num_steps > self.max_steps {
            return false;
        }
        self.angles = [first, second].map(f64::from_bits);
        self.target = [x, y].map(f64::from_bits);
        (self.num_steps, self.random) = (num_steps, Random::new(random));
        self.observe(obs);
        true
    }
}

#[cfg(feature = "python")]
vec_env_python::module! {
    robot_arm:
    /// A planar robot arm of two joints that reaches for a target within `max_steps`.
    "RobotArm-v0" => fn make_robot_arm(max_steps: u32 = 100) -> Result<RobotArm, String> {
        if max_steps == 0 {
            return Err("max_steps must be at least 1, not 0".to_owned());
        }
        Ok(RobotArm::new(max_steps, 0))
    }

    /// Several arms, each of which reaches for a target of its own within `max_steps`.
    parallel "robot_arms_v0" => fn make_robot_arms(
        num_arms: usize = 2,
        max_steps: u32 = 100,
    ) -> Result<RobotArms, String> {
        if num_arms == 0 || max_steps == 0 {
            return Err("num_arms and max_steps must be at least 1".to_owned());
        }
        Ok(RobotArms::new(num_arms, max_steps, 0))
    }
}
