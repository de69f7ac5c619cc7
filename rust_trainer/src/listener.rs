//! Who hears, in place of the terminal, what a command says and how it goes: Python, whose output is not the
//! process's in a notebook. One at a time for each thread; without one everything is printed.

use std::{cell::RefCell, fmt::Display};

use serde_json::{Value, json};

/// Hears an event, a JSON object as text: its `event` says what it is.
pub type Listener = Box<dyn FnMut(&str)>;

thread_local! {
    static LISTENER: RefCell<Option<Listener>> = const { RefCell::new(None) };
}

/// Does `work` with what this thread says going to `listener`.
pub(crate) fn with<T>(listener: Listener, work: impl FnOnce() -> T) -> T {
    /// The listener goes however the work ends.
    struct Guard;
    impl Drop for Guard {
        fn drop(&mut self) {
            LISTENER.take();
        }
    }
    LISTENER.set(Some(listener));
    let _guard = Guard;
    work()
}

/// Whether anybody listens.
pub(crate) fn is_there() -> bool {
    LISTENER.with_borrow(Option::is_some)
}

/// Tells the listener, if there is one, what `event` makes; says whether.
pub(crate) fn tell(event: impl FnOnce() -> Value) -> bool {
    // Taken out meanwhile: what it does may come back here.
    let Some(mut listener) = LISTENER.take() else {
        return false;
    };
    listener(&event().to_string());
    LISTENER.set(Some(listener));
    true
}

/// Tells it a line of text.
pub(crate) fn tell_line(line: impl Display) -> bool {
    tell(|| json!({"event": "line", "text": line.to_string()}))
}

#[cfg(test)]
mod tests {
    use std::{cell::RefCell, rc::Rc};

    use super::*;

    #[test]
    fn what_is_said_reaches_the_listener_as_long_as_there_is_one() {
        assert!(!tell_line("nobody"));
        let heard = Rc::new(RefCell::new(Vec::new()));
        let notes = Rc::clone(&heard);
        let note = move |event: &str| notes.borrow_mut().push(event.to_owned());
        with(Box::new(note), || {
            assert!(is_there());
            assert!(tell_line("somebody"));
        });
        assert!(!tell_line("nobody"));
        assert_eq!(*heard.borrow(), [r#"{"event":"line","text":"somebody"}"#]);
    }
}
