//! The algorithm of the CMU traffic generator (cbrgen), with ns-2's random numbers.

/// Pairs of nodes and when they start, s: the rule of the CMU generator, with ns-2's random numbers, so that the same seed
/// gives the same traffic. Destinations beyond the last node begin again at the first.
pub fn cbrgen(seed: u64, nodes: usize, most: usize) -> Vec<(usize, usize, f64)> {
    let mut random = Mrg32k3a::new(seed);
    let mut flows = Vec::new();
    for node in 0..nodes {
        if flows.len() >= most {
            break;
        }
        let x = 100.0 * random.uniform();
        let partners = if x < 50.0 {
            0
        } else if x < 75.0 {
            1
        } else {
            2
        };
        for step in 1..=partners {
            if flows.len() < most {
                let start = 180.0 * random.uniform();
                let partner = (node + step) % (nodes + 1) % nodes;
                // With two nodes, the node after the next one is the node itself.
                if partner != node {
                    flows.push((node, partner, start));
                }
            }
        }
    }
    flows
}

/// L'Ecuyer's combined generator MRG32k3a (1999), with one seed for all six places.
struct Mrg32k3a {
    a: [i64; 3],
    b: [i64; 3],
}

impl Mrg32k3a {
    const M1: i64 = 4_294_967_087;
    const M2: i64 = 4_294_944_443;

    fn new(seed: u64) -> Mrg32k3a {
        Mrg32k3a { a: [seed as i64; 3], b: [seed as i64; 3] }
    }

    fn uniform(&mut self) -> f64 {
        let p = (1_403_580 * self.a[1] - 810_728 * self.a[0]).rem_euclid(Self::M1);
        self.a = [self.a[1], self.a[2], p];
        let q = (527_612 * self.b[2] - 1_370_589 * self.b[0]).rem_euclid(Self::M2);
        self.b = [self.b[1], self.b[2], q];
        let difference = if p > q { p - q } else { p - q + Self::M1 };
        difference as f64 * 2.328_306_549_295_728e-10
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The published loads (Mehta Ishani et al., Tables 2 and 3): throughput over delivery ratio (kb/s, from the first start to 500 s).
    #[test]
    fn the_generator_offers_what_the_paper_had() {
        for (nodes, most, offered) in
            [(10, 8, 237.0), (20, 16, 462.0), (30, 24, 675.0), (40, 32, 893.0), (50, 40, 1093.0)]
        {
            let flows = cbrgen(1, nodes, most);
            assert_eq!(flows.len(), most);
            let first = flows.iter().map(|(.., start)| *start).fold(f64::INFINITY, f64::min);
            assert!((first - 2.5568).abs() < 1e-4);
            let kbit: f64 = flows.iter().map(|(.., start)| (500.0 - start) * 4.0 * 1.024 * 8.0).sum();
            let rate = kbit / (500.0 - 2.557);
            assert!((rate - offered).abs() < 1.0, "{nodes} nodes: {rate} kb/s");
        }
        // The last node's partner is the first.
        assert_eq!(cbrgen(1, 10, 8).last().map(|(from, to, _)| (*from, *to)), Some((9, 0)));
    }
}
