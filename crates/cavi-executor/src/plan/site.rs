//! The plan of a site: which pass over which entries gives its log partitions and expected counts.

use cavi_algebra::{
    ArrayId, ArrayKind, Atom, BlockId, Coefficient, Factor, Function, LetterId, SiteId, Subscript, Sum, Term,
};
use cavi_numerics::special;

use crate::data::BoundArray;
use crate::plan::columns::Columns;
use crate::plan::lower::{Dim, Lowering, Unplanned};
use crate::plan::precision::Stored;
pub use crate::plan::rows::Rows;
use crate::plan::rows::{choose_products, write_out};
use crate::plan::tensor::{Access, Contraction, Elementwise, Index, Loop, Node, NodeId, Operation};

/// With at most this many groups, a mask over the members of all groups says which belong to which.
const FEW: usize = 2;

/// How one site is evaluated. Its entries are the listed ones of a sparse array, or all of a dense domain.
#[derive(Clone, Debug)]
pub struct SitePlan {
    /// The number of entries.
    pub entries: usize,
    /// The coefficient of the log at each entry.
    pub weight: NodeId,
    /// The addends.
    pub addends: Vec<AddendPlan>,
    /// Where allocations leave their own shares out, what is read for each mode of the only addend; `None` for one that is taken
    /// as it is.
    pub own: Option<Vec<Option<OwnPlan>>>,
}

/// What a pass that leaves shares out reads of a mode besides its means.
#[derive(Clone, Debug)]
pub struct OwnPlan {
    /// The masses, rows by categories.
    pub mass: NodeId,
    /// What of them stays, by categories.
    pub prior: NodeId,
    /// For means over totals, these.
    pub total: Option<TotalPlan>,
}

/// The totals of a mode, by categories.
#[derive(Clone, Debug)]
pub struct TotalPlan {
    /// The totals of the masses.
    pub mass: NodeId,
    /// What of them stays.
    pub prior: NodeId,
}

impl OwnPlan {
    /// The nodes that it reads.
    pub fn nodes(&self) -> impl Iterator<Item = NodeId> + use<> {
        let total = self.total.clone();
        [self.mass, self.prior].into_iter().chain(total.into_iter().flat_map(|own| [own.mass, own.prior]))
    }

    /// The same with other names for the nodes.
    pub fn rename(&mut self, rename: &mut dyn FnMut(&mut NodeId)) {
        rename(&mut self.mass);
        rename(&mut self.prior);
        if let Some(total) = &mut self.total {
            rename(&mut total.mass);
            rename(&mut total.prior);
        }
    }
}

/// An addend at every entry: `exp(offset) * sum over categories of the product of its modes`.
#[derive(Clone, Debug)]
pub struct AddendPlan {
    /// The number of categories: the product of the ranges of its summed letters.
    pub categories: usize,
    /// Log terms without a summed letter, at each entry; `None` where there are none.
    pub offset: Option<NodeId>,
    /// The same terms as numbers to multiply, where each is a number for each value of one coordinate, and where another
    /// addend may need them so; else empty.
    pub single: Vec<SinglePlan>,
    /// Log terms with summed letters.
    pub modes: Vec<ModePlan>,
    /// How the factors of the modes are stored.
    pub stored: Stored,
    /// Which categories an entry has at all, where these are few of all.
    pub listed: Option<Listed>,
    /// Whether the entries stand in order of the rows of the first mode.
    pub in_rows: bool,
    /// Of two modes the number of entries by that of the places of their rows and columns.
    pub fill: Option<f64>,
    /// Whether the pass is by matrix products over blocks of rows and columns, which the entries then fill.
    pub by_products: bool,
    /// Log terms of blocks without a summed letter: their counts are scattered from the addend's share.
    pub scalars: Vec<ScalarPlan>,
}

/// The categories of each row, with logs; the others have weight 0. Sparse data over summed letters, too large to be filled out,
/// list them with the logs of their values; a group has its members.
#[derive(Clone, Debug)]
pub struct Listed {
    /// The row of each entry.
    pub row: Vec<u32>,
    /// Where the categories of each row begin.
    pub starts: Vec<usize>,
    /// The categories, row after row.
    pub categories: Vec<u32>,
    /// `coefficient * log value` of each.
    pub logs: Vec<f64>,
}

