//! What a fit starts from: `--init`, a fit's directory, a directory laid out as its `posterior/`, or an `.npz` archive.
//!
//! Only the parameters that define q are read. Values are used as given: never perturbed, rescaled, reordered or
//! normalised; labels are matched where the directory has `axes/`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use cavi_algebra::{ArrayKind, AxisId, BlockId, Equations, Support};
use cavi_executor::observed::Observed;
use cavi_executor::{Bound, Layout, Parameters, normalise, simplexes};
use cavi_families::views_mut;
use cavi_files::DenseArray;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

use crate::bind::{Binding, DataError, Labels};
use crate::posterior::{Along, Column, ColumnFile, columns, family, group_path, layouts};
use crate::prepare::{EntryAxis, Problem};
use crate::start::{Given, lost_blocks};
use crate::stuck::Stuck;

/// Reads a start for a program and its data: for each block all its descriptors, and warnings about a symmetric start or a zero
/// where it stays.
///
/// # Errors
/// Files that cannot be read, a variable given in part, an unknown variable, a wrong shape, labels that the start lacks,
/// values outside the support.
pub fn read(problem: &Problem, path: &Path) -> Result<(Given, Vec<String>), Vec<DataError>> {
    let order = crate::schedule::of_program(&problem.model, &problem.equations).schedule.blocks();
    read_by(problem, path, &order)
}

/// The same where the first sweep comes to the blocks in this order.
///
/// # Errors
/// As [`read`].
pub(crate) fn read_by(
    problem: &Problem,
    path: &Path,
    order: &[BlockId],
) -> Result<(Given, Vec<String>), Vec<DataError>> {
    let Problem { equations, binding, .. } = problem.as_given();
    let layouts = layouts(equations, &binding.bound);
    let mut reader = Reader::open(path, equations, binding, &layouts)?;
    let (given, warnings) = reader.run(&lost_blocks(problem.as_given(), order));
    if reader.problems.is_empty() { Ok((given, warnings)) } else { Err(reader.problems) }
}

/// Reads what a fit's directory has for some blocks of a program.
///
/// # Errors
/// As [`read`]; a block that the directory lacks.
pub(crate) fn read_blocks(
    problem: &Problem,
    path: &Path,
    wanted: &dyn Fn(BlockId) -> bool,
) -> Result<Given, Vec<DataError>> {
    let Problem { equations, binding, .. } = problem.as_given();
    let layouts = layouts(equations, &binding.bound);
    let mut reader = Reader::open(path, equations, binding, &layouts)?;
    let blocks = reader.blocks(wanted);
    for (index, block) in equations.blocks.iter().enumerate() {
        if wanted(BlockId::from(index)) && blocks[index].is_none() && reader.problems.is_empty() {
            let name = &equations.symbols.array(block.members[0]).name;
            reader.problems.push(
                DataError::new(format!("{}: nothing is there of `{name}`", path.display()))
                    .possible("the directory of a fit of this program"),
            );
        }
    }
    if reader.problems.is_empty() { Ok(Given { blocks }) } else { Err(reader.problems) }
}

/// Puts the numbers of a file where they belong in a column.
pub(crate) type Place<'a> = dyn FnMut(&ColumnFile, &DenseArray, &mut [f64]) -> Result<(), DataError> + 'a;

/// Reads what a fit's directory has for some blocks that have other rows here: `place` puts the numbers of its files into the columns
/// of `from`. Numbers that sum to 1 over positions of which some are new, or gone, are divided by their sum. A block whose numbers do not go together is
/// `None`.
///
/// # Errors
/// Files that cannot be read; variables that the program does not have; those of `place`.
pub(crate) fn read_over(
    problem: &Problem,
    path: &Path,
    wanted: &dyn Fn(BlockId) -> bool,
    from: &Parameters,
    place: &mut Place<'_>,
) -> Result<Given, Vec<DataError>> {
    let Problem { equations, binding, .. } = problem.as_given();
    let layouts = layouts(equations, &binding.bound);
    let reader = Reader::open(path, equations, binding, &layouts)?;
    if !reader.problems.is_empty() {
        return Err(reader.problems);
    }
    let all = columns(equations);
    let mut blocks = vec![None; equations.blocks.len()];
    for (index, block) in blocks.iter_mut().enumerate() {
        let id = BlockId::from(index);
        if !wanted(id) {
            continue;
        }
        let mut columns = from.blocks[index].clone();
        for column in all.iter().filter(|column| column.block == id && column.defining) {
            for file in column.files(equations, &binding.bound, &layouts, &binding.labels) {
                if let Some(array) = reader.store.read(&file.key).map_err(|error| vec![error])? {
                    place(&file, &array, &mut columns[column.column]).map_err(|error| vec![error])?;
                }
            }
        }
        reader.share_out(id, &mut columns);
        *block = reader.complete(id, columns).ok();
    }
    Ok(Given { blocks })
}

