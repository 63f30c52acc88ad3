//! The program over entries: letters, arrays, statements, blocks and starts restated, and the data gathered.

use std::collections::{BTreeMap, BTreeSet};

use cavi_algebra::{
    Absent, Array, ArrayId, ArrayKind, Axis, AxisId, Expression, Letter, LetterId, Subscript, Support,
};
use cavi_executor::{BoundArray, BoundAxis};
use cavi_model::{ArgumentSpec, Model, Start};

use super::super::{Problem, derive_alike};
use super::{Component, EntryAxis, Member};
use crate::bind::Binding;

/// Program and data with the entries of a component as an axis; `None` where its data were given by dense files, or where
/// the program has no equations in this form.
pub(super) fn restate(problem: &Problem, component: &Component) -> Option<Problem> {
    let columns = all_entries(&problem.binding, component)?;
    let mut restating = Restating::new(&problem.model, &problem.binding, component, columns);
    restating.program(component);
    let Restating { model, mut binding, .. } = restating;
    let equations = derive_alike(&model, &problem.equations)?;
    binding.partly_latent.retain(|array| !component.data.iter().any(|own| own.array == *array));
    Some(problem.with(model, equations, binding))
}

/// The entries that any of the data list: those of the first in the order of its file, then what the next ones add. One
/// column a coordinate.
fn all_entries(binding: &Binding, component: &Component) -> Option<Vec<Vec<u32>>> {
    let listed = |member: &Member| {
        let columns = binding.listed.get(member.array.index())?.as_ref()?;
        Some(member.places.iter().map(|place| columns[*place].as_slice()).collect::<Vec<&[u32]>>())
    };
    let all: Vec<Vec<&[u32]>> = component.data.iter().map(listed).collect::<Option<_>>()?;
    if let [only] = all.as_slice() {
        return Some(only.iter().map(|column| column.to_vec()).collect());
    }
    let mut seen: BTreeSet<Vec<u32>> = BTreeSet::new();
    let mut columns: Vec<Vec<u32>> = vec![Vec::new(); all[0].len()];
    for own in all {
        for entry in 0..own[0].len() {
            let coordinates: Vec<u32> = own.iter().map(|column| column[entry]).collect();
            if seen.insert(coordinates.clone()) {
                columns.iter_mut().zip(coordinates).for_each(|(column, own)| column.push(own));
            }
        }
    }
    Some(columns)
}

/// A program on its way.
struct Restating {
    model: Model,
    binding: Binding,
    /// The letter of the entries.
    entry: LetterId,
    /// For each coordinate the index data that hold it.
    coordinates: Vec<ArrayId>,
    columns: Vec<Vec<u32>>,
    /// For each variable at entries, the dimensions that the coordinates were.
    members: BTreeMap<ArrayId, Member>,
    /// Data and constants with a value for every entry, by the array and its dimensions as coordinates.
    gathered: BTreeMap<(ArrayId, Vec<usize>), ArrayId>,
}

impl Restating {
    fn new(model: &Model, binding: &Binding, component: &Component, columns: Vec<Vec<u32>>) -> Restating {
        let (mut model, mut binding) = (model.clone(), binding.clone());
        let first = &component.data[0];
        let letters = first.letters(&model);
        let name = model.symbols.array(first.array).name.clone();
        let pair = crate::rank::pair(model.symbols.array(first.array));
        let span = model.array_spans[first.array.index()];
        let (axis, entry) =
            (AxisId::from(model.symbols.axes.len()), LetterId::from(model.symbols.letters.len()));
        let stated =
            Axis { name: format!("entry of {name}"), parent: None, letters: vec![entry], size: None };
        model.symbols.axes.push(stated);
        model.symbols.letters.push(Letter { name: "entry".to_owned(), axis, parent: None });
        model.axis_spans.push(span);
        binding.bound.axes.push(BoundAxis::plain(columns[0].len()));
        binding.labels.axes.push(None);
        let axes = letters.iter().map(|letter| model.symbols.letter(*letter).axis).collect();
        let members = component.members().map(|member| (member.array, member.clone())).collect();
        let mut restating = Restating {
            model,
            binding,
            entry,
            coordinates: Vec::new(),
            columns,
            members,
            gathered: BTreeMap::new(),
        };
        for (place, letter) in letters.iter().enumerate() {
            let letter = restating.model.symbols.letter(*letter).clone();
            let values = restating.columns[place].iter().map(|own| f64::from(*own)).collect();
            let array = restating.data(
                format!("{} of {name}", letter.name),
                ArrayKind::Data,
                Support::Index(letter.axis),
                first.array,
                BoundArray::full(values),
            );
            restating.coordinates.push(array);
        }
        let in_own_order = |member: &Member| {
            let mut order: Vec<usize> = (0..member.places.len()).collect();
            order.sort_by_key(|coordinate| member.places[*coordinate]);
            (member.array, order)
        };
        let latents = component.latents.iter().map(in_own_order).collect();
        let columns = restating.columns.clone();
        let data = component.data.clone();
        let place = |dimension: usize| first.places.iter().position(|own| *own == dimension);
        let pair = pair.and_then(|(one, other)| Some([place(one)?, place(other)?]));
        restating.binding.entries.push(EntryAxis {
            axis,
            coordinates: axes,
            letters,
            columns,
            pair,
            data,
            latents,
        });
        restating
    }

