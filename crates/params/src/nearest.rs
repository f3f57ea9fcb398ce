//! The nearest of several names, for messages.

/// The name among `names` that is probably meant by `name`.
pub fn meant<'a>(name: &str, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let distance = |other: &str| strsim::osa_distance(&name.to_lowercase(), &other.to_lowercase());
    // Of names at one distance, one of the same length: `bbr2` is nearer to `bbr3` than to `bbr`.
    let near = names.into_iter().map(|other| (distance(other), other.len().abs_diff(name.len()), other));
    let (far, _, best) = near.min()?;
    (far <= (best.len().max(name.chars().count()) / 3).max(1)).then_some(best)
}

/// The name among `names` nearest to `name`, as a remark; the whole list if none is near.
pub fn nearest<'a>(name: &str, names: impl IntoIterator<Item = &'a str>) -> String {
    let names: Vec<&str> = names.into_iter().collect();
    match meant(name, names.iter().copied()) {
        Some(best) => format!("did you mean \"{best}\"?"),
        None if names.is_empty() => "there is none yet".into(),
        None if names.len() <= 12 => format!("known: {}", names.join(", ")),
        None => format!("known: {}, ...", names[..12].join(", ")),
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