impl Listed {
    /// The categories of an entry, with their logs.
    pub fn of(&self, entry: usize) -> impl Iterator<Item = (usize, f64)> {
        let row = self.row[entry] as usize;
        let range = self.starts[row]..self.starts[row + 1];
        self.categories[range.clone()].iter().zip(&self.logs[range]).map(|(own, log)| (*own as usize, *log))
    }

    /// The bytes it takes.
    pub fn bytes(&self) -> usize {
        (self.row.len() + self.categories.len()) * size_of::<u32>()
            + (self.starts.len() + self.logs.len()) * size_of::<f64>()
    }
}

/// A log term with summed letters, as a matrix: one row for each value of its other letters.
#[derive(Clone, Debug)]
pub struct ModePlan {
    /// Which log term of the addend.
    pub log: usize,
    /// The block whose update reads its counts.
    pub block: Option<BlockId>,
    /// The points that climb and stand in the log: their slopes read its counts as they are, rows by categories.
    pub climbers: Vec<BlockId>,
    /// The values `exp(coefficient * E log)`, rows by categories.
    pub factor: NodeId,
    /// As many numbers stand behind the categories in each row of the factor, and of what a pass accumulates.
    pub padding: usize,
    /// `coefficient * E log`, rows by categories; padded where the factor is its exponential.
    pub log_factor: NodeId,
    /// The number of rows.
    pub rows: usize,
    /// The row of each entry.
    pub row: Rows,
    /// How the counts (rows by categories) lie in the block's own order: shape of rows and categories, and where each
    /// dimension of the block's element comes from.
    pub counts: Option<Contraction>,
    /// Whether it only says which values of a ragged letter belong to an entry: 1 for those of its group, else 0.
    pub membership: bool,
}

/// A log term without a summed letter: `exp(coefficient * E log)`.
#[derive(Clone, Debug)]
pub struct SinglePlan {
    /// The values, one a row.
    pub factor: NodeId,
    /// The row of each entry; `None` for one number that all entries share.
    pub row: Option<Rows>,
}

/// A log term of a block without a summed letter.
#[derive(Clone, Debug)]
pub struct ScalarPlan {
    /// Which log term of the addend.
    pub log: usize,
    /// Its block.
    pub block: BlockId,
    /// The element of the block (flattened) at each entry.
    pub element: Rows,
    /// The number of elements.
    pub size: usize,
}

impl ModePlan {
    /// Whether the update of one of these blocks reads its counts.
    pub fn is_read_by(&self, blocks: &[BlockId]) -> bool {
        self.block.iter().chain(&self.climbers).any(|block| blocks.contains(block))
    }

    /// How many dimensions of its factor number its rows, the first ones; its addend sums over so many letters.
    pub fn row_dims(&self, factor: &Node, letters: usize) -> usize {
        factor.dims.len() - if self.membership { 1 } else { letters }
    }

    /// Whether rows as a pass accumulates them are in the block's own order.
    pub fn counts_in_order(&self) -> bool {
        self.counts.as_ref().is_none_or(|arrange| {
            self.padding == 0
                && arrange.output.iter().enumerate().all(|(place, index)| index.letter == place)
                && arrange.output.len() == arrange.letters.len()
        })
    }
}

impl SitePlan {
    /// The addend that the kernel treats: the first of those with the most categories. Where the categories differ from entry
    /// to entry, all is done in log space.
    pub fn main_addend(&self) -> Option<usize> {
        if self.addends.iter().any(|addend| addend.listed.is_some()) {
            return None;
        }
        (0..self.addends.len())
            .filter(|addend| !self.addends[*addend].modes.is_empty())
            .max_by_key(|addend| (self.addends[*addend].categories, std::cmp::Reverse(*addend)))
    }

