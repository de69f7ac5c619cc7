//! Rows of observations on a device, and the few of the host through which they come over.

use std::ops::Range;

use tch::{Device, Kind, Tensor};
use vec_env::ObsSlot;

use super::{host::HostRows, rows_on_host};
use crate::{
    cuda::{CudaError, Stream, Upload},
    error::TrainerError,
    tensors::copy,
};

/// Rows on a device. What is written to a row lies in pinned host memory until the row is read for the
/// first time; then its bytes travel once, for acting and for learning both, and images are turned to
/// channels last over there. A transfer that fails panics, as tch does where an operation fails.
#[derive(Debug)]
pub(super) struct DeviceRows {
    /// `[num_rows, num_envs, ...]`, images channels last.
    tensor: Tensor,
    image: Option<[i64; 3]>,
    host: HostRows,
    /// For each row of the host what it holds.
    places: Vec<Place>,
    /// The row of the host that is lent next.
    next: usize,
}

/// What a row of the host holds, and how it comes over.
#[derive(Debug)]
struct Place {
    row: Option<usize>,
    is_sent: bool,
    transfer: Transfer,
}

/// To a tensor of one row on the device, `[num_envs, ...]`.
#[derive(Debug)]
enum Transfer {
    /// On a stream of its own.
    Streamed(Upload),
    /// Waiting for it, as libtorch does.
    Waited(Tensor),
}

impl DeviceRows {
    /// Zeros of `shape`, `[num_rows, num_envs, ...]`, of images as the environments make them; up to `at_once`
    /// rows are lent at once, and the host has room for twice as many and two more: they are written while
    /// others travel.
    pub fn new(
        shape: &[i64],
        at_once: usize,
        image: Option<[i64; 3]>,
        kind: Kind,
        device: Device,
    ) -> Result<Self, TrainerError> {
        let num_places = rows_on_host(at_once).min(shape[0] as usize);
        let host_shape = [&[num_places as i64], &shape[1..]].concat();
        let place = || {
            let target = Tensor::f_zeros(&shape[1..], (kind, device))?;
            Ok(Place {
                row: None,
                is_sent: false,
                transfer: Transfer::Waited(target),
            })
        };
        let places: Result<_, TrainerError> = (0..num_places).map(|_| place()).collect();
        let turned = match image {
            Some([channels, height, width]) => [&shape[..2], &[height, width, channels]].concat(),
            None => shape.to_vec(),
        };
        Ok(Self {
            tensor: Tensor::f_zeros(&turned, (kind, device))?,
            image,
            host: HostRows::new(&host_shape, kind, device)?,
            places: places?,
            next: 0,
        })
    }

    /// Sends rows on a stream of their own from now on, where the device is CUDA's.
    pub fn stream(&mut self) -> Result<(), CudaError> {
        let Device::Cuda(index) = self.device() else {
            return Ok(());
        };
        let stream = Stream::new(index)?;
        for place in &mut self.places {
            if let Transfer::Waited(target) = &place.transfer {
                place.transfer = Transfer::Streamed(Upload::new(stream, target.shallow_clone())?);
            }
        }
        Ok(())
    }

    /// Lends memory of the host for `rows`, one after another.
    pub fn lend(&mut self, rows: Range<usize>) -> ObsSlot {
        let lent = self.places_for(&rows);
        for (place, row) in lent.clone().zip(rows) {
            if let Some(held) = self.places[place].row.filter(|held| *held != row) {
                self.send(held);
            }
            if let Transfer::Streamed(upload) = &self.places[place].transfer {
                check(upload.finish());
            }
            if let Some(before) = self.place_of(row) {
                self.places[before].row = None;
            }
            self.places[place].row = Some(row);
            self.places[place].is_sent = false;
        }
        self.next = lent.end % self.places.len();
        self.host.lend(lent)
    }

    /// Where they lie already, one after another, or the next places that do.
    fn places_for(&self, rows: &Range<usize>) -> Range<usize> {
        let at = |start: usize| start..start + rows.len();
        let is_there = |start: &usize| {
            let mut held = at(*start).map(|place| self.places.get(place)?.row);
            rows.clone().all(|row| held.next() == Some(Some(row)))
        };
        if let Some(start) = self.place_of(rows.start).filter(is_there) {
            return at(start);
        }
        match at(self.next) {
            next if next.end <= self.places.len() => next,
            _ => at(0),
        }
    }

    /// A copy of a row, images with their axes channels last.
    pub fn row(&mut self, row: usize) -> Tensor {
        self.send(row);
        copy(&self.tensor.get(row as i64))
    }

    /// A copy of a row on the host, as it was written.
    pub fn host_row(&self, row: usize) -> Tensor {
        if let Some(place) = self.place_of(row) {
            return copy(&self.host.view(place));
        }
        let turned = self.tensor.get(row as i64).to_device(Device::Cpu);
        match self.image {
            Some(_) => turned.permute([0, 3, 1, 2]).contiguous(),
            None => copy(&turned),
        }
    }

    /// All observations, `[num_rows · num_envs, ...]`, images channels last; only what has been sent.
    pub fn all(&self) -> Tensor {
        self.tensor.flatten(0, 1)
    }

    pub fn device(&self) -> Device {
        self.tensor.device()
    }

    fn place_of(&self, row: usize) -> Option<usize> {
        self.places.iter().position(|place| place.row == Some(row))
    }

    /// Sends a row that has not been sent yet, without waiting for it.
    pub fn send(&mut self, row: usize) {
        let Some(index) = self.place_of(row) else {
            return;
        };
        self.host.check_readable(index);
        let place = &mut self.places[index];
        if place.is_sent {
            return;
        }
        place.is_sent = true;
        let source = self.host.view(index);
        let sent = match &mut place.transfer {
            Transfer::Streamed(upload) => upload.begin(&source),
            Transfer::Waited(target) => {
                target.copy_(&source);
                Ok(&*target)
            }
        };
        if let Some(sent) = check(sent) {
            let turned = match self.image {
                Some(_) => sent.permute([0, 2, 3, 1]),
                None => sent.shallow_clone(),
            };
            self.tensor.get(row as i64).copy_(&turned);
        }
    }
}

fn check<T>(transferred: Result<T, CudaError>) -> Option<T> {
    let problem = transferred.as_ref().err();
    assert!(
        problem.is_none(),
        "observations could not be sent to the device: {problem:?}"
    );
    transferred.ok()
}
