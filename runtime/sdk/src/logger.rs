//! The `log` macros of the plugin and of its libraries, into the host's log.

use std::sync::OnceLock;

use log::{Level, LevelFilter, Log, Metadata, Record};
use roster_abi::code;

use crate::table::Table;

/// The first host that came: they all lead to the same log, and a table lives for ever.
static HOST: OnceLock<Table> = OnceLock::new();

struct Logger;

pub(crate) fn install(table: Table) {
    if HOST.set(table).is_ok() && log::set_logger(&Logger).is_ok() {
        log::set_max_level(LevelFilter::Trace);
    }
}

impl Log for Logger {
    fn enabled(&self, _metadata: &Metadata<'_>) -> bool {
        true
    }

    fn log(&self, record: &Record<'_>) {
        let level = match record.level() {
            Level::Error => code::LOG_ERROR,
            Level::Warn => code::LOG_WARN,
            Level::Info => code::LOG_INFO,
            Level::Debug => code::LOG_DEBUG,
            Level::Trace => code::LOG_TRACE,
        };
        if let Some(table) = HOST.get() {
            table.log(0, level, record.target(), &record.args().to_string(), "");
        }
    }

    fn flush(&self) {}
}

#[cfg(test)]
mod tests;