    /// Whether the update of a block reads counts of it.
    pub fn is_read_by(&self, block: BlockId) -> bool {
        self.addends.iter().any(|addend| {
            addend.modes.iter().any(|mode| mode.is_read_by(&[block]))
                || addend.scalars.iter().any(|scalar| scalar.block == block)
        })
    }

    /// The nodes that every pass reads.
    pub fn inputs(&self) -> impl Iterator<Item = NodeId> {
        let of_addends = self.addends.iter().flat_map(|addend| {
            let single = addend.single.iter().map(|single| single.factor);
            addend.offset.into_iter().chain(single).chain(addend.modes.iter().map(|mode| mode.factor))
        });
        let own = self.own.iter().flatten().flatten().flat_map(OwnPlan::nodes);
        std::iter::once(self.weight).chain(of_addends).chain(own)
    }
}

/// Plans a site that has a pass.
pub fn plan_site(lowering: &mut Lowering, id: SiteId) -> Result<SitePlan, Unplanned> {
    let mut site = lowering.equations.site(id).clone();
    // The masks are those of data without a missing entry, which are 1.
    for term in site.addends.iter_mut().flat_map(|addend| &mut addend.log_weight.terms) {
        term.factors.retain(|factor| !matches!(factor.atom, Atom::Observed(..)));
    }
    let domain = domain(lowering, &site.weight, &site.plates);
    let weight = lowering.site_weight(&site.weight, &domain)?;
    let entries: usize = lowering.nodes[weight.index()].len();
    let columns = Columns::of(lowering, &domain, entries);
    let mut addends = Vec::new();
    for addend in &site.addends {
        let letters = &addend.letters;
        let loops: Vec<Loop> = letters.iter().map(|letter| lowering.over_letter(*letter)).collect();
        let sizes: Vec<usize> = loops.iter().map(|own| own.size).collect();
        let mut plan = AddendPlan {
            stored: Stored::Double,
            categories: sizes.iter().product(),
            offset: None,
            single: Vec::new(),
            modes: Vec::new(),
            listed: None,
            in_rows: false,
            fill: None,
            by_products: false,
            scalars: Vec::new(),
        };
        let mut offset = Sum::zero();
        for (number, log) in addend.log_weight.terms.iter().enumerate() {
            let own = log.free_letters(&lowering.symbols);
            let block = owner(lowering, log);
            if own.iter().any(|letter| letters.contains(letter)) {
                if plan.listed.is_none() {
                    plan.listed = listed(lowering, log, letters, &sizes, &columns)?;
                    if plan.listed.is_some() {
                        continue;
                    }
                }
                plan.modes.push(mode(lowering, number, block, log, letters, &columns)?);
            } else {
                offset.terms.push(log.clone());
                let climbers = climbers(lowering, log);
                if let Some(block) = block.filter(|_| climbers.is_empty()) {
                    let subscripts = lowering.log_subscripts(block, log).expect("the owner's subscripts");
                    plan.scalars.push(scalar(lowering, number, block, &subscripts, &columns)?);
                }
                for block in climbers {
                    plan.scalars.push(scalar(
                        lowering,
                        number,
                        block,
                        &subscripts_of(lowering, log),
                        &columns,
                    )?);
                }
            }
        }
        for (place, letter) in letters.iter().enumerate() {
            let Some(parent) = lowering.symbols.letter(*letter).parent else { continue };
            let groups = lowering.bound.size_of(&lowering.symbols, parent);
            if plan.listed.is_none() && !letters.contains(&parent) && groups > FEW {
                plan.listed = Some(of_group(lowering, place, parent, letters, &sizes, &columns)?);
            } else {
                plan.modes.push(membership(lowering, place, parent, letters, &sizes, &columns)?);
            }
        }
        // Entries lie in order of their coordinates: the pass is best in the same order.
        plan.modes.sort_by_key(|mode| match &mode.row {
            Rows::Coordinate(_, column) => (*column, false),
            row @ (Rows::Own(_) | Rows::Counted { .. }) => {
                (usize::MAX, !row.is_sorted(lowering.bound, entries))
            }
        });
        if !offset.is_zero() {
            let terms = offset.terms.iter().enumerate().filter(|_| site.addends.len() > 1);
            let single: Option<Vec<SinglePlan>> =
                terms.map(|(number, log)| single(lowering, number, log, &columns)).collect();
            plan.single = single.unwrap_or_default();
            plan.offset = Some(lowering.sum(&offset, &domain, None)?);
        }
        addends.push(plan);
    }
    for addend in &mut addends {
        addend.in_rows = {
            let first = addend.modes.first();
            first.is_some_and(|mode| mode.row.is_sorted(lowering.bound, entries))
        };
    }
    let own = match &site.collapsed {
        None => None,
        Some(collapsed) => {
            let [addend] = addends.as_slice() else { unreachable!("a pass leaves shares of one addend out") };
            let letters = &site.addends[0].letters;
            let own = addend.modes.iter().map(|mode| match &collapsed.left_out[0][mode.log] {
                None => Ok(None),
                Some(left_out) => lowering.plan_own(left_out, letters, &columns).map(Some),
            });
            Some(own.collect::<Result<_, _>>()?)
        }
    };
    let mut plan = SitePlan { entries, weight, addends, own };
    for addend in &mut plan.addends {
        if plan.own.is_some() || addend.whole(entries).is_none() {
            write_out(lowering.bound, entries, addend);
        }
    }
    if plan.own.is_none() {
        choose_products(lowering.bound, &mut plan);
    }
    Ok(plan)
}

