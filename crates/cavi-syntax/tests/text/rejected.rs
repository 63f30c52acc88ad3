//! Each mistake of `tests/rejected/syntax_*.cavi` has its code and its place, and is the only complaint about its file.

use std::collections::BTreeMap;
use std::path::Path;

/// File, code, and the text under the caret (empty where the place is between two characters).
const EXPECTED: [(&str, &str, &str); 62] = [
    ("absent_none", "E0121", "none"),
    ("added_term", "E0112", "target +="),
    ("angle_range", "E0122", "<lower=0>"),
    ("censored_after_family", "E0113", "censored"),
    ("condition", "E0119", "?"),
    ("declared_type", "E0102", "real"),
    ("library_name", "E0103", "pm.Normal"),
    ("link_on_the_left", "E0112", "log(rate[n]) <-"),
    ("range_of_letters", "E0129", "1:"),
    ("truncated_after_family", "E0113", "T"),
    ("ampersand", "E0103", "&"),
    ("arrow", "E0112", "<-"),
    ("axis_without_letter", "E0101", ""),
    ("block_without_braces", "E0117", "posterior"),
    ("brace_on_next_line", "E0117", "{"),
    ("censored_data", "E0128", "censored"),
    ("chained_subscripts", "E0116", "["),
    ("colon_equals", "E0112", ":="),
    ("comparison_in_expression", "E0122", ">="),
    ("data_without_type", "E0120", ""),
    ("equals_for_tilde", "E0113", "="),
    ("family_without_arguments", "E0113", ""),
    ("for_loop", "E0119", "for (d in 1:D)"),
    ("array_literal", "E0101", "[1, 2, 3]"),
    ("file_in_the_text", "E0127", "\"y.csv\""),
    ("matrix_product", "E0103", "@"),
    ("fraction_of_sweeps", "E0124", "2.5"),
    ("index_arithmetic", "E0129", "+"),
    ("item_outside_block", "E0126", "point"),
    ("leading_operator", "E0125", "+"),
    ("letter_after_in", "E0101", "in"),
    ("missing_comma", "E0101", "rate"),
    ("missing_operator", "E0101", "beta"),
    ("misspelt_block", "E0118", "posteriro"),
    ("misspelt_item", "E0128", "pont"),
    ("misspelt_keyword", "E0102", "axsi"),
    ("misspelt_option", "E0128", "centre"),
    ("notation_cubed", "E0101", "3"),
    ("number_then_letters", "E0104", "2theta"),
    ("number_without_lead", "E0104", ".1"),
    ("number_without_tail", "E0104", "1."),
    ("own_past", "E0129", "-"),
    ("product_over_letters", "E0101", "prod"),
    ("quotes", "E0127", "\"count\""),
    ("reserved_word", "E0105", "fit"),
    ("round_subscripts", "E0116", "("),
    ("semicolon", "E0110", ";"),
    ("slash_comment", "E0111", "//"),
    ("stars", "E0114", "**"),
    ("statement_in_block", "E0126", "const"),
    ("stray_brace", "E0109", "}"),
    ("stray_bracket", "E0107", ")"),
    ("sum_after_family", "E0113", "+"),
    ("sum_round", "E0115", "("),
    ("sum_underscore", "E0115", "sum_k"),
    ("sum_without_brackets", "E0115", "theta"),
    ("two_statements", "E0110", "beta"),
    ("unclosed_brace", "E0108", "{"),
    ("unclosed_bracket", "E0106", "("),
    ("unclosed_square_bracket", "E0106", "["),
    ("unicode_minus", "E0103", "−"),
    ("unknown_block", "E0118", "parameters"),
];

#[test]
fn each_file_has_one_error_at_its_place() {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/rejected");
    let mut found = BTreeMap::new();
    for entry in std::fs::read_dir(directory).expect("the directory of rejected programs") {
        let path = entry.expect("an entry of the directory").path();
        let stem = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let Some(name) = stem.strip_prefix("syntax_").filter(|name| *name != "and_names") else { continue };
        let text = std::fs::read_to_string(&path).expect("a program");
        let (_, diagnostics) = cavi_syntax::parse(&text);
        assert_eq!(diagnostics.len(), 1, "{name}: {diagnostics:#?}");
        let diagnostic = &diagnostics[0];
        let (span, _) = diagnostic.primary.as_ref().expect("a place");
        assert!(diagnostic.help.is_some() || diagnostic.possible.is_some(), "{name} has no help");
        found.insert(name.to_string(), (diagnostic.code.to_string(), text[span.start..span.end].to_string()));
    }
    let expected: BTreeMap<_, _> = EXPECTED
        .iter()
        .map(|(name, code, place)| ((*name).to_string(), ((*code).to_string(), (*place).to_string())))
        .collect();
    assert_eq!(found, expected);
}
