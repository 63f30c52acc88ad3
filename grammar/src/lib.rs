//! Is this well-formed text?
//!
//! In comes one logical line, out go pest's pairs or the place where the text stops being Cavi. The grammar itself is
//! `cavi.pest`, and `README.md` beside it says what each construct means. This crate knows no tree and no diagnostics.

// The rules of the grammar that have no comment of their own are named for what they match.
#[allow(missing_docs)]
mod generated {
    use pest_derive::Parser;

    /// The parser that pest generates from `cavi.pest`.
    #[derive(Parser)]
    #[grammar = "cavi.pest"]
    pub struct CaviParser;
}

pub use generated::{CaviParser, Rule};

/// The words that cannot be names.
pub const RESERVED: [&str; 16] = [
    "model",
    "axis",
    "data",
    "const",
    "in",
    "sum",
    "posterior",
    "init",
    "fit",
    "report",
    "point",
    "fixed",
    "implicit",
    "q",
    "absent",
    "NA",
];

/// Whether a name may start with this letter: a Latin or a Greek one.
pub fn starts_name(letter: char) -> bool {
    letter.is_ascii_alphabetic()
        || (!letter.is_ascii()
            && pest::unicode::LETTER(letter)
            && (pest::unicode::LATIN(letter) || pest::unicode::GREEK(letter)))
}

/// Whether a name may go on with this character: a letter, a digit or `_`.
pub fn continues_name(letter: char) -> bool {
    letter.is_ascii_digit() || letter == '_' || starts_name(letter)
}

/// What a message calls a rule that may stand at a place, or `None` for rules that are no help there.
pub fn rule_name(rule: Rule) -> Option<&'static str> {
    Some(match rule {
        Rule::EOI => "the end of the line",
        Rule::name => "a name",
        Rule::number => "a number",
        Rule::open => "`(`",
        Rule::close => "`)`",
        Rule::open_square | Rule::letters | Rule::subscripts => "`[`",
        Rule::close_square => "`]`",
        Rule::comma => "`,`",
        Rule::colon | Rule::data_type => "`:`",
        Rule::tilde => "`~`",
        Rule::assign | Rule::value => "`=`",
        Rule::equals => "`==`",
        Rule::differs => "`!=`",
        Rule::less => "`<`",
        Rule::add
        | Rule::subtract
        | Rule::multiply
        | Rule::divide
        | Rule::power
        | Rule::operator
        | Rule::negate => "an operator",
        Rule::kw_model => "`model`",
        Rule::kw_axis => "`axis`",
        Rule::kw_data => "`data`",
        Rule::kw_const => "`const`",
        Rule::kw_in | Rule::parent => "`in`",
        Rule::kw_sum => "`sum`",
        Rule::kw_point => "`point`",
        Rule::kw_fixed => "`fixed`",
        Rule::kw_implicit => "`implicit`",
        Rule::kw_q => "`q`",
        Rule::kw_absent | Rule::absent => "`absent`",
        Rule::kw_index => "`index`",
        Rule::kw_center | Rule::center => "`center over`",
        Rule::kw_scale | Rule::scale => "`scale over`",
        Rule::kw_over => "`over`",
        Rule::kw_by | Rule::by => "`by`",
        Rule::kw_clamp | Rule::clamp => "`clamp`",
        Rule::kw_sweep => "`sweep`",
        Rule::kw_reset | Rule::reset => "`reset`",
        Rule::kw_repeat | Rule::repeat => "`repeat`",
        Rule::kw_stop => "`stop`",
        Rule::kw_when => "`when`",
        Rule::kw_for => "`for`",
        Rule::kw_warmup => "`warmup`",
        Rule::kw_batch => "`batch`",
        Rule::kw_means | Rule::means => "`means`",
        Rule::kw_collapsed | Rule::collapsed => "`collapsed`",
        Rule::kw_shapes | Rule::shapes => "`shapes`",
        Rule::kw_top => "`top`",
        Rule::kw_heat => "`heat`",
        Rule::kw_image => "`image`",
        Rule::dot => "`.`",
        Rule::two => "`2`",
        Rule::squared => "`^2`",
        Rule::symbol => "a symbol",
        Rule::kw_bars => "`bars`",
        Rule::kw_curve => "`curve`",
        Rule::kw_intervals => "`intervals`",
        Rule::kw_compare => "`compare`",
        Rule::zero => "`0`",
        Rule::missing => "`NA`",
        Rule::different => "`i != j`",
        Rule::lower => "`i < j`",
        Rule::slice => "a slice (`:k`)",
        Rule::reference | Rule::point_block => "a name",
        Rule::schedule_item => "a name",
        Rule::schedule_group => "`(`",
        Rule::schedule_sequence => "`[`",
        Rule::arguments => "`(`",
        Rule::expression
        | Rule::operand
        | Rule::group
        | Rule::sum
        | Rule::call
        | Rule::indicator
        | Rule::named
        | Rule::argument => "an expression",
        Rule::WHITESPACE
        | Rule::name_start
        | Rule::name_rest
        | Rule::reserved
        | Rule::subscript
        | Rule::data_option
        | Rule::schedule
        | Rule::warmup
        | Rule::model_line
        | Rule::axis_line
        | Rule::data_line
        | Rule::const_line
        | Rule::distribution_line
        | Rule::definition_line
        | Rule::joint_line
        | Rule::point_line
        | Rule::fixed_line
        | Rule::implicit_line
        | Rule::sweep_line
        | Rule::schedule_line
        | Rule::stop_line
        | Rule::setting_line
        | Rule::batch_line
        | Rule::warmup_line
        | Rule::warmups_line
        | Rule::top_line
        | Rule::heat_line
        | Rule::image_line
        | Rule::notation_line
        | Rule::bars_line
        | Rule::curve_line
        | Rule::intervals_line
        | Rule::compare_line
        | Rule::expression_line => return None,
    })
}