/// The block whose element's log a log term is.
fn owner(lowering: &Lowering, log: &Term) -> Option<BlockId> {
    if !log.sums.is_empty() {
        return None;
    }
    (0..lowering.equations.blocks.len())
        .map(BlockId::from)
        .find(|block| lowering.log_subscripts(*block, log).is_some())
}

/// The listed entries of a sparse array without which the weight is 0, or else all values of the site's letters.
pub fn domain(lowering: &Lowering, weight: &Sum, plates: &[LetterId]) -> Vec<Dim> {
    let innermost: Vec<LetterId> = plates
        .iter()
        .copied()
        .filter(|letter| {
            !plates.iter().any(|other| other != letter && lowering.symbols.lineage(*other).contains(letter))
        })
        .collect();
    let listed = |factor: &Factor| match &factor.atom {
        Atom::Value(array, subscripts) | Atom::Observed(array, subscripts) => {
            let letters: Option<Vec<LetterId>> = subscripts
                .iter()
                .map(|subscript| match subscript {
                    Subscript::Letter(letter) => Some(*letter),
                    Subscript::Index(..) => None,
                })
                .collect();
            let letters = letters?;
            let distinct =
                letters.iter().enumerate().all(|(place, letter)| !letters[..place].contains(letter));
            if !distinct || factor.power < 1 || lowering.symbols.array(*array).kind == ArrayKind::Latent {
                return None;
            }
            let vanishes = match lowering.bound.array(*array) {
                // What is not listed is 0; it was observed, or it was not.
                BoundArray::Sparse { unlisted_zero, .. } => {
                    matches!(factor.atom, Atom::Value(..)) || !unlisted_zero
                }
                BoundArray::Dense { .. } => false,
            };
            vanishes.then_some((*array, letters))
        }
        _ => None,
    };
    let mut terms = weight.terms.iter();
    let of_first: Vec<(ArrayId, Vec<LetterId>)> =
        terms.next().map_or_else(Vec::new, |term| term.factors.iter().filter_map(listed).collect());
    let sparse = of_first.into_iter().find(|own| {
        terms.clone().all(|term| term.factors.iter().filter_map(listed).any(|other| other == *own))
    });
    match sparse {
        Some((array, letters)) => {
            let rest = innermost.into_iter().filter(|letter| !letters.contains(letter)).map(Dim::Letter);
            std::iter::once(Dim::Entries(array, letters.clone())).chain(rest).collect()
        }
        None => innermost.into_iter().map(Dim::Letter).collect(),
    }
}

