//! How much memory there is: of the machine, in the control groups (containers) of the process, under its limits, and under one that
//! was asked for. What is read and what is fitted keep to the same figure, [`left`].

use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The bytes that the process may take; the largest number where nothing was asked for.
static LIMIT: AtomicUsize = AtomicUsize::new(usize::MAX);

/// From here on the process is to take at most so many bytes of memory, as `--memory-limit` asks: what would take more is refused before it
/// is begun. As a limit of the system's does, it holds for the whole process, whichever thread reads or fits.
pub fn limit_to(bytes: usize) {
    LIMIT.store(bytes, Ordering::Relaxed);
}

/// The limit that was asked for, in bytes.
pub fn limit() -> Option<usize> {
    Some(LIMIT.load(Ordering::Relaxed)).filter(|limit| *limit < usize::MAX)
}

/// From here on what exceeds the limit that was asked for, or nine tenths of what is left where none was, lies in a file without a name in this
/// directory, as far as its disk has room: see [`cavi_numerics::overflow_to`].
///
/// # Errors
/// As the system says, where the file cannot be had.
pub fn overflow_in(directory: &Path) -> io::Result<()> {
    let file = crate::growing::nameless(directory)?;
    let above = limit().or_else(|| left_in_memory().map(|left| left / 10 * 9)).unwrap_or(usize::MAX);
    cavi_numerics::overflow_to(file, room_in(directory)?, above)
}

/// The bytes that the disk of a directory has for a file, a twentieth of them left to others.
#[cfg(unix)]
fn room_in(directory: &Path) -> io::Result<usize> {
    let disk = rustix::fs::statvfs(directory)?;
    let room = disk.f_bavail.saturating_mul(disk.f_frsize) / 20 * 19;
    Ok(usize::try_from(room).unwrap_or(usize::MAX))
}

#[cfg(not(unix))]
fn room_in(_: &Path) -> io::Result<usize> {
    Err(io::ErrorKind::Unsupported.into())
}

/// The bytes that the process can still take: [`left_in_memory`], and what a file of [`overflow_in`] has room for.
pub fn left() -> Option<usize> {
    let in_file = cavi_numerics::overflow_left().unwrap_or(0);
    left_in_memory().map(|left| left.saturating_add(in_file))
}

/// The bytes of memory that the process can still take: the least of what the machine has available, what its control groups leave, what its
/// limits on address space and data leave, and what the limit that was asked for leaves beside what it holds. `None` where there is
/// none of these.
pub fn left_in_memory() -> Option<usize> {
    let of_limit = limit().map(|limit| limit.saturating_sub(held()));
    [of_machine(), of_groups(), of_limits(), of_limit].into_iter().flatten().min()
}

/// The bytes of memory that have room for pages of files: what the machine and the control groups of the process have. `None` where that is not known.
pub(crate) fn room_for_files() -> Option<usize> {
    [of_machine(), of_groups()].into_iter().flatten().min()
}

/// What [`left`] is the rest of, in words: `2.0 GB are available`.
pub fn left_in_words() -> String {
    let left = left_in_memory();
    let available = text(left.unwrap_or(usize::MAX));
    let in_memory = match limit() {
        Some(limit) if Some(limit.saturating_sub(held())) <= left => {
            format!(
                "`--memory-limit` is {}, of which {} are taken and {available} are left",
                text(limit),
                text(held())
            )
        }
        Some(_) | None => format!("{available} are available"),
    };
    match cavi_numerics::overflow_left() {
        Some(room) => format!("{in_memory}, and {} in the directory of `--scratch`", text(room)),
        None => in_memory,
    }
}

/// So many bytes in the unit that suits them, of 1000: `2.5 MB`.
pub fn text(bytes: usize) -> String {
    let bytes = bytes as f64;
    let units = [(1e9, "GB"), (1e6, "MB"), (1e3, "kB")];
    match units.iter().find(|(unit, _)| bytes >= *unit) {
        Some((unit, name)) => format!("{:.1} {name}", bytes / unit),
        None => format!("{bytes} bytes"),
    }
}

/// The bytes that the process holds in memory, without pages of files: these are the system's, which takes them back when it needs them.
fn held() -> usize {
    let Some(status) = read("/proc/self/status") else { return 0 };
    let own: Vec<usize> = ["RssAnon:", "RssShmem:"].iter().filter_map(|name| field(&status, name)).collect();
    let held = if own.is_empty() { field(&status, "VmRSS:") } else { Some(own.iter().sum()) };
    held.map_or(0, kilobytes)
}

/// What the machine has available.
fn of_machine() -> Option<usize> {
    field(&read("/proc/meminfo")?, "MemAvailable:").map(kilobytes)
}

