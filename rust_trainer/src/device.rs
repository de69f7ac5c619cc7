//! Where the network runs, and with how many threads.

use tch::{Cuda, Device};

use crate::{envs::available_cores, error::TrainerError, settings::DeviceChoice};

/// The device that a choice means on this machine.
///
/// # Errors
/// A CUDA device that is not there.
pub fn select(choice: DeviceChoice) -> Result<Device, TrainerError> {
    match choice {
        DeviceChoice::Auto => Ok(Device::cuda_if_available()),
        DeviceChoice::Cpu => Ok(Device::Cpu),
        DeviceChoice::Cuda(index) => {
            let count = if Cuda::is_available() {
                Cuda::device_count()
            } else {
                0
            };
            if (index as i64) < count {
                return Ok(Device::Cuda(index));
            }
            let problem = format!(
                "is not available: libtorch sees {count} CUDA devices (`doctor` tells why)"
            );
            Err(TrainerError::setting("device", choice, problem))
        }
    }
}

/// Gives libtorch `threads` threads, or one for each core if 0; returns how many it uses.
#[must_use = "libtorch may use fewer than asked for"]
pub fn set_torch_threads(threads: i32) -> i32 {
    tch::set_num_threads(num_threads(threads));
    tch::get_num_threads()
}

/// How many that means on this machine.
pub(crate) fn num_threads(threads: i32) -> i32 {
    if threads == 0 {
        available_cores() as i32
    } else {
        threads
    }
}

/// A device's name as settings spell it.
#[must_use]
pub fn name(device: Device) -> String {
    match device {
        Device::Cuda(index) => format!("cuda:{index}"),
        other => format!("{other:?}").to_lowercase(),
    }
}