/// The points that climb and stand in a log term.
pub fn climbers(lowering: &Lowering, log: &Term) -> Vec<BlockId> {
    let blocks = lowering.equations.blocks.iter().enumerate();
    let climbs = blocks.filter(|(_, block)| {
        block.ascent.is_some() && block.members.iter().any(|member| log.mentions(*member))
    });
    climbs.map(|(index, _)| BlockId::from(index)).collect()
}

/// The subscripts of a log term that its summed letters, if it has any, do not stand in: each once, in their order; then the
/// letters of the groups that it sums over and names nowhere.
pub fn subscripts_of(lowering: &Lowering, log: &Term) -> Vec<Subscript> {
    let free = log.free_letters(&lowering.symbols);
    let mut subscripts: Vec<Subscript> = Vec::new();
    log.visit_subscripts(&mut |subscript| {
        let mut letters = Vec::new();
        subscript.letters(&mut letters);
        if letters.iter().all(|letter| free.contains(letter)) && !subscripts.contains(subscript) {
            subscripts.push(subscript.clone());
        }
    });
    let mut named = Vec::new();
    subscripts.iter().for_each(|subscript| subscript.letters(&mut named));
    let named: Vec<LetterId> =
        named.into_iter().flat_map(|letter| lowering.symbols.lineage(letter)).collect();
    subscripts.extend(free.into_iter().filter(|letter| !named.contains(letter)).map(Subscript::Letter));
    subscripts
}

/// The array that a log term reads, with its subscripts in the array's own order: `E log x` or `log x`.
fn log_array(lowering: &mut Lowering, log: &Term) -> Result<(NodeId, Vec<Subscript>), Unplanned> {
    let mut plain = log.clone();
    plain.coefficient = Coefficient(1.0);
    // One array over its own subscripts, each as a letter of its own.
    let subscripts = subscripts_of(lowering, log);
    let mut fresh = Vec::new();
    for subscript in &subscripts {
        let axis = match subscript {
            Subscript::Letter(letter) => lowering.symbols.letter(*letter).axis,
            Subscript::Index(array, _) => match lowering.symbols.array(*array).support {
                cavi_algebra::Support::Index(axis) => axis,
                _ => return Err(Unplanned("a subscript that is no index".to_owned())),
            },
        };
        fresh.push(lowering.symbols.fresh_on(axis));
    }
    for factor in &mut plain.factors {
        factor.atom.map_subscripts(&mut |subscript| {
            if let Some(place) = subscripts.iter().position(|own| own == subscript) {
                *subscript = Subscript::Letter(fresh[place]);
            }
        });
    }
    let domain: Vec<Dim> = fresh.iter().map(|letter| Dim::Letter(*letter)).collect();
    let node = lowering.sum(&Sum::term(plain), &domain, None)?;
    Ok((node, subscripts))
}

