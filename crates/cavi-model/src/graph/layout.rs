//! Where the units of a drawing stand on a grid: parents above children, and as few units as possible inside the box
//! of a plate that they do not belong to.
//!
//! A unit is a variable with its factor. The search is simulated annealing with a fixed stream of numbers, so that the
//! same program gives the same drawing, whatever its names are.

/// What is laid out.
pub(super) struct Problem {
    /// For each unit, the plates it stands in.
    pub plates: Vec<Vec<usize>>,
    /// How many plates there are.
    pub n_plates: usize,
    /// Parent and child.
    pub edges: Vec<(usize, usize)>,
}

/// Row and column of each unit.
pub(super) type Places = Vec<(i32, i32)>;

/// Lays the units out.
pub(super) fn lay_out(problem: &Problem) -> Places {
    let n = problem.plates.len();
    if n == 0 {
        return Vec::new();
    }
    let start = rows(problem);
    let deepest = start.iter().copied().max().unwrap_or(0) + 1;
    let columns = (n as f64).sqrt().ceil() as i32 + 2;
    let mut places: Places = Vec::with_capacity(n);
    let mut taken: Vec<(i32, i32)> = Vec::new();
    for row in &start {
        let mut column = 0;
        while taken.contains(&(*row, column)) {
            column += 1;
        }
        taken.push((*row, column));
        places.push((*row, column));
    }
    let columns = columns.max(places.iter().map(|(_, column)| column + 1).max().unwrap_or(1));
    let work = n * problem.n_plates + problem.edges.len() * (n + problem.edges.len()) + 1;
    let steps = (20_000_000 / work).clamp(200, 40_000);
    let mut best = (cost(problem, &places), places.clone());
    let mut current = best.0;
    let mut stream = Stream(0x9e37_79b9_7f4a_7c15);
    for step in 0..steps {
        let heat = 12.0 * (1.0 - step as f64 / steps as f64).powi(2) + 0.01;
        let unit = stream.below(n);
        let to = (stream.below(deepest as usize + 1) as i32, stream.below(columns as usize) as i32);
        let before = places[unit];
        let other = places.iter().position(|place| *place == to);
        places[unit] = to;
        if let Some(other) = other.filter(|other| *other != unit) {
            places[other] = before;
        }
        let next = if ordered(problem, &places) { cost(problem, &places) } else { f64::INFINITY };
        if next <= current || stream.unit() < ((current - next) / heat).exp() {
            current = next;
            if current < best.0 {
                best = (current, places.clone());
            }
        } else {
            if let Some(other) = other {
                places[other] = to;
            }
            places[unit] = before;
        }
    }
    compact(best.1)
}

/// The first row below all parents. A unit without a parent stands right above its first child.
fn rows(problem: &Problem) -> Vec<i32> {
    let n = problem.plates.len();
    let mut rows = vec![0; n];
    // The graph has no cycle, so that n rounds suffice.
    for _ in 0..n {
        let mut changed = false;
        for (parent, child) in &problem.edges {
            if rows[*child] <= rows[*parent] {
                rows[*child] = rows[*parent] + 1;
                changed = true;
            }
        }
        if !changed {
            break;
        }
    }
    for unit in 0..n {
        let root = problem.edges.iter().all(|(_, child)| *child != unit);
        let nearest =
            problem.edges.iter().filter(|(parent, _)| *parent == unit).map(|(_, child)| rows[*child]).min();
        if let (true, Some(nearest)) = (root, nearest) {
            rows[unit] = nearest - 1;
        }
    }
    rows
}

fn ordered(problem: &Problem, places: &Places) -> bool {
    problem.edges.iter().all(|(parent, child)| places[*parent].0 < places[*child].0)
}

/// Drops empty rows and columns.
fn compact(mut places: Places) -> Places {
    let mut rows: Vec<i32> = places.iter().map(|(row, _)| *row).collect();
    let mut columns: Vec<i32> = places.iter().map(|(_, column)| *column).collect();
    rows.sort_unstable();
    rows.dedup();
    columns.sort_unstable();
    columns.dedup();
    for place in &mut places {
        place.0 = rows.binary_search(&place.0).map_or(0, |row| row as i32);
        place.1 = columns.binary_search(&place.1).map_or(0, |column| column as i32);
    }
    places
}

