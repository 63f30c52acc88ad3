//! Latents that live at the listed entries of sparse data: `VAR.index.npy` has the positions of each entry on the axes of the latent, and the
//! parameters a number for each entry.

use cavi_algebra::{ArrayId, AxisId, Support};

use super::cells::Cells;
use super::{Listed, Reader, Source, Variable};
use crate::bind::DataError;
use crate::error::Error;

impl Reader<'_> {
    /// Where the numbers of a latent stand, if it lives at listed entries on all of its axes.
    ///
    /// # Errors
    /// A file that cannot be read, or with a position that an axis does not have.
    pub(super) fn listed(&self, id: ArrayId) -> Result<Option<Listed>, Error> {
        let Source::Directory(directory) = &self.source else { return Ok(None) };
        let symbols = &self.model.symbols;
        let own = symbols.array(id);
        let path = directory.join("posterior").join(format!("{}.index.npy", own.name));
        if !path.is_file() {
            return Ok(None);
        }
        let index = cavi_files::read_npy(&path)?;
        let axes: Vec<AxisId> = own.letters.iter().map(|letter| symbols.letter(*letter).axis).collect();
        if index.shape.len() != 2 || index.shape[1] != axes.len() {
            return Ok(None);
        }
        let paths: Vec<Vec<Vec<String>>> =
            axes.iter().map(|axis| self.paths(*axis)).collect::<Result<_, Error>>()?;
        let entry = |positions: &[f64]| -> Result<Vec<String>, DataError> {
            let each = positions.iter().zip(&paths).map(|(position, paths)| {
                let path_of = paths.get(*position as usize).filter(|_| *position >= 0.0);
                path_of.cloned().ok_or_else(|| {
                    DataError::new(format!("{}: found the position {position}", path.display()))
                        .possible(format!("0 to {}", paths.len().saturating_sub(1)))
                })
            });
            Ok(each.collect::<Result<Vec<_>, _>>()?.concat())
        };
        let labels = index.values.chunks(axes.len().max(1)).map(entry).collect::<Result<_, _>>()?;
        let names = own.letters.iter().zip(&axes).flat_map(|(letter, axis)| {
            let above = super::lineage(symbols, *axis).rev().map(|axis| symbols.axis(axis).name.clone());
            let mut names: Vec<String> = above.collect();
            // Of two columns along one axis the letters tell which is which.
            let is_repeated = axes.iter().filter(|other| *other == axis).count() > 1;
            if let (true, Some(last)) = (is_repeated, names.last_mut()) {
                last.clone_from(&symbols.letter(*letter).name);
            }
            names
        });
        let names = names.collect();
        Ok(Some(Listed { names, labels }))
    }

    /// A latent at listed entries; nothing where its file does not have a number for each.
    pub(super) fn at_entries(
        &self,
        (name, parameter): (&str, &'static str),
        support: Support,
        listed: Listed,
    ) -> Result<Option<Variable>, Error> {
        let array = self.array(name, parameter, None)?;
        let Some(array) = array.filter(|own| own.shape == [listed.labels.len()]) else { return Ok(None) };
        let marginals = self.marginals(name, None, &array, &Cells::of_numbers(&array.shape))?;
        let of_marginals = || {
            let each = marginals.as_ref()?.iter().map(|own| own.deviation().unwrap_or(f64::NAN));
            Some(each.collect::<Vec<f64>>()).filter(|all| !all.iter().all(|own| own.is_nan()))
        };
        let deviations = match self.like(name, "var", None, &array)? {
            Some(variances) => Some(variances.into_iter().map(f64::sqrt).collect()),
            None => of_marginals(),
        };
        let labels = listed.labels.iter().map(|own| own.join("/")).collect();
        Ok(Some(Variable {
            name: name.to_owned(),
            group: Vec::new(),
            axes: vec![(listed.names.join("/"), labels)],
            columns: vec![listed.names.join("/")],
            listed: Some(listed),
            parameter,
            signed: support == Support::Real,
            values: array.values,
            deviations,
            marginals,
        }))
    }
}
