//! The store of observations: rows that environments write to, and copies of them to learn from.
//!
//! A row holds one observation of each environment, as they made it (uint8 for images). Rows are lent out
//! to be written to, and what is handed out to be read is a copy: nothing that safe code holds shares
//! memory with a row.
//!
//! Images are written channels first and turned to channels last, which convolutions want, once, when
//! their row is read for the first time; PPO reads each observation five times.

use std::{
    ops::Range,
    ptr::NonNull,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use tch::{Cuda, Device, Kind, Tensor};
use vec_env::{Dtype, ObsSlot, ObsSpec};

use crate::error::TrainerError;

/// `num_rows` rows of `num_envs` observations each.
///
/// On a CUDA device the rows are pinned host memory, and beside them lies a copy on the device, to which
/// each row travels once: for acting and for learning both.
#[derive(Debug)]
pub struct Observations {
    memory: Arc<Memory>,
    on_device: Option<DeviceRows>,
    num_envs: usize,
    /// Channels, height and width of images.
    image: Option<[i64; 3]>,
    /// Which rows are as they were written, not yet turned.
    is_raw: Vec<bool>,
}

/// The host's memory, kept alive by every row that is lent.
#[derive(Debug)]
struct Memory {
    /// `[num_rows, num_envs, ...]`, contiguous, never resized.
    tensor: Tensor,
    start: NonNull<u8>,
    row_bytes: usize,
    lent: Box<[AtomicBool]>,
}

#[expect(
    unsafe_code,
    reason = "rows are written in other threads than the one that reads"
)]
// SAFETY: the tensor and its pointer are used by `Observations` alone, which never reads a row that is
// lent; what is shared with other threads is the flags.
unsafe impl Send for Memory {}
#[expect(
    unsafe_code,
    reason = "rows are written in other threads than the one that reads"
)]
// SAFETY: as above.
unsafe impl Sync for Memory {}

/// Rows that are lent; dropping it gives them back.
struct Lent {
    memory: Arc<Memory>,
    rows: Range<usize>,
}

impl Drop for Lent {
    fn drop(&mut self) {
        for lent in &self.memory.lent[self.rows.clone()] {
            lent.store(false, Ordering::Release);
        }
    }
}

#[derive(Debug)]
struct DeviceRows {
    tensor: Tensor,
    device: Device,
    state: Vec<DeviceRow>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum DeviceRow {
    /// The host's row has been written since it was sent.
    Stale,
    /// Being copied, as far as the host knows.
    OnItsWay,
    There,
}

impl Observations {
    /// Rows of zeros.
    ///
    /// # Errors
    /// Memory that the host or the device does not have.
    pub fn new(
        spec: &ObsSpec,
        num_rows: usize,
        num_envs: usize,
        device: Device,
    ) -> Result<Self, TrainerError> {
        let shape = shape(&[num_rows, num_envs], spec);
        let mut tensor = Tensor::f_zeros(&shape, (kind(spec), Device::Cpu))?;
        let on_device = if device.is_cuda() {
            tensor = tensor.f_pin_memory(device)?;
            Some(DeviceRows {
                tensor: Tensor::f_zeros(&shape, (kind(spec), device))?,
                device,
                state: vec![DeviceRow::Stale; num_rows],
            })
        } else {
            None
        };
        let start = NonNull::new(tensor.data_ptr().cast()).unwrap_or(NonNull::dangling());
        let memory = Memory {
            tensor,
            start,
            row_bytes: spec.num_bytes() * num_envs,
            lent: (0..num_rows).map(|_| AtomicBool::new(false)).collect(),
        };
        let image = match shape[2..] {
            [channels, height, width] if spec.is_image() => Some([channels, height, width]),
            _ => None,
        };
        Ok(Self {
            memory: Arc::new(memory),
            on_device,
            num_envs,
            image,
            is_raw: vec![false; num_rows],
        })
    }

