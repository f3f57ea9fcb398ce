//! Descriptions of models that a scenario can name, with their parameters.

/// A model.
#[derive(Clone, Copy, Debug)]
pub struct Model {
    /// Its name in scenarios.
    pub name: &'static str,
    /// What it is.
    pub summary: &'static str,
    /// Where it comes from, or empty.
    pub source: &'static str,
    /// Its parameters.
    pub params: &'static [Field],
}

/// A parameter of a model.
#[derive(Clone, Copy, Debug)]
pub struct Field {
    /// Its name in scenarios.
    pub name: &'static str,
    /// Default value; empty if the parameter is required.
    pub default: &'static str,
    /// Unit, or empty.
    pub unit: &'static str,
    /// What it does, and the values allowed.
    pub doc: &'static str,
}

/// A parameter description on one line.
pub(crate) const fn field(
    name: &'static str,
    default: &'static str,
    unit: &'static str,
    doc: &'static str,
) -> Field {
    Field { name, default, unit, doc }
}
