//! `TensorBoard` event files: scalars, texts, hyper-parameters, and the mark that makes `TensorBoard` forget what an
//! interrupted run had logged past its last checkpoint.
//!
//! Written by hand, since the format is two small layers: records framed as in `TFRecord`, each an
//! `Event` message in protobuf encoding. The crates that offer it (tensorboard-rs, tboard) were
//! last built for protobuf and prost releases of years ago and would bring a code generator along.
//! Field numbers are those of tensorflow's `event.proto`, `summary.proto` and `tensor.proto`, and of the
//! plugin's `plugin_data.proto`.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use toml::{Table, Value};

use crate::{
    error::TrainerError,
    files::{self, host_name},
};

/// Appends to one event file; a resumed run opens a new one beside the old, and `TensorBoard` reads
/// a folder's files in the order of their names.
#[derive(Debug)]
pub struct EventWriter {
    path: PathBuf,
    file: BufWriter<File>,
}

impl EventWriter {
    /// Opens a new event file in `folder`, which must exist. For a run that goes on from `at_step` it has
    /// `TensorBoard` purge the events with a later step in the older files.
    pub fn open(folder: &Path, at_step: Option<u64>) -> Result<Self, TrainerError> {
        let path = folder.join(file_name(folder)?);
        let file = File::create_new(&path).map_err(TrainerError::io("create", &path))?;
        let file = BufWriter::new(file);
        let mut writer = Self { path, file };
        writer.event(0, |event| event.bytes(3, b"brain.Event:2"))?;
        if let Some(at_step) = at_step {
            // SessionLog { status: START }. Its step is the first that is void.
            let start = |event: &mut Message| event.message(7, |session| session.varint(1, 1));
            writer.event(at_step + 1, start)?;
        }
        Ok(writer)
    }

    /// Logs values at `step`; `TensorBoard` keeps them as float32.
    pub fn scalars(
        &mut self,
        step: u64,
        values: impl IntoIterator<Item = (impl AsRef<[u8]>, f64)>,
    ) -> Result<(), TrainerError> {
        self.event(step, |event| {
            event.message(5, |summary| {
                for (tag, value) in values {
                    summary.message(1, |entry| {
                        entry.bytes(1, tag.as_ref());
                        entry.float(2, value as f32);
                    });
                }
            });
        })
    }

    /// Logs a text (Markdown) at `step`, shown under `TensorBoard`'s "Text" tab.
    pub fn text(&mut self, step: u64, tag: &str, markdown: &str) -> Result<(), TrainerError> {
        const DT_STRING: u64 = 7;
        self.event(step, |event| {
            event.message(5, |summary| {
                summary.message(1, |entry| {
                    entry.bytes(1, tag.as_bytes());
                    entry.message(8, |tensor| {
                        tensor.varint(1, DT_STRING);
                        tensor.message(2, |shape| shape.message(2, |dim| dim.varint(1, 1)));
                        tensor.bytes(8, markdown.as_bytes());
                    });
                    entry.message(9, |metadata| {
                        metadata.message(1, |plugin| plugin.bytes(1, b"text"));
                    });
                });
            });
        })
    }

    /// Logs a picture at `step`, a GIF, which `TensorBoard` plays where it moves.
    pub fn gif(&mut self, step: u64, tag: &str, gif: &[u8]) -> Result<(), TrainerError> {
        const RGB: u64 = 3;
        // Its head, and two bytes each of width and height.
        let side = |at| {
            Some(u64::from(u16::from_le_bytes(
                *gif.get(at..)?.first_chunk()?,
            )))
        };
        let [width, height] = [6, 8].map(|at| side(at).unwrap_or_default());
        self.event(step, |event| {
            event.message(5, |summary| {
                summary.message(1, |entry| {
                    entry.bytes(1, tag.as_bytes());
                    entry.message(4, |image| {
                        image.varint(1, height);
                        image.varint(2, width);
                        image.varint(3, RGB);
                        image.bytes(4, gif);
                    });
                });
            });
        })
    }

    /// Logs hyper-parameters for the page of that name, where `TensorBoard` compares runs by them.
    pub fn hyper_parameters(&mut self, values: &Table) -> Result<(), TrainerError> {
        let started = since_epoch();
        self.session("session_start_info", |session| {
            session.message(3, |start| {
                for (name, value) in values {
                    start.message(1, |entry| {
                        entry.bytes(1, name.as_bytes());
                        entry.message(2, |field| match value {
                            Value::Boolean(is_on) => field.varint(4, u64::from(*is_on)),
                            Value::Integer(number) => field.double(2, *number as f64),
                            Value::Float(number) => field.double(2, *number),
                            Value::String(text) => field.bytes(3, text.as_bytes()),
                            other => field.bytes(3, other.to_string().as_bytes()),
                        });
                    });
                }
                start.double(5, started);
            });
        })
    }

    /// Logs for the same page that the run is done.
    pub fn done(&mut self) -> Result<(), TrainerError> {
        const SUCCESS: u64 = 1;
        let ended = since_epoch();
        self.session("session_end_info", |session| {
            session.message(4, |end| {
                end.varint(1, SUCCESS);
                end.double(2, ended);
            });
        })
    }