    /// Lends a row to be written to, until the slot is dropped; images are written whole.
    ///
    /// # Panics
    /// If there is no such row, or it is lent already.
    #[must_use]
    pub fn lend(&mut self, row: usize) -> ObsSlot {
        self.lend_rows(row..row + 1)
    }

    /// Lends several rows, one after another in memory.
    ///
    /// # Panics
    /// If one of them is not there, or lent already.
    #[must_use]
    pub fn lend_rows(&mut self, rows: Range<usize>) -> ObsSlot {
        for row in rows.clone() {
            self.begin_lending(row);
        }
        let (memory, first) = (&self.memory, rows.start);
        let numel = rows.len() * memory.row_bytes;
        let owner = Lent {
            memory: Arc::clone(memory),
            rows,
        };
        #[expect(unsafe_code, reason = "tch has no safe view of a tensor's bytes")]
        // SAFETY: the rows lie inside the tensor's memory, for their flags exist; the memory is initialized
        // and lives as long as `owner`; the flags keep every other access away until `owner` is dropped,
        // and no copy to the device is still reading it.
        unsafe {
            let start = memory.start.add(first * memory.row_bytes);
            ObsSlot::from_raw_parts(start, numel, owner)
        }
    }

    fn begin_lending(&mut self, row: usize) {
        let memory = &self.memory;
        let was_lent = memory.lent[row].swap(true, Ordering::Acquire);
        assert!(!was_lent, "row {row} of the observations is lent already");
        self.is_raw[row] = true;
        if let Some(rows) = &mut self.on_device {
            if rows.state[row] == DeviceRow::OnItsWay {
                if let Device::Cuda(index) = rows.device {
                    Cuda::synchronize(index as i64);
                }
                rows.state.iter_mut().for_each(|state| {
                    if *state == DeviceRow::OnItsWay {
                        *state = DeviceRow::There;
                    }
                });
            }
            rows.state[row] = DeviceRow::Stale;
        }
    }

    /// A copy of a row where the network runs, `[num_envs, ...]`.
    ///
    /// # Panics
    /// If there is no such row, or it is lent.
    pub fn row(&mut self, row: usize) -> Tensor {
        self.make_readable(row);
        let host = self.memory.tensor.get(row as i64);
        let copy = match &mut self.on_device {
            None => host.to_device_(Device::Cpu, host.kind(), false, true),
            Some(rows) => rows.send(row, &host),
        };
        self.in_order(copy)
    }

    /// A copy of a row on the host, `[num_envs, ...]`.
    ///
    /// # Panics
    /// If there is no such row, or it is lent.
    pub fn host_row(&self, row: usize) -> Tensor {
        self.check_readable(row);
        let copy = self.memory.tensor.get(row as i64).copy();
        if self.is_raw[row] {
            return copy;
        }
        self.in_order(copy).contiguous()
    }

    /// Copies of single observations where the network runs, `[samples, ...]`; sample
    /// `row · num_envs + env` is that of one environment in one row.
    ///
    /// # Panics
    /// If there is no such row, or it is lent.
    pub fn gather(&mut self, samples: &[i64]) -> Tensor {
        let indices = Tensor::from_slice(samples);
        for sample in samples {
            let row = *sample as usize / self.num_envs;
            self.make_readable(row);
            if let Some(rows) = &mut self.on_device
                && rows.state[row] == DeviceRow::Stale
            {
                let _ = rows.send(row, &self.memory.tensor.get(row as i64));
            }
        }
        let copies = match &self.on_device {
            None => self.memory.tensor.flatten(0, 1).index_select(0, &indices),
            Some(rows) => {
                let indices = indices.to_device(rows.device);
                rows.tensor.flatten(0, 1).index_select(0, &indices)
            }
        };
        self.in_order(copies)
    }

    /// Observations in each row.
    #[must_use]
    pub fn num_envs(&self) -> usize {
        self.num_envs
    }

    /// Where copies are handed out.
    #[must_use]
    pub fn device(&self) -> Device {
        self.on_device
            .as_ref()
            .map_or(Device::Cpu, |rows| rows.device)
    }

