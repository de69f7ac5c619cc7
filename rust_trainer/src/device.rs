//! Where the network runs, and with how many threads.

use std::{num::NonZero, thread, time::Duration};

use tch::{Cuda, Device};

use crate::{
    cuda,
    error::TrainerError,
    processor, ranks,
    settings::{Algorithm, DeviceChoice, MachineSettings, Precision},
};

/// The device that a choice means on this machine.
pub(crate) fn select(choice: DeviceChoice) -> Result<Device, TrainerError> {
    match choice {
        // Each rank on a machine has a GPU of its own.
        DeviceChoice::Auto if Cuda::is_available() => {
            select(DeviceChoice::Cuda(ranks::launch::rank_here()))
        }
        DeviceChoice::Auto | DeviceChoice::Cpu => Ok(Device::Cpu),
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

/// The device that the settings mean, ready for training.
pub(crate) fn prepare(
    settings: &MachineSettings,
    algorithm: Algorithm,
) -> Result<Device, TrainerError> {
    let device = select(settings.device)?;
    check_precision(settings.precision, device)?;
    apply_precision(settings.precision, device)?;
    if settings.cuda_graphs && algorithm.learns_from_rollouts() {
        cuda::enter_stream(device)?;
    }
    Ok(device)
}

/// Refuses a number format that `device` does not have.
pub(crate) fn check_precision(choice: Precision, device: Device) -> Result<(), TrainerError> {
    if choice != Precision::Tf32 || device.is_cuda() {
        return Ok(());
    }
    let problem = format!("needs a CUDA device, and the device is {}", name(device));
    Err(TrainerError::setting("precision", choice, problem))
}

/// Lets all products of this process on a CUDA device round their factors where the choice means tf32, and none elsewhere;
/// by itself libtorch has convolutions do so and the rest not.
pub(crate) fn apply_precision(choice: Precision, device: Device) -> Result<(), TrainerError> {
    if device.is_cuda() {
        cuda::allow_tf32(precision(choice, device) == Precision::Tf32)?;
    }
    Ok(())
}

/// The number format that a choice means on `device`: for `auto`, tf32 on a CUDA device, bf16 on a processor that is faster
/// in it, and fp32 elsewhere.
pub(crate) fn precision(choice: Precision, device: Device) -> Precision {
    match choice {
        Precision::Auto if device == Device::Cpu && processor::is_faster_in_bf16() => {
            Precision::Bf16
        }
        Precision::Auto if device.is_cuda() => Precision::Tf32,
        Precision::Auto => Precision::Fp32,
        chosen => chosen,
    }
}

/// CPU time that all threads of this process have taken so far; zero where the system does not tell.
#[must_use]
pub fn cpu_time() -> Duration {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    #[expect(unsafe_code, reason = "std has no clock of CPU time")]
    // SAFETY: `time` is a valid place for what the clock says.
    let status = unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &raw mut time) };
    if status != 0 {
        return Duration::ZERO;
    }
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// Lets libtorch compute each operation with one thread: batches are divided among threads of ours
/// ([`parallel`](crate::parallel)).
pub fn limit_torch_to_one_thread() {
    tch::set_num_threads(1);
}

/// Cores that this process may use; ranks on one machine share its cores.
pub(crate) fn available_cores() -> i64 {
    let cores = thread::available_parallelism().map_or(1, NonZero::get);
    (cores / ranks::launch::ranks_here()).max(1) as i64
}

/// How many threads of ours the setting `torch_threads` means on this machine.
pub(crate) fn num_threads(threads: i32) -> i32 {
    if threads == 0 {
        available_cores() as i32
    } else {
        threads
    }
}

/// A device's name as settings spell it.
pub(crate) fn name(device: Device) -> String {
    match device {
        Device::Cuda(index) => format!("cuda:{index}"),
        other => format!("{other:?}").to_lowercase(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tf32_needs_a_cuda_device() {
        let settings = MachineSettings {
            device: DeviceChoice::Cpu,
            precision: Precision::Tf32,
            ..MachineSettings::default()
        };
        let message = prepare(&settings, Algorithm::Ppo).unwrap_err().to_string();
        assert!(
            message.contains("`precision` = tf32 needs a CUDA device"),
            "{message}"
        );
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn auto_is_bf16_where_the_processor_is_faster_in_it() {
        let facts = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        let words: Vec<&str> = facts.split_whitespace().collect();
        let has = |name| words.contains(&name);
        let names = ["ATEN_CPU_CAPABILITY", "ONEDNN_MAX_CPU_ISA"];
        let is_held_back = names.iter().any(|name| std::env::var_os(name).is_some());
        let is_fast = has("avx512_bf16") && (has("amx_bf16") || has("AuthenticAMD"));
        let expected = if has("bf16") || is_fast && !is_held_back {
            Precision::Bf16
        } else {
            Precision::Fp32
        };
        assert_eq!(precision(Precision::Auto, Device::Cpu), expected);
        assert_eq!(
            precision(Precision::Auto, Device::Cuda(0)),
            Precision::Tf32,
            "what the processor has says nothing of a GPU"
        );
        assert_eq!(precision(Precision::Bf16, Device::Cpu), Precision::Bf16);
    }
}
