//! The module that `extension_module!` makes, imported by an embedded Python.
#![allow(clippy::unwrap_used, missing_docs)]

use std::{ffi::OsString, sync::mpsc, thread, time::Duration};

use python_shim::{
    Hear, interpreter,
    pyo3::{self, prelude::*, types::PyDict},
};

/// Fails for an empty list; else counts, in a thread that can enter Python only without the GIL here.
fn run(argv: Vec<OsString>) -> i32 {
    if argv.is_empty() {
        return 2;
    }
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        sender.send(Python::attach(|py| {
            argv.into_pyobject(py).unwrap().len().unwrap()
        }))
    });
    // Long enough for any machine; with the GIL held here the count would never come.
    receiver
        .recv_timeout(Duration::from_secs(20))
        .map_or(-1, |count| count as i32)
}

/// The same for who hears of it; 130 where a stop is asked for.
fn run_heard(argv: Vec<OsString>, mut hear: Hear) -> i32 {
    let goes_on = hear("begins") && hear("ends");
    if goes_on { run(argv) } else { 130 }
}

python_shim::extension_module!(trainer_module, crate::run, crate::run_heard);

#[test]
fn main_takes_arguments_and_returns_the_exit_code() {
    pyo3::append_to_inittab!(trainer_module);
    interpreter::start().unwrap();
    Python::attach(|py| {
        let main = py
            .import("trainer_module")
            .unwrap()
            .getattr("main")
            .unwrap();
        let code = |argv: Vec<&str>| main.call1((argv,)).unwrap().extract::<i32>().unwrap();
        assert_eq!(code(vec![]), 2);
        assert_eq!(code(vec!["train", "--env", "CartPole-v1"]), 3);
        assert!(main.call1((3,)).is_err(), "no list");
        events_reach_a_callable(py, &main.getattr("__self__").unwrap());
    });
}

/// With the GIL free otherwise; it may ask for a stop, and what it raises is raised again.
fn events_reach_a_callable(py: Python<'_>, module: &Bound<'_, PyAny>) {
    let locals = PyDict::new(py);
    locals
        .set_item("run", module.getattr("run").unwrap())
        .unwrap();
    let code = c"
heard = []
assert run(['train'], lambda event: heard.append(event) is None) == 1
assert heard == ['begins', 'ends'], heard
assert run(['train'], lambda event: event != 'begins') == 130
def fail(event):
    raise LookupError(event)
try:
    run(['train'], fail)
except LookupError as error:
    assert str(error) == 'begins'
else:
    raise AssertionError
";
    py.run(code, Some(&locals), None).unwrap();
}
