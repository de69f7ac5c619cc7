//! The replay memory beside a checkpoint: a safetensors file of its own, for it may take gigabytes.
//!
//! It is written piece by piece out of the memory that the algorithm uses, and read as a map of the file:
//! neither takes as much memory again. Its checksum stands in the checkpoint, which is written after it.

use std::{
    collections::BTreeMap,
    fs::File,
    io::{self, BufWriter, Write},
    path::Path,
};

use safetensors::tensor::TensorInfo;
use tch::{Device, Kind, Tensor};

use super::tensors::{format_of, kind_of, shape_of};
use crate::{error::TrainerError, files, tensors::numbers};

/// Of a file, before the header: its length.
const LENGTH_BYTES: usize = 8;

/// Writes the file at `path`, whole or not at all; returns its checksum.
pub(super) fn write(path: &Path, tensors: &[(String, Tensor)]) -> Result<String, TrainerError> {
    let (header, order) = header(tensors)?;
    let write_all = |file: &mut File| -> io::Result<String> {
        let (mut out, mut hasher) = (BufWriter::new(file), crc32fast::Hasher::new());
        let mut put = |bytes: &[u8]| {
            hasher.update(bytes);
            out.write_all(bytes)
        };
        put(&(header.len() as u64).to_le_bytes())?;
        put(header.as_bytes())?;
        // libtorch views no tensor without numbers as another type.
        for tensor in order.into_iter().filter(|tensor| tensor.numel() > 0) {
            let flat = tensor.f_reshape([-1]);
            let bytes = flat.and_then(|flat| flat.f_view_dtype(Kind::Uint8));
            put(numbers(&bytes.map_err(io::Error::other)?))?;
        }
        out.flush()?;
        Ok(checksum(hasher.finalize()))
    };
    files::replace_with(path, write_all).map_err(TrainerError::io("write", path))
}

/// The tensors of the file at `path`, whose numbers stay on the disk until they are used; or what is wrong with it,
/// such as another checksum than `expected`.
pub(super) fn read(path: &Path, expected: &str) -> Result<Vec<(String, Tensor)>, String> {
    let about = files::open(path).and_then(|file| file.metadata());
    let num_bytes = about.map_err(|error| error.to_string())?.len();
    let name = path.to_str().ok_or("its path is no Unicode")?;
    let said = |error: tch::TchError| TrainerError::from(error).to_string();
    let map = Tensor::f_from_file(name, false, num_bytes as i64, (Kind::Uint8, Device::Cpu));
    let map = map.map_err(said)?;
    let bytes = numbers::<u8>(&map);
    if checksum(crc32fast::hash(bytes)) != expected {
        return Err("its checksum is another than that in the checkpoint".to_owned());
    }
    let (length, rest) = bytes.split_first_chunk().ok_or("it has no header")?;
    let header = rest
        .get(..u64::from_le_bytes(*length) as usize)
        .ok_or("its header is cut off")?;
    let start = LENGTH_BYTES + header.len();
    let header: BTreeMap<String, TensorInfo> =
        serde_json::from_slice(header).map_err(|error| error.to_string())?;
    for (name, info) in &header {
        check_place(info, bytes.len() - start)
            .map_err(|what| format!("its tensor `{name}` {what}"))?;
    }
    let tensors = || {
        let mut tensors = Vec::new();
        for (name, info) in header {
            let (first, end) = info.data_offsets;
            let kind = kind_of(info.dtype).unwrap_or(Kind::Uint8);
            let shape: Vec<i64> = info.shape.iter().map(|&length| length as i64).collect();
            let tensor = if first == end {
                Tensor::f_zeros(&shape, (kind, Device::Cpu))?
            } else {
                let length = end.saturating_sub(first) as i64;
                let bytes = map.f_narrow(0, (start + first) as i64, length)?;
                bytes.f_view_dtype(kind)?.f_view(shape.as_slice())?
            };
            tensors.push((name, tensor));
        }
        Ok(tensors)
    };
    tensors().map_err(said)
}

/// Refuses a tensor that does not lie in the `length` bytes behind the header, or is of another size than its
/// shape.
fn check_place(info: &TensorInfo, length: usize) -> Result<(), String> {
    let (first, end) = info.data_offsets;
    let kind =
        kind_of(info.dtype).ok_or_else(|| format!("has numbers of type {:?}", info.dtype))?;
    let size = |total: usize, length: &usize| total.checked_mul(*length);
    let needed = info.shape.iter().try_fold(kind.elt_size_in_bytes(), size);
    let is_inside = first <= end && end <= length && i64::try_from(end).is_ok();
    if is_inside && needed == Some(end - first) {
        return Ok(());
    }
    Err(format!(
        "of shape {:?} does not lie at bytes {first} to {end} of {length}",
        info.shape
    ))
}

