//! A sheet as a file: SVG, pixels, or PDF.

use resvg::tiny_skia::{Color, Pixmap, Transform};
use resvg::usvg::{Options, Tree};
use svg2pdf::{ConversionOptions, PageOptions};

use crate::font::{FAMILIES, Font};
use crate::marks::short;
use crate::sheet::Sheet;
use crate::theme::PIXELS_PER_MM;
use crate::{Kind, PlotError};
use cavi_report::{Figure, escape};

/// The pixels of a picture in an inch, as journals ask for.
const DOTS_PER_INCH: f64 = 300.0;
const MM_PER_INCH: f64 = 25.4;
/// A drawing is measured in points.
const POINTS_PER_INCH: f32 = 72.0;

/// A whole SVG: its size in millimetres, on white ground, with the title and the note of the figure for those who do not see it.
pub(crate) fn svg(figure: &Figure, sheet: &Sheet, width_mm: f64) -> String {
    let (width, height) = (width_mm * PIXELS_PER_MM, sheet.height);
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" xmlns:xlink=\"http://www.w3.org/1999/xlink\" width=\"{}mm\" height=\"{:.3}mm\" viewBox=\"0 0 {width:.3} {height:.3}\" font-family=\"{FAMILIES}\">\n\
         <title>{}</title>\n<desc>{}</desc>\n<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n{}</svg>\n",
        short(width_mm),
        height / PIXELS_PER_MM,
        escape(&figure.title),
        escape(&figure.note),
        sheet.inside
    )
}

/// The bytes of the file.
pub(crate) fn bytes(svg: String, kind: Kind, width_mm: f64) -> Result<Vec<u8>, PlotError> {
    if kind == Kind::Svg {
        return Ok(svg.into_bytes());
    }
    let options =
        Options { dpi: POINTS_PER_INCH, fontdb: Font::embedded().database(&svg), ..Options::default() };
    let tree = Tree::from_str(&svg, &options)
        .map_err(|error| PlotError::new(format!("a drawing cannot be read back: {error}")))?;
    match kind {
        Kind::Png => png(&tree, width_mm),
        Kind::Pdf | Kind::Svg => pdf(&tree),
    }
}

fn pdf(tree: &Tree) -> Result<Vec<u8>, PlotError> {
    let page = PageOptions { dpi: POINTS_PER_INCH };
    svg2pdf::to_pdf(tree, ConversionOptions::default(), page)
        .map_err(|error| PlotError::new(format!("a drawing cannot be made a PDF: {error}")))
}

fn png(tree: &Tree, width_mm: f64) -> Result<Vec<u8>, PlotError> {
    let failed =
        |error: &dyn std::fmt::Display| PlotError::new(format!("a drawing cannot be made pixels: {error}"));
    let width = (width_mm / MM_PER_INCH * DOTS_PER_INCH).round();
    let scale = width as f32 / tree.size().width();
    let height = (tree.size().height() * scale).round().max(1.0);
    let mut pixmap = Pixmap::new(width as u32, height as u32).ok_or_else(|| failed(&"there are none"))?;
    // The last row of pixels may be covered in part only.
    pixmap.fill(Color::WHITE);
    resvg::render(tree, Transform::from_scale(scale, scale), &mut pixmap.as_mut());
    // On white ground nothing shines through.
    let colours: Vec<u8> =
        pixmap.pixels().iter().flat_map(|own| [own.red(), own.green(), own.blue()]).collect();
    let mut out = Vec::new();
    let mut encoder = png::Encoder::new(&mut out, pixmap.width(), pixmap.height());
    encoder.set_color(png::ColorType::Rgb);
    encoder.set_depth(png::BitDepth::Eight);
    let in_metre = (DOTS_PER_INCH * 1000.0 / MM_PER_INCH).round() as u32;
    encoder.set_pixel_dims(Some(png::PixelDimensions {
        xppu: in_metre,
        yppu: in_metre,
        unit: png::Unit::Meter,
    }));
    let mut writer = encoder.write_header().map_err(|error| failed(&error))?;
    writer.write_image_data(&colours).map_err(|error| failed(&error))?;
    writer.finish().map_err(|error| failed(&error))?;
    Ok(out)
}