#[cfg(test)]
mod tests {
    use pest::Parser;

    use super::*;

    fn parses(rule: Rule, text: &str) -> bool {
        CaviParser::parse(rule, text).is_ok()
    }

    #[test]
    fn names_are_latin_or_greek() {
        for name in ["a", "theta", "θ", "μ0", "é_1", "qx", "modelling", "NAs"] {
            assert!(parses(Rule::model_line, &format!("model {name}")), "{name}");
            assert!(name.chars().next().is_some_and(starts_name) && name.chars().all(continues_name));
        }
        for name in ["1a", "_a", "ж", "名", "q", "a-b", "model"] {
            assert!(!parses(Rule::model_line, &format!("model {name}")), "{name}");
        }
    }

    #[test]
    fn reserved_words_are_no_names() {
        for word in RESERVED {
            assert!(!parses(Rule::definition_line, &format!("{word} = 1")), "{word}");
            assert!(parses(Rule::definition_line, &format!("{word}s = 1")), "{word}s");
        }
    }

    #[test]
    fn numbers_have_digits_on_both_sides_of_the_point() {
        for number in ["3", "0.5", "1e-14", "2E+3", "1.5e2"] {
            assert!(parses(Rule::expression_line, number), "{number}");
        }
        for number in [".5", "1.", "1e", "0x1", "1_000"] {
            assert!(!parses(Rule::expression_line, number), "{number}");
        }
    }

    #[test]
    fn words_without_reservation_are_names_elsewhere() {
        for name in ["by", "clamp", "over", "repeat", "index", "x", "center", "for", "stop", "means"] {
            assert!(parses(Rule::distribution_line, &format!("{name} ~ Gamma(1, rate = {name})")), "{name}");
            assert!(parses(Rule::point_line, &format!("point {name} by {name} clamp")), "{name}");
            assert!(parses(Rule::sweep_line, &format!("sweep {name} reset repeat 3, b")), "{name}");
        }
    }
}
