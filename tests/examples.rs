//! Each example's README shows its true equations: the block after `<!-- derived -->` is what `cavi derive` prints.
//!
//! With `UPDATE_EXAMPLES=1` the blocks are rewritten instead.

use std::fs;
use std::path::Path;

use cavi::Format;

const MARKER: &str = "<!-- derived -->\n```text\n";

#[test]
fn the_readme_of_every_example_shows_its_derivation() {
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples");
    let mut seen = 0;
    let mut folders: Vec<_> = fs::read_dir(&examples)
        .expect("the examples are there")
        .map(|entry| entry.expect("a folder can be listed").path())
        .collect();
    folders.sort();
    for folder in folders {
        let name = folder.file_name().expect("a folder has a name").to_string_lossy().into_owned();
        let program = folder.join(format!("{name}.cavi"));
        let Ok(text) = fs::read_to_string(&program) else { continue };
        seen += 1;
        let compiled = cavi::compile(&text, &format!("{name}.cavi")).into_compiled();
        let compiled = compiled.unwrap_or_else(|error| panic!("{name} compiles: {error}"));
        let derived = compiled.derivation(Format::Text);
        let path = folder.join("README.md");
        let readme = fs::read_to_string(&path).unwrap_or_else(|_| panic!("{name} has a README"));
        let start = readme.find(MARKER).unwrap_or_else(|| panic!("{name}'s README has a derived block"))
            + MARKER.len();
        let end = start + readme[start..].find("\n```").expect("the block ends");
        if std::env::var_os("UPDATE_EXAMPLES").is_some() {
            let updated = format!("{}{}{}", &readme[..start], derived.trim_end(), &readme[end..]);
            fs::write(&path, updated).expect("the README can be written");
        } else {
            assert_eq!(
                readme[start..end].trim_end(),
                derived.trim_end(),
                "{name}: run `UPDATE_EXAMPLES=1 cargo test -p cavi-tests --test examples`"
            );
        }
    }
    assert!(seen >= 4, "the examples are found");
}