/// A log term with summed letters, with its rows at each entry.
pub fn mode(
    lowering: &mut Lowering,
    number: usize,
    block: Option<BlockId>,
    log: &Term,
    letters: &[LetterId],
    columns: &Columns,
) -> Result<ModePlan, Unplanned> {
    let (array, subscripts) = log_array(lowering, log)?;
    let own = lowering.loops(array);
    let category = |subscript: &Subscript| match subscript {
        Subscript::Letter(letter) => letters.iter().position(|own| own == letter),
        Subscript::Index(..) => None,
    };
    // Rows: the subscripts that are no category, in their order.
    let rows: Vec<usize> =
        (0..subscripts.len()).filter(|place| category(&subscripts[*place]).is_none()).collect();
    let over_rows: Vec<Loop> = rows.iter().map(|place| own[*place]).collect();
    let n_rows: usize = over_rows.iter().map(|row| row.size).product();
    let direct = match rows.as_slice() {
        [only] => columns.coordinate(lowering, &subscripts[*only]),
        _ => None,
    };
    let counted = match rows.as_slice() {
        [only] => columns.counted(&subscripts[*only]),
        _ => None,
    };
    let row = match (direct, counted) {
        (Some((array, column)), _) => Rows::Coordinate(array, column),
        (None, Some((inner, size))) => Rows::Counted { inner, size },
        (None, None) => {
            numbered(over_rows.iter().map(|over| over.size))?;
            let mut row = vec![0_u32; columns.entries];
            for (place, over) in rows.iter().zip(&over_rows) {
                for (row, value) in row.iter_mut().zip(columns.values(lowering, &subscripts[*place])?) {
                    *row = *row * over.size as u32 + value;
                }
            }
            Rows::Own(row)
        }
    };
    // Loop letters: the rows, then the categories.
    let categories = letters.iter().map(|letter| lowering.over_letter(*letter));
    let loops: Vec<Loop> = over_rows.into_iter().chain(categories).collect();
    let dims: Vec<Index> = (0..subscripts.len())
        .map(|place| match category(&subscripts[place]) {
            Some(own) => Index::letter(rows.len() + own),
            None => Index::letter(rows.iter().position(|row| *row == place).expect("a row")),
        })
        .collect();
    let all: Vec<Index> = (0..loops.len()).map(Index::letter).collect();
    let arranged = Contraction {
        coefficient: log.coefficient.0,
        letters: loops.clone(),
        operands: vec![Access { node: array, dims: dims.clone() }],
        output: all.clone(),
    };
    let as_it_is = log.coefficient.0 == 1.0 && dims == all && own == loops;
    let log_factor = if as_it_is {
        array
    } else {
        lowering.node(Operation::Contractions(vec![arranged]), loops.clone(), Vec::new)
    };
    // A point's own value needs no logarithm and back.
    let value = match &lowering.nodes[array.index()].operation {
        Operation::Map(Elementwise::Function(Function::Log), value) if log.coefficient.0 == 1.0 => {
            Some(*value)
        }
        _ => None,
    };
    let factor = match value {
        Some(value) if as_it_is => value,
        Some(value) => {
            let arranged = Contraction {
                coefficient: 1.0,
                letters: loops.clone(),
                operands: vec![Access { node: value, dims: dims.clone() }],
                output: all.clone(),
            };
            lowering.node(Operation::Contractions(vec![arranged]), loops.clone(), Vec::new)
        }
        None => {
            let exp = Operation::Map(Elementwise::Function(Function::Exp), log_factor);
            lowering.node(exp, loops.clone(), Vec::new)
        }
    };
    let climbers = climbers(lowering, log);
    let block = block.filter(|_| climbers.is_empty());
    let counts = match block {
        None => None,
        Some(block) => {
            let own = lowering.log_subscripts(block, log).expect("the owner's subscripts");
            // The counts are read with the rows and categories and added to the block's element.
            let output = own
                .iter()
                .map(|subscript| {
                    let place = subscripts
                        .iter()
                        .position(|known| known == subscript)
                        .expect("a subscript of the term");
                    dims[place]
                })
                .collect();
            Some(Contraction { coefficient: 1.0, letters: loops, operands: Vec::new(), output })
        }
    };
    Ok(ModePlan {
        log: number,
        block,
        climbers,
        factor,
        padding: 0,
        log_factor,
        rows: n_rows,
        row,
        counts,
        membership: false,
    })
}

