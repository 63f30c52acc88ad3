//! Room for deep recursion: trees of expressions nest as deeply as the language allows, and a caller's thread may be small.

use std::cell::Cell;
use std::thread;

/// Deep expressions and long chains of statements need more than the stack of most threads. Pages that are never touched
/// take no memory.
const STACK: usize = 256 << 20;

thread_local! {
    /// Whether this thread has that much.
    static HAS_ROOM: Cell<bool> = const { Cell::new(false) };
}

/// Calls a function on a thread whose stack holds the deepest program that the language allows; on this one where it does,
/// or where no other can be started.
pub(crate) fn with_room<T: Send>(call: impl FnOnce() -> T + Send) -> T {
    if HAS_ROOM.get() {
        return call();
    }
    let mut call = Some(call);
    let started = thread::scope(|scope| {
        let call = &mut call;
        let run = move || {
            HAS_ROOM.set(true);
            call.take().map(|call| call())
        };
        let thread =
            thread::Builder::new().name("cavi".to_owned()).stack_size(STACK).spawn_scoped(scope, run);
        // A panic is the caller's, as without the thread.
        thread.ok().and_then(|thread| thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
    });
    match (started, call) {
        (Some(value), _) => value,
        (None, Some(call)) => call(),
        (None, None) => unreachable!("a thread that was started calls the function"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_small_thread_has_room() {
        fn deep(levels: usize) -> usize {
            let here = std::hint::black_box([levels; 64]);
            if levels == 0 { here[0] } else { 1 + deep(levels - 1) }
        }
        let small = thread::Builder::new().stack_size(64 << 10).spawn(|| with_room(|| deep(100_000)));
        assert_eq!(small.expect("a thread").join().expect("no overflow"), 100_000);
    }

    #[test]
    fn room_is_made_once() {
        let inner = with_room(|| (thread::current().id(), with_room(|| thread::current().id())));
        assert_eq!(inner.0, inner.1);
    }
}
