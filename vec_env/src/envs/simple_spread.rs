//! [`SimpleSpread`]: MPE2's `simple_spread_v3`, number for number but for the random starts.

use crate::{
    agents::{Agent, MultiAgentEnv},
    env::{Random, Transition, bytes_to_words, words_to_bytes, write_floats},
    picture::Picture,
    spaces::{ActionSpace, Actions, Dtype, ObsSpec},
};

const TIME_STEP: f64 = 0.1;
const DAMPING: f64 = 0.25;
/// Of a push, which an action names in ±1.
const FORCE: f64 = 5.0;
/// Of a disc that is an agent.
const RADIUS: f64 = 0.15;
/// How hard, and from how far beyond their rims, discs push one another away.
const CONTACT_FORCE: f64 = 100.0;
const CONTACT_MARGIN: f64 = 1e-3;
/// The share of an agent's own reward, collisions, beside that of all.
const LOCAL_RATIO: f64 = 0.5;
const MAX_STEPS: u32 = 25;
/// Nothing, left, right, down, up.
const NUM_ACTIONS: usize = 5;

type Point = [f64; 2];

/// How agents are moved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Push {
    /// One of: not at all, left, right, down, up.
    Discrete,
    /// How much of each, in a box from 0 to 1.
    Continuous,
}

/// Discs in a plane, `agent_0` and so on, who are to cover as many landmarks without running into one another: "cooperative
/// navigation" of Lowe et al. 2017. An agent sees its speed and place, and from there the landmarks and the others; the
/// zeros behind are what these say, for they are silent. Its reward is half of that of all, the distances of the landmarks to
/// their nearest agents, and half of its own, −1 for each collision. An episode takes 25 steps.
#[derive(Clone, Debug)]
pub struct SimpleSpread {
    agents: Vec<Agent>,
    takes_part: Vec<bool>,
    places: Vec<Point>,
    speeds: Vec<Point>,
    landmarks: Vec<Point>,
    num_steps: u32,
    random: Random,
}

impl SimpleSpread {
    /// `count` agents and as many landmarks; unseeded episodes start as `seed` says.
    #[must_use]
    pub fn new(count: usize, push: Push, seed: u64) -> Self {
        let numbers = 4 + 2 * count + 4 * count.saturating_sub(1);
        let agent = |index| Agent {
            name: format!("agent_{index}"),
            obs_spec: ObsSpec {
                shape: vec![numbers],
                dtype: Dtype::Float32,
            },
            action_space: match push {
                Push::Discrete => ActionSpace::Discrete {
                    n: NUM_ACTIONS as i64,
                },
                Push::Continuous => ActionSpace::Box {
                    shape: vec![NUM_ACTIONS],
                    low: vec![0.0; NUM_ACTIONS],
                    high: vec![1.0; NUM_ACTIONS],
                },
            },
        };
        Self {
            agents: (0..count).map(agent).collect(),
            takes_part: vec![false; count],
            places: vec![[0.0; 2]; count],
            speeds: vec![[0.0; 2]; count],
            landmarks: vec![[0.0; 2]; count],
            num_steps: 0,
            random: Random::new(seed),
        }
    }

    /// Starts an episode with agents at rest and landmarks at these places.
    ///
    /// # Panics
    /// If they are not as many as there are agents.
    pub fn start_at(&mut self, places: &[Point], landmarks: &[Point]) {
        self.places.copy_from_slice(places);
        self.landmarks.copy_from_slice(landmarks);
        self.speeds.fill([0.0; 2]);
        self.num_steps = 0;
        self.takes_part.fill(true);
    }

    /// Moves all agents: by where they are pushed, and by those that they touch.
    fn push(&mut self, pushes: &[Point]) {
        let mut forces: Vec<Point> = pushes.iter().map(|push| push.map(|x| FORCE * x)).collect();
        for one in 0..forces.len() {
            for other in one + 1..forces.len() {
                let away = contact_force(self.places[one], self.places[other]);
                for axis in 0..2 {
                    forces[one][axis] += away[axis];
                    forces[other][axis] -= away[axis];
                }
            }
        }
        for (agent, force) in forces.iter().enumerate() {
            let (place, speed) = (&mut self.places[agent], &mut self.speeds[agent]);
            for axis in 0..2 {
                place[axis] += speed[axis] * TIME_STEP;
                speed[axis] *= 1.0 - DAMPING;
                speed[axis] += force[axis] * TIME_STEP;
            }
        }
    }

    /// The reward that all have together: less, the farther the landmarks are from their nearest agents.
    fn shared_reward(&self) -> f64 {
        let nearest = |landmark: &Point| {
            let distances = self.places.iter().map(|place| distance(*place, *landmark));
            distances.fold(f64::INFINITY, f64::min)
        };
        -self.landmarks.iter().map(nearest).sum::<f64>()
    }

    /// Where all agents but this one are.
    fn others(&self, agent: usize) -> impl Iterator<Item = &Point> {
        let places = self.places.iter().enumerate();
        let others = places.filter(move |(other, _)| *other != agent);
        others.map(|(_, place)| place)
    }

    /// How many others an agent runs into.
    fn num_collisions(&self, agent: usize) -> usize {
        let touches = |place: &&Point| distance(**place, self.places[agent]) < 2.0 * RADIUS;
        self.others(agent).filter(touches).count()
    }

    fn observe(&self, agent: usize, obs: &mut [u8]) {
        let place = self.places[agent];
        let seen = self.landmarks.iter().chain(self.others(agent));
        let seen = seen.flat_map(|point| [point[0] - place[0], point[1] - place[1]]);
        let own = self.speeds[agent].into_iter().chain(place);
        let silence = std::iter::repeat_n(0.0, 2 * (self.places.len() - 1));
        let numbers = own.chain(seen).chain(silence);
        write_floats(obs, numbers.map(|number| number as f32));
    }
}

