//! Names of the models that a scenario can choose. Their parameters are described in the schema of scenarios.

/// A model.
#[derive(Clone, Copy, Debug)]
pub struct Model {
    /// Its name in scenarios.
    pub name: &'static str,
    /// What it is.
    pub summary: &'static str,
    /// Where it comes from, or empty.
    pub source: &'static str,
}
