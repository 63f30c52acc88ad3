//! The most memory that a fit takes: `cargo bench -p cavi-tests --bench memory`.
//!
//! Each program runs in a process of its own, which binds 3 million non-zeros, lets the kernel forget its peak, and
//! then fits K = 100 factors for three sweeps. Its peak (VmHWM of `/proc/self/status`) stands against the bytes of
//! the bound data and six copies of the parameters. The allocations that were alive at the peak are listed as well,
//! with the place that made them. `--quick` takes small data.

#![allow(unsafe_code)]

mod workload;

use std::alloc::{GlobalAlloc, Layout as Size, System};
use std::backtrace::Backtrace;
use std::cell::Cell;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use cavi_executor::{Executor, Layout, start};
use workload::{Kind, Sparse, bind};

/// The system's allocator; allocations of [`LARGE`] bytes or more are written down while [`WATCHING`].
struct Counting;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Smaller ones add up to little.
const LARGE: usize = 1 << 20;
static WATCHING: AtomicBool = AtomicBool::new(false);
static LIVE: AtomicUsize = AtomicUsize::new(0);
static BOOK: Mutex<Book> =
    Mutex::new(Book { live: Vec::new(), peak: Vec::new(), most: 0, traces: Vec::new() });

thread_local! {
    /// Whether this thread is writing into the book: what that allocates is left out.
    static WRITING: Cell<bool> = const { Cell::new(false) };
}

/// Large allocations: address, bytes, the number of the trace.
struct Book {
    live: Vec<(usize, usize, usize)>,
    peak: Vec<(usize, usize, usize)>,
    most: usize,
    traces: Vec<Backtrace>,
}

/// Runs `task` unless this thread is in such a task already.
fn writing(task: impl FnOnce(&mut Book)) {
    let free = WRITING.try_with(|writing| !writing.replace(true)).unwrap_or(false);
    if free {
        if let Ok(mut book) = BOOK.lock() {
            task(&mut book);
        }
        let _ = WRITING.try_with(|writing| writing.set(false));
    }
}

fn note(address: usize, bytes: usize) {
    LIVE.fetch_add(bytes, Ordering::Relaxed);
    if bytes >= LARGE && WATCHING.load(Ordering::Relaxed) {
        writing(|book| {
            let trace = Backtrace::force_capture();
            book.traces.push(trace);
            book.live.push((address, bytes, book.traces.len() - 1));
            let live: usize = book.live.iter().map(|own| own.1).sum();
            if live > book.most {
                book.most = live;
                book.peak = book.live.clone();
            }
        });
    }
}

fn forget(address: usize, bytes: usize) {
    LIVE.fetch_sub(bytes, Ordering::Relaxed);
    if bytes >= LARGE && WATCHING.load(Ordering::Relaxed) {
        writing(|book| book.live.retain(|own| own.0 != address));
    }
}

// SAFETY: every call goes to the system's allocator with the same arguments.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, size: Size) -> *mut u8 {
        // SAFETY: the caller's promise.
        let pointer = unsafe { System.alloc(size) };
        note(pointer as usize, size.size());
        pointer
    }

    unsafe fn alloc_zeroed(&self, size: Size) -> *mut u8 {
        // SAFETY: the caller's promise.
        let pointer = unsafe { System.alloc_zeroed(size) };
        note(pointer as usize, size.size());
        pointer
    }

    unsafe fn dealloc(&self, pointer: *mut u8, size: Size) {
        forget(pointer as usize, size.size());
        // SAFETY: the caller's promise.
        unsafe { System.dealloc(pointer, size) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, size: Size, new: usize) -> *mut u8 {
        forget(pointer as usize, size.size());
        // SAFETY: the caller's promise.
        let moved = unsafe { System.realloc(pointer, size, new) };
        note(moved as usize, new);
        moved
    }
}

