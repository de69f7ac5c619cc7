//! Where the network runs, and with how many threads.

use std::{num::NonZero, thread, time::Duration};

use tch::{Cuda, Device};

use crate::{
    cuda,
    error::TrainerError,
    processor, ranks,
    settings::{DeviceChoice, MachineSettings, Precision},
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

/// The device that the settings mean, ready for training: see [`cuda::prepare`].
pub(crate) fn prepare(settings: &MachineSettings) -> Result<Device, TrainerError> {
    let device = select(settings.device)?;
    let is_tf32 = settings.precision == Precision::Tf32;
    if is_tf32 && !device.is_cuda() {
        let problem = format!("needs a CUDA device, and the device is {}", name(device));
        return Err(TrainerError::setting(
            "precision",
            settings.precision,
            problem,
        ));
    }
    cuda::prepare(device, is_tf32, settings.cuda_graphs)?;
    Ok(device)
}

/// The number format that a choice means on `device`: for `auto`, bf16 on a processor that is faster in it, and fp32
/// elsewhere.
pub(crate) fn precision(choice: Precision, device: Device) -> Precision {
    match choice {
        Precision::Auto if device == Device::Cpu && processor::is_faster_in_bf16() => {
            Precision::Bf16
        }
        Precision::Auto => Precision::Fp32,
        chosen => chosen,
    }
}

/// What the settings ask of a CUDA device beyond libtorch's plain way, by name.
fn beyond_plain(settings: &MachineSettings) -> Vec<&'static str> {
    let names = [
        ("cuda_graphs", settings.cuda_graphs),
        ("cuda_streams", settings.cuda_streams),
    ];
    let asked = names.into_iter().filter(|(_, is_asked)| *is_asked);
    asked.map(|(name, _)| name).collect()
}

/// What the user should know of a CUDA device before the run: that nobody has tried it. Nothing of others.
pub(crate) fn caution(device: Device, settings: &MachineSettings) -> Option<String> {
    let beyond = beyond_plain(settings);
    device.is_cuda().then(|| match beyond.as_slice() {
        [] => "CUDA, untested".to_owned(),
        names => format!("CUDA with {}, untested", names.join(" and ")),
    })
}

/// An error of libtorch's with what to do about it, where it is of work on a CUDA device; else as it is.
pub(crate) fn advised(
    error: TrainerError,
    device: Device,
    settings: &MachineSettings,
) -> TrainerError {
    if !device.is_cuda() {
        return error;
    }
    let advice = match beyond_plain(settings).as_slice() {
        [] => "CUDA is untested here: `--device cpu` goes without it".to_owned(),
        names => format!(
            "untested on a GPU: take away {}, and libtorch does the same work in its plain way",
            names.join(" and ")
        ),
    };
    match error {
        TrainerError::Torch(said) => TrainerError::Torch(format!("{said}; {advice}")),
        TrainerError::Panic(said, place) => TrainerError::Panic(format!("{said}; {advice}"), place),
        other => other,
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

    /// Until a run on one is in `docs/results`.
    #[test]
    fn a_gpu_is_used_in_the_plain_way_unless_more_is_asked_for_and_errors_say_what_to_take_away() {
        let plain = MachineSettings::default();
        assert!(!plain.cuda_graphs && !plain.cuda_streams);
        let graphs = MachineSettings {
            cuda_graphs: true,
            ..plain.clone()
        };
        let both = MachineSettings {
            cuda_streams: true,
            ..graphs.clone()
        };
        let gpu = Device::Cuda(0);
        let said = |settings| caution(gpu, settings).unwrap();
        assert_eq!(said(&plain), "CUDA, untested");
        assert_eq!(
            said(&both),
            "CUDA with cuda_graphs and cuda_streams, untested"
        );
        assert_eq!(caution(Device::Cpu, &both), None);
        let failure = || TrainerError::libtorch("CUDA error: misaligned address");
        for (settings, device, advice) in [
            (
                &plain,
                gpu,
                "; CUDA is untested here: `--device cpu` goes without it",
            ),
            (
                &graphs,
                gpu,
                "; untested on a GPU: take away cuda_graphs, and libtorch",
            ),
            (&both, gpu, "take away cuda_graphs and cuda_streams, and"),
            (&both, Device::Cpu, "misaligned address"),
        ] {
            let message = advised(failure(), device, settings).to_string();
            assert!(message.contains(advice), "{message}");
            assert_eq!(message.contains("untested"), device == gpu, "{message}");
        }
    }

    #[test]
    fn tf32_needs_a_cuda_device() {
        let settings = MachineSettings {
            device: DeviceChoice::Cpu,
            precision: Precision::Tf32,
            ..MachineSettings::default()
        };
        let message = prepare(&settings).unwrap_err().to_string();
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
            Precision::Fp32,
            "what the processor has says nothing of a GPU"
        );
        assert_eq!(precision(Precision::Bf16, Device::Cpu), Precision::Bf16);
    }
}