/// The header as the format has it, padded to whole words, and the tensors in the order in which they
/// follow: those of wide numbers first, so that each is aligned.
fn header(tensors: &[(String, Tensor)]) -> Result<(String, Vec<&Tensor>), TrainerError> {
    let mut order: Vec<&(String, Tensor)> = tensors.iter().collect();
    order.sort_by_key(|(_, tensor)| std::cmp::Reverse(tensor.kind().elt_size_in_bytes()));
    let mut entries = BTreeMap::new();
    let mut end = 0;
    for (name, tensor) in &order {
        let start = end;
        end += tensor.numel() * tensor.kind().elt_size_in_bytes();
        let info = TensorInfo {
            dtype: format_of(tensor.kind())?,
            shape: shape_of(tensor),
            data_offsets: (start, end),
        };
        entries.insert(name, info);
    }
    let mut header = serde_json::to_string(&entries)
        .map_err(|error| TrainerError::State(format!("replay memory: {error}")))?;
    header.push_str(&" ".repeat(header.len().next_multiple_of(LENGTH_BYTES) - header.len()));
    Ok((
        header,
        order.into_iter().map(|(_, tensor)| tensor).collect(),
    ))
}

pub(super) fn checksum(crc: u32) -> String {
    format!("crc32:{crc:08x}")
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn tensors() -> Vec<(String, Tensor)> {
        let frames = Tensor::arange(60, (Kind::Int64, Device::Cpu)).to_kind(Kind::Uint8);
        // Part of a larger memory, as a ring that is not yet full.
        let frames = frames.view([10, 2, 3]).narrow(0, 0, 7);
        [
            ("frames", frames),
            ("rewards", Tensor::from_slice(&[0.5_f32, -1.0, f32::MIN])),
            ("places", Tensor::from_slice(&[1_i64 << 40, -3])),
            ("none", Tensor::from_slice::<u8>(&[])),
        ]
        .map(|(name, tensor)| (name.to_owned(), tensor))
        .into()
    }

    #[test]
    fn what_is_written_is_read_and_any_reader_of_the_format_understands_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("step-1.replay.safetensors");
        let checksum = write(&path, &tensors()).unwrap();
        let found = read(&path, &checksum).unwrap();
        let bytes = fs::read(&path).unwrap();
        let reference = safetensors::SafeTensors::deserialize(&bytes).unwrap();
        assert_eq!((found.len(), reference.len()), (4, 4));
        for (name, tensor) in tensors() {
            let (_, read) = found.iter().find(|(found, _)| *found == name).unwrap();
            assert_eq!(*read, tensor, "{name}");
            assert_eq!(read.kind(), tensor.kind(), "{name}");
            let view = reference.tensor(&name).unwrap();
            let shape: Vec<i64> = view.shape().iter().map(|&length| length as i64).collect();
            assert_eq!(shape, tensor.size());
        }
    }

    /// Whoever can write the file can write its checksum, too.
    #[test]
    fn places_that_cannot_be_are_refused_in_a_line() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("step-1.replay.safetensors");
        for (shape, offsets) in [
            ("[4]", "[0,18446744073709551615]"),
            ("[4]", "[9223372036854775800,9223372036854775816]"),
            ("[4]", "[16,0]"),
            ("[4]", "[16,32]"),
            ("[3]", "[0,16]"),
            ("[4294967296,4294967296,4]", "[0,16]"),
        ] {
            let info =
                format!("{{\"dtype\":\"F32\",\"shape\":{shape},\"data_offsets\":{offsets}}}");
            let header = format!("{{\"rewards\":{info}}}");
            let mut bytes = (header.len() as u64).to_le_bytes().to_vec();
            bytes.extend(header.as_bytes());
            bytes.extend([0; 16]);
            fs::write(&path, &bytes).unwrap();
            let problem = read(&path, &checksum(crc32fast::hash(&bytes))).unwrap_err();
            let is_line = problem.contains("`rewards`") && !problem.contains('\n');
            assert!(is_line, "{problem}");
        }
    }

    #[test]
    fn a_file_that_changed_is_told() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("step-1.replay.safetensors");
        let checksum = write(&path, &tensors()).unwrap();
        let whole = fs::read(&path).unwrap();
        let mut flipped = whole.clone();
        *flipped.last_mut().unwrap() ^= 1;
        let mut huge = whole.clone();
        huge[6] = 0xff;
        for bytes in [flipped, huge, whole[..20].to_vec(), Vec::new()] {
            fs::write(&path, bytes).unwrap();
            read(&path, &checksum).unwrap_err();
        }
        fs::remove_file(&path).unwrap();
        read(&path, &checksum).unwrap_err();
    }
}
