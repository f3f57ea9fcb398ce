//! Random values of scenarios, the same on every machine.
#![allow(dead_code, reason = "not every test uses all")]

/// SplitMix64.
#[derive(Clone)]
pub struct Draw(pub u64);

impl Draw {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let x = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        x ^ (x >> 31)
    }
    /// A number from `min` to `max`, evenly by their logarithms.
    pub fn number(&mut self, min: f64, max: f64) -> f64 {
        let part = (self.next() >> 11) as f64 / (1_u64 << 53) as f64;
        min * cc::detmath::exp(part * cc::detmath::ln(max / min))
    }
    pub fn one<'a>(&mut self, of: &[&'a str]) -> &'a str {
        of[self.next() as usize % of.len()]
    }
    pub fn chance(&mut self, percent: u64) -> bool {
        self.next() % 100 < percent
    }
    /// Up to four impairments of a direction.
    pub fn losses(&mut self) -> String {
        let mut results = Vec::new();
        if self.chance(60) {
            let (rate, by) = (self.number(0.001, 0.6), self.number(0.1, 200.0));
            results.push(format!("{{ kind = \"reorder\", rate = {rate:.4}, by = \"{by:.3}ms\" }}"));
        }
        if self.chance(40) {
            let max = self.number(0.1, 100.0);
            results.push(format!("{{ kind = \"jitter\", max = \"{max:.3}ms\", order = false }}"));
        }
        if self.chance(40) {
            results.push(format!("{{ kind = \"duplicate\", rate = {:.4} }}", self.number(0.001, 0.5)));
        }
        if self.chance(30) {
            results.push(format!("{{ kind = \"bernoulli\", rate = {:.4} }}", self.number(0.0001, 0.1)));
        }
        format!("[{}]", results.join(", "))
    }
}
