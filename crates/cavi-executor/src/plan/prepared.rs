//! Contractions with the steps of their letters worked out.
//!
//! In come a [`Contraction`] and the shapes and tables of the arrays that it reads; out goes how far each letter moves in each
//! of them, which is all that a kernel asks. The plan works it out, since the kind and the amount of work follow from it; a run
//! only fills in values.

use cavi_numerics::kernels::contract::{Letters, Step, Work, work};

use crate::plan::tensor::{Access, Contraction, Index, MapId, Maps, Node, NodeId};

/// What a letter adds to an offset.
#[derive(Clone, Debug)]
pub enum Reach {
    /// A multiple of its value.
    Stride(usize),
    /// A table's entry, times a number.
    Table(MapId, usize),
    /// Several of these together.
    Joined(Vec<u32>),
}

/// A contraction ready to run.
#[derive(Clone, Debug)]
pub struct Prepared {
    pub(crate) coefficient: f64,
    pub(crate) sizes: Letters<usize>,
    pub(crate) operands: Vec<(NodeId, Letters<Reach>)>,
    /// For each operand, its dimensions and their sizes.
    pub(crate) arrays: Vec<(Vec<Index>, Vec<usize>)>,
    /// For each operand, and for the output behind them, its first dimension and how a row of it is reached: empty for a
    /// number.
    pub(crate) rows: Vec<Option<(Index, Letters<Reach>)>>,
    pub(crate) output: Vec<Index>,
    pub(crate) shape: Vec<usize>,
    pub(crate) reach: Letters<Reach>,
}

impl Prepared {
    /// Works out the steps.
    pub fn new(contraction: &Contraction, nodes: &[Node], shape: &[usize], maps: &Maps) -> Prepared {
        let sizes: Letters<usize> = contraction.sizes().collect();
        let operands = contraction
            .operands
            .iter()
            .map(|operand| {
                (operand.node, reaches(&operand.dims, &nodes[operand.node.index()].shape, &sizes, maps))
            })
            .collect();
        let reach = reaches(&contraction.output, shape, &sizes, maps);
        let in_rows = |dims: &[Index], shape: &[usize]| {
            let (first, others) = dims.split_first()?;
            Some((*first, reaches(others, &shape[1..], &sizes, maps)))
        };
        let rows = contraction
            .operands
            .iter()
            .map(|operand| in_rows(&operand.dims, &nodes[operand.node.index()].shape))
            .chain([in_rows(&contraction.output, shape)])
            .collect();
        let array = |operand: &Access| (operand.dims.clone(), nodes[operand.node.index()].shape.clone());
        Prepared {
            coefficient: contraction.coefficient,
            sizes,
            operands,
            arrays: contraction.operands.iter().map(array).collect(),
            rows,
            output: contraction.output.clone(),
            shape: shape.to_vec(),
            reach,
        }
    }

    /// The tables it reads.
    pub fn maps(&self) -> Vec<MapId> {
        let rows = self.rows.iter().flatten();
        let within = rows.clone().flat_map(|(_, reach)| reach);
        let own = self.operands.iter().flat_map(|(_, reach)| reach).chain(&self.reach).chain(within);
        let tables = own.filter_map(|reach| match reach {
            Reach::Table(map, _) => Some(*map),
            Reach::Stride(_) | Reach::Joined(_) => None,
        });
        // Along fixed letters the output is worked out anew.
        let along = rows.filter_map(|(index, _)| index.map);
        tables.chain(along).chain(self.output.iter().filter_map(|index| index.map)).collect()
    }

    /// Whether it adds a multiple of an array to one of the same shape, element by element.
    pub fn is_multiple(&self) -> bool {
        let [(_, reach)] = self.operands.as_slice() else { return false };
        let plain = |reach: &[Reach]| -> Option<Letters<usize>> {
            reach
                .iter()
                .map(|reach| match reach {
                    Reach::Stride(stride) => Some(*stride),
                    Reach::Table(..) | Reach::Joined(_) => None,
                })
                .collect()
        };
        let (from, to) = (plain(reach), plain(&self.reach));
        from.is_some() && from == to && self.sizes.as_slice() == self.shape
    }