/// A line of `/proc/self/status`, in bytes.
fn status(name: &str) -> usize {
    let text = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = text.lines().find(|line| line.starts_with(name)).unwrap_or_default();
    line.split_whitespace().nth(1).and_then(|word| word.parse::<usize>().ok()).unwrap_or(0) * 1024
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let quick = arguments.iter().any(|argument| argument == "--quick")
        || !arguments.iter().any(|argument| argument == "--bench");
    if let Some(place) = arguments.iter().position(|argument| argument == "--child") {
        let name = arguments.get(place + 1).map(String::as_str).unwrap_or_default();
        let kind = Kind::ALL.into_iter().find(|kind| kind.name() == name).expect("a program of the bench");
        let threads = arguments.get(place + 2).and_then(|own| own.parse().ok()).unwrap_or(1);
        fit(kind, threads, quick, arguments.iter().any(|argument| argument == "--watch"));
        return;
    }
    let program = std::env::current_exe().expect("the bench knows its own file");
    println!("| program | threads | before, MB | peak, MB | taken, MB | limit, MB | taken / limit |");
    println!("| --- | --- | --- | --- | --- | --- | --- |");
    let names = ["lda", "nmf_gamma"];
    for (name, threads) in names.iter().flat_map(|name| [(name, "1"), (name, "2")]) {
        run(&program, &["--child", name, threads], quick);
    }
    for name in names {
        println!("\nLarge allocations of {name} at their peak, one thread, bound data left out:\n");
        run(&program, &["--child", name, "1", "--watch"], quick);
    }
}

fn run(program: &std::path::Path, arguments: &[&str], quick: bool) {
    let mode = if quick { "--quick" } else { "--bench" };
    let status = std::process::Command::new(program).args(arguments).arg(mode).status();
    assert!(status.is_ok_and(|status| status.success()), "the process of {arguments:?} ends well");
}

/// One fit, measured.
fn fit(kind: Kind, threads: usize, quick: bool, watch: bool) {
    let (sizes, entries, topics) =
        if quick { ([2_000, 1_000], 50_000, 20) } else { ([20_000, 18_000], 3_000_000, 100) };
    let program = kind.program();
    let bound = {
        let data = Sparse::draw(&sizes, entries, true);
        bind(&program, &sizes, topics, &data)
    };
    let data = entries * (2 * size_of::<u32>() + size_of::<f64>());
    let missing = |array| bound.array(array).has_missing();
    let parameters: usize = program
        .equations
        .blocks
        .iter()
        .map(|block| {
            Layout::new(&program.equations, &bound, block, &missing).values(block) * size_of::<f64>()
        })
        .sum();
    // Writing 5 makes the present size the peak.
    let reset = std::fs::write("/proc/self/clear_refs", "5").is_ok();
    let (before, live) = (status("VmRSS"), LIVE.load(Ordering::Relaxed));
    WATCHING.store(watch, Ordering::Relaxed);
    let schedule = program.schedule();
    let begin = start(&program.equations, &bound, 1);
    let mut executor = Executor::new(&program.equations, &bound, begin, threads)
        .expect("the programs of the bench have plans");
    for _ in 0..3 {
        executor.sweep(&schedule).expect("the data are proper");
        std::hint::black_box(executor.elbo());
    }
    WATCHING.store(false, Ordering::Relaxed);
    let peak = status("VmHWM");
    if watch {
        list(live, parameters);
        return;
    }
    let limit = data + 6 * parameters;
    // What stood before is the bound data, the program and memory that the drawing of the data has left.
    let taken = peak - before + data;
    let mb = |bytes: usize| format!("{:.0}", bytes as f64 / 1e6);
    println!(
        "| {} | {threads} | {} | {}{} | {} | {} | {:.0} % |",
        kind.name(),
        mb(before),
        mb(peak),
        if reset { "" } else { " (not reset)" },
        mb(taken),
        mb(limit),
        100.0 * taken as f64 / limit as f64,
    );
    println!(
        "  (data {} MB, a copy of the parameters {} MB, the plan's own figure {} MB)",
        mb(data),
        mb(parameters),
        mb(executor.peak_bytes())
    );
}

/// The large allocations at the peak, and what made them.
fn list(before: usize, parameters: usize) {
    let _ = WRITING.try_with(|writing| writing.set(true));
    let Ok(book) = BOOK.lock() else { return };
    let mut peak = book.peak.clone();
    peak.sort_by_key(|own| std::cmp::Reverse(own.1));
    println!("{:.1} MB at the peak, {:.1} MB before;", book.most as f64 / 1e6, before as f64 / 1e6);
    println!("a copy of the parameters has {:.1} MB.\n", parameters as f64 / 1e6);
    for (_, bytes, trace) in peak {
        let text = book.traces[trace].to_string();
        let frames: Vec<&str> = text
            .lines()
            .map(str::trim)
            .filter(|line| line.starts_with("at ") && line.contains("crates/cavi-"))
            .filter_map(|line| line.split_once("crates/").map(|(_, place)| place))
            .take(2)
            .collect();
        println!("- {:.1} MB: {}", bytes as f64 / 1e6, frames.join(", called at "));
    }
}
