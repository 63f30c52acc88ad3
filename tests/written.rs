//! What a fit writes can be read as a start: every parameter of every program is read back as it was.

use cavi::Problem;
use cavi_executor::{Executor, start};
use cavi_tests::support::{Shape, files_of, programs, random_bound};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

#[test]
fn every_posterior_is_read_back_as_it_was_written() {
    let mut wrong = Vec::new();
    let mut done = 0;
    for program in programs() {
        let mut rng = ChaCha8Rng::seed_from_u64(12);
        let bound =
            random_bound(&program.model, Shape { smallest: 2, largest: 4, ..Shape::small(false) }, &mut rng);
        let inputs = files_of(&program, &bound);
        let compiled = cavi::compile_with(&program.text, "program.cavi", &inputs.set_values()).compiled;
        let Some(compiled) = compiled else {
            wrong.push(format!("{}: it does not compile with its sizes", program.name));
            continue;
        };
        // Random data may break a rule that only files know, such as one on labels.
        let Ok(problem) = compiled.bind(&inputs) else { continue };
        let Problem { equations, binding, .. } = problem.as_given();
        let from = start(equations, &binding.bound, 5);
        let Ok(mut executor) = Executor::new(equations, &binding.bound, from, 1) else { continue };
        if executor.sweep(&program.schedule()).is_err() {
            continue;
        }
        let directory = tempfile::tempdir().expect("a directory");
        cavi::posterior::write(&problem, executor.parameters(), directory.path()).expect("it is written");
        let read = match cavi::init::read(&problem, directory.path()) {
            Ok((read, _)) => read,
            Err(problems) => {
                let texts: Vec<String> = problems.iter().map(ToString::to_string).collect();
                wrong.push(format!("{}: {}", program.name, texts.join("; ")));
                continue;
            }
        };
        for (index, (again, before)) in read.blocks.iter().zip(&executor.parameters().blocks).enumerate() {
            let same = match again {
                None => before.is_empty(),
                Some(again) => {
                    let bits = |columns: &[Vec<f64>]| -> Vec<u64> {
                        columns.iter().flatten().map(|value| value.to_bits()).collect()
                    };
                    bits(again) == bits(before)
                }
            };
            if !same {
                wrong.push(format!("{}: block {index} is another", program.name));
            }
        }
        done += 1;
    }
    assert!(wrong.is_empty(), "{} wrong\n{}", wrong.len(), wrong.join("\n"));
    assert!(done > 130, "only {done} programs were written");
}
