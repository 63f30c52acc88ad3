//! Temporary: prints what the resolver makes of programs.
fn main() {
    let mode = std::env::args().nth(1).unwrap();
    for path in std::env::args().skip(2) {
        let text = std::fs::read_to_string(&path).unwrap();
        let (program, mut diagnostics) = cavi_syntax::parse(&text);
        if diagnostics.is_empty() {
            let (model, more) = cavi_model::resolve(&program);
            diagnostics.extend(more);
            if let Some(model) = model {
                match mode.as_str() {
                    "print" => println!("=== {path}\n{}", cavi_model::print(&model)),
                    "svg" => print!("{}", cavi_model::svg(&cavi_model::factor_graph(&model))),
                    "dot" => print!("{}", cavi_model::dot(&cavi_model::factor_graph(&model))),
                    _ => {}
                }
            }
        } else { println!("PARSE"); }
        for diagnostic in &diagnostics {
            let name = std::path::Path::new(&path).file_name().unwrap().to_string_lossy().into_owned();
            println!("{}", cavi_syntax::render(diagnostic, &name, &text, false));
        }
    }
}
