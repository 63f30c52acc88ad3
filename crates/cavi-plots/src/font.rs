//! The font of all plots, which lies in the program: they are the same on every machine.

use std::sync::{Arc, OnceLock};

use resvg::usvg::fontdb;

static LIBERATION: &[u8] = include_bytes!("../assets/LiberationSans-Regular.ttf");

/// The families of text, the embedded one first; the others have letters of the same widths.
pub(crate) const FAMILIES: &str = "Liberation Sans, Arial, Helvetica, sans-serif";

/// Of a character that the font does not have, as a share of the size of the text: such are as a rule of scripts with wide ones.
const UNKNOWN: f64 = 1.0;

/// A font with the widths of its characters.
pub(crate) struct Font {
    face: ttf_parser::Face<'static>,
    own: Arc<fontdb::Database>,
}

impl Font {
    /// The one that lies in the program.
    pub fn embedded() -> &'static Font {
        static FONT: OnceLock<Font> = OnceLock::new();
        FONT.get_or_init(|| {
            let face = ttf_parser::Face::parse(LIBERATION, 0).expect("the embedded font is whole");
            let mut own = fontdb::Database::new();
            own.load_font_data(LIBERATION.to_vec());
            Font { face, own: Arc::new(own) }
        })
    }

    /// How wide a character is, as a share of the size of the text.
    pub fn advance(&self, point: u32) -> f64 {
        let glyph = char::from_u32(point).and_then(|own| self.face.glyph_index(own));
        let units = glyph.and_then(|own| self.face.glyph_hor_advance(own));
        units.map_or(UNKNOWN, |own| f64::from(own) / f64::from(self.face.units_per_em()))
    }

    /// How wide a text is at this size.
    pub fn width(&self, text: &str, size: f64) -> f64 {
        size * text.chars().map(|own| self.advance(u32::from(own))).sum::<f64>()
    }

    /// A text cut so that it is no wider than this, with a mark where something is missing.
    pub fn fitted(&self, text: &str, size: f64, most: f64) -> String {
        if self.width(text, size) <= most {
            return text.to_owned();
        }
        let mut kept = String::new();
        let mut width = self.width("…", size);
        for own in text.chars() {
            width += size * self.advance(u32::from(own));
            if width > most {
                break;
            }
            kept.push(own);
        }
        kept + "…"
    }

    /// The fonts that set this text: the embedded one, and where it lacks a character those of the machine too.
    pub fn database(&self, text: &str) -> Arc<fontdb::Database> {
        let lacks = |own: char| !own.is_control() && self.face.glyph_index(own).is_none();
        if !text.chars().any(lacks) {
            return self.own.clone();
        }
        static ALL: OnceLock<Arc<fontdb::Database>> = OnceLock::new();
        let all = || {
            let mut all = (*self.own).clone();
            all.load_system_fonts();
            Arc::new(all)
        };
        ALL.get_or_init(all).clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_are_as_wide_as_those_of_helvetica() {
        // The metrics of Helvetica that Adobe published (Core 14 AFM): A 667, i 222, space 278, zero 556, in thousandths.
        let font = Font::embedded();
        for (letter, width) in [('A', 667.0), ('i', 222.0), (' ', 278.0), ('0', 556.0)] {
            let own = 1000.0 * font.advance(u32::from(letter));
            assert!((own - width).abs() < 1.0, "{letter}: {own}");
        }
    }

    #[test]
    fn long_texts_are_cut() {
        let font = Font::embedded();
        let cut = font.fitted("a very long label of a gene", 12.0, 60.0);
        assert!(cut.ends_with('…') && font.width(&cut, 12.0) <= 60.0, "{cut}");
        assert_eq!(font.fitted("short", 12.0, 60.0), "short");
    }
}
