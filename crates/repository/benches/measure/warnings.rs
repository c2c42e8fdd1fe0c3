//! Shows what the repository warns of while it is measured, on stderr.

struct Stderr;

impl log::Log for Stderr {
    fn enabled(&self, metadata: &log::Metadata<'_>) -> bool {
        metadata.level() <= log::Level::Warn && metadata.target().starts_with("repository")
    }

    fn log(&self, record: &log::Record<'_>) {
        if self.enabled(record.metadata()) {
            eprintln!("{}: {}", record.level(), record.args());
        }
    }

    fn flush(&self) {}
}

/// From now on.
pub fn show() {
    log::set_logger(&Stderr).unwrap();
    log::set_max_level(log::LevelFilter::Warn);
}
