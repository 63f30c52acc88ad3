//! Products that are summed over a matrix of the same factor of q: `sum_j L_ij m_j` and `sum_ij m_i L_ij m_j`.
//!
//! For a vector and a matrix with one joint factor, only these products have an expectation in closed form; they are
//! statistics of the family. The summed letters must stand nowhere else in the term.

use cavi_algebra::{Elementary, LetterId, Statistic, Subscript, Support, Symbols, Term, dedup};

use crate::blocks::Draft;
use crate::separate::Element;

/// What the elements of one copy in a term are a statistic of.
pub struct Described {
    /// The statistic.
    pub statistic: Statistic,
    /// The slots of each elementary function, in the statistic's order.
    pub slots: Vec<Vec<Subscript>>,
    /// The summed letters that the statistic takes in.
    pub taken: Vec<LetterId>,
}

/// The statistic of the elements of one copy, contracted where they are a vector and its matrix.
pub fn describe(symbols: &Symbols, draft: &Draft, term: &Term, copy: &[&Element]) -> Described {
    contract(symbols, draft, term, copy).unwrap_or_else(|| plain(copy))
}

/// The statistic of the elements of one copy, with its slots in the statistic's order.
fn plain(copy: &[&Element]) -> Described {
    let mut parts: Vec<((u8, Elementary), Vec<Subscript>)> = Vec::new();
    for element in copy {
        for _ in 0..element.times {
            parts.push(((element.member as u8, element.elementary), element.slots.clone()));
        }
    }
    parts.sort_by_key(|part| part.0);
    let statistic = Statistic(parts.iter().map(|(part, _)| *part).collect());
    Described { statistic, slots: parts.into_iter().map(|(_, slots)| slots).collect(), taken: Vec::new() }
}

fn contract(symbols: &Symbols, draft: &Draft, term: &Term, copy: &[&Element]) -> Option<Described> {
    let support = |element: &Element| symbols.array(draft.members[element.member]).support;
    let (matrices, vectors): (Vec<&Element>, Vec<&Element>) =
        copy.iter().copied().partition(|element| support(element) == Support::PositiveDefinite);
    let [matrix] = matrices.as_slice() else { return None };
    let first = |element: &&Element| element.elementary == Elementary::Power(1) && element.times == 1;
    if !first(matrix) || !vectors.iter().all(first) || vectors.is_empty() || vectors.len() > 2 {
        return None;
    }
    let letter = |slots: &[Subscript]| match slots {
        [Subscript::Letter(letter)] => Some(*letter),
        _ => None,
    };
    let taken: Vec<LetterId> = vectors.iter().map(|vector| letter(&vector.slots)).collect::<Option<_>>()?;
    let own: Vec<usize> = copy.iter().map(|element| element.position).collect();
    let mut plates = Vec::new();
    copy[0].plates.iter().for_each(|plate| plate.letters(&mut plates));
    let in_plates = |letter: &LetterId| plates.iter().any(|own| symbols.lineage(*own).contains(letter));
    let elsewhere = |letter: &LetterId| in_plates(letter) || term.depends_elsewhere(symbols, *letter, &own);
    let ends: Vec<LetterId> =
        matrix.slots.iter().map(|slot| letter(std::slice::from_ref(slot))).collect::<Option<_>>()?;
    let fits = |own: &LetterId| ends.contains(own) && term.sums.contains(own) && !elsewhere(own);
    let distinct = |letters: &[LetterId]| dedup(letters.to_vec()).len() == letters.len();
    if !taken.iter().all(fits) || !distinct(&taken) || !distinct(&ends) {
        return None;
    }
    let left: Vec<Subscript> =
        ends.iter().filter(|own| !taken.contains(own)).map(|own| Subscript::Letter(*own)).collect();
    let vector = (vectors[0].member as u8, Elementary::Contracted(0));
    let mut parts = vec![vector; vectors.len()];
    parts.push((matrix.member as u8, Elementary::Contracted(left.len() as u8)));
    let mut slots = vec![Vec::new(); vectors.len()];
    slots.push(left);
    Some(Described { statistic: Statistic(parts), slots, taken })
}
