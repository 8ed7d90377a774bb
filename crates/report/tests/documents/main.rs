//! Documents that are written and read.
#[test]
fn show() {
    for e in std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data")).unwrap() {
        let p = e.unwrap().path();
        println!("=== {}", p.display());
        match report::read(&std::fs::read(&p).unwrap()) {
            Ok(r) => {
                let mut o = Vec::new();
                report::text(&r, &mut o).unwrap();
                println!("{}", String::from_utf8_lossy(&o));
            }
            Err(e) => println!("ERR {e}"),
        }
    }
}
