//! `torch.distributed` through the Python of this process: what several processes of one training say to
//! one another.
//!
//! A tensor crosses without a copy: Python's is a view of the same memory, by `__array_interface__` on the CPU and
//! `__cuda_array_interface__` on a GPU. torch lets the GIL go while it waits for the others.

use std::time::Duration;

use pyo3::{
    exceptions::PyTypeError,
    prelude::*,
    types::{IntoPyDict, PyBytes, PyDict, PyList},
};
use tch::{Device, Kind, Tensor};

use crate::{error::CallError, interpreter};
use vec_env::EnvError;

/// The process group of this process, joined by [`ProcessGroup::join`].
#[derive(Debug)]
pub struct ProcessGroup {
    torch: Py<PyModule>,
    distributed: Py<PyModule>,
    store: Py<PyAny>,
    num_ranks: usize,
}

impl ProcessGroup {
    /// Imports what [`ProcessGroup::join`] needs: seconds, in which nobody is waited for.
    ///
    /// # Errors
    /// [`EnvError::Backend`]: Python's exception.
    pub fn load() -> Result<(), EnvError> {
        interpreter::start()?;
        attached(|py| {
            // Brings the signals' handlers in order before anything else imports `signal`.
            interpreter::atari_wrappers(py)?;
            py.import("torch.distributed")?;
            Ok(())
        })
    }

