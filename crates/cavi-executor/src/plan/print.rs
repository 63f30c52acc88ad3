//! The plan as text, and its memory.

use std::fmt::Write;

use cavi_algebra::{ArrayId, Block, BlockId, Equations, LetterId, Rotated, Rotation, Shift};
use cavi_families::posterior;
use cavi_numerics::kernels::log_sum::width_of;
use cavi_numerics::kernels::pattern::LEAST_FILL;
use cavi_numerics::lbfgs::HISTORY;

use crate::layout::Layout;
use crate::plan::precision::{self, Stored};
use crate::plan::site::{Listed, Rows};
use crate::plan::tensor::{Allotted, Along, Contraction, Elementwise, Index, Node, NodeId, Operation, Side};
use crate::plan::{AscentPlan, Cut, KEPT, Place, Plan};
use crate::schedule::VISIT;

impl Plan<'_> {
    /// The bytes that nodes, tables and entry rows take of the heap, all at once. [`Plan::memory`] has what a run holds at a time.
    pub fn bytes(&self, equations: &Equations) -> usize {
        let kept = |(index, (node, streamed)): (usize, (&Node, &bool))| {
            if self.mapped.get(index).is_some_and(|mapped| *mapped) {
                return 0;
            }
            let rows = self.rows_at_once().min(node.shape.first().copied().unwrap_or(1));
            let values = if *streamed { rows * (node.len() / node.shape[0]) } else { node.len() };
            values * size_of::<f64>()
        };
        let nodes: usize = self.nodes.iter().zip(&self.streamed).enumerate().map(kept).sum();
        let sites: usize = self
            .sites
            .iter()
            .flatten()
            .flat_map(|site| site.addends.iter().map(|addend| (addend, site.own.is_some())))
            .map(|(addend, leaves_out)| {
                let elements = addend.scalars.iter().map(|scalar| &scalar.element);
                let rows: usize =
                    addend.modes.iter().map(|mode| &mode.row).chain(elements).map(Rows::bytes).sum();
                let counts: usize = addend
                    .modes
                    .iter()
                    .map(|mode| mode.rows * addend.row_length(mode) * size_of::<f64>())
                    .sum();
                // Shares are left out of means and masses side by side, and so are the counts that come of it.
                let wide = 2 * width_of(addend.categories) * size_of::<f64>();
                let wide: usize = addend.modes.iter().map(|mode| mode.rows * wide).sum();
                let wide = if leaves_out { 5 * wide } else { 0 };
                rows + 4 * counts + wide + addend.listed.as_ref().map_or(0, Listed::bytes)
            })
            .sum();
        let single: usize = self.sites.iter().flatten().map(|site| precision::bytes(site)).sum();
        // With several addends, each has an array with a number for every entry. With one addend, the entries are
        // copied in the order of the visits.
        let entries: usize = self
            .sites
            .iter()
            .flatten()
            .map(|site| match site.addends.as_slice() {
                [addend] if addend.modes.len() < 2 || addend.by_products => 0,
                // Those of a mapped file stay where they are.
                [_] if self.is_mapped(site.weight) => 0,
                [_] => site.entries * (size_of::<f64>() + size_of::<u16>()),
                addends => site.entries * addends.len() * size_of::<f64>(),
            })
            .sum();
        let parameters: usize = equations
            .blocks
            .iter()
            .zip(&self.layouts)
            .map(|(block, layout)| {
                let values = layout.values(block) * size_of::<f64>();
                // Besides the state and its copy, what L-BFGS remembers.
                let together = block.ascent.as_ref().is_some_and(|ascent| ascent.curvature.is_none());
                if together { (2 + 2 * HISTORY) * values } else { 2 * values }
            })
            .sum();
        let in_order = self.blocks.iter().any(|block| !block.in_order.is_empty());
        let gained = if in_order { nodes / KEPT } else { 0 };
        nodes + gained + self.maps.bytes() + sites + single + entries + parameters
    }

    /// One line a site and a step, with kernels, flops and bytes.
    pub fn text(&self, equations: &Equations) -> String {
        let mut out = String::new();
        for (number, site) in self.sites.iter().enumerate() {
            let Some(site) = site else { continue };
            let _ = writeln!(out, "site {}: {} entries", number + 1, site.entries);
            for addend in &site.addends {
                let modes: Vec<String> = addend
                    .modes
                    .iter()
                    .map(|mode| match mode.padding {
                        0 => format!("{} x {}", mode.rows, addend.categories),
                        _ => format!(
                            "{} x {} in rows of {}",
                            mode.rows,
                            addend.categories,
                            addend.row_length(mode)
                        ),
                    })
                    .collect();
                let kernel = match &addend.listed {
                    Some(_) => "listed categories in log space",
                    None if modes.is_empty() => "one number an entry",
                    None if addend.by_products => "matrix products and quotients, block by block,",
                    None if site.own.is_some() => {
                        "fused sampled contraction, each unit's own share left out,"
                    }
                    None => "fused sampled contraction",
                };
                let each = if site.own.is_some() { 10 } else { 3 };
                let flops = site.entries * addend.categories * (each * addend.modes.len()).max(1);
                // Matrix products are faster if entries fill most places. Otherwise entries are visited one by one.
                let fill = addend.fill.filter(|_| addend.listed.is_none()).map_or(String::new(), |fill| {
                    let is_plain = fill < LEAST_FILL || addend.by_products;
                    let why = if is_plain { "" } else { ", several in one or not those of the main addend" };
                    format!(", {} of the places filled{why}", percent(fill))
                });
                let _ = writeln!(
                    out,
                    "  {kernel} over {} categories, factors {}{fill}{}, about {} a pass",
                    addend.categories,
                    if modes.is_empty() { "none".to_owned() } else { modes.join(", ") },
                    match addend.stored {
                        Stored::Double => "",
                        Stored::Scaled => " in single precision, rows scaled",
                        Stored::Plain => " in single precision",
                    },
                    count(flops, "flops"),
                );
            }
        }
        out.push_str(&rotations(equations));
        out.push_str(&shifts(equations));
        out.push_str(&together(equations));
        for (number, (block, plan)) in equations.blocks.iter().zip(&self.blocks).enumerate() {
            let names: Vec<&str> =
                block.members.iter().map(|member| equations.symbols.array(*member).name.as_str()).collect();
            let order = if plan.in_order.is_empty() { "at once" } else { "in order" };
            let layout = &self.layouts[number];
            let how = match &plan.ascent {
                None => format!("({}): copies {order}", posterior(block.family).name()),
                Some(AscentPlan { curvature: Some(_), .. }) => {
                    format!("(no closed form): ascends by Newton's method, copies {order}")
                }
                Some(AscentPlan { curvature: None, tight, .. }) => format!(
                    "(no closed form): ascends by L-BFGS, {} numbers together, at most {VISIT} steps a visit{}",
                    layout.rows * layout.width(),
                    if tight.is_some() { ", allocations anew at every evaluation" } else { "" },
                ),
            };
            let _ = writeln!(out, "block {} {how}", names.join(", "));
            for (member, (points, matrices)) in whitened(equations, block, layout) {
                let vectors = layout.rows * layout.slices[member].iter().product::<usize>() / points.max(1);
                let _ = writeln!(
                    out,
                    "  {}: {} over {points} points, factorised once ({}, {}), {} an evaluation",
                    names[member],
                    if matrices == 1 { "a covariance".to_owned() } else { format!("{matrices} covariances") },
                    count(matrices * points * points * size_of::<f64>(), "B"),
                    count(matrices * points * points * points / 2, "flops"),
                    count(4 * vectors * points * points, "flops"),
                );
            }
            for node in &plan.natural {
                let _ = writeln!(out, "  natural parameter: step {}", node.index());
            }
            if let Some(rows) = &self.row_wise[number] {
                let sites: Vec<String> = rows.sites.iter().map(|own| (own.site.0 + 1).to_string()).collect();
                let _ = writeln!(
                    out,
                    "  updated several times over, row by row: the entries of site {} stay in the cache",
                    sites.join(", ")
                );
            }
        }
        if let Some(entries) = self.opened.iter().map(|opened| opened.entries).max() {
            let steps: Vec<String> =
                self.opened.iter().map(|opened| opened.node.index().to_string()).collect();
            let _ = writeln!(
                out,
                "squares of the data are multiplied out in steps {}; where that loses digits a run goes on with residuals, {} more",
                steps.join(", "),
                count(entries * size_of::<f64>(), "B"),
            );
        }
        let _ = writeln!(out, "steps");
        for (index, node) in self.nodes.iter().enumerate() {
            let shape: Vec<String> = node.shape.iter().map(usize::to_string).collect();
            let shape = if shape.is_empty() { "scalar".to_owned() } else { shape.join(" x ") };
            let bytes = match self.streamed[index] {
                true => "streamed".to_owned(),
                false => count(node.len() * size_of::<f64>(), "B"),
            };
            let what = match &node.operation {
                Operation::Static(label) => format!("given: {}", named(equations, label)),
                Operation::Point(block, _) => format!("value of block {}", block.0 + 1),
                Operation::Moment(block, which) => {
                    format!("expectation {} of block {}", which + 1, block.0 + 1)
                }
                Operation::Counts(site, addend, log) => {
                    let weight = self.sites[site.index()].as_ref().map(|pass| pass.weight);
                    let entries = weight.map(|weight| self.nodes[weight.index()].dims.as_slice());
                    let summed = entries.unwrap_or_default().iter().filter(|own| !node.dims.contains(own));
                    format!(
                        "expected counts of site {}, addend {}, factor {}{}",
                        site.0 + 1,
                        addend + 1,
                        log + 1,
                        over(equations, summed)
                    )
                }
                Operation::Contractions(parts) => {
                    let texts: Vec<String> = parts.iter().map(|part| contraction(equations, part)).collect();
                    if texts.is_empty() { "zero".to_owned() } else { texts.join(" + ") }
                }
                Operation::Masked(sum) => format!(
                    "sums of step {} over the ones of step {}, or over all less the zeros: {} of {} places visited{}",
                    sum.of.index(),
                    sum.mask.index(),
                    sum.listed,
                    sum.places,
                    over(equations, [&self.nodes[sum.mask.index()].dims[usize::from(!sum.by_columns)]])
                ),
                Operation::Map(Elementwise::Function(function), from) => {
                    format!("{} of step {}", function.name(), from.index())
                }
                Operation::Pair(function, left, right) => {
                    format!("{} of steps {} and {}", function.name(), left.index(), right.index())
                }
                Operation::Held(from) => format!("step {} at the last refresh", from.index()),
                Operation::Map(Elementwise::Root, from) => format!("square root of step {}", from.index()),
                Operation::Map(Elementwise::Power(power), from) => {
                    format!("step {} to the power {power}", from.index())
                }
                Operation::Map(Elementwise::LogFloored, from) => {
                    format!("log of step {}, finite at 0", from.index())
                }
                Operation::Map(Elementwise::LogGammaOfGroup, from) => {
                    format!("log gamma of step {}, 0 of nothing", from.index())
                }
                Operation::Map(Elementwise::LogMultivariateGamma(size), from) => {
                    format!("log of the multivariate gamma function of size {size} of step {}", from.index())
                }
                Operation::Whole(parts) => {
                    let steps: Vec<String> = parts.iter().map(|part| part.node.index().to_string()).collect();
                    format!("steps {} side by side", steps.join(", "))
                }
                Operation::Taken(part) => format!("a part of step {}", part.node.index()),
                Operation::Pairs(from, _) => format!("pairs of the symmetric step {}", from.index()),
                Operation::Square(from, _) => format!("symmetric, of the pairs of step {}", from.index()),
                Operation::LogDeterminant(from) => format!("log det of step {}", from.index()),
                Operation::Beside(side, within, from) => {
                    let side = match side {
                        Side::Before => "before",
                        Side::After => "after",
                    };
                    let group = if within.is_some() { ", of its group" } else { "" };
                    format!("sums of step {} over the positions {side} each{group}", from.index())
                }
                Operation::Site(what, weights) => {
                    let mut steps: Vec<NodeId> = weights.now.iter().chain(&weights.then).copied().collect();
                    steps.dedup();
                    let steps: Vec<String> = steps.iter().map(|step| step.index().to_string()).collect();
                    let steps = steps.join(", ");
                    match what {
                        Allotted::Shares(addend) => {
                            format!("allocation to addend {} by steps {steps}", addend + 1)
                        }
                        Allotted::Partition => format!("log partition of steps {steps}"),
                    }
                }
            };
            let _ = writeln!(out, "  {index:>3}  {shape:<18} {bytes:>10}  {what}");
        }
        self.cuts.iter().for_each(|cut| out.push_str(&self.cut(equations, cut)));
        let _ = writeln!(out, "memory: {}", count(self.bytes(equations), "B"));
        out
    }

    /// Which steps sum over an axis of the data, or why it cannot be cut.
    fn cut(&self, equations: &Equations, cut: &Cut) -> String {
        let name = &equations.symbols.axis(cut.axis).name;
        let places = match &cut.places {
            Err(why) => return format!("axis {name} cannot be cut: {why}\n"),
            Ok(places) => places,
        };
        let at = |place: Place| (0..places.len()).filter(move |step| places[*step] == place);
        let sums: Vec<String> = at(Place::Partial).map(|step| step.to_string()).collect();
        let values: usize = at(Place::Partial).map(|step| self.nodes[step].len()).sum();
        let sums = match sums.len() {
            0 => "none sums over it".to_owned(),
            1 => format!("step {} is a sum over it ({})", sums[0], count(values * size_of::<f64>(), "B")),
            _ => format!(
                "steps {} are sums over it ({})",
                sums.join(", "),
                count(values * size_of::<f64>(), "B")
            ),
        };
        format!("axis {name}: {} of {} steps lie along it, {sums}\n", at(Place::Local).count(), places.len())
    }
}