    /// An array over the entries.
    fn data(
        &mut self,
        name: String,
        kind: ArrayKind,
        support: Support,
        like: ArrayId,
        values: BoundArray,
    ) -> ArrayId {
        let id = ArrayId::from(self.model.symbols.arrays.len());
        self.model.symbols.arrays.push(Array {
            name,
            kind,
            letters: vec![self.entry],
            slice: vec![false],
            written: Vec::new(),
            support,
            absent: Absent::default(),
            restriction: None,
            value: None,
            center: None,
            scale: None,
        });
        self.model.array_spans.push(self.model.array_spans[like.index()]);
        self.binding.bound.arrays.push(Some(values));
        self.binding.listed.push(None);
        id
    }

    /// The values of an array at the entries; its dimensions are these coordinates.
    fn at_entries(&self, array: ArrayId, coordinates: &[usize]) -> BoundArray {
        let shape = self.binding.bound.shape(&self.model.symbols, array);
        let bound = self.binding.bound.array(array);
        let mut place = vec![0; shape.len()];
        let (values, observed): (Vec<f64>, Vec<bool>) = (0..self.columns[0].len())
            .map(|entry| {
                for (place, coordinate) in place.iter_mut().zip(coordinates) {
                    *place = self.columns[*coordinate][entry] as usize;
                }
                bound.entry(&shape, &place)
            })
            .unzip();
        let observed = observed.contains(&false).then_some(observed);
        BoundArray::Dense { values: values.into(), observed }
    }

    fn program(&mut self, component: &Component) {
        let letters: BTreeMap<ArrayId, Vec<LetterId>> =
            component.members().map(|member| (member.array, member.letters(&self.model))).collect();
        for statement in 0..self.model.statements.len() {
            let target = self.model.statements[statement].target;
            let Some(own) = letters.get(&target) else { continue };
            let mut arguments = std::mem::take(&mut self.model.statements[statement].arguments);
            self.arguments(&mut arguments, own);
            let entry = self.entry;
            let stated = &mut self.model.statements[statement];
            stated.arguments = arguments;
            replace_all(&mut stated.plates, own, entry);
        }
        for line in 0..self.model.init.len() {
            let Some(own) = letters.get(&self.model.init[line].target) else { continue };
            let mut start = self.model.init[line].start.clone();
            match &mut start {
                Start::Value(value) => *value = self.expression(value, own),
                Start::Draw { arguments, .. } => self.arguments(arguments, own),
                Start::FromData { .. } => {}
            }
            self.model.init[line].start = start;
        }
        for (spec, plates) in self.model.blocks.iter().zip(&mut self.model.block_plates) {
            for (array, plates) in spec.members.iter().zip(plates) {
                if let Some(own) = letters.get(array) {
                    replace_all(plates, own, self.entry);
                }
            }
        }
        self.keep_for_starts(component);
        for member in &component.data {
            let mut order = vec![0; member.places.len()];
            member.places.iter().enumerate().for_each(|(coordinate, place)| order[*place] = coordinate);
            self.binding.bound.arrays[member.array.index()] = Some(self.at_entries(member.array, &order));
            self.binding.listed[member.array.index()] = None;
        }
        for (id, own) in &letters {
            let array = &mut self.model.symbols.arrays[id.index()];
            let rest: Vec<(LetterId, bool)> = array
                .letters
                .iter()
                .zip(&array.slice)
                .filter(|(letter, _)| !own.contains(letter))
                .map(|(letter, slice)| (*letter, *slice))
                .collect();
            array.letters = std::iter::once(self.entry).chain(rest.iter().map(|own| own.0)).collect();
            array.slice = std::iter::once(false).chain(rest.iter().map(|own| own.1)).collect();
            (array.restriction, array.center, array.scale, array.value) = (None, None, None, None);
        }
    }