/// The log of sparse data over all summed letters that are too large to be filled out.
fn listed(
    lowering: &Lowering,
    log: &Term,
    letters: &[LetterId],
    sizes: &[usize],
    columns: &Columns,
) -> Result<Option<Listed>, Unplanned> {
    let [Factor { atom: Atom::Apply(Function::Log, inner), power: 1 }] = log.factors.as_slice() else {
        return Ok(None);
    };
    let [Term { factors, coefficient: Coefficient(1.0), .. }] = inner[0].terms.as_slice() else {
        return Ok(None);
    };
    let [Factor { atom: Atom::Value(array, subscripts), power: 1 }] = factors.as_slice() else {
        return Ok(None);
    };
    if lowering.symbols.array(*array).kind == ArrayKind::Latent {
        return Ok(None);
    }
    let BoundArray::Sparse { indices, values, unlisted_zero: true, .. } = lowering.bound.array(*array) else {
        return Ok(None);
    };
    let shape = lowering.bound.shape(&lowering.symbols, *array);
    let place = |letter: &LetterId| subscripts.iter().position(|own| *own == Subscript::Letter(*letter));
    let Some(places) = letters.iter().map(place).collect::<Option<Vec<usize>>>() else { return Ok(None) };
    let cells = shape.iter().try_fold(1, |cells: usize, size| cells.checked_mul(*size));
    if cells.is_some_and(|cells| cells <= lowering.limit) {
        return Ok(None);
    }
    let categories = sizes.iter().try_fold(1, |all: u32, size| all.checked_mul(u32::try_from(*size).ok()?));
    if categories.is_none() {
        return Err(too_many("positions of a sum over listed data"));
    }
    // Rows are numbered by rank among those that have a listed entry; the last row, without one, stands for all others.
    let rows: Vec<usize> = (0..shape.len()).filter(|place| !places.contains(place)).collect();
    let next = |key: u128, place: usize, value: u32| key * shape[place] as u128 + u128::from(value);
    let key = |entry: usize| rows.iter().fold(0, |key, place| next(key, *place, indices[*place][entry]));
    let category = |entry: usize| {
        let own = places.iter().zip(sizes);
        own.fold(0, |number, (place, size)| number * *size as u32 + indices[*place][entry])
    };
    let mut order: Vec<(u128, u32, usize)> =
        (0..values.len()).map(|entry| (key(entry), category(entry), entry)).collect();
    order.sort_unstable();
    let (mut known, mut starts): (Vec<u128>, Vec<usize>) = (Vec::new(), Vec::new());
    for (place, (key, ..)) in order.iter().enumerate() {
        if known.last() != Some(key) {
            known.push(*key);
            starts.push(place);
        }
    }
    starts.extend([order.len(); 2]);
    if u32::try_from(known.len()).is_err() {
        return Err(too_many("rows of listed data"));
    }
    let mut keys = vec![0_u128; columns.entries];
    for place in &rows {
        for (key, value) in keys.iter_mut().zip(columns.values(lowering, &subscripts[*place])?) {
            *key = next(*key, *place, value);
        }
    }
    let rank = |key: &u128| known.binary_search(key).unwrap_or(known.len()) as u32;
    Ok(Some(Listed {
        row: keys.iter().map(rank).collect(),
        starts,
        categories: order.iter().map(|(_, category, _)| *category).collect(),
        logs: order.iter().map(|(_, _, entry)| log.coefficient.0 * special::ln(values[*entry])).collect(),
    }))
}

/// Refuses more rows, the product of these sizes, than can be numbered.
fn numbered(mut sizes: impl Iterator<Item = usize>) -> Result<(), Unplanned> {
    let all = sizes.try_fold(1, |all: u32, size| all.checked_mul(u32::try_from(size).ok()?));
    all.map_or_else(|| Err(too_many("rows of a pass")), |_| Ok(()))
}

/// Rows of a pass are numbered in 32 bits.
fn too_many(what: &str) -> Unplanned {
    Unplanned(format!("there are more than {} {what}, the most that can be numbered", u32::MAX))
}

/// The categories of each group, where a summed letter is ragged in a letter of the entry: those of other groups are never
/// looked at.
fn of_group(
    lowering: &mut Lowering,
    place: usize,
    parent: LetterId,
    letters: &[LetterId],
    sizes: &[usize],
    columns: &Columns,
) -> Result<Listed, Unplanned> {
    let row = columns.values(lowering, &Subscript::Letter(parent))?;
    let axis = lowering.symbols.letter(letters[place]).axis;
    let cuts = lowering.bound.axes[axis.index()].starts.as_ref().expect("a ragged axis has groups");
    let outer: usize = sizes[..place].iter().product();
    let inner: usize = sizes[place + 1..].iter().product();
    let mut categories = Vec::with_capacity(outer * sizes[place] * inner);
    let mut starts = vec![0];
    for group in cuts.windows(2) {
        for before in 0..outer {
            for member in group[0]..group[1] {
                let first = (before * sizes[place] + member) * inner;
                categories.extend((first..first + inner).map(|category| category as u32));
            }
        }
        starts.push(categories.len());
    }
    let logs = vec![0.0; categories.len()];
    Ok(Listed { row, starts, categories, logs })
}

