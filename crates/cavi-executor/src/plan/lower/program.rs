//! A whole program lowered: a pass for each site, natural parameters for each block, a number for each term of the bound.

use std::sync::Arc;

use cavi_algebra::rules::divide;
use cavi_algebra::{
    ArrayId, AxisId, Block, BlockId, Equations, LetterId, Natural, SiteId, Statistic, Sum, Term,
};

use super::{Dim, Lowering, Unplanned};
use crate::data::Bound;
use crate::layout::{Layout, is_one_vector};
use crate::plan::gather::{gather, gather_block, is_log_complement};
use crate::plan::site::plan_site;
use crate::plan::tensor::{Loop, NodeId, Operation, Part};
use crate::plan::{AscentPlan, BlockPlan, InOrder, Plan};

/// Lowers a program. If not `opens`, no square over the data is multiplied out for speed; with an axis that is `cut`, sums over it are taken
/// before what all its shards share comes in.
pub fn lower<'a>(
    equations: &'a Equations,
    bound: &'a Bound,
    opens: bool,
    cut: Option<AxisId>,
) -> Result<Plan<'a>, Unplanned> {
    let missing = |array: ArrayId| bound.array(array).has_missing();
    let layout = |block| Arc::new(Layout::new(equations, bound, block, &missing));
    let layouts: Vec<Arc<Layout>> = equations.blocks.iter().map(layout).collect();
    let mut lowering = Lowering::new(equations, bound, &layouts);
    (lowering.opens, lowering.cut) = (opens, cut);
    let mut sites = Vec::new();
    for site in 0..equations.sites.len() {
        let site = SiteId::from(site);
        let pass = lowering.by_pass(site).then(|| plan_site(&mut lowering, site)).transpose()?;
        sites.push(pass.map(Arc::new));
    }
    let mut blocks = Vec::new();
    for (index, block) in equations.blocks.iter().enumerate() {
        let block = gather_block(equations, block);
        blocks.push(Arc::new(plan_block(&mut lowering, BlockId::from(index), &block, &layouts[index])?));
    }
    let mut elbo = Vec::new();
    let mut elbo_sites = Vec::new();
    for (_, sum) in &equations.elbo.terms {
        let (logs, rest): (Vec<Term>, Vec<Term>) =
            gather(equations, sum).into_iter().partition(|term| lowering.passed(term).is_some());
        for term in &logs {
            let site = lowering.passed(term).expect("chosen for it");
            elbo_sites.push((site, 1.0));
        }
        // One node a term: those of data and constants alone are computed once.
        for term in rest {
            elbo.push(lowering.sum(&Sum::term(term), &[], None)?);
        }
    }
    let (nodes, statics, maps, opened) = (lowering.nodes, lowering.values, lowering.maps, lowering.opened);
    let (streamed, row_wise) = (vec![false; nodes.len()], vec![None; blocks.len()]);
    Ok(Plan {
        nodes,
        statics,
        maps,
        streamed,
        mapped: Vec::new(),
        opened,
        layouts,
        blocks,
        sites,
        row_wise,
        elbo,
        elbo_sites,
        cuts: Vec::new(),
    })
}

fn plan_block(
    lowering: &mut Lowering,
    id: BlockId,
    block: &Block,
    layout: &Layout,
) -> Result<BlockPlan, Unplanned> {
    let family = cavi_families::posterior(block.family);
    // A point that is reset becomes the mode of its own statements. A weight moves no mode, and is left out. One whose level only priors fix
    // has no weight.
    let mut moved = lowering.equations.shifts.iter().flat_map(|shift| &shift.moves);
    let has_own = block.resets || moved.any(|(array, _)| block.members.contains(array));
    let of_point: Option<Vec<Sum>> = (block.is_point() && has_own).then(|| {
        let each = block.prior.iter();
        each.map(|sum| divide(&mut lowering.symbols, sum, &block.multiplicity)).collect()
    });
    let prior_sums = of_point.as_ref().unwrap_or(&block.prior);
    let has_prior = !block.is_point() || has_own && prior_sums.iter().any(|sum| !sum.is_zero());
    let mut natural = Vec::new();
    let mut prior = Vec::new();
    lowering.in_order = (!block.in_order.is_empty()).then_some(id);
    for (place, own) in family.statistics().iter().enumerate() {
        let rows: &[LetterId] = match own.extent {
            cavi_families::Extent::Matrix => &layout.group_letters,
            _ => &block.plates,
        };
        let is_own = |natural: &&Natural| family.place_of(&natural.statistic) == Some(place);
        let with_statistic: Vec<(&Natural, &Sum)> =
            block.natural.iter().zip(prior_sums).filter(|(natural, _)| is_own(natural)).collect();
        let all = with_statistic.iter().map(|(natural, _)| (*natural, &natural.coefficient)).collect();
        natural.push(plan_statistic(lowering, id, block, layout, rows, all)?);
        if has_prior {
            prior.push(plan_statistic(lowering, id, block, layout, rows, with_statistic)?);
        }
    }
    lowering.in_order = None;
    if let Some(ascent) = block.ascent.as_ref().filter(|_| has_own)
        && let Some(family) = ascent.own_family
    {
        let family = cavi_families::posterior(family);
        for (place, own) in family.statistics().iter().enumerate() {
            let rows: &[LetterId] = match own.extent {
                cavi_families::Extent::Matrix => &layout.group_letters,
                _ => &block.plates,
            };
            let of_it =
                ascent.own.iter().filter(|natural| family.place_of(&natural.statistic) == Some(place));
            let coefficients: Vec<(&Natural, &Sum)> =
                of_it.map(|natural| (natural, &natural.coefficient)).collect();
            if !coefficients.is_empty() {
                prior.push(plan_statistic(lowering, id, block, layout, rows, coefficients)?);
            }
        }
    }
    let weight = match block.is_weighed() {
        false => None,
        true => {
            let factors = block.weights().map(|atom| cavi_algebra::Factor::of(atom.clone())).collect();
            let sum = Sum::term(Term { factors, ..Term::number(1.0) });
            let copies = block.copies(&lowering.symbols);
            Some(lowering.sum_over_letters(&sum, &copies)?)
        }
    };
    let in_order = block.in_order.iter().filter_map(|letter| {
        let place = block.plates.iter().position(|plate| plate == letter)?;
        let above = &lowering.symbols.lineage(*letter)[1..];
        let within = !above.is_empty() && !above.iter().any(|ancestor| block.in_order.contains(ancestor));
        let axis = lowering.symbols.letter(*letter).axis;
        let groups = within.then(|| lowering.bound.axes[axis.index()].starts.clone()).flatten();
        Some(InOrder { place, groups })
    });
    let in_order = in_order.collect();
    let ascent = match &block.ascent {
        None => None,
        Some(ascent) => Some(plan_ascent(lowering, id, block, ascent)?),
    };
    Ok(BlockPlan { natural, prior, weight, in_order, ascent })
}