    /// Starts that are computed from the data read them as they were.
    fn keep_for_starts(&mut self, component: &Component) {
        for member in &component.data {
            let reads =
                |start: &Start| matches!(start, Start::FromData { data, .. } if *data == member.array);
            if !self.model.init.iter().any(|line| reads(&line.start)) {
                continue;
            }
            let copy = ArrayId::from(self.model.symbols.arrays.len());
            self.model.symbols.arrays.push(self.model.symbols.array(member.array).clone());
            self.model.array_spans.push(self.model.array_spans[member.array.index()]);
            self.binding.bound.arrays.push(self.binding.bound.arrays[member.array.index()].clone());
            self.binding.listed.push(None);
            for line in &mut self.model.init {
                if let Start::FromData { data, .. } = &mut line.start
                    && *data == member.array
                {
                    *data = copy;
                }
            }
        }
    }

    fn arguments(&mut self, arguments: &mut [Option<ArgumentSpec>], letters: &[LetterId]) {
        for argument in arguments.iter_mut().flatten() {
            argument.value = self.expression(&argument.value, letters);
            argument.inverse = argument.inverse.as_ref().map(|own| self.expression(own, letters));
        }
    }

    /// An expression in which these letters were the coordinates of the entry.
    fn expression(&mut self, expression: &Expression, letters: &[LetterId]) -> Expression {
        let mut boxed = |inner: &Expression| Box::new(self.expression(inner, letters));
        match expression {
            Expression::Number(_) | Expression::Indicator(..) | Expression::Position(_) => expression.clone(),
            Expression::Sum(own, body) => Expression::Sum(own.clone(), boxed(body)),
            Expression::Power(base, exponent) => Expression::Power(boxed(base), boxed(exponent)),
            Expression::Apply(function, body) => Expression::Apply(*function, boxed(body)),
            Expression::OfMatrix(function, body, row, column) => {
                Expression::OfMatrix(*function, boxed(body), *row, *column)
            }
            Expression::Add(parts) => {
                Expression::Add(parts.iter().map(|part| self.expression(part, letters)).collect())
            }
            Expression::Multiply(parts) => {
                Expression::Multiply(parts.iter().map(|part| self.expression(part, letters)).collect())
            }
            Expression::Value(array, subscripts) => {
                let (array, subscripts) = self.element(*array, subscripts, letters);
                Expression::Value(array, subscripts)
            }
        }
    }

    fn element(
        &mut self,
        array: ArrayId,
        subscripts: &[Subscript],
        letters: &[LetterId],
    ) -> (ArrayId, Vec<Subscript>) {
        let here = Subscript::Letter(self.entry);
        if let Some(member) = self.members.get(&array).cloned() {
            let rest = subscripts.iter().enumerate().filter(|(place, _)| !member.places.contains(place));
            let rest: Vec<Subscript> = rest.map(|(_, own)| self.subscript(own, letters)).collect();
            return (array, std::iter::once(here).chain(rest).collect());
        }
        let coordinate = |own: &Subscript| match own {
            Subscript::Letter(own) => letters.iter().position(|letter| letter == own),
            Subscript::Index(..) => None,
        };
        let places: Option<Vec<usize>> = subscripts.iter().map(coordinate).collect();
        let latent = self.model.symbols.array(array).kind == ArrayKind::Latent;
        match places {
            Some(places) if !latent && places.len() > 1 => (self.gather(array, places), vec![here]),
            _ => (array, subscripts.iter().map(|own| self.subscript(own, letters)).collect()),
        }
    }

    fn subscript(&mut self, subscript: &Subscript, letters: &[LetterId]) -> Subscript {
        match subscript {
            Subscript::Letter(letter) => match letters.iter().position(|own| own == letter) {
                Some(place) => Subscript::Index(self.coordinates[place], vec![Subscript::Letter(self.entry)]),
                None => subscript.clone(),
            },
            Subscript::Index(array, inner) => {
                let (array, inner) = self.element(*array, inner, letters);
                Subscript::Index(array, inner)
            }
        }
    }

    /// Data or constants whose dimensions are coordinates, by the entry.
    fn gather(&mut self, array: ArrayId, places: Vec<usize>) -> ArrayId {
        if let Some(known) = self.gathered.get(&(array, places.clone())) {
            return *known;
        }
        let own = self.model.symbols.array(array).clone();
        let values = self.at_entries(array, &places);
        let id = self.data(own.name, own.kind, own.support, array, values);
        // The derivation reads the number of a constant, and nothing else of its value.
        let number = own.value.filter(|value| matches!(value, Expression::Number(_)));
        self.model.symbols.arrays[id.index()].value = number;
        if self.model.untyped.contains(&array) {
            self.model.untyped.insert(id);
        }
        self.gathered.insert((array, places), id);
        id
    }
}

/// Takes out these letters, and puts that of the entry first.
fn replace_all(letters: &mut Vec<LetterId>, of: &[LetterId], entry: LetterId) {
    letters.retain(|letter| !of.contains(letter));
    letters.insert(0, entry);
}