/// Where the arrays of a start are.
struct Store {
    path: PathBuf,
    /// The keys, `VAR.PARAM` or `VAR.PARAM/GROUP`, sorted, each with its array if that is read already.
    keys: BTreeMap<String, Option<DenseArray>>,
    /// The directory of the keys.
    root: PathBuf,
    /// `axes/`, if there is one.
    axes: Option<PathBuf>,
}

impl Store {
    fn open(path: &Path) -> Result<Store, DataError> {
        let shown = path.display();
        if path.is_dir() {
            let inner = path.join("posterior");
            let root = if inner.is_dir() { inner } else { path.to_owned() };
            let axes = path.join("axes");
            let mut keys = BTreeMap::new();
            gather_keys(&root, "", &mut keys)
                .map_err(|error| DataError::new(format!("{shown}: cannot be listed ({error})")))?;
            let axes = axes.is_dir().then_some(axes);
            return Ok(Store { path: path.to_owned(), keys, root, axes });
        }
        if path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("npz")) {
            let arrays = cavi_files::read_npz_arrays(path)?;
            let keys = arrays.into_iter().map(|(key, array)| (key, Some(array))).collect();
            return Ok(Store { path: path.to_owned(), keys, root: PathBuf::new(), axes: None });
        }
        let found = if path.exists() { "no start" } else { "no such file" };
        Err(DataError::new(format!("{shown}: {found}"))
            .possible("a fit's directory, a directory laid out as its `posterior/`, or an .npz file"))
    }

    /// What a message calls a key.
    fn name(&self, key: &str) -> String {
        match self.root.as_os_str().is_empty() {
            true => format!("{}, `{key}`", self.path.display()),
            false => self.file(key).display().to_string(),
        }
    }

    fn file(&self, key: &str) -> PathBuf {
        self.root.join(format!("{key}.npy"))
    }

    fn read(&self, key: &str) -> Result<Option<DenseArray>, DataError> {
        match self.keys.get(key) {
            None => Ok(None),
            Some(Some(array)) => Ok(Some(array.clone())),
            Some(None) => Ok(Some(cavi_files::read_npy(&self.file(key))?)),
        }
    }
}

/// The `.npy` files below a directory.
fn gather_keys(
    directory: &Path,
    prefix: &str,
    keys: &mut BTreeMap<String, Option<DenseArray>>,
) -> std::io::Result<()> {
    for entry in std::fs::read_dir(directory)? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if entry.file_type()?.is_dir() || entry.path().is_dir() {
            // Nothing but directories of groups is looked into.
            if !prefix.is_empty() || name.contains('.') && !name.starts_with('.') {
                gather_keys(&entry.path(), &format!("{prefix}{name}/"), keys)?;
            }
        } else if let Some(key) = name.strip_suffix(".npy") {
            keys.insert(format!("{prefix}{key}"), None);
        }
    }
    Ok(())
}

/// For each position of a group of an axis, its position in the start.
type Order = Option<Vec<usize>>;

struct Reader<'a> {
    store: Store,
    equations: &'a Equations,
    bound: &'a Bound,
    layouts: &'a [Layout],
    labels: &'a Labels,
    entries: &'a [EntryAxis],
    problems: Vec<DataError>,
    /// What was found out about the labels of each group of an axis.
    orders: BTreeMap<(AxisId, Option<usize>), Order>,
}

