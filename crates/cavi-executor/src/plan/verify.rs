//! What holds of every plan: the passes may rely on it, and each has to leave it so.
//!
//! Shapes and axes of what is read agree with the letters that read it, every step can be computed before it is read, every
//! step is read, and what blocks, sites and the bound read is there. A plan that is wrong here would run, and give numbers.

use cavi_algebra::{BlockId, Equations};
use cavi_families::Extent;

use crate::data::{Bound, BoundArray};
use crate::plan::Plan;
use crate::plan::passes::pairs::paired;
use crate::plan::site::SitePlan;
use crate::plan::tensor::{Allotted, Along, Contraction, Index, Loop, Node, NodeId, Operation, Part, Source};

/// Checks a plan.
///
/// # Errors
/// What is wrong with it, in words.
pub fn verify(plan: &Plan, equations: &Equations, bound: &Bound) -> Result<(), String> {
    let check = Check { plan, equations, bound };
    check.lists()?;
    for index in 0..plan.nodes.len() {
        check.node(index).map_err(|problem| format!("step {index}: {problem}"))?;
    }
    check.order()?;
    for index in 0..plan.blocks.len() {
        check.block(index).map_err(|problem| format!("block {}: {problem}", index + 1))?;
    }
    for (index, site) in plan.sites.iter().enumerate() {
        let Some(site) = site else { continue };
        let checked = check.site(site).and_then(|()| check.counts(index, site));
        checked.map_err(|problem| format!("site {}: {problem}", index + 1))?;
    }
    check.bound()
}

struct Check<'p> {
    plan: &'p Plan<'p>,
    equations: &'p Equations,
    bound: &'p Bound,
}

/// An error, unless something holds.
fn ensure(holds: bool, problem: impl FnOnce() -> String) -> Result<(), String> {
    if holds { Ok(()) } else { Err(problem()) }
}

