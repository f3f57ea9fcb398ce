//! Equivalence tests: whether a stack's values lie within the region that the references span. The same tests as
//! `ackclock agree`, which tests/test_conform.py compares.

use serde::{Deserialize, Serialize};
use special::Beta;

/// Level of every test, after Holm's correction over the tests of a comparison.
pub const LEVEL: f64 = 0.05;
/// Largest relative region. Where the absolute bound of a metric is larger, the difference is tested in place of the ratio.
const MOST_PART: f64 = 0.25;
/// More seeds than these do not decide.
const MOST_SEEDS: usize = 200;

/// What a test says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// The mean lies within the region.
    Agrees,
    /// It lies outside.
    Differs,
    /// Neither is shown.
    Undecided,
    /// There is no value on one side.
    NotCompared,
}

/// How the values were compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Test {
    /// The logarithms of the ratios to the reference with the same seed.
    Ratio,
    /// The differences, because a value is zero or small.
    Difference,
    /// Not tested: every seed gave the same.
    Deterministic,
    /// Not tested.
    None,
}

/// A stack's values of a metric beside those of the references.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Comparison {
    /// Before the correction over several tests: of a value that decides alone. Afterwards the verdict.
    pub verdict: Verdict,
    /// How it was tested.
    pub test: Test,
    /// Mean of the stack.
    pub stack: Option<f64>,
    /// Smallest and largest mean of a reference.
    pub reference: Option<[f64; 2]>,
    /// Mean of the ratio or of the difference to the nearer of the two references, and its 95 % interval.
    pub value: Option<f64>,
    /// See [`Comparison::value`].
    pub interval: Option<[f64; 2]>,
    /// Width of the region outside the references: relative for a ratio.
    pub margin: f64,
    /// Runs of the stack.
    pub n: usize,
    /// p-value of the two one-sided tests that it agrees.
    pub p_agrees: Option<f64>,
    /// p-value that it lies outside.
    pub p_differs: Option<f64>,
    /// Seeds that would probably decide, of what is undecided; `None` if no number up to 200 would.
    pub seeds_needed: Option<usize>,
    /// Why it was not tested, or tested otherwise.
    pub reason: String,
}

/// Compares values of a stack, by seed, with those of each reference at the same seeds. The region runs from the smallest mean
/// of a reference less the margin to the largest plus the margin; the margin is relative (`part`), at least `least` in
/// the unit of the values.
pub fn compare(stack: &[f64], references: &[Vec<f64>], part: f64, least: f64) -> Comparison {
    let mut comparison = Comparison {
        verdict: Verdict::NotCompared,
        test: Test::None,
        stack: mean(stack),
        reference: None,
        value: None,
        interval: None,
        margin: part,
        n: stack.len(),
        p_agrees: None,
        p_differs: None,
        seeds_needed: None,
        reason: String::new(),
    };
    let means: Vec<f64> = references.iter().filter_map(|values| mean(values)).collect();
    let complete = references.iter().all(|values| values.len() == stack.len());
    if stack.is_empty() || means.is_empty() || !complete {
        comparison.reason = "a run has no value".into();
        return comparison;
    }
    let place = |better: fn(f64, f64) -> bool| {
        (1..means.len()).fold(0, |best, place| if better(means[place], means[best]) { place } else { best })
    };
    let (low, high) = (place(|a, b| a < b), place(|a, b| a > b));
    comparison.reference = Some([means[low], means[high]]);
    let all = || stack.iter().chain(references.iter().flatten()).copied();
    if all().all(|value| value == 0.0) {
        comparison.reason = "all are 0".into();
        return Comparison { verdict: Verdict::Agrees, ..comparison };
    }
    let wide = part.max(if means[low] > 0.0 { least / means[low] } else { f64::INFINITY });
    let ratio = all().all(|value| value > 0.0) && wide <= MOST_PART;
    let (of, width): (fn(f64, f64) -> f64, [f64; 2]) = if ratio {
        (|a, b| libm::log(a) - libm::log(b), [libm::log(1.0 - wide), libm::log(1.0 + wide)])
    } else {
        (|a, b| a - b, [-least.max(part * means[low]), least.max(part * means[high])])
    };
    comparison.test = if ratio { Test::Ratio } else { Test::Difference };
    comparison.margin = if ratio { wide } else { width[1] };
    let against =
        |place: usize| stack.iter().zip(&references[place]).map(|(a, b)| of(*a, *b)).collect::<Vec<f64>>();
    let (above, below) = (against(low), against(high));
    // The reference that is nearer.
    let own = comparison.stack.unwrap_or(0.0);
    let nearer = if (own - means[low]).abs() <= (own - means[high]).abs() { &above } else { &below };
    let back = |value: f64| if ratio { libm::exp(value) } else { value };
    comparison.value = mean(nearer).map(back);
    let same = |values: &[f64]| {
        let (least, most) = values.iter().fold((f64::MAX, f64::MIN), |(a, b), v| (a.min(*v), b.max(*v)));
        most - least <= 1e-12 * most.abs().max(1e-3)
    };
    if stack.len() < 2 || (same(stack) && references.iter().all(|values| same(values))) {
        if stack.len() < 2 {
            comparison.reason = "fewer than two runs".into();
            return Comparison { verdict: Verdict::Undecided, ..comparison };
        }
        let inside = above[0] >= width[0] && below[0] <= width[1];
        comparison.reason = "every seed gave this value".into();
        comparison.test = Test::Deterministic;
        let verdict = if inside { Verdict::Agrees } else { Verdict::Differs };
        return Comparison { verdict, n: 1, ..comparison };
    }
    let over = one_sided(&above, width[0]);
    let under = one_sided(&below, width[1]);
    comparison.interval = interval(nearer).map(|ends| ends.map(back));
    comparison.p_agrees = Some(over.1.max(under.0));
    comparison.p_differs = Some((2.0 * over.0.min(under.1)).min(1.0));
    comparison.verdict = Verdict::Undecided;
    let edges = [(&above, width[0]), (&below, width[1])];
    let needed = edges.map(|(values, edge)| seeds_for(values, edge, comparison.margin));
    comparison.seeds_needed = needed.into_iter().try_fold(0, |most, n| n.map(|n| most.max(n)));
    comparison
}

