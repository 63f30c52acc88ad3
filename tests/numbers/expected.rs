//! What an entry is expected to be is the average of its mean over draws from q: for every program, with draws that are taken and
//! means that are evaluated a second time (`support/draws.rs`, `support/world.rs`).

use cavi::bind::Binding;
use cavi::{heldout, prepare};
use cavi_algebra::{LetterId, Support};
use cavi_executor::Parameters;
use cavi_families::Prediction;
use cavi_model::Statement;
use cavi_tests::support::{Program, Shape, World, draw, has_implicit, programs, random_bound};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

/// Draws of the second route.
const DRAWS: usize = 400;
/// Draws of the library where it has no closed form.
const OWN: f64 = 200.0;
/// Entries of each array that are looked at.
const ENTRIES: usize = 4;
/// Standard errors within which two averages are the same.
const ERRORS: f64 = 6.0;

/// The one reason for which programs are refused: an index latent that has a class for each value of a summed letter.
const REFUSED: &str = "selects under a summed letter";

/// The mean of an entry in a world: the product of the parameters that the family says.
fn mean(statement: &Statement, world: &World<'_>, at: &[Option<usize>], slice: Option<usize>) -> f64 {
    let factor = |place: &usize| {
        let argument = statement.arguments[*place].as_ref().expect("a mean has its parameters");
        let mut at = at.to_vec();
        if let (Some(letter), Some(position)) = (argument.letters.first(), slice) {
            at[letter.index()] = Some(position);
        }
        let value = world.value(&argument.value, &mut at);
        // The other spelling of a probability.
        if argument.spelling == 0 { value } else { 1.0 / (1.0 + (-value).exp()) }
    };
    statement.family.mean_is().iter().map(factor).product()
}

/// The letters of the dimensions of the left side.
fn letters(program: &Program, statement: &Statement) -> Vec<LetterId> {
    let (mut plates, mut slices) = (statement.plates.iter(), statement.slices.iter());
    let array = program.model.symbols.array(statement.target);
    let letter = |slice: &bool| *(if *slice { slices.next() } else { plates.next() }).expect("a letter each");
    array.slice.iter().map(letter).collect()
}

fn check(program: &Program, statement: &Statement, rng: &mut ChaCha8Rng) -> bool {
    let bound = random_bound(&program.model, Shape::small(false), rng);
    let compiled = cavi::compile(&program.text, &program.name).into_compiled().expect("it compiles");
    let Ok(problem) = prepare(compiled, Binding { bound: bound.clone(), ..Binding::default() }) else {
        return false;
    };
    if !problem.as_given().restated.is_empty() {
        return false;
    }
    let parameters: Parameters = cavi_executor::start(&program.equations, &bound, 3);
    let symbols = &program.model.symbols;
    let shape = bound.shape(symbols, statement.target);
    let name = &symbols.array(statement.target).name;
    let cells: usize = shape.iter().product();
    let array = symbols.array(statement.target);
    let mut places: Vec<Vec<usize>> = Vec::new();
    for cell in (0..cells).step_by((cells / ENTRIES).max(1)).take(ENTRIES) {
        let mut rest = cell;
        let mut place = vec![0; shape.len()];
        for (own, size) in place.iter_mut().zip(&shape).rev() {
            *own = rest % size;
            rest /= size;
        }
        places.push(place);
    }
    if array.restriction.is_some() || places.is_empty() {
        return false;
    }
    let columns: Vec<Vec<u32>> = (0..shape.len())
        .map(|dimension| places.iter().map(|place| place[dimension] as u32).collect())
        .collect();
    let found = match heldout::expected(&problem, &parameters, statement.target, &columns, 50, (0, 1)) {
        Ok(found) => found,
        Err(error) => {
            let text = error.text(false);
            assert!(error.code() == "E0905" && text.contains(REFUSED), "{}: {text}", program.name);
            return false;
        }
    };
    assert!(found.mean.len() == places.len(), "{}", program.name);
    let letters = letters(program, statement);
    let mut sums = vec![(0.0, 0.0); places.len()];
    for _ in 0..DRAWS {
        let drawn = draw(program.subject(), &bound, &parameters, rng);
        let world = World { symbols, bound: &bound, latents: drawn.latents, logs: drawn.logs };
        for (place, sum) in places.iter().zip(&mut sums) {
            let mut at = world.nowhere();
            let mut slice = None;
            for ((letter, position), is_slice) in letters.iter().zip(place).zip(&array.slice) {
                let mut own = Some((*letter, *position));
                while let Some((letter, position)) = own {
                    at[letter.index()] = Some(position);
                    let parents = &bound.axes[symbols.letter(letter).axis.index()].parent;
                    own = symbols.letter(letter).parent.zip(parents.as_ref().map(|all| all[position]));
                }
                if *is_slice {
                    slice = Some(*position);
                }
            }
            let total = match statement.family.prediction() {
                Prediction::Units => row_total(&world, statement, &shape, place),
                _ => 1.0,
            };
            let value = total * mean(statement, &world, &at, slice);
            (sum.0, sum.1) = (sum.0 + value, sum.1 + value * value);
        }
    }
    for ((place, (sum, squares)), found) in places.iter().zip(sums).zip(&found.mean) {
        let count = DRAWS as f64;
        let average = sum / count;
        let variance = (squares / count - average * average).max(0.0);
        let error = (variance / count + variance / OWN.min(50.0)).sqrt();
        assert!(
            (found - average).abs() <= ERRORS * error + 1e-9 * (1.0 + average.abs()),
            "{}, `{name}` at {place:?}: {found}, and {average} by draws (error {error})",
            program.name
        );
    }
    if let Some(sd) = &found.sd {
        assert!(sd.iter().all(|own| own.is_nan() || *own >= 0.0), "{}: {sd:?}", program.name);
    }
    true
}

/// The sum of what the row of an entry has. Over a ragged axis a row is what has the parent of the entry: `n[d, m, :v]` with `v` in
/// `m` is one observation for each `m`.
fn row_total(world: &World<'_>, statement: &Statement, shape: &[usize], place: &[usize]) -> f64 {
    let array = world.symbols.array(statement.target);
    let dimension = array.slice.iter().position(|slice| *slice).expect("a row is a slice");
    let parents = &world.bound.axes[world.symbols.letter(array.letters[dimension]).axis.index()].parent;
    let own_row = |position: &usize| match parents {
        Some(parents) => parents[*position] == parents[place[dimension]],
        None => true,
    };
    let at = |position: usize| {
        let mut own = place.to_vec();
        own[dimension] = position;
        world.element(statement.target, &own)
    };
    (0..shape[dimension]).filter(own_row).map(at).sum()
}

#[test]
fn entries_are_expected_as_draws_say() {
    let mut checked = 0;
    for program in programs() {
        let symbols = &program.model.symbols;
        if has_implicit(&program) {
            continue;
        }
        for statement in program.model.statements.iter().filter(|own| own.observed) {
            let is_class = matches!(symbols.array(statement.target).support, Support::Index(_));
            let is_latent = program.equations.block_of(statement.target).is_some();
            if is_class || is_latent || statement.family.mean_is().is_empty() {
                continue;
            }
            let mut rng = ChaCha8Rng::seed_from_u64(11);
            checked += usize::from(check(&program, statement, &mut rng));
        }
    }
    assert!(checked > 40, "only {checked} arrays were checked");
}
