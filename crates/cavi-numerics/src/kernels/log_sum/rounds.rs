//! The order in which the parts of a [grid](crate::kernels::pattern) are visited, and on which thread.
//!
//! With `C` chunks of rows and as many groups of columns, chunk `c` comes to the groups in the order `c, c + 1, .., C - 1, 0, ..,
//! c - 1`, and to group `g` come the chunks `g, g - 1, .., 0, C - 1, .., g + 1`. What is accumulated at a row or at a column is
//! therefore added in one order, whatever the number of threads: every schedule that keeps both orders has the same bits.
//!
//! Here each of `P` threads has a run of chunks, and the same run of groups is called its own. In phase `t = 0, .., P` thread `p`
//! visits its chunks in the groups of thread `p + t (mod P)`: in phase 0 where `c <= g`, in phase `P` where `c > g`, between
//! everywhere. A strip is visited by all chunks of the thread before the next strip, so that a column's row of a factor comes
//! from afar `P + 1` times a pass, and not once for each chunk.
//!
//! Where the rows of chunks are cut into slabs, all this is done in one slab of every chunk after the other.

use std::ops::Range;

use smallvec::SmallVec;

use crate::Threads;
use crate::kernels::pattern::{Grid, MOST_ROUNDS, Tile};

/// Calls `visit(task, tile)` for each chunk, which has the task of this number, and each slab and strip. Without as many groups
/// as chunks the chunks share nothing, and each visits the strips of a slab one after another. `before(chunks, slab)` is called before these chunks come to a slab.
pub(super) fn visit<T: Send>(
    grid: &Grid,
    tasks: &mut [T],
    threads: &Threads,
    before: impl Fn(Range<usize>, usize) + Sync + Send,
    visit: impl Fn(&mut T, Tile) + Sync + Send,
) {
    let (chunks, groups) = (grid.chunks(), grid.groups());
    if groups != chunks {
        threads.for_each_chunk(tasks, 1, |chunk, task| {
            for slab in 0..grid.slabs() {
                before(chunk..chunk + 1, slab);
                let strips = (0..groups).flat_map(|group| grid.strips(group));
                strips.for_each(|strip| visit(&mut task[0], Tile { chunk, slab, strip }));
            }
        });
        return;
    }
    let parts = threads.count().clamp(1, chunks);
    let part = |own: usize| chunks * own / parts..chunks * (own + 1) / parts;
    for (slab, phase) in (0..grid.slabs()).flat_map(|slab| (0..=parts).map(move |phase| (slab, phase))) {
        if phase == 0 {
            before(0..chunks, slab);
        }
        let mut rest = &mut *tasks;
        let of_part =
            |own: usize| (own, rest.split_off_mut(..part(own).len()).expect("a task for each chunk"));
        let mut of_parts: SmallVec<[(usize, &mut [T]); MOST_ROUNDS]> = (0..parts).map(of_part).collect();
        threads.for_each_item(&mut of_parts, |(own, tasks)| {
            for group in part((*own + phase) % parts) {
                let visited = visited(phase, parts, part(*own), group);
                for strip in grid.strips(group) {
                    for chunk in visited.clone().rev() {
                        visit(&mut tasks[chunk - part(*own).start], Tile { chunk, slab, strip });
                    }
                }
            }
        });
    }
}

/// The chunks of a part that visit a group in a phase.
fn visited(phase: usize, parts: usize, own: Range<usize>, group: usize) -> Range<usize> {
    if phase == 0 {
        own.start..group + 1
    } else if phase == parts {
        group + 1..own.end
    } else {
        own
    }
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;
    use std::sync::Mutex;

    use super::*;
    use crate::kernels::Pattern;

    #[test]
    fn rows_and_columns_are_visited_in_one_order_by_any_number_of_threads() {
        let places = || (0..200_u32).flat_map(|row| (0..200_u32).map(move |column| (row, column)));
        let columns = [places().map(|place| place.0).collect(), places().map(|place| place.1).collect()];
        let pattern = Pattern::on_grid(columns.map(Cow::Owned).to_vec(), 5000);
        let whole = pattern.grid().expect("entries enough");
        let chunks = whole.chunks();
        assert!(chunks > 4 && whole.groups() == chunks && whole.strips(0).len() > 1, "strips in groups");
        let around = |first: usize| (0..chunks).map(move |step| (first + step) % chunks);
        for (slabs, threads) in [1, 3].into_iter().flat_map(|slabs| {
            [1, 2, 3, chunks - 1, chunks, chunks + 3].map(|threads| (slabs, Threads::new(threads)))
        }) {
            let pattern = pattern.in_slabs(slabs);
            let grid = pattern.grid().expect("entries enough");
            let mut of_chunk: Vec<Vec<(usize, usize)>> = vec![Vec::new(); chunks];
            let of_strip: Vec<Mutex<Vec<(usize, usize)>>> =
                (0..grid.strips(chunks - 1).end).map(|_| Mutex::default()).collect();
            let rows_of: Vec<Mutex<Vec<usize>>> = (0..chunks).map(|_| Mutex::default()).collect();
            let told = Mutex::new(Vec::new());
            let before = |chunks: Range<usize>, slab| {
                told.lock().expect("nobody panics").extend(chunks.map(|chunk| (slab, chunk)));
            };
            visit(grid, &mut of_chunk, &threads, before, |own, tile| {
                assert!(told.lock().expect("nobody panics").contains(&(tile.slab, tile.chunk)));
                own.push((tile.slab, tile.strip));
                of_strip[tile.strip].lock().expect("nobody panics").push((tile.slab, tile.chunk));
                if tile.strip == 0 {
                    let (first, from, _) = grid.runs_of(tile);
                    rows_of[tile.chunk].lock().expect("nobody panics").extend(first..first + from.len());
                }
            });
            for (chunk, rows) in rows_of.iter().enumerate() {
                let (first, from, _) = grid.runs(chunk, 0);
                assert!(rows.lock().expect("nobody panics").iter().copied().eq(first..first + from.len()));
            }
            let in_slabs = |order: Vec<usize>| -> Vec<(usize, usize)> {
                (0..slabs).flat_map(|slab| order.iter().map(move |own| (slab, *own))).collect()
            };
            for (chunk, strips) in of_chunk.iter().enumerate() {
                assert_eq!(in_slabs(around(chunk).flat_map(|group| grid.strips(group)).collect()), *strips);
            }
            for group in 0..chunks {
                for strip in grid.strips(group) {
                    let chunks_of = of_strip[strip].lock().expect("nobody panics");
                    let order = around(chunks - 1 - group).map(|chunk| chunks - 1 - chunk).collect();
                    assert_eq!(in_slabs(order), *chunks_of);
                }
            }
        }
    }
}
