//! The last line of defence: libtorch's bindings panic where an operation fails, such as one in the midst
//! of an update for which there is no memory.

use std::{
    any::Any,
    cell::RefCell,
    panic::{self, AssertUnwindSafe},
    sync::Once,
};

use crate::error::TrainerError;

thread_local! {
    /// Where this thread panicked last, while its panics are [`held`].
    static PLACE: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// What `work` gives; an error of one line where it panics. Panics of threads that hold none are told as before.
///
/// # Errors
/// Those of `work`; [`TrainerError::OutOfMemory`] and [`TrainerError::Panic`] for its panics.
pub fn catch_panics<T>(work: impl FnOnce() -> Result<T, TrainerError>) -> Result<T, TrainerError> {
    static NOTE_PLACES: Once = Once::new();
    NOTE_PLACES.call_once(note_places);
    held(work).unwrap_or_else(|panic| Err(panic.to_error()))
}

/// A panic on its way from one thread to another.
pub(crate) struct Panic {
    payload: Box<dyn Any + Send>,
    place: String,
}

impl Panic {
    /// What it says, in a line.
    pub fn words(&self) -> String {
        words_of(&*self.payload).0
    }

    /// It as an error.
    fn to_error(&self) -> TrainerError {
        let (words, is_libtorchs) = words_of(&*self.payload);
        let message = match TrainerError::libtorch(&words) {
            memory @ TrainerError::OutOfMemory(_) => return memory,
            other if is_libtorchs => other.to_string(),
            _ => words,
        };
        TrainerError::Panic(message, self.place.clone())
    }

    /// Goes on with it in this thread, as if it had begun here.
    pub fn resume(self) -> ! {
        PLACE.with_borrow_mut(|place| {
            if let Some(place) = place {
                *place = self.place;
            }
        });
        panic::resume_unwind(self.payload)
    }
}

/// Whether panics of this thread are caught, and so not told.
pub(crate) fn are_caught() -> bool {
    PLACE.with_borrow(Option::is_some)
}

/// What `work` gives, or its panic, which is not told.
pub(crate) fn held<T>(work: impl FnOnce() -> T) -> Result<T, Panic> {
    let outer = PLACE.replace(Some(String::new()));
    let result = panic::catch_unwind(AssertUnwindSafe(work));
    let place = PLACE.replace(outer).unwrap_or_default();
    result.map_err(|payload| Panic { payload, place })
}

/// The hook is the whole program's: it notes places for threads that catch their panics, and leaves all others to the
/// hook that was there.
fn note_places() {
    let others = panic::take_hook();
    panic::set_hook(Box::new(move |info| {
        if are_caught() {
            let location = info.location().map(ToString::to_string);
            PLACE.set(Some(location.unwrap_or_default()));
        } else {
            others(info);
        }
    }));
}

/// What a panic says, in a line, and whether libtorch does: panics of its bindings hold the whole error, as Rust writes it
/// for programmers.
fn words_of(payload: &(dyn Any + Send)) -> (String, bool) {
    let text = payload.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| payload.downcast_ref::<&str>().copied());
    let line = text.and_then(|text| text.lines().next());
    let line = line.unwrap_or("no message");
    match line.split_once("on an `Err` value: Torch(\"") {
        Some((_, error)) => (
            error.split("\\n").next().unwrap_or_default().to_owned(),
            true,
        ),
        None => (line.to_owned(), false),
    }
}

#[cfg(test)]
mod tests {
    use tch::{Device, Kind, Tensor};

    use super::*;

    #[test]
    fn a_panic_is_an_error_of_one_line_that_names_its_place() {
        let error = catch_panics::<()>(|| {
            let tensor = Tensor::zeros([2], (Kind::Float, Device::Cpu));
            let _mismatched = tensor + Tensor::zeros([3], (Kind::Float, Device::Cpu));
            Ok(())
        });
        let message = error.unwrap_err().to_string();
        assert!(message.contains("must match the size"), "{message}");
        assert!(message.contains(".rs:"), "{message}");
        assert!(
            !message.contains('\n') && !message.contains("\\n"),
            "{message}"
        );
    }

    #[test]
    fn a_panic_for_want_of_memory_says_so() {
        let error = catch_panics::<()>(|| {
            let _a_petabyte = Tensor::zeros([1 << 50], (Kind::Uint8, Device::Cpu));
            Ok(())
        });
        let error = error.unwrap_err();
        assert!(matches!(error, TrainerError::OutOfMemory(_)), "{error}");
    }
}
