//! The nearest of several names, for messages.

/// The name among `known` that is probably meant by `name`.
pub fn meant<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let distance = |known: &str| strsim::osa_distance(&name.to_lowercase(), &known.to_lowercase());
    // Of names at one distance, one of the same length: `bbr2` is nearer to `bbr3` than to `bbr`.
    let near = known.into_iter().map(|known| (distance(known), known.len().abs_diff(name.len()), known));
    let (far, _, best) = near.min()?;
    (far <= (best.len().max(name.chars().count()) / 3).max(1)).then_some(best)
}

/// The name among `known` nearest to `name`, as a remark; the whole list if none is near.
pub fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    let known: Vec<&str> = known.into_iter().collect();
    match meant(name, known.iter().copied()) {
        Some(best) => format!("did you mean \"{best}\"?"),
        None if known.is_empty() => "there is none yet".into(),
        None if known.len() <= 12 => format!("known: {}", known.join(", ")),
        None => format!("known: {}, ...", known[..12].join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_the_nearest() {
        assert_eq!(nearest("vegsa", ["reno", "vegas", "cubic"]), "did you mean \"vegas\"?");
        assert_eq!(nearest("delya", ["rate", "delay"]), "did you mean \"delay\"?");
        assert_eq!(nearest("bbr2", ["bbr", "bbr3"]), "did you mean \"bbr3\"?");
        assert_eq!(nearest("xyzzy", ["reno", "vegas"]), "known: reno, vegas");
        assert_eq!(nearest("bbr", ["bic", "reno"]), "known: bic, reno");
        assert_eq!(nearest("bbr", []), "there is none yet");
    }
}
