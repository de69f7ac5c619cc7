//! What runs in processes of their own, started by the tests of `main.rs`.
#![expect(unsafe_code, reason = "signal dispositions are read and set by libc")]
#![expect(clippy::print_stdout, reason = "the parent reads it")]

use std::{mem::MaybeUninit, process, ptr, thread};

use python_shim::{
    MakeOptions, ParallelEnv, VecGymEnv, interpreter,
    pyo3::{prelude::*, types::PyDict},
    shutdown,
    tracker::Tracker,
};

use super::{PathBuf, fs};
use crate::common::{GAME, Rollout, make};

fn eval(code: &std::ffi::CStr) -> String {
    Python::attach(|py| {
        let globals = PyDict::new(py);
        py.run(c"import sys, multiprocessing", Some(&globals), None)
            .unwrap();
        py.eval(code, Some(&globals), None).unwrap().to_string()
    })
}

fn print_interpreter() {
    println!(
        "\nexecutable={}\nprefix={}",
        eval(c"sys.executable"),
        eval(c"sys.prefix")
    );
}

#[test]
#[ignore = "run by other tests in a process of its own"]
fn start_only() {
    interpreter::start().unwrap();
    print_interpreter();
}

#[test]
#[ignore = "run by other tests in a process of its own"]
fn facts() {
    let env = make(GAME, 1, &MakeOptions::new()).unwrap();
    print_interpreter();
    println!("numpy={}", eval(c"sys.modules['numpy'].__file__"));
    drop(env);
}

#[test]
#[ignore = "run by other tests in a process of its own"]
fn ignored_variables() {
    drop(async_env());
    print_interpreter();
    let facts = python_shim::doctor::facts();
    println!("ignored={}", facts.ignored_variables.join(", "));
    let of_python = |problem: &&String| problem.contains("PYTHON");
    println!(
        "problems={}",
        facts.problems.iter().filter(of_python).count()
    );
}

#[test]
#[ignore = "run by other tests in a process of its own"]
fn make_fails() {
    let error = VecGymEnv::make_vec(GAME, 1, &MakeOptions::new()).unwrap_err();
    println!("\nerror={error}");
    let again = VecGymEnv::make_vec(GAME, 1, &MakeOptions::new()).unwrap_err();
    assert_eq!(
        error.to_string(),
        again.to_string(),
        "the second attempt says the same"
    );
}

/// Showing a `PyErr` needs an interpreter even where bringing it up failed.
#[test]
#[ignore = "run by other tests in a process of its own"]
fn new_fails() {
    println!("\nerror={}", VecGymEnv::new(GAME, None, 1).unwrap_err());
}

extern "C" fn on_sigint(_signal: libc::c_int) {}

fn sigint() -> libc::sighandler_t {
    let mut action = MaybeUninit::<libc::sigaction>::uninit();
    // SAFETY: with a null new action the call only writes the present one.
    unsafe {
        assert_eq!(
            libc::sigaction(libc::SIGINT, ptr::null(), action.as_mut_ptr()),
            0
        );
        action.assume_init().sa_sigaction
    }
}

fn use_python() {
    let mut rollout =
        Rollout::new(make(GAME, 1, &MakeOptions::new().with("backend", "sync")).unwrap());
    rollout.reset(0).unwrap();
    rollout.step(&[0]).unwrap();
    assert_eq!(
        eval(c"'signal' in sys.modules"),
        "True",
        "or nothing is shown"
    );
}

#[test]
#[ignore = "run by other tests in a process of its own"]
fn sigint_default_is_kept() {
    // A test run in the background ignores Ctrl-C, and this process has that from it.
    // SAFETY: the default needs no handler.
    unsafe { libc::signal(libc::SIGINT, libc::SIG_DFL) };
    use_python();
    assert_eq!(sigint(), libc::SIG_DFL);
}

#[test]
#[ignore = "run by other tests in a process of its own"]
fn sigint_handler_is_kept() {
    let handler = on_sigint as extern "C" fn(libc::c_int) as libc::sighandler_t;
    // SAFETY: the handler does nothing.
    unsafe { libc::signal(libc::SIGINT, handler) };
    use_python();
    assert_eq!(sigint(), handler);
}