    /// Joins the group that `RANK`, `WORLD_SIZE`, `MASTER_ADDR` and `MASTER_PORT` name, as `torchrun` sets
    /// them; returns when all have come. Gloo carries what lies on the CPU, NCCL what lies on GPUs, which
    /// takes `with_cuda`. A call that waits longer than `timeout` for the others fails.
    ///
    /// `attempt` tells starts apart that share a store: torchrun keeps one over its restarts, and what was
    /// written there by processes that are gone would be taken for the others' addresses.
    ///
    /// A group that this process is in already, such as that of a worker of Ray Train's, is used as it is.
    ///
    /// # Errors
    /// [`EnvError::Backend`]: Python's exception, for a port in use, or others that do not come in time.
    pub fn join(
        num_ranks: usize,
        attempt: u64,
        timeout: Duration,
        with_cuda: bool,
    ) -> Result<Self, EnvError> {
        Self::load()?;
        attached(|py| {
            let torch = py.import("torch")?;
            let distributed = py.import("torch.distributed")?;
            let is_member = distributed.call_method0("is_initialized")?.is_truthy()?;
            let store = if is_member {
                let inner = py.import("torch.distributed.distributed_c10d")?;
                inner.call_method0("_get_default_store")?
            } else {
                let options = PyDict::new(py);
                let timeout = py
                    .import("datetime")?
                    .call_method1("timedelta", (0, timeout.as_secs_f64()))?;
                options.set_item("timeout", &timeout)?;
                let found = distributed.call_method("rendezvous", ("env://",), Some(&options))?;
                let found = found.call_method0("__iter__")?.call_method0("__next__")?;
                let (store, rank, world_size): (Bound<'_, PyAny>, usize, usize) =
                    found.extract()?;
                let prefix = format!("attempt {attempt}");
                let store = distributed.call_method1("PrefixStore", (prefix, store))?;
                options.set_item("store", &store)?;
                options.set_item("rank", rank)?;
                options.set_item("world_size", world_size)?;
                let backends = ["gloo", "cpu:gloo,cuda:nccl"];
                let backend = backends[usize::from(with_cuda)];
                distributed.call_method("init_process_group", (backend,), Some(&options))?;
                store
            };
            Ok(Self {
                torch: torch.unbind(),
                distributed: distributed.unbind(),
                store: store.unbind(),
                num_ranks,
            })
        })
    }

    /// Adds up a tensor over all ranks, number by number, in its place. It must be contiguous.
    ///
    /// # Errors
    /// [`EnvError::Backend`] where another rank has gone, or does not come in time.
    pub fn all_reduce(&self, tensor: &mut Tensor) -> Result<(), EnvError> {
        attached(|py| {
            let view = self.view(py, tensor)?;
            let distributed = self.distributed.bind(py);
            distributed.call_method1("all_reduce", (view,))?;
            Ok(())
        })
    }

    /// The bytes of every rank, at every rank.
    ///
    /// # Errors
    /// As [`ProcessGroup::all_reduce`].
    pub fn all_gather(&self, bytes: &[u8]) -> Result<Vec<Vec<u8>>, EnvError> {
        attached(|py| {
            let all = PyList::new(py, vec![None::<bool>; self.num_ranks])?;
            let distributed = self.distributed.bind(py);
            distributed.call_method1("all_gather_object", (&all, PyBytes::new(py, bytes)))?;
            Ok(all.extract()?)
        })
    }

    /// The bytes of every rank, at rank 0; nothing elsewhere.
    ///
    /// # Errors
    /// As [`ProcessGroup::all_reduce`].
    pub fn gather(&self, bytes: &[u8], rank: usize) -> Result<Vec<Vec<u8>>, EnvError> {
        attached(|py| {
            let room = || PyList::new(py, vec![None::<bool>; self.num_ranks]);
            let all = (rank == 0).then(room).transpose()?;
            let distributed = self.distributed.bind(py);
            distributed.call_method1("gather_object", (PyBytes::new(py, bytes), &all))?;
            Ok(all.map_or(Ok(Vec::new()), |all| all.extract())?)
        })
    }

    /// Whether nobody has taken this `name` before: of all ranks one is told so.
    ///
    /// # Errors
    /// [`EnvError::Backend`] where the process that keeps the names has gone.
    pub fn is_first_to(&self, name: &str) -> Result<bool, EnvError> {
        attached(|py| {
            let times = self.store.bind(py).call_method1("add", (name, 1))?;
            Ok(times.extract::<i64>()? == 1)
        })
    }

    /// Whether anybody has taken this `name`.
    ///
    /// # Errors
    /// As [`ProcessGroup::is_first_to`].
    pub fn is_taken(&self, name: &str) -> Result<bool, EnvError> {
        attached(|py| {
            let store = self.store.bind(py);
            let is_there = store.call_method1("check", (PyList::new(py, [name])?,))?;
            Ok(is_there.is_truthy()?)
        })
    }

    /// Leaves the group; nobody waits for this rank any more.
    ///
    /// # Errors
    /// [`EnvError::Backend`]: Python's exception.
    pub fn leave(&self) -> Result<(), EnvError> {
        attached(|py| {
            let distributed = self.distributed.bind(py);
            distributed.call_method0("destroy_process_group")?;
            Ok(())
        })
    }

    /// Python's tensor of the same memory; it must not outlive `tensor`.
    fn view<'py>(&self, py: Python<'py>, tensor: &Tensor) -> PyResult<Bound<'py, PyAny>> {
        if !tensor.is_contiguous() {
            return Err(PyTypeError::new_err("a tensor that is not contiguous"));
        }
        let code = match tensor.kind() {
            Kind::Float => "<f4",
            Kind::Double => "<f8",
            Kind::Uint8 => "|u1",
            kind => {
                let problem = format!("tensors of type {kind:?} are not shared");
                return Err(PyTypeError::new_err(problem));
            }
        };
        let interface = PyDict::new(py);
        interface.set_item("shape", (tensor.numel(),))?;
        interface.set_item("typestr", code)?;
        interface.set_item("data", (tensor.data_ptr() as usize, false))?;
        interface.set_item("version", 3)?;
        let holder = |name: &str| {
            let namespace = py.import("types")?.getattr("SimpleNamespace")?;
            namespace.call((), Some(&[(name, interface)].into_py_dict(py)?))
        };
        let (memory, device) = if let Device::Cuda(index) = tensor.device() {
            (holder("__cuda_array_interface__")?, format!("cuda:{index}"))
        } else {
            let array = (holder("__array_interface__")?,);
            let array = py.import("numpy")?.call_method1("asarray", array)?;
            (array, "cpu".to_owned())
        };
        let options = [("device", device)].into_py_dict(py)?;
        let torch = self.torch.bind(py);
        torch.call_method("as_tensor", (memory,), Some(&options))
    }
}

/// Calls Python; its exceptions are what this crate makes of them.
fn attached<T>(call: impl FnOnce(Python<'_>) -> Result<T, CallError>) -> Result<T, EnvError> {
    Ok(Python::attach(call)?)
}
