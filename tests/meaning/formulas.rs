//! The derivations of all programs as HTML: every formula is set, and nothing of its LaTeX is left.

use cavi_report::derivation_html;
use cavi_tests::corpus::{check_each, examples, models};

/// What LaTeX writes and no formula that is set shows.
fn is_left(html: &str) -> Option<String> {
    let marks = ["\\", "$", "mathrm", "tfrac", "begin{", "qquad", "substack", "<mtext>^</mtext>"];
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

/// The cells of the first table below a heading, row by row: the head first.
fn table(html: &str, heading: &str) -> Option<Vec<Vec<String>>> {
    let (_, after) = html.split_once(&format!("<h3>{heading}</h3>"))?;
    let section = after.split("<h3>").next()?;
    let (_, table) = section.split_once("<table>")?;
    let table = table.split("</table>").next()?;
    let rows = table.split("<tr>").skip(1);
    let cells = |row: &str| {
        let row = row.split("</tr>").next().unwrap_or_default();
        let cells = row.split("</td>").flat_map(|own| own.split("</th>"));
        let cells: Vec<String> = (cells.filter(|own| own.contains("<td>") || own.contains("<th>")))
            .map(|own| own.replace("<td>", "").replace("<th>", ""))
            .collect();
        cells
    };
    Some(rows.map(cells).collect())
}

/// Formulas that stand in a cell.
fn formulas(cell: &str) -> usize {
    cell.matches("<math").count()
}

/// What a cell shows of text and names, without tags.
fn shown(cell: &str) -> String {
    let mut out = String::new();
    let mut inside = false;
    for letter in cell.chars() {
        match letter {
            '<' => inside = true,
            '>' => inside = false,
            _ if !inside => out.push(letter),
            _ => {}
        }
    }
    out.split_whitespace().collect::<Vec<&str>>().join(" ")
}

/// The first table of the page has a row for each factor of q, for what stands between them and for nothing else, in the order of the
/// equations; its family is that of the factor, each parameter that its update states has a formula, and so has all that it reads. A
/// factor that keeps its start reads nothing and costs nothing, every other says what it costs.
#[test]
fn the_page_opens_with_a_row_for_each_factor() {
    check_each(&[examples(), models()].concat(), |text| {
        let Ok(compiled) = cavi::compile(&text.text, &text.name).into_compiled() else { return };
        let equations = &compiled.equations;
        let json: serde_json::Value =
            serde_json::from_str(&compiled.derivation_json(None).expect("no variable is asked for"))
                .expect("a derivation is JSON");
        let told = json["overview"].as_array().expect("an overview").clone();
        let table = table(&derivation_html(&compiled), "Overview").unwrap_or_else(|| panic!("{}", text.name));
        assert_eq!(
            table[0].iter().map(|own| shown(own)).collect::<Vec<_>>(),
            ["Factor", "Family", "Update", "Reads", "Cost"]
        );
        let blocks = equations.blocks.len();
        let all = blocks + equations.sites.len() + equations.auxiliaries.len();
        assert_eq!((table.len() - 1, told.len()), (all, all), "{}", text.name);
        for (place, (row, told)) in table[1..].iter().zip(&told).enumerate() {
            let [factor, family, update, reads, cost] = row.as_slice() else {
                panic!("{}: a row of {} cells: {row:?}", text.name, row.len())
            };
            let name = format!("{}, row {place}: {row:?}", text.name);
            assert_eq!(formulas(factor), 1, "{name}");
            assert_eq!(shown(family), told["family"].as_str().expect("a family"), "{name}");
            let count = |key: &str| told[key].as_array().expect("a list").len();
            assert_eq!(formulas(reads), count("reads"), "{name}");
            if count("states") > 0 {
                assert_eq!(formulas(update), count("states"), "{name}");
            }
            assert_eq!(formulas(cost), usize::from(!told["cost"].is_null()), "{name}");
            let Some(block) = equations.blocks.get(place) else { continue };
            let moves = block.mode != cavi_algebra::Mode::Fixed;
            assert_eq!(formulas(cost) == 1, moves, "{name}");
            assert!(moves || formulas(reads) == 0, "{name}");
            assert!(!shown(update).is_empty() || formulas(update) > 0, "{name}");
            let is_point = block.mode == cavi_algebra::Mode::Point;
            assert_eq!(shown(family) == "a point", is_point, "{name}");
            if !is_point {
                let own = cavi_families::posteriors().iter().map(|own| own.name());
                assert!(own.into_iter().any(|own| own.starts_with(&shown(family))), "{name}");
            }
        }
    });
}

#[test]
fn what_is_left_is_found() {
    assert!(is_left("a \\cmd b").is_some() && is_left("<mi>x</mi>").is_none());
}
