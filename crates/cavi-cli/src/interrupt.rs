//! Ctrl-C, SIGTERM, SIGHUP: the first one ends the fit after the current sweep, a long one within it, and lets everything be written;
//! the second one ends at once.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock};

static ASKED: LazyLock<Arc<AtomicBool>> = LazyLock::new(Arc::default);

/// From here on they are a request. Where no handler can be set, they end the program as usual.
pub fn listen() {
    let _ = ctrlc::set_handler(|| {
        if ASKED.swap(true, Ordering::SeqCst) {
            std::process::exit(130);
        }
    });
}

/// What becomes true once the program was asked to end.
pub fn flag() -> Arc<AtomicBool> {
    Arc::clone(&ASKED)
}

/// Whether the program was asked to end.
pub fn asked() -> bool {
    ASKED.load(Ordering::SeqCst)
}