/// The changes of coordinates that acceleration makes.
fn rotations(equations: &Equations) -> String {
    let mut out = String::new();
    for Rotation { left, right } in &equations.rotations {
        let name = |id: BlockId| {
            let name = |member: &ArrayId| equations.symbols.array(*member).name.as_str();
            equations.block(id).members.iter().map(name).collect::<Vec<_>>().join(", ")
        };
        let names = |side: &[Rotated]| side.iter().map(|own| name(own.block)).collect::<Vec<_>>().join(", ");
        let mut follow: Vec<String> = Vec::new();
        for (id, _) in left.iter().chain(right).filter_map(|own| own.precision.as_ref()) {
            if !follow.contains(&name(*id)) {
                follow.push(name(*id));
            }
        }
        let follow =
            if follow.is_empty() { String::new() } else { format!(", {} following", follow.join(", ")) };
        let _ = writeln!(
            out,
            "under `accelerate = auto`, after slow sweeps and while it pays: {} by R^-1 and {} by R' for the best matrix R{follow}",
            names(left),
            names(right),
        );
    }
    out
}

/// The numbers that acceleration adds.
fn shifts(equations: &Equations) -> String {
    let mut out = String::new();
    for Shift { moves, along, .. } in &equations.shifts {
        let axes: Vec<&str> = along.iter().map(|axis| equations.symbols.axis(*axis).name.as_str()).collect();
        let numbers = match axes.as_slice() {
            [] => "the best number c".to_owned(),
            _ => format!("the best numbers c, one for each {}", axes.join(" and ")),
        };
        let times = |share: f64| if share == 1.0 { "c".to_owned() } else { format!("{share} c") };
        let moved = moves.iter().map(|(array, share)| {
            let name = &equations.symbols.array(*array).name;
            if *share < 0.0 {
                format!("{name} - {}", times(-share))
            } else {
                format!("{name} + {}", times(*share))
            }
        });
        let moved: Vec<String> = moved.collect();
        let _ = writeln!(
            out,
            "under `accelerate = auto`, after slow sweeps and while it pays: {} for {numbers}",
            moved.join(", ")
        );
    }
    out
}

