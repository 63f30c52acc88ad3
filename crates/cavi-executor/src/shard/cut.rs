//! The plan of a shard: that of the whole data, with what lies along the axis at the positions of the shard alone.

use std::borrow::Cow;
use std::sync::Arc;

use cavi_algebra::LetterId;

use super::Sharded;
use super::part::{Kept, Part, Places};
use crate::layout::Layout;
use crate::plan::passes::places::{Axis, Place};
use crate::plan::site::{AddendPlan, Listed, Rows, SitePlan};
use crate::plan::tensor::{Contraction, Loop, Maps, Node, Operation};
use crate::plan::{BlockPlan, Plan};

/// Why a plan cannot be cut.
type Refused = String;

impl<'a> Sharded<'a> {
    /// The plan of a part, and for each step how many of its parts are sums over the axis: these come first.
    pub(super) fn cut(&self, part: &Part<'a>) -> Result<(Plan<'a>, Vec<usize>), Refused> {
        let whole = &self.plan;
        let maps = maps(part, &whole.maps)?;
        let mut split = vec![0; whole.nodes.len()];
        let mut nodes = Vec::with_capacity(whole.nodes.len());
        for (index, own) in whole.nodes.iter().enumerate() {
            let mut node = Node::new(own.operation.clone(), &loops(part, &own.loops()));
            if let Operation::Contractions(parts) = &mut node.operation {
                if self.places[index] == Place::Partial {
                    split[index] = self.sums_first(parts, own);
                }
                parts.iter_mut().for_each(|own| own.letters = loops(part, &own.letters));
            }
            nodes.push(node);
        }
        let statics = whole.statics.iter().zip(&whole.nodes).map(|(values, own)| {
            let kept = part.of_loops(&own.loops());
            match (values, kept.run()) {
                _ if values.is_empty() || !kept.is_cut() => values.clone(),
                // A part of the data stays where it is.
                (Cow::Borrowed(values), Some(run)) => Cow::Borrowed(&values[run]),
                _ => Cow::Owned(kept.taken(values)),
            }
        });
        let statics: Vec<Cow<'a, [f64]>> = statics.collect();
        let is_mapped =
            |(values, mapped): (&Cow<[f64]>, &bool)| *mapped && matches!(values, Cow::Borrowed(_));
        let mapped = statics.iter().zip(&whole.mapped).map(is_mapped).collect();
        let blocks = self.equations.blocks.iter().zip(&whole.layouts);
        let layouts =
            blocks.map(|(block, own)| layout(part, &block.plates, own)).collect::<Result<_, _>>()?;
        let site = |own: &Option<Arc<SitePlan>>| match own {
            Some(own) => self.cut_site(part, own).map(|own| Some(Arc::new(own))),
            None => Ok(None),
        };
        let plan = Plan {
            nodes,
            statics,
            maps,
            layouts,
            blocks: whole.blocks.iter().map(|own| Arc::new(BlockPlan::clone(own))).collect(),
            sites: whole.sites.iter().map(site).collect::<Result<_, _>>()?,
            row_wise: whole.row_wise.clone(),
            elbo: whole.elbo.clone(),
            streamed: whole.streamed.clone(),
            mapped,
            opened: whole.opened.clone(),
            elbo_sites: whole.elbo_sites.clone(),
            cuts: Vec::new(),
        };
        Ok((plan, split))
    }

    /// Puts the parts of a step that are sums over the axis before the others. How many they are.
    fn sums_first(&self, parts: &mut Vec<Contraction>, node: &Node) -> usize {
        let cut = Axis { axis: self.axis, equations: self.equations, plan: &self.plan };
        let is_sum = |own: &Contraction| cut.sums(own, node).unwrap_or(true);
        let (mut first, rest): (Vec<_>, Vec<_>) = std::mem::take(parts).into_iter().partition(is_sum);
        let count = first.len();
        first.extend(rest);
        *parts = first;
        count
    }

    fn cut_site(&self, part: &Part, whole: &SitePlan) -> Result<SitePlan, Refused> {
        let weight = &self.plan.nodes[whole.weight.index()];
        let entries = part.of_loops(&weight.loops());
        let mut site = whole.clone();
        site.entries = entries.len();
        let number = self
            .plan
            .sites
            .iter()
            .position(|own| own.as_ref().is_some_and(|own| std::ptr::eq(&raw const **own, whole)));
        let number = number.expect("a site of the plan");
        for (place, addend) in site.addends.iter_mut().enumerate() {
            self.cut_addend(part, (number, place), &entries, addend)?;
        }
        Ok(site)
    }

