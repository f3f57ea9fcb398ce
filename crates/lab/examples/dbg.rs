//! debug
fn main() {
    let f = std::env::args().nth(1).unwrap();
    let seed: u64 = std::env::args().nth(2).map_or(1, |s| s.parse().unwrap());
    let s = lab::Scenario::parse(&f, &std::fs::read_to_string(&f).unwrap(), &[]).unwrap();
    let mut r = lab::Run::new(&s, lab::Settings { seed: Some(seed), ..Default::default() }).unwrap();
    r.finish();
    println!("{}", r.outcome().to_json());
}
