//! Waiting, for a bounded time, until another process lets go of the data folder: a server that
//! stops, a backup that ends, or a server that begins and can then be asked.

use crate::limits::{LOCK_LOOK_EVERY, LOCK_WAIT_MAX};
use std::fmt::Display;
use std::time::Instant;

/// Tries `open` until it gives something else than what `is_locked` says of its error. `tell` is
/// told once that it waits.
pub fn wait_for_lock<T, E: Display>(
    is_locked: impl Fn(&E) -> bool,
    tell: impl Fn(&str),
    mut open: impl FnMut() -> Result<T, E>,
) -> Result<T, E> {
    let begun = Instant::now();
    let mut is_told = false;
    loop {
        let opened = open();
        let Err(error) = &opened else { return opened };
        if !is_locked(error) || begun.elapsed() >= LOCK_WAIT_MAX {
            return opened;
        }
        if !is_told {
            is_told = true;
            tell(&format!("{error}; waiting at most {} s", LOCK_WAIT_MAX.as_secs()));
        }
        std::thread::sleep(LOCK_LOOK_EVERY);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    #[test]
    fn it_waits_for_a_lock_and_for_nothing_else() {
        let tries = Cell::new(0);
        let of = |result: Result<u32, &'static str>, times: u32| {
            tries.set(0);
            wait_for_lock(
                |error: &&str| *error == "locked",
                |told| assert_eq!(told, "locked; waiting at most 10 s"),
                || {
                    tries.set(tries.get() + 1);
                    if tries.get() < times { Err("locked") } else { result }
                },
            )
        };
        assert_eq!((of(Ok(7), 1), tries.get()), (Ok(7), 1));
        assert_eq!((of(Ok(7), 3), tries.get()), (Ok(7), 3));
        assert_eq!((of(Err("damaged"), 2), tries.get()), (Err("damaged"), 2));
        assert_eq!(of(Err("locked"), 1), Err("locked"), "for so long and no longer");
    }
}
