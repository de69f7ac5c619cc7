//! The ring of rows that a rollout writes to.

use vec_env::Dtype;

use super::*;

#[test]
fn the_observations_behind_the_last_step_are_the_next_rollouts_first() {
    let spec = ObsSpec {
        shape: vec![1],
        dtype: Dtype::Float32,
    };
    let mut rollout = Rollout::new(&spec, 3, (2, 1), Memory::default(), Device::Cpu).unwrap();
    let mut count = 0_f32;
    // Environment 0 counts up from 1 at the reset, environment 1 shows the negative.
    let mut write = |rollout: &mut Rollout| {
        count += 1.0;
        let bytes = [count.to_ne_bytes(), (-count).to_ne_bytes()].concat();
        rollout.next_obs().copy_from_slice(&bytes);
    };
    let floats = |tensor: Tensor| Vec::<f32>::try_from(tensor.flatten(0, -1)).unwrap();
    write(&mut rollout);
    for first in [1.0_f32, 4.0, 7.0] {
        for step in 0..3 {
            let seen = first + step as f32;
            assert_eq!(floats(rollout.newest_obs()), [seen, -seen]);
            rollout.add_choice(Choice {
                actions: ActionBatch::Continuous(vec![seen, 0.0, -seen, 1.0]),
                log_probs: vec![seen, -seen],
                values: vec![0.0; 2],
            });
            write(&mut rollout);
            assert!(!rollout.is_full());
            rollout.add_step(&[0.0; 2], [false; 2]);
        }
        assert!(rollout.is_full());
        let all: Vec<i64> = (0..6).rev().collect();
        let obs = floats(rollout.batch(&all).obs.tensor());
        let last = first + 2.0;
        assert_eq!(obs[..2], [-last, last]);
        assert_eq!(obs[4..], [-first, first]);
        let samples = rollout.samples(&[0.0; 6]);
        let samples = samples.select(&all);
        assert_eq!(floats(samples.actions.select(1, 0)), obs);
        assert_eq!(floats(samples.log_probs), obs);
        rollout.restart(Memory::default());
    }
}
