//! `torch.distributed` through the Python of this process: what several processes of one training say to
//! one another.
//!
//! A tensor crosses without a copy: Python's is a view of the same memory, as a buffer on the CPU and by
//! `__cuda_array_interface__` on a GPU. torch lets the GIL go while it waits for the others.

use std::{ffi::c_char, time::Duration};

use pyo3::{
    exceptions::PyTypeError,
    ffi, intern,
    prelude::*,
    types::{PyDict, PyList, PyTuple},
};
use tch::{Device, Kind, Tensor};

use crate::{
    error::{CallError, env_error},
    interpreter,
};
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
        interpreter::start()?;
        attached(|py| {
            // Brings the signals' handlers in order before anything else imports `signal`.
            interpreter::atari_wrappers(py)?;
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
                let backend = if with_cuda {
                    "cpu:gloo,cuda:nccl"
                } else {
                    "gloo"
                };
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
            self.distributed
                .bind(py)
                .call_method1("all_reduce", (view,))?;
            Ok(())
        })
    }

    /// The bytes of every rank, at every rank.
    ///
    /// # Errors
    /// As [`ProcessGroup::all_reduce`].
    pub fn all_gather(&self, bytes: &[u8]) -> Result<Vec<Vec<u8>>, EnvError> {
        self.collect(bytes, "all_gather", true)
    }

    /// The bytes of every rank, at rank 0; nothing elsewhere.
    ///
    /// # Errors
    /// As [`ProcessGroup::all_reduce`].
    pub fn gather(&self, bytes: &[u8], rank: usize) -> Result<Vec<Vec<u8>>, EnvError> {
        self.collect(bytes, "gather", rank == 0)
    }

    /// Ranks hand over equally many bytes each, so that they first tell one another how many they have.
    fn collect(
        &self,
        bytes: &[u8],
        method: &str,
        receives: bool,
    ) -> Result<Vec<Vec<u8>>, EnvError> {
        let mut lengths = vec![0_u8; 8 * self.num_ranks];
        let length = bytes.len() as u64;
        self.exchange(&length.to_ne_bytes(), "all_gather", Some(&mut lengths))?;
        let (lengths, _) = lengths.as_chunks();
        let lengths = lengths.iter().map(|bytes| u64::from_ne_bytes(*bytes));
        let lengths: Vec<usize> = lengths.map(|length| length as usize).collect();
        let longest = lengths.iter().copied().max().unwrap_or(0);
        if longest == 0 {
            let count = if receives { lengths.len() } else { 0 };
            return Ok(vec![Vec::new(); count]);
        }
        let mut padded = bytes.to_vec();
        padded.resize(longest, 0);
        let mut all = vec![
            0;
            if receives {
                longest * self.num_ranks
            } else {
                0
            }
        ];
        self.exchange(&padded, method, receives.then_some(all.as_mut_slice()))?;
        let parts = all.chunks_exact(longest).zip(lengths);
        Ok(parts
            .map(|(part, length)| part[..length].to_vec())
            .collect())
    }

    /// One exchange of equally many bytes; `all`, where it is given, has room for those of all ranks.
    fn exchange(&self, bytes: &[u8], method: &str, all: Option<&mut [u8]>) -> Result<(), EnvError> {
        attached(|py| {
            let own = Tensor::from_slice(bytes);
            let own = self.view(py, &own)?;
            let mut received = all.map(|all| (Tensor::from_slice(all), all));
            let parts = match &mut received {
                None => None,
                Some((room, _)) => {
                    let room = self.view(py, room)?;
                    let parts = room.call_method1("chunk", (self.num_ranks,))?;
                    Some(PyList::new(
                        py,
                        parts.cast_into::<PyTuple>().map_err(PyErr::from)?,
                    )?)
                }
            };
            let distributed = self.distributed.bind(py);
            if method == "gather" {
                distributed.call_method1(method, (own, parts, 0))?;
            } else {
                distributed.call_method1(method, (parts, own))?;
            }
            if let Some((room, all)) = received {
                let numel = all.len();
                room.copy_data(all, numel);
            }
            Ok(())
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
        let (name, code) = match tensor.kind() {
            Kind::Float => ("float32", "<f4"),
            Kind::Double => ("float64", "<f8"),
            Kind::Uint8 => ("uint8", "|u1"),
            kind => {
                let problem = format!("tensors of type {kind:?} are not shared");
                return Err(PyTypeError::new_err(problem));
            }
        };
        let torch = self.torch.bind(py);
        match tensor.device() {
            Device::Cpu => {
                let numel = tensor.numel();
                let length = numel * tensor.kind().elt_size_in_bytes();
                #[expect(unsafe_code, reason = "a view of a tensor's memory")]
                // SAFETY: the memory is a contiguous tensor's of so many bytes, which lives as long as the
                // caller's borrow; the views made of this one are dropped before that ends.
                let memory = unsafe {
                    let start = tensor.data_ptr().cast::<c_char>();
                    let view = ffi::PyMemoryView_FromMemory(
                        start,
                        length as ffi::Py_ssize_t,
                        ffi::PyBUF_WRITE,
                    );
                    Bound::from_owned_ptr_or_err(py, view)?
                };
                let options = PyDict::new(py);
                options.set_item("dtype", torch.getattr(name)?)?;
                torch.call_method("frombuffer", (memory,), Some(&options))
            }
            device => {
                let interface = PyDict::new(py);
                interface.set_item("shape", (tensor.numel(),))?;
                interface.set_item("typestr", code)?;
                interface.set_item("data", (tensor.data_ptr() as usize, false))?;
                interface.set_item("version", 3)?;
                let holder = PyDict::new(py);
                holder.set_item("__cuda_array_interface__", interface)?;
                let namespace = py
                    .import("types")?
                    .getattr(intern!(py, "SimpleNamespace"))?;
                let options = PyDict::new(py);
                let index = match device {
                    Device::Cuda(index) => index,
                    _ => 0,
                };
                options.set_item("device", format!("cuda:{index}"))?;
                let holder = namespace.call((), Some(&holder))?;
                torch.call_method("as_tensor", (holder,), Some(&options))
            }
        }
    }
}

/// Calls Python; its exceptions are what this crate makes of them.
fn attached<T>(call: impl FnOnce(Python<'_>) -> Result<T, CallError>) -> Result<T, EnvError> {
    Python::attach(|py| {
        call(py).map_err(|error| match error {
            // An exception of torch's is no timeout of an environment's, whatever its class.
            CallError::Python(error) => match env_error(&error) {
                EnvError::Timeout => crate::error::setup_error(error.to_string()),
                other => other,
            },
            CallError::Env(error) => error,
        })
    })
}