    /// What it would do.
    pub fn work(&self, maps: &Maps) -> Work {
        let operands: Vec<(usize, Letters<Step>)> =
            self.operands.iter().map(|(node, reach)| (node.index(), steps(reach, maps))).collect();
        work(&self.sizes, &operands, steps(&self.reach, maps))
    }

    /// Whether each value of the first dimension of the output can be computed by itself, at no more than its share of the
    /// cost: nothing is summed.
    pub fn is_by_rows(&self) -> bool {
        let summed = |letter: usize| self.output.iter().all(|index| index.letter != letter);
        let Some((first, others)) = self.output.split_first() else { return false };
        let alone = first.map.is_none() && others.iter().all(|other| other.letter != first.letter);
        alone && !(0..self.sizes.len()).any(summed)
    }

    /// Whether it reads a node that is worked out a few rows at a time.
    pub fn streams(&self, streamed: &[bool]) -> bool {
        self.operands.iter().any(|(node, _)| streamed[node.index()])
    }

    /// The nodes it reads.
    pub fn reads(&self) -> impl Iterator<Item = NodeId> {
        self.operands.iter().map(|(node, _)| *node)
    }

    /// The first dimension of the output.
    pub fn output_rows(&self) -> Index {
        self.output[0]
    }

    /// The dimension along which a streamed operand is read in rows, and the number of rows.
    pub fn rows(&self, streamed: &[bool], maps: &Maps) -> Option<(Index, usize)> {
        let place = self.operands.iter().position(|(node, _)| streamed[node.index()])?;
        let (index, _) = self.rows[place].as_ref()?;
        Some((*index, index.map.map_or(self.sizes[index.letter], |map| maps.range(map))))
    }
}

/// The strides of an array in C order.
pub fn strides(shape: &[usize]) -> Letters<usize> {
    let mut strides = Letters::from_elem(1, shape.len());
    for place in (0..shape.len().saturating_sub(1)).rev() {
        strides[place] = strides[place + 1] * shape[place + 1];
    }
    strides
}

/// What each letter adds to the offset of an array in C order.
pub fn reaches(dims: &[Index], shape: &[usize], sizes: &[usize], maps: &Maps) -> Letters<Reach> {
    let strides = strides(shape);
    (0..sizes.len())
        .map(|letter| {
            let own: Letters<(Option<MapId>, usize)> = dims
                .iter()
                .zip(&strides)
                .filter(|(index, _)| index.letter == letter)
                .map(|(index, stride)| (index.map, *stride))
                .collect();
            match own.as_slice() {
                [(Some(map), stride)] => Reach::Table(*map, *stride),
                plain if plain.iter().all(|(map, _)| map.is_none()) => {
                    Reach::Stride(plain.iter().map(|(_, stride)| stride).sum())
                }
                // Too large to be kept: it is read in rows.
                _ if shape.iter().product::<usize>() > u32::MAX as usize => Reach::Joined(Vec::new()),
                several => Reach::Joined(
                    (0..sizes[letter])
                        .map(|value| {
                            let offset: usize = several
                                .iter()
                                .map(|(map, stride)| {
                                    map.map_or(value, |map| maps.table(map)[value] as usize) * stride
                                })
                                .sum();
                            u32::try_from(offset)
                                .expect("an array reached through several tables has fewer than 2^32 values")
                        })
                        .collect(),
                ),
            }
        })
        .collect()
}

/// The steps of letters in an array, as a kernel takes them.
pub fn steps<'a>(reach: &'a [Reach], maps: &'a Maps) -> Letters<Step<'a>> {
    reach
        .iter()
        .map(|reach| match reach {
            Reach::Stride(stride) => Step::Stride(*stride),
            Reach::Table(map, scale) => Step::Table { table: maps.table(*map), scale: *scale },
            Reach::Joined(table) => Step::Table { table, scale: 1 },
        })
        .collect()
}
