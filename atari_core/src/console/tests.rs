//! Which games a console takes.

use super::*;
use crate::{Mapper, games};

#[test]
fn a_picture_is_as_tall_as_any_that_is_drawn_or_refused() {
    let cartridge = Cartridge::with_mapper("tall", &[0; 4096], Mapper::Flat).unwrap();
    for (height, fits) in [(1, true), (256, true), (257, false), (u16::MAX, false)] {
        let game = games::game("tall", "", Mapper::Flat).over(|_, _| false);
        let game = Box::leak(Box::new(Game { height, ..game }));
        match Console::new(cartridge.clone(), game) {
            Ok(mut console) => {
                assert!(fits, "{height}");
                console.act(Action::Noop, true);
                assert_eq!(console.screen().len(), usize::from(height) * WIDTH);
            }
            Err(error) => {
                assert!(!fits, "{error}");
                let problem = format!("tall has a picture of {height} lines: 256 at most");
                assert_eq!(error.to_string(), problem);
            }
        }
    }
}
