//! Latents at entries that are missing, of data that a dense file holds.
//!
//! A latent of each entry, `z[i, j] ~ Categorical(psi)` under `y[i, j] ~ Poisson(rate[z[i, j]])`, says something of `psi` at every position at which
//! it has an element. Where `y` is not observed its q follows `psi` alone, and yet counts in the update of `psi` as an observation would: mean
//! field takes the two for independent. So `psi` looks surer than it is. Of a file that lists its entries such latents live at these alone.

use std::collections::BTreeSet;

use cavi_algebra::{ArrayId, ArrayKind};
use cavi_executor::BoundArray;
use cavi_model::Model;

use super::components;

/// A note for each array with missing entries at which latents live that are drawn from what is learned.
pub(super) fn notes(model: &Model, arrays: &[Option<BoundArray>]) -> Vec<String> {
    let symbols = &model.symbols;
    let mut notes = Vec::new();
    for component in components(model) {
        let members: BTreeSet<ArrayId> = component.members().map(|own| own.array).collect();
        let learns = |latent: ArrayId| -> Vec<ArrayId> {
            let mut read = Vec::new();
            let arguments =
                model.statement_of(latent).into_iter().flat_map(|own| own.arguments.iter().flatten());
            arguments.for_each(|own| own.value.visit_values(&mut |array, _| read.push(array)));
            read.retain(|own| symbols.array(*own).kind == ArrayKind::Latent && !members.contains(own));
            read
        };
        let learned = component.latents.iter().find_map(|own| Some((own.array, *learns(own.array).first()?)));
        let missing = component.data.iter().find_map(|own| match arrays[own.array.index()].as_ref()? {
            BoundArray::Dense { observed: Some(seen), .. } if seen.contains(&false) => {
                Some((own.array, seen.iter().filter(|own| !**own).count()))
            }
            BoundArray::Dense { .. } | BoundArray::Sparse { .. } => None,
        });
        let (Some((latent, parent)), Some((data, count))) = (learned, missing) else { continue };
        let [latent, parent, data] = [latent, parent, data].map(|own| symbols.array(own).name.as_str());
        notes.push(format!(
            "`{latent}` has an element at the {count} missing entries of `{data}` too, which count for `{parent}` as if they had been observed: it looks surer than it is. Of a long \
             table of what was observed `{latent}` lives at its entries alone"
        ));
    }
    notes
}
