//! A process group of one: NCCL allows one rank a GPU, so this is as far as a machine with a single one goes.
#![allow(clippy::unwrap_used, missing_docs)]

mod common;

use std::{env, net::TcpListener, time::Duration};

use python_shim::distributed::ProcessGroup;
use tch::{Cuda, Device, Kind, Tensor};

#[test]
fn a_group_of_one_exchanges_in_place_on_every_device() {
    let port = TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap()
        .port();
    for (name, value) in [
        ("RANK", "0"),
        ("WORLD_SIZE", "1"),
        ("MASTER_ADDR", "127.0.0.1"),
        ("MASTER_PORT", &port.to_string()),
        ("GLOO_SOCKET_IFNAME", "lo"),
    ] {
        #[expect(unsafe_code, reason = "torch reads them")]
        // SAFETY: this program has no other test, and so no other thread that reads them.
        unsafe {
            env::set_var(name, value);
        }
    }
    let has_gpu = Cuda::is_available();
    let group = ProcessGroup::join(1, 0, Duration::from_secs(60), has_gpu).unwrap();
    let devices = [Some(Device::Cpu), has_gpu.then_some(Device::Cuda(0))];
    for device in devices.into_iter().flatten() {
        for kind in [Kind::Float, Kind::Double, Kind::Uint8] {
            let mut tensor = Tensor::arange(1000, (kind, device));
            let (before, memory) = (tensor.copy(), tensor.data_ptr());
            group.all_reduce(&mut tensor).unwrap();
            assert_eq!(tensor, before, "{device:?} {kind:?}");
            assert_eq!(tensor.data_ptr(), memory, "in its place");
        }
        let mut tensor = Tensor::ones([4, 4], (Kind::Float, device)).tr();
        tensor = tensor.narrow(0, 0, 2);
        assert!(group.all_reduce(&mut tensor).is_err(), "not contiguous");
    }
    assert_eq!(group.all_gather(b"rank 0").unwrap(), [b"rank 0"]);
    assert_eq!(group.gather(b"", 0).unwrap(), [b""]);
    assert!(!group.is_taken("name").unwrap());
    assert!(group.is_first_to("name").unwrap() && !group.is_first_to("name").unwrap());
    group.leave().unwrap();
}
