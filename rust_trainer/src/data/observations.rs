//! The store of observations: rows that environments write to, and copies of them to learn from.
//!
//! A row holds one observation of each environment, as they made it (uint8 for images). Rows are lent out
//! to be written to, and what is handed out to be read is a copy, but for [`Observed`]: what gradients are
//! computed from at once.
//!
//! Images are written channels first and turned to channels last, which convolutions want, once, when
//! their row is read for the first time; PPO reads each observation five times.

mod device;
mod host;

use std::ops::Range;

use tch::{Device, Tensor};
use vec_env::{ObsSlot, ObsSpec};

use self::{device::DeviceRows, host::HostRows};
use crate::{
    error::TrainerError,
    nn::Observed,
    tensors::{copy, obs_kind, obs_shape},
};

/// `num_rows` rows of `num_envs` observations each. Who lends or reads a row that is lent, or not there, panics.
#[derive(Debug)]
pub(crate) struct Observations {
    rows: Rows,
    num_envs: usize,
    /// Channels, height and width of images.
    image: Option<[i64; 3]>,
}

#[derive(Debug)]
enum Rows {
    OnHost {
        rows: HostRows,
        /// Which are as they were written, not yet turned.
        is_raw: Vec<bool>,
    },
    OnDevice(DeviceRows),
}

/// Rows that the host has room for of those on a device, where so many are lent at once.
pub(crate) fn rows_on_host(at_once: usize) -> usize {
    2 * at_once + 2
}

impl Observations {
    /// Rows of zeros, of which up to `at_once` are lent at once.
    pub fn new(
        spec: &ObsSpec,
        (num_rows, num_envs): (usize, usize),
        at_once: usize,
        device: Device,
    ) -> Result<Self, TrainerError> {
        let shape = obs_shape(&[num_rows, num_envs], spec);
        let rows = if device == Device::Cpu {
            Rows::OnHost {
                rows: HostRows::new(&shape, obs_kind(spec), device)?,
                is_raw: vec![false; num_rows],
            }
        } else {
            let rows = DeviceRows::new(&shape, at_once, image(spec), obs_kind(spec), device)?;
            Rows::OnDevice(rows)
        };
        Ok(Self {
            rows,
            num_envs,
            image: image(spec),
        })
    }

    /// Sends rows to a CUDA device on a stream of their own from now on; nothing on the CPU.
    pub fn stream(&mut self) -> Result<(), TrainerError> {
        match &mut self.rows {
            Rows::OnHost { .. } => Ok(()),
            Rows::OnDevice(rows) => Ok(rows.stream()?),
        }
    }

    /// Lends a row to be written to, until the slot is dropped; images are written whole.
    pub fn lend(&mut self, row: usize) -> ObsSlot {
        self.lend_rows(row..row + 1)
    }

    /// Lends several rows, one after another in memory.
    pub fn lend_rows(&mut self, lent: Range<usize>) -> ObsSlot {
        match &mut self.rows {
            Rows::OnHost { rows, is_raw } => {
                is_raw[lent.clone()].fill(true);
                rows.lend(lent)
            }
            Rows::OnDevice(rows) => rows.lend(lent),
        }
    }

    /// A copy of a row where the network runs, `[num_envs, ...]`.
    pub fn row(&mut self, row: usize) -> Tensor {
        self.make_readable(row);
        let copy = match &mut self.rows {
            Rows::OnHost { rows, .. } => copy(&rows.view(row)),
            Rows::OnDevice(rows) => rows.row(row),
        };
        self.in_order(copy)
    }

    /// A copy of a row on the host, `[num_envs, ...]`.
    pub fn host_row(&self, row: usize) -> Tensor {
        match &self.rows {
            Rows::OnHost { rows, is_raw } => {
                let written = copy(&rows.view(row));
                if is_raw[row] {
                    return written;
                }
                self.in_order(written).contiguous()
            }
            Rows::OnDevice(rows) => rows.host_row(row),
        }
    }

    /// Single observations where the network runs, `[samples, ...]`; sample `row · num_envs + env` is that of one
    /// environment in one row. On the CPU they are read where they lie: no row of them may be lent before the graph that
    /// is made of them was gone back through.
    pub fn observed(&mut self, samples: Vec<i64>) -> Observed {
        for sample in &samples {
            self.make_readable(*sample as usize / self.num_envs);
        }
        match &self.rows {
            Rows::OnHost { rows, .. } => {
                let all = rows.views().flatten(0, 1);
                Observed::at(self.in_order(all), samples)
            }
            Rows::OnDevice(_) => {
                let samples = Tensor::from_slice(&samples).to_device(self.device());
                (&self.at(&samples)).into()
            }
        }
    }

    /// Copies of observations as in [`Observations::observed`], of rows that are
    /// [readable](Observations::make_readable), for samples int64 `[samples]` that lie where the network runs: nothing of
    /// it waits for the host.
    pub fn at(&self, samples: &Tensor) -> Tensor {
        let all = match &self.rows {
            Rows::OnHost { rows, .. } => rows.views().flatten(0, 1),
            Rows::OnDevice(rows) => rows.all(),
        };
        self.in_order(all.index_select(0, samples))
    }

    /// Observations in each row.
    pub fn num_envs(&self) -> usize {
        self.num_envs
    }

    /// Where copies are handed out.
    pub fn device(&self) -> Device {
        match &self.rows {
            Rows::OnHost { .. } => Device::Cpu,
            Rows::OnDevice(rows) => rows.device(),
        }
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

    /// Turns the images of a row to channels last and sends them where they are read, if that is not done
    /// yet.
    pub fn make_readable(&mut self, row: usize) {
        let (rows, is_raw) = match &mut self.rows {
            Rows::OnHost { rows, is_raw } => (rows, is_raw),
            Rows::OnDevice(rows) => return rows.send(row),
        };
        rows.check_readable(row);
        if !std::mem::take(&mut is_raw[row]) {
            return;
        }
        let Some([channels, ..]) = self.image else {
            return;
        };
        let bytes = rows.bytes(row);
        let obs_bytes = bytes.len() / self.num_envs;
        let mut planes = vec![0; obs_bytes];
        for image in bytes.chunks_exact_mut(obs_bytes) {
            planes.copy_from_slice(image);
            interleave(&planes, channels as usize, image);
        }
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

/// Channels, height and width of an image.
fn image(spec: &ObsSpec) -> Option<[i64; 3]> {
    match *obs_shape(&[], spec).as_slice() {
        [channels, height, width] if spec.is_image() => Some([channels, height, width]),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
