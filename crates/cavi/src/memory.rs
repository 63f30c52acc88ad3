//! Checks before a fit whether its parameters fit into the memory of this machine.

use std::path::Path;

use cavi_algebra::{LetterId, Mode};
use cavi_syntax::Diagnostic;

use crate::prepare::Problem;

/// The bytes that a process can still take: the least of what the machine has available, what its control groups (containers) leave, and
/// what its limits on address space and data leave. `None` where the system says none of these.
pub(crate) fn available() -> Option<usize> {
    [of_machine(), of_groups(), of_limits()].into_iter().flatten().min()
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

/// What one control group leaves. Pages of files that nobody used for long are given back when they are needed.
fn left_in(group: &Path) -> Option<usize> {
    let number = |names: [&str; 2]| names.iter().find_map(|name| read(group.join(name))?.trim().parse().ok());
    let limit: usize = number(["memory.max", "memory.limit_in_bytes"])?;
    let taken: usize = number(["memory.current", "memory.usage_in_bytes"]).unwrap_or(0);
    let files = read(group.join("memory.stat"))
        .and_then(|stat| field(&stat, "total_inactive_file").or_else(|| field(&stat, "inactive_file")));
    Some(limit.saturating_sub(taken.saturating_sub(files.unwrap_or(0))))
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

/// An error if the parameters alone, of which a fit keeps at least two numbers for each element, need more memory than there
/// is; at the largest variable.
pub(crate) fn refusal(problem: &Problem) -> Option<Diagnostic> {
    let Problem { model, equations, binding, .. } = problem;
    let bound = &binding.bound;
    let available = available()? as f64;
    let size = |letter: &LetterId| bound.size_of(&equations.symbols, *letter) as f64;
    let mut largest = (0.0, None);
    let mut total = 0.0;
    for block in equations.blocks.iter().filter(|block| block.mode != Mode::Implicit) {
        let rows: f64 = block.plates.iter().map(size).product();
        let slices = block.slices.iter().map(|letters| letters.iter().map(size).product::<f64>());
        let classes = block.classes.iter().map(size).product::<f64>();
        let elements = rows * slices.sum::<f64>().max(1.0) * classes;
        total += elements;
        if elements > largest.0 {
            largest = (elements, Some(block.members[0]));
        }
    }
    let needed = 2.0 * size_of::<f64>() as f64 * total;
    let array = largest.1.filter(|_| needed > available)?;
    let name = &model.symbols.array(array).name;
    Some(
        Diagnostic::error("E0804", format!("the parameters take {:.1} GB of memory or more", 1e-9 * needed))
            .at(model.array_spans[array.index()], format!("`{name}` has {:.3e} elements", largest.0))
            .possible(format!("{:.1} GB are available", 1e-9 * available))
            .help("fewer positions on its axes (`--set AXIS=SIZE`), or a machine with more memory"),
    )
}

#[cfg(test)]
mod tests {
    use super::{field, left_in};

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
        put("memory.stat", "anon 300\ninactive_file 100\n");
        assert_eq!(left_in(&group), Some(700));
        put("memory.current", "5000\n");
        assert_eq!(left_in(&group), Some(0));
        std::fs::remove_dir_all(&group).unwrap();
    }
}