impl<'a> Reader<'a> {
    /// Opens a start, and notes variables that the program does not have.
    fn open(
        path: &Path,
        equations: &'a Equations,
        binding: &'a Binding,
        layouts: &'a [Layout],
    ) -> Result<Reader<'a>, Vec<DataError>> {
        let store = Store::open(path).map_err(|error| vec![error])?;
        let Binding { bound, labels, entries, .. } = binding;
        let (problems, orders) = (Vec::new(), BTreeMap::new());
        let mut reader = Reader { store, equations, bound, layouts, labels, entries, problems, orders };
        reader.check_names();
        Ok(reader)
    }

    /// Refuses variables that the program does not have.
    fn check_names(&mut self) {
        let symbols = &self.equations.symbols;
        let latents: Vec<&str> = symbols.latents().map(|own| symbols.array(own).name.as_str()).collect();
        let mut reported: BTreeSet<&str> = BTreeSet::new();
        for key in self.store.keys.keys() {
            // `VAR1+VAR2.cov` belongs to several variables.
            let Some((names, _)) = key.split_once('.') else { continue };
            for name in names.split('+') {
                let known = symbols.find(name).is_some_and(|id| {
                    let array = symbols.array(id);
                    let stated = self.equations.statements.iter().any(|statement| statement.target == id);
                    array.kind == ArrayKind::Latent || array.kind == ArrayKind::Data && stated
                });
                if !known && reported.insert(name) {
                    let message = format!("{}: the program has no variable `{name}`", self.store.name(key));
                    self.problems.push(DataError::unknown(message, name, &latents));
                }
            }
        }
    }

    /// The columns of the blocks that are wanted and given.
    fn blocks(&mut self, wanted: &dyn Fn(BlockId) -> bool) -> Vec<Option<Vec<Vec<f64>>>> {
        let columns = columns(self.equations);
        let mut blocks = vec![None; self.equations.blocks.len()];
        for (index, block) in blocks.iter_mut().enumerate() {
            let id = BlockId::from(index);
            if !wanted(id) {
                continue;
            }
            let own: Vec<&Column> = columns.iter().filter(|column| column.block == id).collect();
            let before = self.problems.len();
            let Some(columns) = self.block(id, &own) else { continue };
            if self.problems.len() > before {
                continue;
            }
            match self.complete(id, columns) {
                Ok(columns) => *block = Some(columns),
                Err(problem) => self.problems.push(problem),
            }
        }
        blocks
    }

    /// Everything that is given, and what there is to say about it.
    fn run(&mut self, lost: &[bool]) -> (Given, Vec<String>) {
        let given = Given { blocks: self.blocks(&|_| true) };
        if self.problems.is_empty() && given.blocks.iter().all(Option::is_none) {
            let shown = self.store.path.display();
            self.problems.push(
                DataError::new(format!("{shown}: gives no variable of the program a start"))
                    .possible("files or keys `VAR.PARAM` with the parameters that define a factor of q (`w.shape` and `w.rate`)")
                    .help("leave `--init` out to start at random"),
            );
        }
        let mut warnings = Vec::new();
        if self.problems.is_empty() {
            let parameters: Vec<Option<&[Vec<f64>]>> = given.blocks.iter().map(Option::as_deref).collect();
            let (equations, bound, labels) = (self.equations, self.bound, self.labels);
            let stuck = Stuck { equations, bound, labels, parameters: &parameters, lost };
            warnings.extend(stuck.zeros(&|_| true).into_iter().map(|(_, message)| message));
            warnings.extend(stuck.symmetric().into_iter().map(|found| found.message));
        }
        (given, warnings)
    }

    /// The columns of a block; `None` if it is not given, or given in part (which is reported).
    fn block(&mut self, id: BlockId, own: &[&Column]) -> Option<Vec<Vec<f64>>> {
        let layout = &self.layouts[id.index()];
        let batch = layout.batch();
        let mut given: Vec<String> = Vec::new();
        let mut lacking: Vec<String> = Vec::new();
        let mut columns: Vec<Vec<f64>> = Vec::new();
        for column in own {
            let length = match column.extent {
                Some(extent) => batch.len(extent),
                None => layout.rows * layout.slices[column.member].iter().product::<usize>(),
            };
            // Several descriptors may be parts of one column.
            while columns.len() <= column.column {
                columns.push(Vec::new());
            }
            let values: &mut Vec<f64> = &mut columns[column.column];
            if values.is_empty() {
                *values = vec![f64::NAN; length];
            }
            if column.defining {
                for file in column.files(self.equations, self.bound, self.layouts, self.labels) {
                    // A group without positions needs no file.
                    let empty = file.dimensions.iter().any(|dimension| dimension.full == 0);
                    match self.store.read(&file.key) {
                        Err(problem) => self.problems.push(problem),
                        Ok(None) if empty => {}
                        Ok(None) => lacking.push(file.key.clone()),
                        Ok(Some(array)) => {
                            given.push(file.key.clone());
                            self.place(&file, &array, values);
                        }
                    }
                }
            }
        }
        let (Some(first), Some(lacks)) = (given.first(), lacking.first()) else {
            return (!given.is_empty()).then_some(columns);
        };
        let variable = lacks.split('.').next().unwrap_or_default();
        let all: Vec<&str> =
            own.iter().filter(|column| column.defining).map(|column| column.parameter).collect();
        self.problems.push(
            DataError::new(format!(
                "{}: the start of `{variable}` is given in part: `{first}` is there, and `{lacks}` is not",
                self.store.path.display()
            ))
            .possible(format!("all of {}, or none", crate::bind::list(&all))),
        );
        None
    }

    /// Puts the numbers of a file where they belong.
    fn place(&mut self, file: &ColumnFile, array: &DenseArray, values: &mut [f64]) {
        let Some(lengths) = lengths(file, &array.shape) else {
            self.problems.push(
                DataError::new(format!("{}: found the shape {:?}", self.store.name(&file.key), array.shape))
                    .possible(format!("the shape {:?}", file.shape)),
            );
            return;
        };
        let orders: Option<Vec<Order>> =
            file.dimensions.iter().map(|dimension| self.order_along(dimension.along)).collect();
        // A mismatch of labels was reported.
        let Some(orders) = orders else { return };
        let mut strides = vec![1; lengths.len()];
        for place in (1..lengths.len()).rev() {
            strides[place - 1] = strides[place] * lengths[place];
        }
        let mut walk = Walk {
            file,
            orders: &orders,
            lengths: &lengths,
            strides: &strides,
            array,
            values,
            at: Vec::new(),
            differs: None,
        };
        walk.step(0, file.base, 0);
        let Some((at, first, other)) = walk.differs else { return };
        let symbols = &self.equations.symbols;
        let shared = file.dimensions.iter().filter_map(|dimension| match dimension.along {
            Along::Axis(axis, _) if dimension.length < dimension.full => {
                Some(format!("`{}`", symbols.axis(axis).name))
            }
            Along::Axis(..) | Along::Members(_) => None,
        });
        let shared: Vec<String> = shared.collect();
        let variable = file.key.split('.').next().unwrap_or_default();
        self.problems.push(
            DataError::new(format!(
                "{}: its rows differ along {} (the entry {at:?} is {other}, and an earlier row has {first} there), and with these data, \
                 of which none are missing, one covariance is that of all these rows",
                self.store.name(&file.key),
                shared.join(" and "),
            ))
            .possible(format!("equal rows, or one in their place: the shape {:?}", file.shape))
            .help(format!(
                "start without `{variable}`: in a copy of the directory remove the files `posterior/{variable}.*`, and the first \
                 update of `{variable}` gives both its mean and its covariance; to go on from these factors as they are, give data \
                 with the same entries missing"
            )),
        );
    }

    /// How the start orders the positions of a dimension.
    fn order_along(&mut self, along: Along) -> Option<Order> {
        let id = match along {
            Along::Axis(axis, group) => return self.order(axis, group),
            Along::Members(id) => id,
        };
        // The elements of one member after another, each in C order of its slice.
        let equations = self.equations;
        let layout = &self.layouts[id.index()];
        let mut all: Vec<usize> = Vec::with_capacity(layout.n);
        for (letters, sizes) in equations.block(id).slices.iter().zip(&layout.slices) {
            let mut places = vec![all.len()];
            for (depth, (letter, size)) in letters.iter().zip(sizes).enumerate() {
                let order = self.order(equations.symbols.letter(*letter).axis, None)?;
                let stride: usize = sizes[depth + 1..].iter().product();
                let theirs = |position: usize| order.as_ref().map_or(position, |order| order[position]);
                places = places
                    .iter()
                    .flat_map(|place| (0..*size).map(move |position| (place, position)))
                    .map(|(place, position)| place + theirs(position) * stride)
                    .collect();
            }
            all.extend(places);
        }
        Some(Some(all))
    }

    /// How the start orders the positions of a group of an axis: `Some(None)` where the order is the same; `None` where
    /// labels do not match, which is reported once.
    fn order(&mut self, axis: AxisId, group: Option<usize>) -> Option<Order> {
        if let Some(order) = self.orders.get(&(axis, group)) {
            return Some(order.clone());
        }
        let found = match self.entries.iter().find(|own| own.axis == axis) {
            Some(entries) => self.order_of_entries(entries),
            None => self.find_order(axis, group),
        };
        let order = match found {
            Ok(order) => Some(order),
            Err(problem) => {
                self.problems.push(problem);
                None
            }
        };
        self.orders.insert((axis, group), order.clone().flatten());
        order
    }

    /// How the start orders listed entries: by `VAR.index.npy` of a variable that lives there; without one the order counts.
    fn order_of_entries(&mut self, entries: &EntryAxis) -> Result<Order, DataError> {
        let symbols = &self.equations.symbols;
        for (variable, declared) in &entries.latents {
            let key = format!("{}.index", symbols.array(*variable).name);
            let Some(index) = self.store.read(&key)? else { continue };
            let count = entries.columns[0].len();
            if index.shape != [count, declared.len()] {
                let found = format!("{}: found the shape {:?}", self.store.name(&key), index.shape);
                return Err(DataError::new(found).possible(format!(
                    "the shape {:?}: a row for each listed entry, a column for each axis",
                    [count, declared.len()]
                )));
            }
            let theirs: BTreeMap<Vec<usize>, usize> = index
                .values
                .chunks(declared.len())
                .enumerate()
                .map(|(place, entry)| (entry.iter().map(|own| *own as usize).collect(), place))
                .collect();
            // Positions on axes with labels are those of the start's labels.
            let mut orders: Vec<Order> = Vec::new();
            for coordinate in declared {
                orders.push(self.order(entries.coordinates[*coordinate], None).unwrap_or_default());
            }
            let place = |entry: usize| {
                let position = |(coordinate, order): (&usize, &Order)| {
                    let own = entries.columns[*coordinate][entry] as usize;
                    order.as_ref().map_or(own, |order| order[own])
                };
                let wanted: Vec<usize> = declared.iter().zip(&orders).map(position).collect();
                theirs.get(&wanted).copied().ok_or_else(|| {
                    DataError::new(format!("{}: the start has no entry {wanted:?}", self.store.name(&key)))
                        .help("a start has the entries that the data list")
                })
            };
            let order: Vec<usize> = (0..count).map(place).collect::<Result<_, _>>()?;
            let same = order.iter().enumerate().all(|(own, theirs)| own == *theirs);
            return Ok((!same).then_some(order));
        }
        Ok(None)
    }

    fn find_order(&self, axis: AxisId, group: Option<usize>) -> Result<Order, DataError> {
        let symbols = &self.equations.symbols;
        let Some(directory) = &self.store.axes else { return Ok(None) };
        let name = &symbols.axis(axis).name;
        let path = match (group, symbols.axis(axis).parent) {
            (Some(group), Some(parent)) => {
                let path = group_path(symbols, self.bound, self.labels, parent, group);
                directory.join(name).join(format!("{path}.txt"))
            }
            _ => directory.join(format!("{name}.txt")),
        };
        if !path.is_file() {
            return Ok(None);
        }
        let theirs = cavi_files::read_labels(&path)?;
        let bound = &self.bound.axes[axis.index()];
        let range = match (&bound.starts, group) {
            (Some(starts), Some(group)) => starts[group]..starts[group + 1],
            _ => 0..bound.size,
        };
        let ours: Vec<String> =
            range.map(|position| self.labels.label(self.bound, axis, position).into_owned()).collect();
        let numbers =
            |labels: &[String]| labels.iter().enumerate().all(|(place, label)| *label == place.to_string());
        // Numbers stand for positions that have no labels; but where the other side has the same numbers in another order, they are labels.
        let no_labels = || {
            let same = || theirs.iter().collect::<BTreeSet<_>>() == ours.iter().collect::<BTreeSet<_>>();
            !self.labels.is_labelled(axis) || (numbers(&theirs) || numbers(&ours)) && !same()
        };
        if theirs == ours || theirs.len() == ours.len() && no_labels() {
            return Ok(None);
        }
        let place: BTreeMap<&str, usize> =
            theirs.iter().enumerate().map(|(place, label)| (label.as_str(), place)).collect();
        let mut order = Vec::with_capacity(ours.len());
        for label in &ours {
            let found = place.get(label.as_str()).ok_or_else(|| {
                DataError::new(format!(
                    "{}: the start has no label `{label}` of axis `{name}`",
                    path.display()
                ))
                .help("the labels of a start are those of the data; without `axes/` the order counts")
            })?;
            order.push(*found);
        }
        if theirs.len() > ours.len() {
            let extra = theirs.iter().find(|label| !ours.contains(label)).map_or("", String::as_str);
            return Err(DataError::new(format!(
                "{}: the start has {} labels of axis `{name}`, and the data {} (they lack `{extra}`)",
                path.display(),
                theirs.len(),
                ours.len()
            )));
        }
        Ok(Some(order))
    }

    /// Divides numbers that must sum to 1 by their sum: probabilities of classes, points on a simplex.
    fn share_out(&self, id: BlockId, columns: &mut [Vec<f64>]) {
        let block = self.equations.block(id);
        let layout = &self.layouts[id.index()];
        if family(self.equations, id).is_some() {
            if block.classes.is_some() {
                let width = layout.n.max(1);
                let first = columns.first_mut().into_iter().flat_map(|own| own.chunks_mut(width));
                first.for_each(|row| to_one(row, 0..row.len()));
            }
            return;
        }
        for (member, values) in columns.iter_mut().enumerate() {
            for slice in simplexes(self.equations, self.bound, block, layout, member) {
                to_one(values, slice);
            }
        }
    }

    /// Fills the descriptors that follow from those given; refuses what is outside the support.
    fn complete(&self, id: BlockId, mut columns: Vec<Vec<f64>>) -> Result<Vec<Vec<f64>>, DataError> {
        let block = self.equations.block(id);
        let layout = &self.layouts[id.index()];
        let symbols = &self.equations.symbols;
        let name = |member: usize| &symbols.array(block.members[member]).name;
        if let Some(family) = family(self.equations, id) {
            // A point mass is not among the proper ones: it is put there afterwards.
            let observed = Observed::of(self.equations, self.bound, block);
            if let Some(observed) = &observed {
                let mut proper = columns.clone();
                family.start(&layout.batch(), &mut ChaCha8Rng::seed_from_u64(0), &mut views_mut(&mut proper));
                for (column, proper) in columns.iter_mut().zip(&proper) {
                    let width = column.len() / layout.rows.max(1);
                    for (row, _) in observed.rows() {
                        let own = row * width..(row + 1) * width;
                        column[own.clone()].copy_from_slice(&proper[own]);
                    }
                }
            }
            if let (Some(observed), Some(covariances)) =
                (observed.as_ref().filter(|own| own.has_parts()), columns.get_mut(1))
            {
                observed.stand_apart(&layout.batch(), covariances);
            }
            let completed = family.complete(&layout.batch(), &mut views_mut(&mut columns));
            return match completed {
                Ok(()) => {
                    if let Some(observed) = &observed {
                        let has_masses =
                            observed.observe(family, &layout.batch(), &mut views_mut(&mut columns));
                        debug_assert!(has_masses, "a family that data have has point masses");
                    }
                    Ok(columns)
                }
                Err(improper) => Err(DataError::new(format!(
                    "{}: the start of `{}`{}: {}",
                    self.store.path.display(),
                    name(0),
                    self.copy(id, improper.row),
                    improper.reason
                ))),
            };
        }
        for (member, values) in columns.iter().enumerate() {
            let support = symbols.array(block.members[member]).support;
            let refused = |copy: String, reason: String| {
                let path = self.store.path.display();
                Err(DataError::new(format!("{path}: the start of `{}`{copy}: {reason}", name(member))))
            };
            let slices = layout.slices_of(member);
            for row in 0..slices.rows {
                if let Some(reason) = misfit(support, &values[slices.row(row)]) {
                    return refused(self.copy(id, row), reason);
                }
            }
            let simplexes = simplexes(self.equations, self.bound, block, layout, member);
            let alone = simplexes.len() == slices.rows;
            for (row, slice) in simplexes.into_iter().enumerate() {
                let total: f64 = slice.clone().map(|place| values[place]).sum();
                if (total - 1.0).abs() > 1e-9 && slice.len() > 0 {
                    let reason = format!("the numbers sum to {total}, and must sum to 1");
                    return refused(if alone { self.copy(id, row) } else { String::new() }, reason);
                }
            }
        }
        Ok(columns)
    }

    /// A copy of a block in words, by its labels.
    fn copy(&self, id: BlockId, row: usize) -> String {
        let symbols = &self.equations.symbols;
        let layout = &self.layouts[id.index()];
        let mut places = Vec::new();
        for (letter, position) in self.equations.block(id).copies(symbols).iter().zip(layout.positions(row)) {
            let axis = symbols.letter(*letter).axis;
            places.push(self.labels.path(symbols, self.bound, axis, position).join(", "));
        }
        if places.is_empty() { String::new() } else { format!(" at [{}]", places.join(", ")) }
    }
}

