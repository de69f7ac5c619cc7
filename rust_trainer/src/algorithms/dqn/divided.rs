//! The replay memory of several ranks as that of one process: gathered at rank 0 for a checkpoint, and handed
//! out from there. Its tensors are those of [`Replay::state`].
//!
//! Frames may take gigabytes and go some megabytes at a time. What is held beside them is little and goes at
//! once.

use serde::{Deserialize, Serialize};
use tch::{Device, Kind, Tensor};

use crate::{
    data::Replay,
    error::TrainerError,
    ranks::{Ranks, bytes_of},
    tensors::to_vec,
};

type Tensors = Vec<(String, Tensor)>;

/// By step and environment, `[places, ...]`.
const BY_PLACE: [(&str, Option<Kind>); 4] = [
    ("frames", None),
    ("actions", Some(Kind::Int64)),
    ("rewards", Some(Kind::Float)),
    ("ends", Some(Kind::Uint8)),
];
/// At some places alone: their numbers, and so many bytes for each.
const BESIDE: [(&str, &str); 2] = [("older_places", "older"), ("last_places", "last")];
const STEPS: &str = "steps";

/// Bytes of all ranks that one exchange carries, about.
const CHUNK_BYTES: usize = 16 << 20;

/// What rank 0 says before it hands out.
#[derive(Serialize, Deserialize)]
struct Announced {
    /// Steps that are over; `None` where there is no replay memory.
    steps: Option<u64>,
}

/// The memory of all ranks, each of which has its `own` of `num_envs` environments, at rank 0; nothing
/// elsewhere.
///
/// # Errors
/// [`TrainerError::Lost`]; what libtorch says.
pub(super) fn gathered(
    ranks: &Ranks,
    own: &[(String, Tensor)],
    num_envs: usize,
) -> Result<Tensors, TrainerError> {
    let mut all = Vec::new();
    for (name, tensor) in own {
        let of_all = if ranks.is_alone() || *name == full(STEPS) {
            tensor.shallow_clone()
        } else if BY_PLACE.iter().any(|(of, _)| *name == full(of)) {
            rows_at_first(ranks, tensor, num_envs)?
        } else {
            continue;
        };
        all.push((name.clone(), of_all));
    }
    if ranks.is_alone() || own.is_empty() {
        return Ok(all);
    }
    for (places, bytes) in BESIDE {
        let (found, held) = (find(own, places)?, find(own, bytes)?);
        let found = to_vec::<i64>(found).into_iter();
        let places_of_all = found.map(|place| place_of_all(ranks, place, num_envs));
        let places_of_all: Vec<u8> = places_of_all.flat_map(i64::to_ne_bytes).collect();
        let gathered = ranks.gather(&places_of_all)?.concat();
        let entries = Entries {
            places: numbers(&gathered),
            bytes: ranks.gather(&bytes_of(held)?)?.concat(),
        };
        let entries = entries.chosen(Some)?;
        all.push((full(places), Tensor::from_slice(&entries.places)));
        all.push((full(bytes), Tensor::from_slice(&entries.bytes)));
    }
    Ok(if ranks.is_first() { all } else { Vec::new() })
}

/// This rank's part, for the memory `replay` of `num_envs` environments, of that which rank 0 has `whole`;
/// nothing where it has none. The frames are in `replay` already.
///
/// # Errors
/// [`TrainerError::State`] at rank 0 for the memory of another run; [`TrainerError::Lost`].
pub(super) fn handed_out(
    ranks: &Ranks,
    whole: &[(String, Tensor)],
    replay: &Replay,
    num_envs: usize,
) -> Result<Tensors, TrainerError> {
    if ranks.is_alone() {
        return Ok(whole
            .iter()
            .map(|(name, tensor)| (name.clone(), tensor.shallow_clone()))
            .collect());
    }
    let Some(steps) = announced(ranks, whole)? else {
        return Ok(Vec::new());
    };
    let frames = replay.room(steps);
    let places = frames.size()[0];
    let mut own = vec![(full(STEPS), Tensor::from_slice(&[steps as i64]))];
    for (name, kind) in BY_PLACE {
        let room = kind.map_or_else(
            || frames.shallow_clone(),
            |kind| Tensor::empty([places], (kind, Device::Cpu)),
        );
        let whole = ranks.is_first().then(|| find(whole, name)).transpose()?;
        rows_from_first(ranks, whole, &room, num_envs)?;
        own.push((full(name), room));
    }
    for (places, bytes) in BESIDE {
        let said = |name: &str| {
            let bytes = ranks.is_first().then(|| bytes_of(find(whole, name)?));
            ranks.of_first(&bytes.transpose()?.unwrap_or_default())
        };
        let entries = Entries {
            places: numbers(&said(places)?),
            bytes: said(bytes)?,
        };
        let entries = entries.chosen(|place| ranks.own_index(place, num_envs))?;
        own.push((full(places), Tensor::from_slice(&entries.places)));
        own.push((full(bytes), Tensor::from_slice(&entries.bytes)));
    }
    Ok(own)
}