fn plan_ascent(
    lowering: &mut Lowering,
    id: BlockId,
    block: &Block,
    ascent: &cavi_algebra::Ascent,
) -> Result<AscentPlan, Unplanned> {
    let mut apart = |sum: &Sum, letters: Vec<LetterId>| -> Result<Vec<NodeId>, Unplanned> {
        let dims: Vec<Dim> = letters.iter().map(|letter| Dim::Letter(*letter)).collect();
        let moves = |term: &Term| block.members.iter().any(|member| term.mentions(*member));
        let (moving, still): (Vec<Term>, Vec<Term>) = sum.terms.iter().cloned().partition(moves);
        [moving, still].into_iter().map(|terms| lowering.of_shares(&Sum { terms }, &dims, Some(id))).collect()
    };
    let members = ascent.gradient.iter().zip(&block.slices);
    let gradient = members.map(|(own, slices)| apart(own, [block.plates.as_slice(), slices].concat()));
    let gradient = gradient.collect::<Result<_, _>>()?;
    let curvature = ascent.curvature.as_ref().map(|own| apart(own, block.plates.clone())).transpose()?;
    let objective = apart(&ascent.objective, Vec::new())?;
    let Some(tight) = &ascent.tight else {
        return Ok(AscentPlan { objective, tight: None, sites: Vec::new(), gradient, curvature });
    };
    let (passed, terms): (Vec<Term>, Vec<Term>) =
        tight.terms.iter().cloned().partition(|term| lowering.passed(term).is_some());
    let sites = passed.iter().filter_map(|term| lowering.passed(term)).collect();
    let mut node = |terms: Vec<Term>| lowering.sum(&Sum { terms }, &[], None);
    let tight = terms.into_iter().map(|term| node(vec![term])).collect::<Result<_, _>>()?;
    Ok(AscentPlan { objective, tight: Some(tight), sites, gradient, curvature })
}

/// The coefficients of a statistic as one node: rows, then slots. Of a vector in which several variables stand beside each
/// other the parts are put together.
fn plan_statistic(
    lowering: &mut Lowering,
    id: BlockId,
    block: &Block,
    layout: &Layout,
    rows: &[LetterId],
    coefficients: Vec<(&Natural, &Sum)>,
) -> Result<NodeId, Unplanned> {
    let mut parts = Vec::new();
    for (natural, coefficient) in coefficients {
        let dims: Vec<Dim> = rows.iter().chain(&natural.slots).map(|letter| Dim::Letter(*letter)).collect();
        lowering.whole = block.is_point() && is_log_complement(&natural.statistic);
        let node = lowering.sum(coefficient, &dims, Some(id));
        lowering.whole = false;
        let node = node?;
        if !is_one_vector(block) {
            return Ok(node);
        }
        let crossed = matches!(natural.statistic.0.as_slice(), [(left, _), (right, _)] if left != right);
        parts.push(Part { node, windows: windows(layout, &natural.statistic), crossed });
    }
    let mut loops: Vec<Loop> = rows.iter().map(|letter| lowering.over_letter(*letter)).collect();
    let depth = parts.first().map_or(0, |part| part.windows.len());
    loops.extend(vec![Loop::plain(layout.n); depth]);
    Ok(lowering.node(Operation::Whole(parts), loops, Vec::new))
}

/// Where the elements of a statistic stand in the vector of a copy, for each of its elementary functions.
pub(super) fn windows(layout: &Layout, statistic: &Statistic) -> Vec<(usize, usize)> {
    let offsets = layout.offsets();
    let window = |(member, _): &(u8, _)| {
        let member = usize::from(*member);
        (offsets[member], layout.slices[member].iter().product())
    };
    statistic.0.iter().map(window).collect()
}
