//! Other threads run Python code while a step is in flight.
//!
//! A second thread enters Python about once a millisecond and counts. The count is read around
//! `send` and `recv` of a step that takes seconds: with the GIL held meanwhile it would hardly move.
//! An environment that does hold the GIL is the check that the measurement can tell.
#![allow(clippy::unwrap_used, missing_docs)]

mod common;

use std::{
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering::SeqCst},
    },
    thread,
    time::Duration,
};

use common::{Rollout, make, scripted};
use python_shim::{MakeOptions, VecGymEnv, pyo3::prelude::*};
use vec_env::VecEnv;

/// Turns that a thread gets within a fraction of a step, however busy the machine is.
const MANY: u64 = 100;

/// One measurement at a time: all tests of this program share one GIL.
static TURN: Mutex<()> = Mutex::new(());

/// How often another thread entered Python during a step.
fn entries_during_step(env: impl FnOnce() -> VecGymEnv) -> u64 {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let env = env();
    let mut rollout = Rollout::new(env);
    rollout.reset(0).unwrap();
    let (entries, stop) = (AtomicU64::new(0), AtomicBool::new(false));
    thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(SeqCst) {
                Python::attach(|py| py.eval(c"sum(range(10))", None, None).map(drop)).unwrap();
                entries.fetch_add(1, SeqCst);
                thread::sleep(Duration::from_millis(1));
            }
        });
        while entries.load(SeqCst) == 0 {
            thread::yield_now();
        }
        let before = entries.load(SeqCst);
        rollout.send(&vec![0; rollout.env.num_envs()]).unwrap();
        rollout.recv().unwrap();
        let during = entries.load(SeqCst) - before;
        stop.store(true, SeqCst);
        during
    })
}

/// Freeway never ends within one long skip, so that this step emulates all its frames.
#[test]
fn ale_emulates_without_the_gil() {
    let options = MakeOptions::new()
        .with("frame_skip", 6000)
        .with("backend", "ale");
    let entries = entries_during_step(|| make("FreewayNoFrameskip-v4", 8, &options).unwrap());
    assert!(
        entries >= MANY,
        "Python was entered {entries} times during an ALE step"
    );
}

#[test]
fn a_python_env_that_waits_leaves_python_to_others() {
    let entries = entries_during_step(|| scripted("Sleeping", 1).unwrap());
    assert!(
        entries >= MANY,
        "Python was entered {entries} times during a sleep"
    );
}

#[test]
fn worker_processes_emulate_without_the_gil() {
    let options = MakeOptions::new().with("backend", "async");
    let entries = entries_during_step(|| make("scripted_envs:HoldsGil-v0", 1, &options).unwrap());
    assert!(
        entries >= MANY,
        "Python was entered {entries} times during a worker's step"
    );
}

#[test]
fn the_measurement_sees_a_held_gil() {
    let entries = entries_during_step(|| scripted("HoldsGil", 1).unwrap());
    assert!(
        entries < MANY,
        "Python was entered {entries} times although the GIL was held"
    );
}
