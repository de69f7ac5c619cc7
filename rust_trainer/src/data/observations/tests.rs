//! What is written is what is read, however rows are lent, turned and sent.

use vec_env::Dtype;

use super::*;

/// On the host, and as on a device.
fn stores_of(spec: &ObsSpec, num_rows: usize, num_envs: usize) -> [Observations; 2] {
    let on_host = Observations::new(spec, (num_rows, num_envs), 1, Device::Cpu).unwrap();
    let shape = obs_shape(&[num_rows, num_envs], spec);
    let rows = DeviceRows::new(&shape, 3, image(spec), obs_kind(spec), Device::Cpu).unwrap();
    let on_device = Observations {
        rows: Rows::OnDevice(rows),
        ..Observations::new(spec, (0, num_envs), 1, Device::Cpu).unwrap()
    };
    [on_host, on_device]
}

/// Two bytes.
fn spec() -> ObsSpec {
    ObsSpec {
        shape: vec![2],
        dtype: Dtype::Uint8,
    }
}

/// Three rows of two environments with two bytes each.
fn stores() -> [Observations; 2] {
    stores_of(&spec(), 3, 2)
}

fn store() -> Observations {
    let [on_host, _] = stores();
    on_host
}

fn bytes(tensor: &Tensor) -> Vec<u8> {
    Vec::try_from(tensor.flatten(0, -1)).unwrap()
}

#[test]
fn what_is_written_is_read_by_row_and_by_sample() {
    for mut store in stores() {
        for row in 0..3 {
            let first = 10 * row as u8;
            store
                .lend(row)
                .copy_from_slice(&[first, first + 1, first + 2, first + 3]);
        }
        assert_eq!(bytes(&store.row(1)), [10, 11, 12, 13]);
        let gathered = store.observed(vec![5, 0]).tensor();
        assert_eq!(gathered.size(), [2, 2]);
        assert_eq!(bytes(&gathered), [22, 23, 0, 1]);
    }
}

#[test]
fn what_is_handed_out_does_not_change_when_its_row_is_written_again() {
    for mut store in stores() {
        store.lend(0).fill(1);
        let (row, gathered) = (store.row(0), store.observed(vec![0, 1]).tensor());
        store.lend(0).fill(2);
        assert_eq!(bytes(&row), [1; 4]);
        assert_eq!(bytes(&gathered), [1; 4]);
        assert_eq!(bytes(&store.row(0)), [2; 4]);
    }
}

#[test]
fn other_rows_are_read_while_one_is_lent_to_another_thread() {
    for mut store in stores() {
        let mut slot = store.lend(2);
        let writer = std::thread::spawn(move || slot.fill(7));
        assert_eq!(bytes(&store.row(0)), [0; 4]);
        writer.join().unwrap();
        assert_eq!(bytes(&store.row(2)), [7; 4]);
    }
}

#[test]
fn memory_that_is_not_there_is_an_error() {
    let spec = ObsSpec {
        shape: vec![4, 84, 84],
        dtype: Dtype::Uint8,
    };
    let store = Observations::new(&spec, (1 << 20, 1 << 20), 1, Device::Cpu);
    assert!(matches!(store, Err(TrainerError::OutOfMemory(_))));
}

/// Also what lies between: checkpoints have observations as the environments made them.
#[test]
fn images_are_turned_in_memory_and_not_for_the_reader() {
    for channels in [3, 4] {
        let spec = ObsSpec {
            shape: vec![channels, 2, 3],
            dtype: Dtype::Uint8,
        };
        let written: Vec<u8> = (0..2 * 6 * channels as u8).collect();
        for mut store in stores_of(&spec, 2, 2) {
            for row in [1, 1, 0] {
                store.lend(row).copy_from_slice(&written);
                assert_eq!(bytes(&store.host_row(row)), written, "before it is read");
                assert_eq!(bytes(&store.row(row)), written);
                assert_eq!(bytes(&store.row(row)), written, "once more");
                assert_eq!(bytes(&store.host_row(row)), written);
            }
            let gathered = store.observed(vec![3, 0]).tensor();
            assert_eq!(gathered.size(), [2, channels as i64, 2, 3]);
            let second = 6 * channels;
            assert_eq!(bytes(&gathered.get(0)), written[second..]);
            assert_eq!(bytes(&gathered.get(1)), written[..second]);
            let channels_last = gathered.permute([0, 2, 3, 1]);
            assert!(channels_last.is_contiguous());
        }
    }
}

/// Through fewer rows of the host than there are rows.
#[test]
fn rows_that_the_host_no_longer_holds_are_read_from_the_device() {
    let spec = ObsSpec {
        shape: vec![2, 1, 3],
        dtype: Dtype::Uint8,
    };
    for mut store in stores_of(&spec, 9, 1) {
        for round in 0..3 {
            let written =
                |row: u8| -> Vec<u8> { (0..6).map(|i| 60 * round + 6 * row + i).collect() };
            for row in 0..9 {
                store.lend(row).copy_from_slice(&written(row as u8));
                // Also a row whose bytes nobody asked for before its place was taken.
                if row % 3 == 0 {
                    assert_eq!(bytes(&store.row(row)), written(row as u8));
                }
            }
            for row in 0..9 {
                assert_eq!(bytes(&store.host_row(row)), written(row as u8), "row {row}");
            }
            for row in 0..9 {
                store.make_readable(row);
            }
            let both = store.at(&Tensor::from_slice(&[0_i64, 8]));
            assert_eq!(bytes(&both), [written(0), written(8)].concat());
        }
    }
}

/// As a rollout lends them: those of a reset at once, changed once more in their place, then one by one.
#[test]
fn rows_that_are_lent_at_once_lie_one_after_another() {
    for mut store in stores_of(&spec(), 9, 2) {
        for first in [0, 3, 6] {
            let start = 20 * first as u8;
            let written: Vec<u8> = (start..start + 12).collect();
            store.lend_rows(first..first + 3).copy_from_slice(&written);
            store.lend_rows(first..first + 3)[4] += 100;
            for row in first..first + 3 {
                let mut expected = written[4 * (row - first)..][..4].to_vec();
                if row == first + 1 {
                    expected[0] += 100;
                }
                assert_eq!(bytes(&store.host_row(row)), expected);
                assert_eq!(bytes(&store.row(row)), expected);
                store.lend(row).fill(row as u8);
            }
        }
        for row in 0..9 {
            assert_eq!(bytes(&store.row(row)), [row as u8; 4]);
        }
    }
}

#[test]
fn a_slot_outlives_its_store() {
    let mut slot = store().lend(0);
    slot.fill(3);
    assert_eq!(*slot, [3; 4]);
}

#[test]
#[should_panic(expected = "row 1 of the observations is lent: it cannot be read")]
fn a_lent_row_is_not_read() {
    let mut store = store();
    let _slot = store.lend(1);
    let _ = store.row(1);
}

#[test]
#[should_panic(expected = "row 1 of the observations is lent: it cannot be read")]
fn samples_of_a_lent_row_are_not_read() {
    let mut store = store();
    let _slot = store.lend(1);
    let _ = store.observed(vec![0, 3]).tensor();
}

#[test]
#[should_panic(expected = "row 1 of the observations is lent already")]
fn a_row_is_lent_once() {
    let mut store = store();
    let _slot = store.lend(1);
    let _ = store.lend(1);
}
