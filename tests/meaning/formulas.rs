//! The derivations of all programs as HTML: every formula is set, and nothing of its LaTeX is left.

use cavi_report::derivation_html;
use cavi_tests::corpus::{check_each, examples, models};

/// What LaTeX writes and no formula that is set shows.
fn is_left(html: &str) -> Option<String> {
    let marks = ["\\", "$", "mathrm", "tfrac", "begin{", "qquad", "substack"];
    let found = marks.iter().filter_map(|mark| html.find(mark)).min()?;
    let around = |place: usize, step: isize| {
        let mut place = place.saturating_add_signed(step).min(html.len());
        while !html.is_char_boundary(place) {
            place -= 1;
        }
        place
    };
    Some(html[around(found, -60)..around(found, 60)].to_owned())
}

#[test]
fn no_latex_is_left_in_a_derivation_that_is_set() {
    check_each(&[examples(), models()].concat(), |text| {
        let Ok(compiled) = cavi::compile(&text.text, &text.name).into_compiled() else { return };
        let html = derivation_html(&compiled);
        assert!(html.contains("<math"), "{}", text.name);
        assert_eq!(is_left(&html), None, "{}", text.name);
        for tag in
            ["mrow", "mtd", "mtr", "mtable", "msub", "msup", "munder", "mfrac", "math", "ul", "li", "p"]
        {
            let (open, close) = (
                html.matches(&format!("<{tag}>")).count() + html.matches(&format!("<{tag} ")).count(),
                html.matches(&format!("</{tag}>")).count(),
            );
            assert_eq!(open, close, "{}: {tag}", text.name);
        }
    });
}

#[test]
fn what_is_left_is_found() {
    assert!(is_left("a \\cmd b").is_some() && is_left("<mi>x</mi>").is_none());
}