/// The lengths of the dimensions in a file of this shape; `None` where the shape does not fit. A shared dimension may be
/// written out, and one that is not shared may have length 1 if others could have shared it.
fn lengths(file: &ColumnFile, shape: &[usize]) -> Option<Vec<usize>> {
    if shape.len() != file.shape.len() {
        return None;
    }
    let own = |dimensions: &[usize]| dimensions.to_vec();
    let exact: Vec<usize> = file.dimensions.iter().map(|dimension| dimension.length).collect();
    if shape == file.shape {
        return Some(own(&exact));
    }
    // Only covariances are shared: their plates come first, and the slices twice.
    if !file.key.split('/').next().is_some_and(|key| key.ends_with(".cov")) {
        return None;
    }
    let plates = shape.len() - 2;
    let mut lengths = exact;
    for place in 0..shape.len() {
        match place < plates {
            true if shape[place] == 1 || shape[place] == file.dimensions[place].full => {
                lengths[place] = shape[place]
            }
            true => return None,
            false if shape[place] == file.shape[place] => {}
            false => return None,
        }
    }
    Some(lengths)
}

/// A walk through a file and a column at once.
struct Walk<'a> {
    file: &'a ColumnFile,
    orders: &'a [Order],
    lengths: &'a [usize],
    strides: &'a [usize],
    array: &'a DenseArray,
    values: &'a mut [f64],
    /// The position along each dimension so far.
    at: Vec<usize>,
    /// The first entry of a row that is not that of an earlier row that it shares its place with, that one, and its own.
    differs: Option<(Vec<usize>, f64, f64)>,
}

