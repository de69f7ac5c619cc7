//! [`module!`]: an extension module out of environments.

use std::ffi::CString;

use pyo3::{
    prelude::*,
    types::{PyCFunction, PyList, PyModule},
};

/// The modules in `gymnasium_envs`, each after those that it imports.
const MODULES: [(&str, &str); 7] = [
    ("errors", include_str!("gymnasium_envs/errors.py")),
    ("checks", include_str!("gymnasium_envs/checks.py")),
    ("envs", include_str!("gymnasium_envs/envs.py")),
    ("window", include_str!("gymnasium_envs/window.py")),
    ("single", include_str!("gymnasium_envs/single.py")),
    ("vector", include_str!("gymnasium_envs/vector.py")),
    ("register", include_str!("gymnasium_envs/register.py")),
];

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
#[macro_export]
macro_rules! module {
    ($module:ident: $(
        $(#[$doc:meta])*
        $id:literal => fn $make:ident($($name:ident: $type:ty = $default:expr),* $(,)?) -> $result:ty $body:block
    )+) => {
        #[doc = "Environments written in Rust, registered with Gymnasium."]
        #[::vec_env_python::pyo3::pymodule]
        #[pyo3(crate = "::vec_env_python::pyo3")]
        fn $module(
            module: &$crate::pyo3::Bound<'_, $crate::pyo3::types::PyModule>,
        ) -> $crate::pyo3::PyResult<()> {
            $(
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
                $crate::register(
                    module,
                    $id,
                    &$crate::pyo3::wrap_pyfunction!($make, module)?,
                )?;
            )+
            Ok(())
        }
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
    let py = module.py();
    let name = format!("{}.gymnasium_envs", module.name()?);
    let loaded = py.import("sys")?.getattr("modules")?;
    if !loaded.contains(&name)? {
        let package = PyModule::new(py, &name)?;
        package.setattr("__path__", PyList::empty(py))?;
        loaded.set_item(&name, package)?;
        for (part, code) in MODULES {
            let (code, part) = (CString::new(code)?, format!("{name}.{part}"));
            let file = CString::new(format!("{}.py", part.replace('.', "/")))?;
            PyModule::from_code(py, &code, &file, &CString::new(part)?)?;
        }
    }
    let register = loaded.get_item(format!("{name}.register"))?;
    register.call_method1("register", (module, env_id, make))?;
    Ok(())
}