    /// Copies of turned observations, `[count, ...]`, with their axes in the environment's order.
    fn in_order(&self, copies: Tensor) -> Tensor {
        match self.image {
            Some([channels, height, width]) => copies
                .view([-1, height, width, channels])
                .permute([0, 3, 1, 2]),
            None => copies,
        }
    }

    /// Turns the images of a row to channels last, if that is not done yet.
    fn make_readable(&mut self, row: usize) {
        self.check_readable(row);
        if !std::mem::take(&mut self.is_raw[row]) {
            return;
        }
        let Some([channels, ..]) = self.image else {
            return;
        };
        let memory = &self.memory;
        #[expect(unsafe_code, reason = "tch has no safe view of a tensor's bytes")]
        // SAFETY: as in `lend`; the row is not lent, nor can it be before this returns, and what was
        // handed out of it are copies.
        let bytes = unsafe {
            let start = memory.start.add(row * memory.row_bytes);
            std::slice::from_raw_parts_mut(start.as_ptr(), memory.row_bytes)
        };
        let obs_bytes = memory.row_bytes / self.num_envs;
        let mut planes = vec![0; obs_bytes];
        for image in bytes.chunks_exact_mut(obs_bytes) {
            planes.copy_from_slice(image);
            interleave(&planes, channels as usize, image);
        }
    }

    fn check_readable(&self, row: usize) {
        let is_lent = self.memory.lent[row].load(Ordering::Acquire);
        assert!(
            !is_lent,
            "row {row} of the observations is lent: it cannot be read before its slot is dropped"
        );
    }
}

impl DeviceRows {
    /// Sends a row that has not been sent yet, without waiting for it; returns a copy of it.
    fn send(&mut self, row: usize, host: &Tensor) -> Tensor {
        let mut target = self.tensor.get(row as i64);
        if self.state[row] != DeviceRow::Stale {
            return target.copy();
        }
        let sent = host.to_device_(self.device, host.kind(), true, true);
        target.copy_(&sent);
        self.state[row] = DeviceRow::OnItsWay;
        sent
    }
}

/// Writes the bytes of `channels` planes, one after another, pixel by pixel.
fn interleave(planes: &[u8], channels: usize, pixels: &mut [u8]) {
    let numel = planes.len() / channels;
    if let [first, second, third, fourth] =
        *planes.chunks_exact(numel).collect::<Vec<_>>().as_slice()
    {
        // The usual stack, apart: so the compiler makes vectors of it.
        let planes = first.iter().zip(second).zip(third.iter().zip(fourth));
        for (pixel, ((a, b), (c, d))) in pixels.chunks_exact_mut(4).zip(planes) {
            pixel.copy_from_slice(&[*a, *b, *c, *d]);
        }
        return;
    }
    for (channel, plane) in planes.chunks_exact(numel).enumerate() {
        for (place, byte) in plane.iter().enumerate() {
            pixels[place * channels + channel] = *byte;
        }
    }
}

/// Observations of several environments, one after another in `bytes`, as a tensor `[count, ...]`.
///
/// # Errors
/// Bytes of another length.
pub fn obs_tensor(bytes: &[u8], count: usize, spec: &ObsSpec) -> Result<Tensor, TrainerError> {
    vec_env::EnvError::check_length(bytes, count * spec.num_bytes())?;
    Ok(Tensor::f_from_data_size(
        bytes,
        &shape(&[count], spec),
        kind(spec),
    )?)
}

pub(super) fn shape(leading: &[usize], spec: &ObsSpec) -> Vec<i64> {
    let lengths = leading.iter().chain(&spec.shape);
    lengths.map(|length| *length as i64).collect()
}

pub(super) fn kind(spec: &ObsSpec) -> Kind {
    match spec.dtype {
        Dtype::Uint8 => Kind::Uint8,
        Dtype::Float32 => Kind::Float,
    }
}

#[cfg(test)]
mod tests;
