//! The Python files of derivations: every block has its update, its prior and its place in the sweep, and every function that is
//! called is defined. That their numbers are those of the executor is checked by `tests/long/python_format.py`.

use cavi_tests::corpus::{compile, examples, models};

#[test]
fn every_update_of_a_derivation_has_its_code() {
    let mut written = 0;
    for text in examples().iter().chain(&models()) {
        let stages = compile(&text.text);
        let (Some(compiled), Some(equations)) = (stages.compiled, stages.equations) else { continue };
        let Ok(code) = compiled.python() else { continue };
        written += 1;
        for block in &equations.blocks {
            let name = &equations.symbols.array(block.members[0]).name;
            let mut parts = vec![format!("def update_{name}("), format!("MOMENTS[\"{name}\"]")];
            if !block.is_point() {
                parts.push(format!("def prior_{name}("));
            }
            for part in parts {
                assert_eq!(code.matches(&part).count(), 1, "{}: {part}", text.name);
            }
        }
        for called in ["allocations", "elbo", "sweep", "fit", "constants_of", "log_sum_exp", "shares"] {
            assert_eq!(code.matches(&format!("def {called}(")).count(), 1, "{}: {called}", text.name);
        }
    }
    assert!(written >= 84, "{written} programs have Python code");
}