impl Walk<'_> {
    fn step(&mut self, depth: usize, place: usize, source: usize) {
        let Some(dimension) = self.file.dimensions.get(depth).copied() else {
            let value = self.array.values[source];
            let slot = &mut self.values[place];
            if !slot.is_nan() && *slot != value && self.differs.is_none() {
                self.differs = Some((self.at.clone(), *slot, value));
            }
            *slot = value;
            return;
        };
        for position in 0..dimension.length.max(self.lengths[depth]) {
            let theirs = match &self.orders[depth] {
                Some(order) if self.lengths[depth] > 1 => order[position],
                _ => position.min(self.lengths[depth] - 1),
            };
            let ours = position.min(dimension.length - 1);
            self.at.push(position);
            self.step(depth + 1, place + ours * dimension.stride, source + theirs * self.strides[depth]);
            self.at.pop();
        }
    }
}

/// Divides numbers by their sum where that is not 1 already.
fn to_one(values: &mut [f64], places: impl Iterator<Item = usize> + Clone) {
    let total: f64 = places.clone().map(|place| values[place]).sum();
    if (total - 1.0).abs() > 1e-9 {
        normalise(values, places);
    }
}

/// What is wrong with the value of a point, if anything is.
fn misfit(support: Support, slice: &[f64]) -> Option<String> {
    let first = |fits: &dyn Fn(f64) -> bool, expected: &str| {
        slice.iter().find(|value| !fits(**value)).map(|value| format!("found {value}; expected {expected}"))
    };
    match support {
        Support::Real | Support::PositiveDefinite => first(&f64::is_finite, "a finite number"),
        // 0 is the boundary, where a mode may be.
        Support::Positive | Support::Nonnegative | Support::Multiplicity => {
            first(&|value| value >= 0.0 && value.is_finite(), "a finite number, 0 or greater")
        }
        Support::Unit => first(&|value| (0.0..=1.0).contains(&value), "a number from 0 to 1"),
        Support::Count | Support::Index(_) => {
            first(&|value| value >= 0.0 && value.fract() == 0.0, "a whole number, 0 or greater")
        }
        Support::Binary => first(&|value| value == 0.0 || value == 1.0, "0 or 1"),
        // Sums are looked at apart.
        Support::Simplex => first(&|value| value >= 0.0 && value.is_finite(), "a number from 0 to 1"),
    }
}