impl Check<'_> {
    /// Every list has an entry for each step, block and site.
    fn lists(&self) -> Result<(), String> {
        let Plan { nodes, statics, streamed, blocks, layouts, row_wise, sites, .. } = self.plan;
        let steps = [statics.len(), streamed.len()].iter().all(|length| *length == nodes.len());
        ensure(steps, || {
            format!("{} steps, {} values, {} streamed", nodes.len(), statics.len(), streamed.len())
        })?;
        let all = self.equations.blocks.len();
        let of_blocks = [blocks.len(), layouts.len(), row_wise.len()].iter().all(|length| *length == all);
        ensure(of_blocks && sites.len() == self.equations.sites.len(), || {
            format!("{} blocks, {} layouts, {} sites", blocks.len(), layouts.len(), sites.len())
        })?;
        let mut places = self.plan.cuts.iter().filter_map(|cut| cut.places.as_ref().ok());
        ensure(places.all(|places| places.len() == nodes.len()), || "an axis lacks places".to_owned())
    }

    /// A node that is read.
    fn read(&self, id: NodeId) -> Result<&Node, String> {
        self.plan.nodes.get(id.index()).ok_or_else(|| format!("it reads step {}, which is none", id.index()))
    }

    fn node(&self, index: usize) -> Result<(), String> {
        let node = &self.plan.nodes[index];
        ensure(node.shape.len() == node.dims.len(), || {
            format!("{} sizes of {} dimensions", node.shape.len(), node.dims.len())
        })?;
        node.loops().iter().try_for_each(|own| self.dimension(*own))?;
        let values = self.plan.statics[index].len();
        let wanted = if node.source() == Source::Given { node.len() } else { 0 };
        ensure(values == wanted, || format!("{values} values are given where {wanted} are to be"))?;
        node.reads().iter().try_for_each(|read| self.read(*read).map(|_| ()))?;
        self.operation(node)
    }

    /// Counts that are taken for the update of a block are read.
    fn counts(&self, index: usize, site: &SitePlan) -> Result<(), String> {
        for (place, addend) in site.addends.iter().enumerate() {
            let of_modes =
                addend.modes.iter().filter(|mode| mode.block.is_some() || !mode.climbers.is_empty());
            let of_scalars = addend.scalars.iter().map(|scalar| scalar.log);
            for log in of_modes.map(|mode| mode.log).chain(of_scalars) {
                let counts = Operation::Counts(index.into(), place, log);
                let is_read = self.plan.nodes.iter().any(|node| node.operation == counts);
                ensure(is_read, || format!("it counts log {} of addend {} for nothing", log + 1, place + 1))?;
            }
        }
        Ok(())
    }

    /// A dimension is as long as what it runs over.
    fn dimension(&self, own: Loop) -> Result<(), String> {
        let size = match own.along {
            Along::Axis(axis) => self.bound.size(axis),
            Along::Pairs(axis) => self.bound.size(axis) * (self.bound.size(axis) + 1) / 2,
            Along::Entries(array) => match self.bound.array(array) {
                BoundArray::Dense { values, .. } | BoundArray::Sparse { values, .. } => values.len(),
            },
            Along::Plain => own.size,
        };
        ensure(size == own.size, || {
            format!("a dimension over {:?} has {} positions of {size}", own.along, own.size)
        })
    }

    fn operation(&self, node: &Node) -> Result<(), String> {
        let loops = node.loops();
        let same = |from: NodeId| {
            let from = self.read(from)?.loops();
            ensure(from == loops, || format!("it has {} where it reads {}", text(&loops), text(&from)))
        };
        match &node.operation {
            Operation::Static(_) => Ok(()),
            Operation::Point(block, member) => {
                let layout = &self.plan.layouts[block.index()];
                self.length(node, layout.rows * layout.slices[*member].iter().product::<usize>())
            }
            Operation::Moment(block, which) => {
                let layout = &self.plan.layouts[block.index()];
                self.length(node, layout.batch().len(layout.expectations[*which].extent))
            }
            Operation::Counts(site, addend, log) => {
                let addends = self.plan.sites[site.index()].as_ref().map(|site| &site.addends);
                let counts = addends.and_then(|addends| addends.get(*addend)).is_some_and(|addend| {
                    addend.modes.iter().any(|mode| mode.log == *log)
                        || addend.scalars.iter().any(|scalar| scalar.log == *log)
                });
                ensure(counts, || "no pass counts it".to_owned())
            }
            Operation::Held(from) | Operation::Map(_, from) => same(*from),
            Operation::Pair(_, left, right) => same(*left).and_then(|()| same(*right)),
            Operation::Contractions(parts) => {
                parts.iter().try_for_each(|part| self.contraction(part, &loops))
            }
            Operation::Masked(sum) => {
                let (mask, of) = (self.read(sum.mask)?.loops(), self.read(sum.of)?.loops());
                let [first, second] = mask[..] else { return Err("its mask is no matrix".to_owned()) };
                let (rows, summed) = if sum.by_columns { (second, first) } else { (first, second) };
                let whole = match (sum.last, loops.split_first()) {
                    (_, None) => return Err("a sum over a mask has rows".to_owned()),
                    (false, Some((_, kept))) => [&[summed], kept].concat(),
                    (true, Some((_, kept))) => [kept, &[summed]].concat(),
                };
                ensure(loops[0] == rows && of == whole, || {
                    format!("sums of {} over a mask of {} are no {}", text(&of), text(&mask), text(&loops))
                })
            }
            Operation::Whole(parts) => parts.iter().try_for_each(|part| {
                let own = self.read(part.node)?.loops();
                self.part(part, &loops, &own)
            }),
            Operation::Taken(part) => {
                let whole = self.read(part.node)?.loops();
                self.part(part, &whole, &loops)
            }
            Operation::Pairs(from, at) => {
                let from = self.read(*from)?.loops();
                let fits = at + 1 < from.len() && paired(&from, *at) == loops;
                ensure(fits, || format!("{} are no pairs of {}", text(&loops), text(&from)))
            }
            Operation::Square(from, at) => {
                let from = self.read(*from)?.loops();
                let fits = at + 1 < loops.len() && paired(&loops, *at) == from;
                ensure(fits, || format!("{} has no pairs {}", text(&loops), text(&from)))
            }
            Operation::LogDeterminant(from) => {
                let from = self.read(*from)?.loops();
                let fits = matches!(from.split_at_checked(loops.len()),
                    Some((plates, [row, column])) if plates == loops && row.size == column.size);
                ensure(fits, || format!("determinants {} of {}", text(&loops), text(&from)))
            }
            Operation::Beside(_, within, from) => {
                let from = self.read(*from)?.loops();
                ensure(!loops.is_empty() && from == loops, || {
                    format!("sums {} over what lies beside each of {}", text(&loops), text(&from))
                })?;
                let tables = within.iter().flat_map(|own| [Some(own.group), own.order]).flatten();
                let mut lengths = tables.map(|table| self.plan.maps.table(table).len());
                ensure(lengths.all(|own| own == loops[0].size), || {
                    format!("groups of another number of positions than {}", text(&loops))
                })
            }
            Operation::Site(what, weights) => {
                for read in weights.now.iter().chain(&weights.then) {
                    let own = self.read(*read)?.loops();
                    let fits = own.get(..weights.rank) == loops.get(..weights.rank);
                    ensure(fits, || format!("log weights {} at {}", text(&own), text(&loops)))?;
                }
                match what {
                    Allotted::Partition => ensure(loops.len() == weights.rank, || {
                        format!("a log partition is a number an entry, not {}", text(&loops))
                    }),
                    Allotted::Shares(addend) => match weights.then.get(*addend) {
                        Some(own) => same(*own),
                        None => Err(format!("shares of addend {}, which is none", addend + 1)),
                    },
                }
            }
        }
    }

    fn length(&self, node: &Node, wanted: usize) -> Result<(), String> {
        ensure(node.len() == wanted, || format!("{} values, and its block has {wanted}", node.len()))
    }

    /// The part of a vector or matrix over several variables lies in it, row by row.
    fn part(&self, part: &Part, whole: &[Loop], own: &[Loop]) -> Result<(), String> {
        let size = |loops: &[Loop]| loops.iter().map(|own| own.size).product::<usize>();
        let rows = whole.len().checked_sub(part.windows.len());
        let Some(rows) = rows.filter(|rows| *rows <= own.len()) else {
            return Err(format!("{} is no part of {}", text(own), text(whole)));
        };
        let inside = part.windows.iter().zip(&whole[rows..]);
        let fits = whole[..rows] == own[..rows]
            && inside.into_iter().all(|((start, length), all)| start + length <= all.size)
            && size(&own[rows..]) == part.windows.iter().map(|(_, length)| length).product();
        ensure(fits, || format!("{} is no part of {}", text(own), text(whole)))
    }

    /// Letters and tables of a contraction lead to positions of what they read and of the output.
    fn contraction(&self, part: &Contraction, output: &[Loop]) -> Result<(), String> {
        for operand in &part.operands {
            let loops = self.read(operand.node)?.loops();
            let reads = format!("reads step {}", operand.node.index());
            self.reached(part, &operand.dims, &loops, &|own, dim| own == dim)
                .map_err(|own| format!("{reads}: {own}"))?;
        }
        // Rows may be longer than what is put into them.
        let fits = |own: Loop, dim: Loop| own == dim || dim.along == Along::Plain && own.size <= dim.size;
        self.reached(part, &part.output, output, &fits).map_err(|own| format!("output: {own}"))
    }

    fn reached(
        &self,
        part: &Contraction,
        dims: &[Index],
        loops: &[Loop],
        fits: &dyn Fn(Loop, Loop) -> bool,
    ) -> Result<(), String> {
        ensure(dims.len() == loops.len(), || format!("{} subscripts for {}", dims.len(), text(loops)))?;
        for (index, dim) in dims.iter().zip(loops) {
            let Some(letter) = part.letters.get(index.letter) else {
                return Err(format!("letter {} is none of {}", index.letter, text(&part.letters)));
            };
            let own = match index.map {
                None => *letter,
                Some(map) => {
                    let (maps, length) = (&self.plan.maps, self.plan.maps.table(map).len());
                    ensure(maps.from(map) == letter.along && length == letter.size, || {
                        format!(
                            "a table of {length} from {:?} is read by {}",
                            maps.from(map),
                            text(&[*letter])
                        )
                    })?;
                    maps.image(map)
                }
            };
            ensure(fits(own, *dim), || format!("{} where there are {}", text(&[own]), text(&[*dim])))?;
        }
        Ok(())
    }

    /// What each step reads can be computed before it, and every step is read in the end.
    fn order(&self) -> Result<(), String> {
        let (mut done, mut open) = (vec![false; self.plan.nodes.len()], vec![false; self.plan.nodes.len()]);
        let mut rest: Vec<(NodeId, bool)> = self.plan.roots().into_iter().map(|root| (root, false)).collect();
        while let Some((id, is_left)) = rest.pop() {
            let node = self.read(id)?;
            if is_left {
                (done[id.index()], open[id.index()]) = (true, false);
                continue;
            }
            if done[id.index()] {
                continue;
            }
            ensure(!open[id.index()], || format!("step {} follows from itself", id.index()))?;
            open[id.index()] = true;
            rest.push((id, true));
            rest.extend(node.reads().into_iter().map(|read| (read, false)));
        }
        match self.plan.used().iter().position(|used| !used) {
            Some(unread) => Err(format!("step {unread} is read by nothing")),
            None => Ok(()),
        }
    }

    fn block(&self, index: usize) -> Result<(), String> {
        let (block, plan) = (self.equations.block(BlockId::from(index)), &self.plan.blocks[index]);
        let layout = &self.plan.layouts[index];
        let batch = layout.batch();
        if plan.ascent.is_none() {
            let extents: Vec<Extent> = layout.statistics.iter().map(|own| own.extent).collect();
            for nodes in [&plan.natural, &plan.prior] {
                ensure(nodes.is_empty() || nodes.len() == extents.len(), || {
                    format!("{} natural parameters of {}", nodes.len(), extents.len())
                })?;
                for (node, extent) in nodes.iter().zip(&extents) {
                    let length = self.read(*node)?.len();
                    ensure(length == batch.len(*extent), || {
                        format!("step {} has {length} values of {}", node.index(), batch.len(*extent))
                    })?;
                }
            }
        }
        for step in &plan.in_order {
            ensure(step.place < block.plates.len(), || format!("copies move along letter {}", step.place))?;
        }
        let Some(ascent) = &plan.ascent else { return Ok(()) };
        for node in ascent.objective.iter().chain(ascent.tight.iter().flatten()) {
            ensure(self.read(*node)?.shape.is_empty(), || format!("step {} is no number", node.index()))?;
        }
        for (member, nodes) in ascent.gradient.iter().enumerate() {
            let values = layout.rows * layout.slices[member].iter().product::<usize>();
            for node in nodes {
                let length = self.read(*node)?.len();
                ensure(length == values, || {
                    format!("step {} has {length} slopes of {values}", node.index())
                })?;
            }
        }
        Ok(())
    }

    fn site(&self, site: &SitePlan) -> Result<(), String> {
        let has = |id: NodeId, values: usize| {
            let length = self.read(id)?.len();
            ensure(length == values, || format!("step {} has {length} values of {values}", id.index()))
        };
        has(site.weight, site.entries)?;
        for addend in &site.addends {
            addend.offset.iter().try_for_each(|offset| has(*offset, site.entries))?;
            for mode in &addend.modes {
                has(mode.factor, mode.rows * addend.row_length(mode))?;
                let logs = self.read(mode.log_factor)?.len();
                let lengths = [addend.row_length(mode), addend.categories].map(|length| length * mode.rows);
                ensure(lengths.contains(&logs), || format!("{logs} logs of {} factors", lengths[0]))?;
            }
        }
        for (own, mode) in site.own.iter().flatten().zip(&site.addends[0].modes) {
            let Some(own) = own else { continue };
            let categories = site.addends[0].categories;
            has(own.mass, mode.rows * categories)?;
            has(own.prior, categories)?;
            let total = own.total.iter().flat_map(|own| [own.mass, own.prior]);
            total.into_iter().try_for_each(|node| has(node, categories))?;
        }
        Ok(())
    }

    /// The terms of the bound are numbers.
    fn bound(&self) -> Result<(), String> {
        for node in &self.plan.elbo {
            let loops = self.read(*node)?.loops();
            ensure(loops.is_empty(), || format!("bound: step {} is {}", node.index(), text(&loops)))?;
        }
        for (site, _) in &self.plan.elbo_sites {
            let has_pass = self.plan.sites.get(site.index()).is_some_and(Option::is_some);
            ensure(has_pass, || format!("bound: site {} has no pass", site.index() + 1))?;
        }
        Ok(())
    }
}

/// Dimensions in words.
fn text(loops: &[Loop]) -> String {
    let each: Vec<String> = loops.iter().map(|own| format!("{} of {:?}", own.size, own.along)).collect();
    if each.is_empty() { "a number".to_owned() } else { each.join(" x ") }
}