#[test]
#[ignore = "run by other tests in a process of its own"]
fn sigint_changes_during_an_import() {
    interpreter::start().unwrap();
    let imports = thread::spawn(|| make(GAME, 1, &MakeOptions::new()).map(drop));
    while eval(c"'atari_wrappers' in sys.modules") == "False" {
        assert!(!imports.is_finished());
    }
    let handler = on_sigint as extern "C" fn(libc::c_int) as libc::sighandler_t;
    // SAFETY: the handler does nothing.
    unsafe { libc::signal(libc::SIGINT, handler) };
    assert!(!imports.is_finished(), "or nothing is shown");
    imports.join().unwrap().unwrap();
    assert_eq!(sigint(), handler);
}

/// Of a call that nothing came before.
fn assert_sigint_is_kept(call: impl FnOnce()) {
    // A test run in the background ignores Ctrl-C, and this process has that from it.
    // SAFETY: the default needs no handler.
    unsafe { libc::signal(libc::SIGINT, libc::SIG_DFL) };
    call();
    // This imports `signal`, which takes nothing over if it was imported before.
    assert_eq!(eval(c"'signal' in sys.modules"), "True");
    assert_eq!(sigint(), libc::SIG_DFL);
}

#[test]
#[ignore = "run by other tests in a process of its own"]
fn parallel_env_is_first() {
    assert_sigint_is_kept(|| {
        let error = ParallelEnv::new("no_such_module", 0, false).unwrap_err();
        assert!(error.to_string().contains("`no_such_module`"), "{error}");
    });
}

#[test]
#[ignore = "run by other tests in a process of its own"]
fn tracker_check_is_first() {
    assert_sigint_is_kept(|| {
        let error = Tracker::check("no_such_package").unwrap_err();
        let told = "pip install no_such_package";
        assert!(error.to_string().ends_with(told), "{error}");
    });
}

#[test]
#[ignore = "run by other tests in a process of its own"]
fn tracker_start_is_first() {
    assert_sigint_is_kept(|| {
        let folder = "/nonexistent".as_ref();
        let error = Tracker::start("no_such_kind", "run", folder, None, "{}").unwrap_err();
        assert!(error.to_string().contains("no_such_kind"), "{error}");
    });
}

#[test]
#[ignore = "run by other tests in a process of its own"]
fn ctrl_c_while_workers_run() {
    let mut rollout = async_env();
    let handler = on_sigint as extern "C" fn(libc::c_int) as libc::sighandler_t;
    // SAFETY: the handler does nothing; process group 0 is this process and its workers.
    unsafe {
        libc::signal(libc::SIGINT, handler);
        assert_eq!(libc::kill(0, libc::SIGINT), 0);
    }
    rollout.step(&[1, 0]).unwrap();
}

fn async_env() -> Rollout {
    let options = MakeOptions::new().with("backend", "async");
    let mut rollout = Rollout::new(make("CartPole-v1", 2, &options).unwrap());
    rollout.reset(0).unwrap();
    rollout.step(&[0, 1]).unwrap();
    rollout
}

fn workers() -> Vec<String> {
    let pids = eval(c"','.join(str(p.pid) for p in multiprocessing.active_children())");
    pids.split(',')
        .filter(|pid| !pid.is_empty())
        .map(str::to_owned)
        .collect()
}

#[test]
#[ignore = "run by other tests in a process of its own"]
fn workers_end_with_drop() {
    let mut rollout = async_env();
    let pids = workers();
    assert_eq!(pids.len(), 2);
    let python = PathBuf::from(env!("PYTHON_SHIM_PYTHON"))
        .canonicalize()
        .unwrap();
    for pid in &pids {
        assert_eq!(fs::read_link(format!("/proc/{pid}/exe")).unwrap(), python);
    }
    rollout.send(&[0, 1]).unwrap();
    drop(rollout);
    for pid in &pids {
        assert!(
            !super::is_running(pid),
            "worker {pid} outlives its environment"
        );
    }
}

#[test]
#[ignore = "run by other tests in a process of its own"]
fn shutdown_runs_exit_functions() {
    let rollout = async_env();
    let pids = workers();
    assert_eq!(pids.len(), 2);
    Python::attach(|py| py.run(c"print('written by Python')", None, None)).unwrap();
    shutdown().unwrap();
    assert!(
        pids.iter().all(|pid| !super::is_running(pid)),
        "workers outlive the shutdown"
    );
    drop(rollout);
}

#[test]
#[ignore = "run by other tests in a process of its own"]
fn exit_without_drop() {
    let _rollout = async_env();
    println!("\nworkers={}", workers().join(","));
    process::exit(0);
}

#[test]
#[ignore = "run by other tests in a process of its own"]
fn wait_to_be_killed() {
    let _rollout = async_env();
    println!("\nworkers={}", workers().join(","));
    loop {
        std::thread::park();
    }
}
