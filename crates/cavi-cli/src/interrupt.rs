//! Ctrl-C, SIGTERM, SIGHUP: the first one lets the current sweep finish and everything be written, the second one ends at once.

use std::sync::atomic::{AtomicBool, Ordering};

static ASKED: AtomicBool = AtomicBool::new(false);

/// From here on they are a request. Where no handler can be set, they end the program as usual.
pub fn listen() {
    let _ = ctrlc::set_handler(|| {
        if ASKED.swap(true, Ordering::SeqCst) {
            std::process::exit(130);
        }
    });
}

/// Whether the program was asked to end.
pub fn asked() -> bool {
    ASKED.load(Ordering::SeqCst)
}