fn distance(one: Point, other: Point) -> f64 {
    let [x, y] = [one[0] - other[0], one[1] - other[1]];
    (x * x + y * y).sqrt()
}

/// What pushes an agent at `one` away from an agent at `other`; the other is pushed as hard the other way.
fn contact_force(one: Point, other: Point) -> Point {
    let distance = distance(one, other);
    let beyond = -(distance - 2.0 * RADIUS) / CONTACT_MARGIN;
    // ln(1 + eˣ)
    let softened = beyond.max(0.0) + (-beyond.abs()).exp().ln_1p();
    let depth = softened * CONTACT_MARGIN;
    [0, 1].map(|axis| CONTACT_FORCE * (one[axis] - other[axis]) / distance * depth)
}

/// Where an action pushes, in ±1 along each axis.
fn push_of(action: Actions<'_>) -> Point {
    match action {
        Actions::Discrete([1]) => [-1.0, 0.0],
        Actions::Discrete([2]) => [1.0, 0.0],
        Actions::Discrete([3]) => [0.0, -1.0],
        Actions::Discrete([4]) => [0.0, 1.0],
        Actions::Continuous(&[_, left, right, down, up]) => {
            let [left, right, down, up] =
                [left, right, down, up].map(|share| share.clamp(0.0, 1.0));
            [right - left, up - down].map(f64::from)
        }
        _ => [0.0; 2],
    }
}

impl MultiAgentEnv for SimpleSpread {
    fn agents(&self) -> &[Agent] {
        &self.agents
    }

    fn takes_part(&self) -> &[bool] {
        &self.takes_part
    }

    fn reset(&mut self, seed: Option<u64>, obs: &mut [Vec<u8>]) {
        if let Some(seed) = seed {
            self.random = Random::new(seed);
        }
        let mut points = || -> Vec<Point> {
            let point = |_| [0, 1].map(|_| self.random.uniform(-1.0, 1.0));
            (0..self.agents.len()).map(point).collect()
        };
        let (places, landmarks) = (points(), points());
        self.start_at(&places, &landmarks);
        for (agent, obs) in obs.iter_mut().enumerate() {
            self.observe(agent, obs);
        }
    }

    fn step(
        &mut self,
        actions: &[Option<Actions<'_>>],
        obs: &mut [Vec<u8>],
    ) -> Vec<Option<Transition>> {
        if !self.takes_part.contains(&true) {
            return vec![None; self.agents.len()];
        }
        let pushes = actions
            .iter()
            .map(|action| action.map_or([0.0; 2], push_of));
        self.push(&pushes.collect::<Vec<_>>());
        self.num_steps += 1;
        let truncated = self.num_steps >= MAX_STEPS;
        self.takes_part.fill(!truncated);
        let shared = self.shared_reward() * (1.0 - LOCAL_RATIO);
        let transition = |(agent, obs): (usize, &mut Vec<u8>)| {
            self.observe(agent, obs);
            let own = -(self.num_collisions(agent) as f64) * LOCAL_RATIO;
            Some(Transition {
                reward: (shared + own) as f32,
                terminated: false,
                truncated,
            })
        };
        obs.iter_mut().enumerate().map(transition).collect()
    }

    fn render_fps(&self) -> f64 {
        1.0 / TIME_STEP
    }

    /// Agents in colour, landmarks in gray.
    fn render(&self) -> Option<Picture> {
        let mut picture = Picture::new(400, 400, [255; 3]);
        let at = |point: &Point| [200.0 + 140.0 * point[0], 200.0 - 140.0 * point[1]];
        for place in &self.places {
            picture.disc(at(place), 140.0 * RADIUS, [89, 89, 217]);
        }
        for landmark in &self.landmarks {
            picture.disc(at(landmark), 7.0, [64; 3]);
        }
        Some(picture)
    }

    fn save_state(&self) -> Option<Vec<u8>> {
        let points = self
            .places
            .iter()
            .chain(&self.speeds)
            .chain(&self.landmarks);
        let head = [
            u64::from(self.num_steps),
            self.random.state(),
            u64::from(self.takes_part.contains(&true)),
        ];
        let points = points.flatten().map(|number| number.to_bits());
        Some(words_to_bytes(
            &head.into_iter().chain(points).collect::<Vec<_>>(),
        ))
    }

    fn restore_state(&mut self, state: &[u8], obs: &mut [Vec<u8>]) -> bool {
        let count = self.agents.len();
        let Some((head, points)) = state.split_at_checked(24) else {
            return false;
        };
        let Some([num_steps, random, takes_part]) = bytes_to_words(head) else {
            return false;
        };
        let (words, rest) = points.as_chunks();
        let numbers = words
            .iter()
            .map(|word| f64::from_bits(u64::from_le_bytes(*word)));
        let numbers: Vec<f64> = numbers.collect();
        let (points, _) = numbers.as_chunks::<2>();
        if numbers.len() != 6 * count || !rest.is_empty() || num_steps > u64::from(MAX_STEPS) {
            return false;
        }
        self.start_at(&points[..count], &points[2 * count..]);
        self.speeds.copy_from_slice(&points[count..2 * count]);
        (self.num_steps, self.random) = (num_steps as u32, Random::new(random));
        self.takes_part.fill(takes_part == 1);
        for (agent, obs) in obs.iter_mut().enumerate() {
            self.observe(agent, obs);
        }
        true
    }
}