/// The means that acceleration moves together.
fn together(equations: &Equations) -> String {
    let mut out = String::new();
    for set in &equations.quadratic {
        let name =
            |block: &BlockId| equations.symbols.array(equations.block(*block).members[0]).name.as_str();
        let names: Vec<&str> = set.iter().map(name).collect();
        let _ = writeln!(
            out,
            "under `accelerate = auto`, after slow sweeps and while it pays: the means of {} together, by conjugate gradients",
            names.join(", ")
        );
    }
    out
}

/// The members of a block that are whitened, each with the number of points of a slice and of matrices.
pub(super) fn whitened(
    equations: &Equations,
    block: &Block,
    layout: &Layout,
) -> Vec<(usize, (usize, usize))> {
    let size = |member: usize, letter: &LetterId| {
        let plate = block.plates.iter().position(|own| own == letter).map(|place| layout.plates[place]);
        let slot = || block.slices[member].iter().position(|own| own == letter);
        plate.or_else(|| Some(layout.slices[member][slot()?])).unwrap_or(1)
    };
    let members = block.members.iter().enumerate();
    members
        .filter_map(|(member, array)| {
            let letters = &equations.symbols.array(equations.whitening_of(*array)?).letters;
            let [plates @ .., row, _] = letters.as_slice() else { return None };
            let matrices = plates.iter().map(|letter| size(member, letter)).product();
            Some((member, (size(member, row), matrices)))
        })
        .collect()
}