    fn cut_addend(
        &self,
        part: &Part,
        (site, place): (usize, usize),
        entries: &Places,
        addend: &mut AddendPlan,
    ) -> Result<(), Refused> {
        if let Some(listed) = &mut addend.listed {
            // What each row lists stays with its number.
            *listed = Listed { row: entries.taken(&listed.row), ..listed.clone() };
        }
        for mode in &mut addend.modes {
            let factor = &self.plan.nodes[mode.factor.index()];
            let letters = self.equations.sites[site].addends[place].letters.len();
            let rows = part.of_loops(&factor.loops()[..mode.row_dims(factor, letters)]);
            mode.rows = rows.len();
            cut_rows(&mut mode.row, entries, &rows)?;
            if let Some(counts) = &mut mode.counts {
                counts.letters = loops(part, &counts.letters);
            }
        }
        for single in &mut addend.single {
            let factor = part.of_loops(&self.plan.nodes[single.factor.index()].loops());
            if let Some(row) = &mut single.row {
                cut_rows(row, entries, &factor)?;
            }
        }
        for scalar in &mut addend.scalars {
            let counts = Operation::Counts(site.into(), place, scalar.log);
            let counts = self.plan.nodes.iter().find(|node| node.operation == counts);
            // Counts that nothing reads are numbered as they were.
            let element = counts.map(|counts| part.of_loops(&counts.loops()));
            let element = element.unwrap_or_else(|| Places(vec![Kept::All(scalar.size)]));
            scalar.size = element.len();
            cut_rows(&mut scalar.element, entries, &element)?;
        }
        Ok(())
    }
}

/// The loops of a part.
fn loops(part: &Part, whole: &[Loop]) -> Vec<Loop> {
    whole.iter().map(|own| Loop { size: part.of_loop(*own).len(), along: own.along }).collect()
}

/// The rows of the entries that are kept, by their new numbers.
fn cut_rows(rows: &mut Rows, entries: &Places, numbers: &Places) -> Result<(), Refused> {
    if !entries.is_cut() && !numbers.is_cut() {
        return Ok(());
    }
    let own = match rows {
        Rows::Own(own) => own,
        // Coordinates are read from the data of the part.
        Rows::Coordinate(..) => return Ok(()),
        // What is kept of a matrix is a matrix.
        Rows::Counted { .. } if entries.len() == 0 => {
            *rows = Rows::Own(Vec::new());
            return Ok(());
        }
        Rows::Counted { inner, size } => {
            *size = numbers.len();
            *inner = if *inner == 1 { 1 } else { entries.len() / *size };
            return Ok(());
        }
    };
    let kept = entries.taken(own);
    let row = |row: u32| numbers.place(row as usize).map(|row| row as u32);
    *own = kept.into_iter().map(row).collect::<Option<_>>().ok_or_else(looked_up)?;
    Ok(())
}

fn looked_up() -> Refused {
    "data at one of its positions look up another".to_owned()
}

/// The tables of a part.
fn maps(part: &Part, whole: &Maps) -> Result<Maps, Refused> {
    whole.rewritten(|values, from, to| {
        let (from, to) = (part.of_loop(Loop { size: values.len(), along: from }), part.of_loop(to));
        if !from.is_cut() && !to.is_cut() {
            return Ok((values.clone(), to.size()));
        }
        let size = to.len();
        let (from, to) = (Places(vec![from]), Places(vec![to]));
        let value = |value: u32| to.place(value as usize).map(|value| value as u32);
        let values = from.taken(values).into_iter().map(value).collect::<Option<Vec<u32>>>();
        Ok((values.ok_or_else(looked_up)?.into(), size))
    })
}

/// The layout of a part of a block with these plates.
fn layout(part: &Part, plates: &[LetterId], whole: &Layout) -> Result<Arc<Layout>, Refused> {
    let kept = |letters: &[LetterId]| Places(letters.iter().map(|letter| part.of_letter(*letter)).collect());
    let (rows, groups) = (kept(plates), kept(&whole.group_letters));
    let sizes = |own: &Places| own.0.iter().map(Kept::len).collect();
    let group = rows.taken(&whole.group).into_iter().map(|group| groups.place(group));
    Ok(Arc::new(Layout {
        plates: sizes(&rows),
        rows: rows.len(),
        group_sizes: sizes(&groups),
        group: group.collect::<Option<_>>().ok_or_else(looked_up)?,
        groups: groups.len(),
        ..whole.clone()
    }))
}