/// First and last row, first and last column of the members of each plate.
pub(super) fn boxes(problem: &Problem, places: &Places) -> Vec<Option<[i32; 4]>> {
    let mut boxes: Vec<Option<[i32; 4]>> = vec![None; problem.n_plates];
    for (plates, (row, column)) in problem.plates.iter().zip(places) {
        for plate in plates {
            let own = boxes[*plate].get_or_insert([*row, *row, *column, *column]);
            own[0] = own[0].min(*row);
            own[1] = own[1].max(*row);
            own[2] = own[2].min(*column);
            own[3] = own[3].max(*column);
        }
    }
    boxes
}

/// Whether two boxes share a cell.
pub(super) fn meet(a: &[i32; 4], b: &[i32; 4]) -> bool {
    a[0] <= b[1] && b[0] <= a[1] && a[2] <= b[3] && b[2] <= a[3]
}

fn cost(problem: &Problem, places: &Places) -> f64 {
    let mut cost = 0.0;
    let boxes = boxes(problem, places);
    for (plate, own) in boxes.iter().enumerate() {
        let Some(own) = own else { continue };
        let strangers = places
            .iter()
            .zip(&problem.plates)
            .filter(|((row, column), plates)| {
                own[0] <= *row
                    && *row <= own[1]
                    && own[2] <= *column
                    && *column <= own[3]
                    && !plates.contains(&plate)
            })
            .count();
        cost += 60.0 * strangers as f64;
        cost += 0.5 * f64::from((own[1] - own[0] + 1) * (own[3] - own[2] + 1));
        for (other, box_of_other) in boxes.iter().enumerate().take(plate) {
            let Some(box_of_other) = box_of_other else { continue };
            let shared =
                problem.plates.iter().any(|plates| plates.contains(&plate) && plates.contains(&other));
            if meet(own, box_of_other) && !shared {
                cost += 25.0;
            }
        }
    }
    for (index, (parent, child)) in problem.edges.iter().enumerate() {
        let (from, to) = (places[*parent], places[*child]);
        let across = f64::from((to.1 - from.1).abs());
        let down = f64::from(to.0 - from.0);
        cost += 1.2 * across + 1.6 * (down - 1.0) + 0.4 * across.max(1.0).ln();
        for (unit, place) in places.iter().enumerate() {
            if unit != *parent && unit != *child && distance(*place, from, to) < 0.45 {
                cost += 14.0;
            }
        }
        for (other_parent, other_child) in problem.edges.iter().take(index) {
            if parent != other_parent
                && child != other_child
                && cross(from, to, places[*other_parent], places[*other_child])
            {
                cost += 5.0;
            }
        }
    }
    let height = places.iter().map(|(row, _)| *row).max().unwrap_or(0);
    let width = places.iter().map(|(_, column)| *column).max().unwrap_or(0)
        - places.iter().map(|(_, column)| *column).min().unwrap_or(0);
    cost + 1.0 * f64::from(height) + 1.2 * f64::from(width)
}

/// How far a cell is from the line between two others.
fn distance(place: (i32, i32), from: (i32, i32), to: (i32, i32)) -> f64 {
    let (x, y) = (f64::from(place.1 - from.1), f64::from(place.0 - from.0));
    let (dx, dy) = (f64::from(to.1 - from.1), f64::from(to.0 - from.0));
    let length = dx * dx + dy * dy;
    let along = if length > 0.0 { ((x * dx + y * dy) / length).clamp(0.0, 1.0) } else { 0.0 };
    (x - along * dx).hypot(y - along * dy)
}

/// Whether two lines between cells cross.
fn cross(a: (i32, i32), b: (i32, i32), c: (i32, i32), d: (i32, i32)) -> bool {
    let side = |p: (i32, i32), q: (i32, i32), r: (i32, i32)| {
        (i64::from(q.0 - p.0) * i64::from(r.1 - p.1) - i64::from(q.1 - p.1) * i64::from(r.0 - p.0)).signum()
    };
    side(a, b, c) * side(a, b, d) < 0 && side(c, d, a) * side(c, d, b) < 0
}

/// SplitMix64 (Steele, Lea and Flood 2014).
struct Stream(u64);

impl Stream {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, n: usize) -> usize {
        (self.next() % n.max(1) as u64) as usize
    }

    fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }
}