/// Which categories an entry has, where a summed letter is ragged: one row for each value of its parent, or a single one
/// where the parent is summed too.
fn membership(
    lowering: &mut Lowering,
    place: usize,
    parent: LetterId,
    letters: &[LetterId],
    sizes: &[usize],
    columns: &Columns,
) -> Result<ModePlan, Unplanned> {
    let axis = lowering.symbols.letter(letters[place]).axis;
    let parents = lowering.bound.axes[axis.index()].parent.as_ref();
    let parents = parents.expect("a ragged axis is bound with its parents");
    let summed = letters.iter().position(|letter| *letter == parent);
    let (rows, row) = match summed {
        Some(_) => (1, vec![0; columns.entries]),
        None => {
            let size = lowering.bound.size_of(&lowering.symbols, parent);
            (size, columns.values(lowering, &Subscript::Letter(parent))?)
        }
    };
    let categories: usize = sizes.iter().product();
    let value = |category: usize, place: usize| {
        let inner: usize = sizes[place + 1..].iter().product();
        category / inner.max(1) % sizes[place].max(1)
    };
    let belongs = |row: usize, category: usize| {
        parents[value(category, place)] == summed.map_or(row, |parent| value(category, parent))
    };
    let all = || (0..rows).flat_map(|row| (0..categories).map(move |category| (row, category)));
    let over_rows = summed.map_or_else(|| lowering.over_letter(parent), |_| Loop::plain(1));
    let over_categories = match letters {
        [only] => lowering.over_letter(*only),
        _ => Loop::plain(categories),
    };
    let loops = vec![over_rows, over_categories];
    let label = format!("groups of {axis:?} at {place} of {letters:?} in {summed:?}");
    let factor: Vec<f64> = all().map(|(row, category)| f64::from(belongs(row, category))).collect();
    let factor = lowering.node(Operation::Static(label), loops.clone(), || factor);
    let log = Operation::Map(Elementwise::Function(Function::Log), factor);
    let log_factor = lowering.node(log, loops, Vec::new);
    let (log, row) = (usize::MAX, Rows::Own(row));
    Ok(ModePlan {
        log,
        block: None,
        climbers: Vec::new(),
        factor,
        padding: 0,
        log_factor,
        rows,
        row,
        counts: None,
        membership: true,
    })
}

/// A log term without a summed letter as a number for each value of one coordinate, or for all entries.
fn single(lowering: &mut Lowering, number: usize, log: &Term, columns: &Columns) -> Option<SinglePlan> {
    let plan = mode(lowering, number, None, log, &[], columns).ok()?;
    match plan.row {
        row @ Rows::Coordinate(..) => Some(SinglePlan { factor: plan.factor, row: Some(row) }),
        Rows::Own(_) | Rows::Counted { .. } if plan.rows == 1 => {
            Some(SinglePlan { factor: plan.factor, row: None })
        }
        Rows::Own(_) | Rows::Counted { .. } => None,
    }
}

fn scalar(
    lowering: &mut Lowering,
    number: usize,
    block: BlockId,
    subscripts: &[Subscript],
    columns: &Columns,
) -> Result<ScalarPlan, Unplanned> {
    let shape: Vec<usize> = lowering.loops_of(subscripts).iter().map(|own| own.size).collect();
    let size = shape.iter().product();
    if let [only] = subscripts
        && let Some((array, column)) = columns.coordinate(lowering, only)
    {
        return Ok(ScalarPlan { log: number, block, element: Rows::Coordinate(array, column), size });
    }
    numbered(shape.iter().copied())?;
    let mut element = vec![0_u32; columns.entries];
    for (size, subscript) in shape.iter().zip(subscripts) {
        for (element, value) in element.iter_mut().zip(columns.values(lowering, subscript)?) {
            *element = *element * *size as u32 + value;
        }
    }
    Ok(ScalarPlan { log: number, block, element: Rows::Own(element), size })
}