/// The verdicts after Holm's correction over all tests.
pub fn judge<'a>(comparisons: impl IntoIterator<Item = &'a mut Comparison>) {
    let mut tested: Vec<&mut Comparison> =
        comparisons.into_iter().filter(|comparison| comparison.p_agrees.is_some()).collect();
    let corrected = |of: fn(&Comparison) -> Option<f64>, all: &[&mut Comparison]| {
        holm(&all.iter().map(|comparison| of(comparison).unwrap_or(1.0)).collect::<Vec<f64>>())
    };
    let agrees = corrected(|comparison| comparison.p_agrees, &tested);
    let differs = corrected(|comparison| comparison.p_differs, &tested);
    for (place, comparison) in tested.iter_mut().enumerate() {
        (comparison.p_agrees, comparison.p_differs) = (Some(agrees[place]), Some(differs[place]));
        comparison.verdict = match () {
            () if agrees[place] < LEVEL => Verdict::Agrees,
            () if differs[place] < LEVEL => Verdict::Differs,
            () => Verdict::Undecided,
        };
        if comparison.verdict != Verdict::Undecided {
            comparison.seeds_needed = None;
        }
    }
}

/// Holm's step-down correction: p-values that may be compared with the level as if there were one test.
pub fn holm(p_values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..p_values.len()).collect();
    order.sort_by(|a, b| p_values[*a].total_cmp(&p_values[*b]));
    let (mut adjusted, mut highest) = (vec![0.0; p_values.len()], 0.0f64);
    for (rank, place) in order.into_iter().enumerate() {
        highest = highest.max(((p_values.len() - rank) as f64 * p_values[place]).min(1.0));
        adjusted[place] = highest;
    }
    adjusted
}

pub(super) fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// Mean and standard error.
fn moments(values: &[f64]) -> (f64, f64) {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let squares: f64 = values.iter().map(|value| (value - mean) * (value - mean)).sum();
    (mean, (squares / (n - 1.0) / n).sqrt())
}

/// Student's distribution, of the mean of `n` values.
struct Student {
    freedom: f64,
    ln_beta: f64,
}

impl Student {
    /// `None` below two values.
    fn of(n: usize) -> Option<Self> {
        let freedom = n.checked_sub(1).filter(|freedom| *freedom > 0)? as f64;
        Some(Self { freedom, ln_beta: (0.5 * freedom).ln_beta(0.5) })
    }

    /// The probabilities below and above `t`.
    fn sides(&self, t: f64) -> (f64, f64) {
        let beyond =
            0.5 * (self.freedom / (self.freedom + t * t)).inc_beta(0.5 * self.freedom, 0.5, self.ln_beta);
        if t < 0.0 { (beyond, 1.0 - beyond) } else { (1.0 - beyond, beyond) }
    }

    /// The value that is exceeded with the probability `beyond`, from 0 to 0.5.
    fn quantile(&self, beyond: f64) -> f64 {
        let x = (2.0 * beyond).inv_inc_beta(0.5 * self.freedom, 0.5, self.ln_beta);
        (self.freedom * (1.0 - x) / x).sqrt()
    }
}