/// What a step sums over, in words.
fn over<'l>(equations: &Equations, summed: impl IntoIterator<Item = &'l Along>) -> String {
    let symbols = &equations.symbols;
    let name = |along: &Along| match along {
        Along::Axis(axis) => Some(symbols.axis(*axis).name.clone()),
        Along::Entries(array) => Some(format!("entries of {}", symbols.array(*array).name)),
        Along::Pairs(axis) => Some(format!("pairs of {}", symbols.axis(*axis).name)),
        Along::Plain => None,
    };
    let names: Vec<String> = cavi_algebra::dedup(summed.into_iter().filter_map(name).collect());
    if names.is_empty() { String::new() } else { format!(" over {}", names.join(", ")) }
}

/// A contraction in words.
fn contraction(equations: &Equations, part: &Contraction) -> String {
    let is_kept = |letter: usize| part.output.contains(&Index::letter(letter));
    let letters = part.letters.iter().enumerate();
    let summed = letters.filter(|(letter, _)| !is_kept(*letter)).map(|(_, own)| &own.along);
    let operands: Vec<String> =
        part.operands.iter().map(|operand| operand.node.index().to_string()).collect();
    let flops: f64 =
        part.sizes().map(|size| size as f64).product::<f64>() * part.operands.len().max(1) as f64;
    let through =
        part.operands.iter().flat_map(|operand| &operand.dims).chain(&part.output).any(|i| i.map.is_some());
    let kernel = match (part.operands.len(), through) {
        (0, _) => "fill",
        (1, _) => "reduction",
        (_, true) => "sampled contraction",
        (2, false) => "dense contraction",
        (_, false) => "product",
    };
    let over = over(equations, summed);
    format!("{kernel} of steps {}{over} ({})", operands.join(", "), count(flops as usize, "flops"))
}

/// A number with its unit, in thousands, millions or billions.
fn count(value: usize, unit: &str) -> String {
    let value = value as f64;
    match value {
        v if v >= 1e9 => format!("{:.1} G{unit}", v / 1e9),
        v if v >= 1e6 => format!("{:.1} M{unit}", v / 1e6),
        v if v >= 1e3 => format!("{:.1} k{unit}", v / 1e3),
        v => format!("{v} {unit}"),
    }
}

/// A part of a whole.
fn percent(part: f64) -> String {
    if part < 0.01 { format!("{:.1e} %", 100.0 * part) } else { format!("{:.0} %", 100.0 * part) }
}

/// A label with arrays by their names.
fn named(equations: &Equations, label: &str) -> String {
    let mut out = label.to_owned();
    for index in (0..equations.symbols.arrays.len()).rev() {
        let id = ArrayId::from(index);
        out = out.replace(&format!("{id:?}"), &equations.symbols.array(id).name);
    }
    out
}