/// What the limits of this process on address space and on data leave.
fn of_limits() -> Option<usize> {
    let (limits, status) = (read("/proc/self/limits")?, read("/proc/self/status")?);
    let left = |limit: &str, taken: &str| {
        Some(field(&limits, limit)?.saturating_sub(field(&status, taken).map_or(0, kilobytes)))
    };
    let both = [left("Max address space", "VmSize:"), left("Max data size", "VmData:")];
    both.into_iter().flatten().min()
}

/// What the control groups of this process leave, each of those above it included.
fn of_groups() -> Option<usize> {
    let groups = read("/proc/self/cgroup")?;
    let of_line = |line: &str| {
        let mut parts = line.splitn(3, ':').skip(1);
        let (controllers, path) = (parts.next()?, parts.next()?);
        let root = match controllers {
            "" => "/sys/fs/cgroup",
            _ if controllers.split(',').any(|own| own == "memory") => "/sys/fs/cgroup/memory",
            _ => return None,
        };
        // Inside a container the path may be that outside of it: then only the root is there.
        let above = Path::new(path).ancestors();
        above.filter_map(|own| left_in(&Path::new(root).join(own.strip_prefix("/").ok()?))).min()
    };
    groups.lines().filter_map(of_line).min()
}

/// What one control group leaves. Pages of files are given back when they are needed, those of a mapped file that is gone through again and again too.
fn left_in(group: &Path) -> Option<usize> {
    let number = |names: [&str; 2]| names.iter().find_map(|name| read(group.join(name))?.trim().parse().ok());
    let limit: usize = number(["memory.max", "memory.limit_in_bytes"])?;
    let taken: usize = number(["memory.current", "memory.usage_in_bytes"]).unwrap_or(0);
    let stat = read(group.join("memory.stat")).unwrap_or_default();
    // The second names are those of the group alone, where the first, of the groups below it too, are not told.
    let of_files = |names: [&str; 2]| names.iter().find_map(|name| field(&stat, name)).unwrap_or(0);
    let files =
        of_files(["total_inactive_file", "inactive_file"]) + of_files(["total_active_file", "active_file"]);
    Some(limit.saturating_sub(taken.saturating_sub(files)))
}

/// The first word after a name at the beginning of a line, if it is a number.
fn field(text: &str, name: &str) -> Option<usize> {
    let rest = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix([' ', '\t']))?;
    rest.split_whitespace().next()?.parse().ok()
}

fn kilobytes(count: usize) -> usize {
    count.saturating_mul(1024)
}

fn read(path: impl AsRef<Path>) -> Option<String> {
    std::fs::read_to_string(path).ok()
}

#[cfg(test)]
mod tests {
    use super::{field, held, left_in, text};

    #[test]
    fn bytes_have_the_unit_that_suits_them() {
        assert_eq!([text(999), text(2_500_000), text(3_000_000_000)], ["999 bytes", "2.5 MB", "3.0 GB"]);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_process_holds_memory() {
        assert!(held() > 100_000, "{}", held());
    }

    #[test]
    fn fields_are_numbers_after_whole_names() {
        let text = "MemFree:  12 kB\nMax address space    4096  unlimited bytes\nMax data size  unlimited  unlimited\nVmSize:\t 7 kB\n";
        assert_eq!(field(text, "MemFree:"), Some(12));
        assert_eq!(field(text, "Max address space"), Some(4096));
        assert_eq!(field(text, "VmSize:"), Some(7));
        assert_eq!((field(text, "Max data size"), field(text, "Mem")), (None, None));
    }

    #[test]
    fn a_group_leaves_its_limit_less_what_cannot_be_given_back() {
        let group = std::env::temp_dir().join(format!("cavi-group-{}", std::process::id()));
        std::fs::create_dir_all(&group).unwrap();
        let put = |name: &str, text: &str| std::fs::write(group.join(name), text).unwrap();
        put("memory.max", "max\n");
        assert_eq!(left_in(&group), None);
        put("memory.max", "1000\n");
        put("memory.current", "400\n");
        assert_eq!(left_in(&group), Some(600));
        put("memory.stat", "anon 300\ninactive_file 60\nactive_file 40\n");
        assert_eq!(left_in(&group), Some(700));
        put("memory.stat", "inactive_file 1\nactive_file 2\ntotal_inactive_file 80\ntotal_active_file 20\n");
        assert_eq!(left_in(&group), Some(700));
        put("memory.current", "5000\n");
        assert_eq!(left_in(&group), Some(0));
        std::fs::remove_dir_all(&group).unwrap();
    }
}