    /// Logs what the plugin of hyper-parameters reads: in the metadata of a tensor without numbers.
    fn session(&mut self, name: &str, fill: impl FnOnce(&mut Message)) -> Result<(), TrainerError> {
        const DT_FLOAT: u64 = 1;
        let mut content = Message::default();
        fill(&mut content);
        self.event(0, |event| {
            event.message(5, |summary| {
                summary.message(1, |entry| {
                    entry.bytes(1, format!("_hparams_/{name}").as_bytes());
                    entry.message(8, |tensor| {
                        tensor.varint(1, DT_FLOAT);
                        tensor.message(2, |shape| shape.message(2, |_of_no_extent| {}));
                    });
                    entry.message(9, |metadata| {
                        metadata.message(1, |plugin| {
                            plugin.bytes(1, b"hparams");
                            plugin.bytes(2, &content.0);
                        });
                    });
                });
            });
        })
    }

    /// Hands everything written so far to the operating system: from here on, killing the program
    /// loses none of it.
    pub fn flush(&mut self) -> Result<(), TrainerError> {
        self.file
            .flush()
            .map_err(TrainerError::io("write", &self.path))
    }

    /// Writes one `Event` with the current time, `step`, and what `fill` adds.
    fn event(&mut self, step: u64, fill: impl FnOnce(&mut Message)) -> Result<(), TrainerError> {
        let mut event = Message::default();
        event.double(1, since_epoch());
        event.varint(2, step);
        fill(&mut event);
        write_record(&mut self.file, &event.0).map_err(TrainerError::io("write", &self.path))
    }
}

/// `events.out.tfevents.<seconds>.<host>.<process>`, later by name than every event file present:
/// a resume within the same second, or after the clock was set back, must still be read last.
fn file_name(folder: &Path) -> Result<String, TrainerError> {
    const PREFIX: &str = "events.out.tfevents.";
    let mut seconds = since_epoch() as u64;
    for path in files::list(folder)? {
        let present = path.file_name().and_then(OsStr::to_str);
        let present = present.and_then(|name| name.strip_prefix(PREFIX));
        let present = present.and_then(|rest| rest.split('.').next()?.parse().ok());
        seconds = seconds.max(present.map_or(0, |present: u64| present + 1));
    }
    let (host, process) = (host_name().replace('/', "_"), std::process::id());
    Ok(format!("{PREFIX}{seconds:010}.{host}.{process}"))
}

fn since_epoch() -> f64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0.0, |time| time.as_secs_f64())
}

/// One `TFRecord`: length, its checksum, payload, its checksum; numbers in little-endian order.
fn write_record(file: &mut impl Write, payload: &[u8]) -> io::Result<()> {
    let length = (payload.len() as u64).to_le_bytes();
    file.write_all(&length)?;
    file.write_all(&masked_crc32c(&length).to_le_bytes())?;
    file.write_all(payload)?;
    file.write_all(&masked_crc32c(payload).to_le_bytes())
}

/// CRC-32C (Castagnoli) of `bytes`, rotated and offset as `TFRecord` stores it.
fn masked_crc32c(bytes: &[u8]) -> u32 {
    let crc = !bytes.iter().fold(u32::MAX, |crc, &byte| {
        CRC32C[((crc ^ u32::from(byte)) & 0xff) as usize] ^ (crc >> 8)
    });
    crc.rotate_right(15).wrapping_add(0xa282_ead8)
}

/// The checksum's contribution of each byte value, for the reflected polynomial 0x82f63b78.
const CRC32C: [u32; 256] = {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        let mut crc = byte as u32;
        let mut bit = 0;
        while bit < 8 {
            crc = (crc >> 1) ^ (0x82f6_3b78 * (crc & 1));
            bit += 1;
        }
        table[byte] = crc;
        byte += 1;
    }
    table
};

/// A protobuf message as it is being encoded; each method appends one field.
#[derive(Default)]
struct Message(Vec<u8>);

impl Message {
    fn varint(&mut self, field: u64, value: u64) {
        self.raw_varint(field << 3);
        self.raw_varint(value);
    }

    fn double(&mut self, field: u64, value: f64) {
        self.raw_varint(field << 3 | 1);
        self.0.extend(value.to_le_bytes());
    }

    fn bytes(&mut self, field: u64, value: &[u8]) {
        self.raw_varint(field << 3 | 2);
        self.raw_varint(value.len() as u64);
        self.0.extend(value);
    }

    fn float(&mut self, field: u64, value: f32) {
        self.raw_varint(field << 3 | 5);
        self.0.extend(value.to_le_bytes());
    }

    fn message(&mut self, field: u64, fill: impl FnOnce(&mut Message)) {
        let mut inner = Message::default();
        fill(&mut inner);
        self.bytes(field, &inner.0);
    }

    /// Seven bits a byte, lowest first; the top bit says that more follow.
    fn raw_varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.0.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checksum_matches_the_published_vector() {
        // RFC 3720, B.4: the CRC-32C of 32 zero bytes, masked as TFRecord does.
        let masked = 0x8a91_36aa_u32.rotate_right(15).wrapping_add(0xa282_ead8);
        assert_eq!(masked_crc32c(&[0; 32]), masked);
    }

    #[test]
    fn a_resumed_file_sorts_after_all_others() {
        let folder = tempfile::tempdir().unwrap();
        let first = EventWriter::open(folder.path(), None).unwrap();
        let second = EventWriter::open(folder.path(), Some(5)).unwrap();
        let third = EventWriter::open(folder.path(), Some(5)).unwrap();
        assert!(first.path < second.path && second.path < third.path);
    }

    #[test]
    fn a_missing_folder_is_named() {
        let error = EventWriter::open(Path::new("/nowhere/at/all"), None).unwrap_err();
        let told = error.to_string();
        assert!(
            told.starts_with("could not list `/nowhere/at/all`: "),
            "{told}"
        );
    }
}