/// How many steps are over in the memory that rank 0 has, if it has one.
fn announced(ranks: &Ranks, whole: &[(String, Tensor)]) -> Result<Option<u64>, TrainerError> {
    let steps = match whole {
        [] => None,
        whole => to_vec::<i64>(&find(whole, STEPS)?.to_kind(Kind::Int64))
            .first()
            .map(|&steps| u64::try_from(steps).map_err(|_| unfit(STEPS)))
            .transpose()?,
    };
    let garbled = |error: serde_json::Error| TrainerError::State(error.to_string());
    let said = serde_json::to_vec(&Announced { steps }).map_err(garbled)?;
    let heard: Announced = serde_json::from_slice(&ranks.of_first(&said)?).map_err(garbled)?;
    Ok(heard.steps)
}

/// The rows of all ranks at rank 0, `[steps · environments of all, ...]`.
fn rows_at_first(ranks: &Ranks, own: &Tensor, num_envs: usize) -> Result<Tensor, TrainerError> {
    let own = by_step(own, num_envs)?;
    let whole = ranks.is_first().then(|| ranks.room_for_all(&own, 1));
    for (start, length) in chunks(&own, ranks.count()) {
        let rows = ranks.rows_at_first(&own.narrow(0, start, length), 1)?;
        if let Some(whole) = &whole {
            whole.narrow(0, start, length).copy_(&rows);
        }
    }
    Ok(whole.unwrap_or(own).f_flatten(0, 1)?)
}

/// Fills `room` with this rank's rows of the `whole` that rank 0 has.
fn rows_from_first(
    ranks: &Ranks,
    whole: Option<&Tensor>,
    room: &Tensor,
    num_envs: usize,
) -> Result<(), TrainerError> {
    let room = by_step(room, num_envs)?;
    let mut size = room.size();
    size[1] *= ranks.count() as i64;
    let whole = whole.map(|whole| whole.f_view(size.as_slice()));
    let whole = whole.transpose().map_err(|_| unfit("transitions"))?;
    if whole
        .as_ref()
        .is_some_and(|whole| whole.kind() != room.kind())
    {
        return Err(unfit("transitions"));
    }
    for (start, length) in chunks(&room, ranks.count()) {
        let rows = whole.as_ref().map(|whole| whole.narrow(0, start, length));
        let rows = rows.map(|rows| bytes_of(&rows)).transpose()?;
        let rows = ranks.of_first(&rows.unwrap_or_default())?;
        size[0] = length;
        let rows = Tensor::f_from_data_size(&rows, &size, room.kind())?;
        let mut part = room.narrow(0, start, length);
        part.copy_(&ranks.own_rows(&rows, 1));
    }
    Ok(())
}

/// `[places, ...]` → `[steps, num_envs, ...]`.
fn by_step(tensor: &Tensor, num_envs: usize) -> Result<Tensor, TrainerError> {
    let mut size = tensor.size();
    size[0] /= num_envs as i64;
    size.insert(1, num_envs as i64);
    Ok(tensor.f_view(size.as_slice())?)
}

/// First rows and numbers of rows of pieces that `count` ranks exchange one after another.
fn chunks(rows: &Tensor, count: usize) -> impl Iterator<Item = (i64, i64)> + use<> {
    let total = rows.size()[0];
    let row_bytes = rows.numel() / total as usize * rows.kind().elt_size_in_bytes();
    let length = (CHUNK_BYTES / (row_bytes * count)).max(1) as i64;
    let starts = (0..total).step_by(length as usize);
    starts.map(move |start| (start, length.min(total - start)))
}

/// What is held at some places: equally many bytes each.
struct Entries {
    places: Vec<i64>,
    bytes: Vec<u8>,
}

impl Entries {
    /// Those whose place `choose` gives a number, by that, in its order.
    fn chosen(&self, choose: impl Fn(i64) -> Option<i64>) -> Result<Self, TrainerError> {
        let length = self.bytes.len() / self.places.len().max(1);
        if length * self.places.len() != self.bytes.len() {
            return Err(unfit("stacks"));
        }
        let entries = self.places.iter().enumerate();
        let entries = entries.filter_map(|(index, &place)| Some((choose(place)?, index)));
        let mut entries: Vec<(i64, usize)> = entries.collect();
        entries.sort_unstable();
        let bytes = entries.iter();
        let bytes = bytes.flat_map(|(_, index)| &self.bytes[index * length..][..length]);
        Ok(Self {
            bytes: bytes.copied().collect(),
            places: entries.iter().map(|(place, _)| *place).collect(),
        })
    }
}

/// A place of this rank's among those of all.
fn place_of_all(ranks: &Ranks, place: i64, num_envs: usize) -> i64 {
    let (num_envs, count) = (num_envs as i64, ranks.count() as i64);
    let (step, env) = (place / num_envs, place % num_envs);
    (step * count + ranks.rank() as i64) * num_envs + env
}

fn numbers(bytes: &[u8]) -> Vec<i64> {
    let numbers = bytes.as_chunks().0.iter();
    numbers.map(|bytes| i64::from_ne_bytes(*bytes)).collect()
}

fn full(name: &str) -> String {
    format!("replay.{name}")
}

fn find<'a>(tensors: &'a [(String, Tensor)], name: &str) -> Result<&'a Tensor, TrainerError> {
    let found = tensors.iter().find(|(of, _)| *of == full(name));
    found.map(|(_, tensor)| tensor).ok_or_else(|| unfit(name))
}

fn unfit(name: &str) -> TrainerError {
    TrainerError::State(format!("replay memory: `{name}` does not fit this run"))
}
