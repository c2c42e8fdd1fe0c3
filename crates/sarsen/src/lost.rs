//! Ends the process when as many gems hang as may: the next that cannot be interrupted would keep
//! its place, and in the end all would. An orderly stop would wait for them.

use crate::exit::Exit;
use crate::limits::LOST_LOOK_EVERY;
use gem::Pool;
use std::sync::Arc;
use std::{io, process, thread};

/// Looks at the gems of `pool` for as long as it is there.
pub fn watch(pool: &Arc<Pool>) -> io::Result<()> {
    let pool = Arc::downgrade(pool);
    let run = move || {
        while let Some(load) = pool.upgrade().map(|pool| pool.load()) {
            if load.lost_running >= load.lost_max {
                let lost = load.lost_running;
                log::error!("{lost} gems cannot be interrupted and still run: the server ends");
                process::exit(i32::from(Exit::Lost.code()));
            }
            thread::sleep(LOST_LOOK_EVERY);
        }
    };
    thread::Builder::new().name("lost-gems".to_owned()).spawn(run).map(drop)
}
