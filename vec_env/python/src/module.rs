//! [`module!`]: an extension module out of environments.

use std::ffi::CString;

use pyo3::{
    prelude::*,
    types::{PyCFunction, PyList, PyModule},
};

/// The modules in `gymnasium_envs`, each after those that it imports.
const MODULES: &[(&str, &str)] = &[
    ("errors", include_str!("gymnasium_envs/errors.py")),
    ("checks", include_str!("gymnasium_envs/checks.py")),
    ("envs", include_str!("gymnasium_envs/envs.py")),
    ("window", include_str!("gymnasium_envs/window.py")),
    ("single", include_str!("gymnasium_envs/single.py")),
    ("vector", include_str!("gymnasium_envs/vector.py")),
    ("register", include_str!("gymnasium_envs/register.py")),
];
/// Those that environments of several agents need besides.
const PARALLEL_MODULES: &[(&str, &str)] =
    &[("parallel", include_str!("gymnasium_envs/parallel.py"))];

/// Makes the crate the Python extension module `$module`, which registers environments with Gymnasium, each under its id
/// and with a function that makes one: its arguments, all with defaults, are those of `gymnasium.make`. The crate is a
/// `cdylib`, names this crate `vec_env_python`, and is built by maturin.
///
/// ```ignore
/// vec_env_python::module! {
///     robot_arm:
///     /// What `help` says of it.
///     "RobotArm-v0" => fn robot_arm(max_steps: u32 = 50) -> Result<RobotArm, String> {
///         Ok(RobotArm::new(max_steps))
///     }
/// }
/// ```
///
/// The module has two classes for it, `RobotArm` and `RobotArmVector`, which `gymnasium.make("robot_arm:RobotArm-v0")` and
/// `gymnasium.make_vec` call.
///
/// With the word `parallel` in front, the function makes a [`MultiAgentEnv`](vec_env::MultiAgentEnv):
///
/// ```ignore
///     /// Two arms.
///     parallel "robot_arms_v0" => fn robot_arms(num_arms: usize = 2) -> Result<RobotArms, String> {
///         Ok(RobotArms::new(num_arms))
///     }
/// ```
///
/// That becomes a module in the module, as `PettingZoo` has them: `robot_arm.robot_arms_v0.parallel_env(num_arms=2)`.
#[macro_export]
macro_rules! module {
    ($module:ident: $(
        $(#[$doc:meta])*
        $($kind:ident)? $id:literal => fn $make:ident($($name:ident: $type:ty = $default:expr),* $(,)?) -> $result:ty $body:block
    )+) => {
        #[doc = "Environments written in Rust, registered with Gymnasium."]
        #[::vec_env_python::pyo3::pymodule]
        #[pyo3(crate = "::vec_env_python::pyo3")]
        fn $module(
            module: &$crate::pyo3::Bound<'_, $crate::pyo3::types::PyModule>,
        ) -> $crate::pyo3::PyResult<()> {
            $($crate::registered! {
                module: $(#[$doc])* $($kind)? $id => fn $make($($name: $type = $default),*) -> $result $body
            })+
            Ok(())
        }
    };
}

/// One environment of [`module!`].
#[doc(hidden)]
#[macro_export]
macro_rules! registered {
    ($module:ident: $(#[$doc:meta])* $id:literal => fn $make:ident(
        $($name:ident: $type:ty = $default:expr),*
    ) -> $result:ty $body:block) => {
        $(#[$doc])*
        #[::vec_env_python::pyo3::pyfunction]
        #[pyo3(
            crate = "::vec_env_python::pyo3",
            signature = (*, num_envs, autoreset_mode, num_threads, $($name = $default),*)
        )]
        fn $make(
            num_envs: usize,
            autoreset_mode: &str,
            num_threads: usize,
            $($name: $type),*
        ) -> $crate::pyo3::PyResult<$crate::Batch> {
            let make = || -> $result {
                $(let $name = ::std::clone::Clone::clone(&$name);)*
                $body
            };
            $crate::Batch::new(num_envs, autoreset_mode, num_threads, make)
        }
        $crate::register($module, $id, &$crate::pyo3::wrap_pyfunction!($make, $module)?)?;
    };
    ($module:ident: $(#[$doc:meta])* parallel $id:literal => fn $make:ident(
        $($name:ident: $type:ty = $default:expr),*
    ) -> $result:ty $body:block) => {
        $(#[$doc])*
        #[::vec_env_python::pyo3::pyfunction]
        #[pyo3(crate = "::vec_env_python::pyo3", signature = ($($name = $default),*))]
        fn $make($($name: $type),*) -> $crate::pyo3::PyResult<$crate::Agents> {
            let make = || -> $result { $body };
            $crate::Agents::new(make)
        }
        $crate::register_parallel($module, $id, &$crate::pyo3::wrap_pyfunction!($make, $module)?)?;
    };
}

/// Gives a module the classes of an environment, and registers it with Gymnasium; [`module!`] calls this.
///
/// # Errors
/// An `ImportError` without gymnasium; a `ValueError` for an id that is none.
pub fn register(
    module: &Bound<'_, PyModule>,
    env_id: &str,
    make: &Bound<'_, PyCFunction>,
) -> PyResult<()> {
    let register = load(module, MODULES)?;
    register.call_method1("register", (module, env_id, make))?;
    Ok(())
}

/// Gives a module one of `PettingZoo`'s kind, `name`, for an environment of several agents; [`module!`] calls this.
///
/// # Errors
/// An `ImportError` without gymnasium.
pub fn register_parallel(
    module: &Bound<'_, PyModule>,
    name: &str,
    make: &Bound<'_, PyCFunction>,
) -> PyResult<()> {
    load(module, MODULES)?;
    let parallel = load(module, PARALLEL_MODULES)?;
    parallel.call_method1("register", (module, name, make))?;
    Ok(())
}

/// Loads modules of `gymnasium_envs` under the name of `module`, if they are not there, and returns the last.
fn load<'py>(
    module: &Bound<'py, PyModule>,
    modules: &[(&str, &str)],
) -> PyResult<Bound<'py, PyAny>> {
    let py = module.py();
    let package = format!("{}.gymnasium_envs", module.name()?);
    let loaded = py.import("sys")?.getattr("modules")?;
    if !loaded.contains(&package)? {
        let made = PyModule::new(py, &package)?;
        made.setattr("__path__", PyList::empty(py))?;
        loaded.set_item(&package, made)?;
    }
    let mut last = py.None().into_bound(py);
    for (part, code) in modules {
        let name = format!("{package}.{part}");
        if !loaded.contains(&name)? {
            let code = CString::new(*code)?;
            let file = CString::new(format!("{}.py", name.replace('.', "/")))?;
            PyModule::from_code(py, &code, &file, &CString::new(name.as_str())?)?;
        }
        last = loaded.get_item(name)?;
    }
    Ok(last)
}