/// The p-values of the t tests that the mean is below `edge`, and that it is above.
fn one_sided(values: &[f64], edge: f64) -> (f64, f64) {
    let (mean, error) = moments(values);
    if error == 0.0 {
        return match mean.total_cmp(&edge) {
            std::cmp::Ordering::Less => (0.0, 1.0),
            std::cmp::Ordering::Greater => (1.0, 0.0),
            std::cmp::Ordering::Equal => (0.5, 0.5),
        };
    }
    let t = (mean - edge) / error;
    Student::of(values.len()).map_or((1.0, 1.0), |student| student.sides(t))
}

/// The 95 % interval of the mean.
fn interval(values: &[f64]) -> Option<[f64; 2]> {
    let (mean, error) = moments(values);
    let wide = Student::of(values.len())?.quantile(0.025) * error;
    Some([mean - wide, mean + wide])
}

/// The least number of seeds with which the test against `edge` decides with a probability of 80 %, if the mean and the
/// deviation are those of `values`. `None` if the mean lies within a tenth of the margin of the edge, or if it is above 200.
fn seeds_for(values: &[f64], edge: f64, margin: f64) -> Option<usize> {
    let (mean, error) = moments(values);
    let (distance, deviation) = ((mean - edge).abs(), error * (values.len() as f64).sqrt());
    if distance < 0.1 * margin {
        return None;
    }
    (3..=MOST_SEEDS).find(|n| {
        Student::of(*n).is_some_and(|student| {
            student.quantile(0.05) + student.quantile(0.2) <= distance * (*n as f64).sqrt() / deviation
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict(stack: &[f64], references: &[&[f64]], part: f64, least: f64) -> Verdict {
        let references: Vec<Vec<f64>> = references.iter().map(|values| values.to_vec()).collect();
        let mut comparison = compare(stack, &references, part, least);
        judge([&mut comparison]);
        comparison.verdict
    }

    #[test]
    fn the_region_spans_the_references() {
        let (low, high) = ([10.0, 10.1, 9.9, 10.0], [12.0, 12.1, 11.9, 12.0]);
        let stack = |at: f64| [at, at + 0.1, at - 0.1, at + 0.01];
        for (at, expected) in [
            (9.0, Verdict::Differs),
            (9.8, Verdict::Agrees),
            (11.0, Verdict::Agrees),
            (12.2, Verdict::Agrees),
            (13.0, Verdict::Differs),
        ] {
            assert_eq!(verdict(&stack(at), &[&low, &high], 0.05, 0.0), expected, "{at}");
            assert_eq!(verdict(&stack(at), &[&high, &low], 0.05, 0.0), expected, "{at}");
        }
        assert_eq!(verdict(&[9.4, 10.2, 9.0, 9.6], &[&low], 0.05, 0.0), Verdict::Undecided);
    }

    #[test]
    fn values_without_scatter_or_near_zero() {
        assert_eq!(verdict(&[3.0; 5], &[&[3.1; 5]], 0.05, 0.0), Verdict::Agrees);
        assert_eq!(verdict(&[3.0; 5], &[&[4.0; 5]], 0.05, 0.0), Verdict::Differs);
        assert_eq!(verdict(&[0.0; 5], &[&[0.0; 5]], 0.05, 0.0), Verdict::Agrees);
        assert_eq!(verdict(&[0.0, 1e-4, 0.0], &[&[1e-4, 0.0, 0.0]], 0.1, 5e-4), Verdict::Agrees);
        assert_eq!(verdict(&[1.0], &[&[1.0]], 0.1, 0.0), Verdict::Undecided);
        assert_eq!(verdict(&[], &[&[]], 0.1, 0.0), Verdict::NotCompared);
    }

    #[test]
    fn quantiles_of_student() {
        // From tables of the distribution.
        for (freedom, expected) in
            [(1, 12.706204736), (4, 2.776445105), (30, 2.042272456), (199, 1.971956544)]
        {
            let student = Student::of(freedom + 1).unwrap();
            let t = student.quantile(0.025);
            assert!((t / expected - 1.0).abs() < 1e-9, "{freedom}: {t}");
            let (below, above) = student.sides(t);
            assert!(
                (above - 0.025).abs() < 1e-12 && (below + above - 1.0).abs() < 1e-12,
                "{freedom}: {above}"
            );
            assert_eq!(student.sides(-t), (above, below));
        }
        assert!(Student::of(1).is_none());
    }

    #[test]
    fn corrections_and_seeds() {
        assert_eq!(holm(&[0.04, 0.01, 0.03]), [0.06, 0.03, 0.06]);
        let few = compare(&[1.02, 1.08, 0.99, 1.05], &[vec![1.0; 4]], 0.05, 0.0);
        assert!(few.seeds_needed.is_some_and(|n| (10..200).contains(&n)), "{few:?}");
        let borderline = compare(&[1.05, 1.06, 1.04, 1.05], &[vec![1.0; 4]], 0.05, 0.0);
        assert_eq!(borderline.seeds_needed, None);
    }
}
