//! The density of one copy of a statement, for predictions of its data: without sums over plates, masks and weights
//! of rows.

use cavi_algebra::rules::replace_index;
use cavi_algebra::{ArrayId, Atom, LetterId, Subscript, Sum, Support, Symbols};
use cavi_families::Argument;
use cavi_model::{Model, Statement};

use crate::joint::{arguments, innermost_selection, multiplicities, target_of, with_ancestors};

/// One copy of a statement.
#[derive(Clone, Debug)]
pub struct Copy {
    /// The symbols of the model, with the letters that were added.
    pub symbols: Symbols,
    /// `log p(target | parameters)`; the letters of the plates are free in it, and those of the classes.
    pub log_density: Sum,
    /// The parameters under their first spellings.
    pub arguments: Vec<Option<Argument>>,
    /// The index latents that select parameters, those that stand in subscripts of others first, each with the letter of its class.
    pub selections: Vec<Selection>,
    /// The multiplicities of its row.
    pub weights: Vec<Atom>,
}

/// An index latent in a subscript.
#[derive(Clone, Debug)]
pub struct Selection {
    /// The latent.
    pub index: ArrayId,
    /// Which element.
    pub subscripts: Vec<Subscript>,
    /// The letter that stands in its place.
    pub class: LetterId,
}

/// One copy of a statement.
///
/// # Errors
/// In words, why there is none: a parameter without a closed form, or a class that is selected under a summed letter.
pub fn copy(model: &Model, symbols: &Symbols, statement: &Statement) -> Result<Copy, String> {
    let mut symbols = symbols.clone();
    let mut arguments = arguments(&mut symbols, statement)
        .map_err(|_| "a parameter of its statement has no closed form".to_owned())?;
    let mut selections = Vec::new();
    while let Some((index, subscripts)) =
        arguments.iter().flatten().find_map(|argument| innermost_selection(&symbols, &argument.value))
    {
        let Support::Index(axis) = symbols.array(index).support else {
            unreachable!("what selects is an index")
        };
        // Under a summed letter there is a class for each of its values: no single one can be summed out.
        let plates = with_ancestors(&symbols, &statement.plates);
        let mut letters = Vec::new();
        subscripts.iter().for_each(|subscript| subscript.letters(&mut letters));
        if !letters.iter().all(|letter| plates.contains(letter)) {
            let name = &symbols.array(index).name;
            return Err(format!("`{name}` selects under a summed letter, a class for each of its values"));
        }
        let class = symbols.fresh_on(axis);
        for argument in arguments.iter_mut().flatten() {
            replace_index(&mut argument.value, index, &subscripts, class);
        }
        selections.push(Selection { index, subscripts, class });
    }
    let target = target_of(model, &symbols, statement);
    let log_density = statement.family.log_density(&mut symbols, &target, &arguments);
    let weights = multiplicities(&symbols, &statement.plates);
    Ok(Copy { symbols, log_density, arguments, selections, weights })
}
