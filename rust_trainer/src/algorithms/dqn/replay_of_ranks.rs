//! The replay memory of several ranks as that of one process: gathered at rank 0 for a checkpoint, and handed
//! out from there.
//!
//! Frames may take gigabytes and go some megabytes at a time. What is held beside them is little and goes at
//! once.

use tch::{Device, Kind, Tensor};

use crate::{
    data::{Entries, Replay, ReplayState, unfit},
    error::TrainerError,
    ranks::Ranks,
    tensors::bytes_of,
};

/// Bytes of all ranks that one exchange carries, about.
const CHUNK_BYTES: usize = 16 << 20;

/// The memory of all ranks, each of which has its `own` of `num_envs` environments, at rank 0; nothing
/// elsewhere.
pub(super) fn gathered(
    ranks: &Ranks,
    own: ReplayState,
    num_envs: usize,
) -> Result<Option<ReplayState>, TrainerError> {
    if ranks.is_alone() {
        return Ok(Some(own));
    }
    let rows = |own: &Tensor| rows_at_first(ranks, own, num_envs);
    let entries = |own: &Entries| {
        let places = own.places.iter();
        let places = places.map(|&place| place_of_all(ranks, place, num_envs));
        let places: Vec<u8> = places.flat_map(i64::to_ne_bytes).collect();
        let all = Entries {
            places: numbers(&ranks.gather(&places)?.concat()),
            bytes: ranks.gather(&own.bytes)?.concat(),
        };
        chosen(&all, Some)
    };
    let whole = ReplayState {
        steps: own.steps,
        frames: rows(&own.frames)?,
        actions: rows(&own.actions)?,
        rewards: rows(&own.rewards)?,
        ends: rows(&own.ends)?,
        older: entries(&own.older)?,
        last: entries(&own.last)?,
    };
    Ok(ranks.is_first().then_some(whole))
}

/// This rank's part, for the memory `replay` of `num_envs` environments, of that which rank 0 has `whole`;
/// nothing where it has none. The frames are in `replay` already.
///
/// # Errors
/// [`TrainerError::State`] at rank 0 for the memory of another run; [`TrainerError::Lost`].
pub(super) fn handed_out(
    ranks: &Ranks,
    whole: Option<ReplayState>,
    replay: &Replay,
    num_envs: usize,
) -> Result<Option<ReplayState>, TrainerError> {
    if ranks.is_alone() {
        return Ok(whole);
    }
    let whole = whole.as_ref();
    let steps = whole.map_or_else(Vec::new, |whole| whole.steps.to_ne_bytes().to_vec());
    let Ok(steps) = ranks.of_first(&steps)?.try_into().map(u64::from_ne_bytes) else {
        return Ok(None);
    };
    let frames = replay.room(steps);
    let places = frames.size()[0];
    let room = |kind| Tensor::empty([places], (kind, Device::Cpu));
    let rows = |whole: Option<&Tensor>, room: Tensor| {
        rows_from_first(ranks, whole, &room, num_envs)?;
        Ok::<_, TrainerError>(room)
    };
    let entries = |whole: Option<&Entries>| {
        let places = whole.map_or(&[][..], |whole| &whole.places);
        let places: Vec<u8> = places.iter().copied().flat_map(i64::to_ne_bytes).collect();
        let all = Entries {
            places: numbers(&ranks.of_first(&places)?),
            bytes: ranks.of_first(whole.map_or(&[], |whole| &whole.bytes))?,
        };
        chosen(&all, |place| ranks.own_index(place, num_envs))
    };
    Ok(Some(ReplayState {
        steps,
        frames: rows(whole.map(|whole| &whole.frames), frames)?,
        actions: rows(whole.map(|whole| &whole.actions), room(Kind::Int64))?,
        rewards: rows(whole.map(|whole| &whole.rewards), room(Kind::Float))?,
        ends: rows(whole.map(|whole| &whole.ends), room(Kind::Uint8))?,
        older: entries(whole.map(|whole| &whole.older))?,
        last: entries(whole.map(|whole| &whole.last))?,
    }))
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

/// Those entries whose place `choose` gives a number, by that, in its order.
fn chosen(all: &Entries, choose: impl Fn(i64) -> Option<i64>) -> Result<Entries, TrainerError> {
    let length = all.bytes.len() / all.places.len().max(1);
    if length * all.places.len() != all.bytes.len() {
        return Err(unfit("stacks"));
    }
    let entries = all.places.iter().enumerate();
    let entries = entries.filter_map(|(index, &place)| Some((choose(place)?, index)));
    let mut entries: Vec<(i64, usize)> = entries.collect();
    entries.sort_unstable();
    let bytes = entries.iter();
    let bytes = bytes.flat_map(|(_, index)| &all.bytes[index * length..][..length]);
    Ok(Entries {
        bytes: bytes.copied().collect(),
        places: entries.iter().map(|(place, _)| *place).collect(),
    })
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
