//! From factors to a contraction: letters get their loops, subscripts their indices, restrictions their guards.

use cavi_algebra::{ArrayId, Atom, LetterId, Subscript, Support};

use super::scope::entry_of;
use super::{Lowering, Pending, Scope, Unplanned};
use crate::data::BoundArray;
use crate::plan::beside::{Order, classes, sum_beside, sum_beside_in_groups};
use crate::plan::eliminate::sum_through;
use crate::plan::tensor::{Access, Along, Contraction, Index, Loop, MapId, Maps, NodeId, Operation};

impl<'a> Lowering<'a, '_> {
    /// Gives the remaining letters their loops and resolves subscripts.
    pub(super) fn finish(
        &mut self,
        scope: &mut Scope,
        mut coefficient: f64,
        pending: Vec<Pending>,
        guards: &[Atom],
        sums: &[LetterId],
    ) -> Result<Option<Contraction>, Unplanned> {
        // Which summed letters are used at all? (An ancestor is used by its descendants.)
        let mut used: Vec<LetterId> = Vec::new();
        for pending in &pending {
            pending.subscripts.iter().for_each(|subscript| subscript.letters(&mut used));
        }
        for guard in guards {
            guard.visit_subscripts(&mut |subscript| subscript.letters(&mut used));
        }
        // Their groups' sizes are read where the parents are in the end: a letter that comes later may give these their values.
        let mut sizes: Vec<(NodeId, LetterId)> = Vec::new();
        // Descendants first: a ragged letter gives its ancestors their values.
        let mut order: Vec<LetterId> = sums.to_vec();
        order.sort_by_key(|letter| std::cmp::Reverse(self.symbols.lineage(*letter).len()));
        for letter in order {
            if scope.index.contains_key(&letter) {
                continue;
            }
            let size = self.bound.size_of(&self.symbols, letter);
            let lineage = self.symbols.lineage(letter);
            let ancestors = lineage[1..].to_vec();
            // Two letters that are ragged in one run over the same group.
            let beside = |ancestor: &LetterId| {
                sums.iter().filter(|other| !lineage.contains(other)).any(|other| {
                    let above = self.symbols.lineage(*other);
                    above.contains(ancestor) && !above.contains(&letter)
                })
            };
            let anchored = |ancestor: &LetterId, scope: &Scope| {
                let known = used.contains(ancestor) || scope.index.contains_key(ancestor);
                known || !sums.contains(ancestor) || beside(ancestor)
            };
            // Under a grandparent with a value, and a parent without one, the letter is run over.
            let parent_anchored = ancestors.first().is_some_and(|parent| anchored(parent, scope));
            let above = ancestors.iter().any(|ancestor| anchored(ancestor, scope));
            if !used.contains(&letter) && (parent_anchored || !above) {
                match ancestors.first().copied() {
                    None => coefficient *= size as f64,
                    Some(parent) if parent_anchored => {
                        // The number of positions in each group of the parent.
                        let axis = self.symbols.letter(letter).axis;
                        let starts =
                            self.bound.axes[axis.index()].starts.as_ref().expect("a ragged axis has groups");
                        let counts: Vec<f64> =
                            starts.windows(2).map(|pair| (pair[1] - pair[0]) as f64).collect();
                        let loops = vec![self.over_letter(parent)];
                        let node =
                            self.node(Operation::Static(format!("group sizes of {axis:?}")), loops, || {
                                counts
                            });
                        if !scope.index.contains_key(&parent) {
                            let base = scope.letters.len();
                            scope.letters.push(self.over_letter(parent));
                            self.tie(scope, parent, Index::letter(base));
                            self.bind(scope, parent, Index::letter(base));
                        }
                        sizes.push((node, parent));
                    }
                    Some(parent) => {
                        // All positions of all groups: the parent is counted with them.
                        coefficient *= size as f64;
                        for step in self.symbols.lineage(parent) {
                            scope.index.insert(step, Index::letter(usize::MAX));
                        }
                    }
                }
                continue;
            }
            let base = scope.letters.len();
            scope.letters.push(self.over_letter(letter));
            self.tie(scope, letter, Index::letter(base));
            self.bind(scope, letter, Index::letter(base));
        }
        // As are the indices of guards that make no two letters one. Those through tables of two loop letters are looked at last.
        let mut left: Vec<&Atom> = Vec::new();
        for guard in guards {
            if !self.unites(scope, guard)? {
                left.push(guard);
            }
        }
        let mut orders: Vec<Order> = Vec::new();
        let mut held: Vec<Access> = Vec::new();
        for guard in left {
            match (self.through_tables(scope, guard)?, guard) {
                (Some(pair), _) => scope.tied.push(pair),
                (None, Atom::Less(less, more)) => {
                    orders.push((self.resolve(scope, less)?, self.resolve(scope, more)?));
                }
                (None, _) => held.extend(self.holds(scope, guard)?),
            }
        }
        let sizes = sizes.into_iter().map(|(node, parent)| Access { node, dims: vec![scope.index[&parent]] });
        let mut operands = Vec::new();
        for pending in &pending {
            let dims: Result<Vec<Index>, Unplanned> =
                pending.subscripts.iter().map(|subscript| self.resolve(scope, subscript)).collect();
            operands.push(Access { node: pending.node, dims: dims? });
        }
        operands.extend(sizes.chain(held));
        let mut whole = Contraction {
            coefficient,
            letters: scope.letters.clone(),
            operands,
            output: scope.output.clone(),
        };
        let mut summed: Vec<usize> = scope.replaced.clone();
        let mut tied = scope.tied.clone();
        if !orders.is_empty() && !tied.is_empty() {
            let mut agreeing = classes(&tied);
            summed.extend(sum_beside_in_groups(self, &mut whole, &mut orders, &mut agreeing));
            tied = agreeing
                .iter()
                .flat_map(|own| own.iter().skip(1).map(move |index| (own[0], *index)))
                .collect();
        }
        // Other letters that have to agree with others beside are no running sums.
        let busy: Vec<usize> = tied.iter().flat_map(|(left, right)| [left.letter, right.letter]).collect();
        for (less, more) in
            orders.extract_if(.., |(less, more)| busy.contains(&less.letter) || busy.contains(&more.letter))
        {
            whole.operands.extend(self.where_they_hold(scope, less, more, true)?);
        }
        while let Some((left, right)) = tied.pop() {
            let others = tied.iter().flat_map(|(left, right)| [left.letter, right.letter]);
            let others: Vec<usize> = others.collect();
            let through = [(left, right), (right, left)].into_iter().find(|(own, other)| {
                let alone = own.letter != other.letter && !others.contains(&own.letter);
                own.map
                    .filter(|_| alone)
                    .is_some_and(|map| sum_through(self, &mut whole, own.letter, map, *other))
            });
            match through {
                Some((own, _)) => summed.push(own.letter),
                None => whole.operands.extend(self.where_they_hold(scope, left, right, false)?),
            }
        }
        summed.extend(sum_beside(self, &mut whole, &mut orders));
        for (less, more) in orders {
            whole.operands.extend(self.where_they_hold(scope, less, more, true)?);
        }
        // A loop that nothing mentions repeats the product.
        for (letter, own) in scope.letters.iter().enumerate() {
            let mut mentioned = whole.operands.iter().flat_map(|operand| &operand.dims).chain(&whole.output);
            if !summed.contains(&letter) && !mentioned.any(|index| index.letter == letter) {
                whole.coefficient *= own.size as f64;
            }
        }
        if whole.coefficient == 0.0 {
            return Ok(None);
        }
        Ok(Some(whole))
    }

    /// A subscript as an index of the loop.
    pub(super) fn resolve(&mut self, scope: &Scope, subscript: &Subscript) -> Result<Index, Unplanned> {
        match subscript {
            Subscript::Letter(letter) => scope.index.get(letter).copied().ok_or_else(|| {
                Unplanned(format!(
                    "the letter `{}` has no value in a term",
                    self.symbols.letter(*letter).name
                ))
            }),
            Subscript::Index(array, inner) => {
                let letters: Vec<LetterId> = inner
                    .iter()
                    .filter_map(|subscript| match subscript {
                        Subscript::Letter(letter) => Some(*letter),
                        Subscript::Index(..) => None,
                    })
                    .collect();
                let entry = scope.pattern.iter().find(|(_, own, known)| {
                    own == array && (*known == letters || entry_of(*own, known) == *subscript)
                });
                if let Some((base, _, known)) = entry {
                    if inner.len() > known.len() {
                        return Ok(Index::letter(*base));
                    }
                    let map = self.index_values(*array);
                    return Ok(Index { letter: *base, map: Some(map) });
                }
                match inner.as_slice() {
                    [only] => {
                        let inside = self.resolve(scope, only)?;
                        let map = self.index_by_position(*array);
                        Ok(Index { letter: inside.letter, map: self.maps.compose(inside.map, Some(map)) })
                    }
                    _ => self.index_by_positions(scope, *array, inner),
                }
            }
        }
    }

    /// The values of an index array of one dimension, position by position; 0 where none is listed, which a mask leaves
    /// out.
    fn index_by_position(&mut self, array: ArrayId) -> MapId {
        let BoundArray::Sparse { indices, values, .. } = self.bound.array(array) else {
            return self.index_values(array);
        };
        let [from] = self.over_array(array)[..] else {
            unreachable!("an index by position has one dimension")
        };
        let ends = (from.along, self.over_values(array));
        self.maps.named(&format!("positions {array:?}"), ends, || {
            let mut table = vec![0; from.size];
            for (place, value) in indices[0].iter().zip(values) {
                table[*place as usize] = *value as u32;
            }
            table.into()
        })
    }

    /// The values of an index array of several dimensions, where all of its subscripts follow from one letter of the loop: from the listed
    /// entries of sparse data, say. 0 where none is listed, which a mask leaves out.
    fn index_by_positions(
        &mut self,
        scope: &Scope,
        array: ArrayId,
        subscripts: &[Subscript],
    ) -> Result<Index, Unplanned> {
        let places: Vec<Index> =
            subscripts.iter().map(|own| self.resolve(scope, own)).collect::<Result<_, _>>()?;
        let letter = places.first().map_or(0, |first| first.letter);
        if places.iter().any(|own| own.letter != letter) {
            return Err(Unplanned(format!(
                "the subscripts of `{}` do not follow from one index",
                self.symbols.array(array).name
            )));
        }
        let from = scope.letters[letter];
        let maps: Vec<Option<MapId>> = places.iter().map(|own| own.map).collect();
        let shape = self.bound.shape(&self.symbols, array);
        let at = |place: usize| {
            let of = |map: &Option<MapId>| map.map_or(place, |map| self.maps.table(map)[place] as usize);
            let positions: Vec<usize> = maps.iter().map(of).collect();
            self.bound.array(array).entry(&shape, &positions).0 as u32
        };
        let values: Vec<u32> = (0..from.size).map(at).collect();
        let ends = (from.along, self.over_values(array));
        let name = format!("{array:?} at {maps:?} of {from:?}");
        let map = self.maps.named(&name, ends, || values.into());
        Ok(Index { letter, map: Some(map) })
    }

    /// The loop over what the values of an index array are.
    fn over_values(&self, array: ArrayId) -> Loop {
        let Support::Index(axis) = self.symbols.array(array).support else {
            unreachable!("only index data stand in subscripts")
        };
        self.over_axis(axis)
    }

    /// The values of an index array, entry by entry: the entries of a dense array of one dimension are its positions.
    pub(super) fn index_values(&mut self, array: ArrayId) -> MapId {
        let bound = self.bound;
        let from = match (bound.array(array), self.over_array(array).as_slice()) {
            (BoundArray::Dense { .. }, [only]) => only.along,
            _ => Along::Entries(array),
        };
        let ends = (from, self.over_values(array));
        self.maps.named(&format!("values {array:?}"), ends, || match bound.array(array) {
            BoundArray::Dense { values, .. } | BoundArray::Sparse { values, .. } => {
                values.iter().map(|value| *value as u32).collect()
            }
        })
    }

    /// Makes the letters of an equality of two subscripts one, where a loop letter stands for one of them alone. Whether it could.
    fn unites(&mut self, scope: &mut Scope, guard: &Atom) -> Result<bool, Unplanned> {
        let Atom::Equal(left, right) = guard else { return Ok(false) };
        let (left, right) = (self.resolve(scope, left)?, self.resolve(scope, right)?);
        if left == right {
            return Ok(true);
        }
        let plain = |index: Index, scope: &Scope| {
            index.map.is_none() && !scope.pattern.iter().any(|(own, _, _)| *own == index.letter)
        };
        if left.letter == right.letter || !plain(left, scope) && !plain(right, scope) {
            return Ok(false);
        }
        // The output's letter follows from the other.
        if plain(right, scope) {
            self.rebind(scope, right.letter, left);
        } else {
            self.rebind(scope, left.letter, right);
        }
        Ok(true)
    }

    /// The two indices that are to be equal, if both are read through tables, of two loop letters.
    fn through_tables(&mut self, scope: &Scope, guard: &Atom) -> Result<Option<(Index, Index)>, Unplanned> {
        let Atom::Equal(left, right) = guard else { return Ok(None) };
        let (left, right) = (self.resolve(scope, left)?, self.resolve(scope, right)?);
        let apart = left.letter != right.letter && left.map.is_some() && right.map.is_some();
        Ok(apart.then_some((left, right)))
    }

    /// An equality of two subscripts as an array of zeros and ones; `None` where it always holds.
    fn holds(&mut self, scope: &Scope, guard: &Atom) -> Result<Option<Access>, Unplanned> {
        let Atom::Equal(left, right) = guard else {
            return Err(Unplanned("a guard that is none".to_owned()));
        };
        let (left, right) = (self.resolve(scope, left)?, self.resolve(scope, right)?);
        self.where_they_hold(scope, left, right, false)
    }

    /// Zeros and ones: where two indices are equal, or where the first is less than the second.
    pub(super) fn where_they_hold(
        &mut self,
        scope: &Scope,
        left: Index,
        right: Index,
        less: bool,
    ) -> Result<Option<Access>, Unplanned> {
        if left == right && !less {
            return Ok(None);
        }
        let value =
            |maps: &Maps, index: Index, at: usize| index.map.map_or(at as u32, |map| maps.table(map)[at]);
        let hold = |a: u32, b: u32| f64::from(u8::from(if less { a < b } else { a == b }));
        let sizes: Vec<usize> = scope.letters.iter().map(|own| own.size).collect();
        let label = format!("guard {less} {left:?} {right:?} {sizes:?}");
        if left.letter == right.letter {
            let own = scope.letters[left.letter];
            let values: Vec<f64> = (0..own.size)
                .map(|at| hold(value(&self.maps, left, at), value(&self.maps, right, at)))
                .collect();
            let node = self.node(Operation::Static(label), vec![own], || values);
            return Ok(Some(Access { node, dims: vec![Index::letter(left.letter)] }));
        }
        let loops = [left, right].map(|index| scope.letters[index.letter]);
        let [rows, columns] = loops.map(|own| own.size);
        if rows.saturating_mul(columns) > self.limit.max(1 << 24) {
            return Err(Unplanned(format!(
                "a restriction over {rows} x {columns} pairs does not fit in memory"
            )));
        }
        let mut values = Vec::with_capacity(rows * columns);
        for row in 0..rows {
            let a = value(&self.maps, left, row);
            values.extend((0..columns).map(|column| hold(a, value(&self.maps, right, column))));
        }
        let node = self.node(Operation::Static(label), loops.to_vec(), || values);
        Ok(Some(Access { node, dims: vec![Index::letter(left.letter), Index::letter(right.letter)] }))
    }
}
