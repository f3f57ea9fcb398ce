//! What a list of controllers has of each: the command line, the Python interface, the documentation and the tests use it.

use crate::controller::Algorithm;
use crate::descriptor::Descriptor;
use crate::flow::FlowInfo;
use crate::parameters::{FileContent, ParamError, Params};

/// A registered controller: its description, and how it is created, as one of the enum `C`.
#[derive(Clone, Copy, Debug)]
pub struct Registration<C> {
    /// Its description.
    pub descriptor: Descriptor,
    /// The parameters that [`Algorithm::tune`] can change.
    pub tunable: &'static [&'static str],
    /// The names of its states ([`Algorithm::STATES`]).
    pub states: &'static [&'static str],
    check: fn(&Params) -> Result<(), ParamError>,
    read_file: fn(&str) -> Result<FileContent, String>,
    new: fn(&Params, &FlowInfo) -> C,
}

impl<C> Registration<C> {
    /// The registration of an algorithm.
    pub const fn of<A: Algorithm + Into<C>>() -> Registration<C> {
        Registration {
            descriptor: A::DESCRIPTOR,
            tunable: A::TUNABLE,
            states: A::STATES,
            check: A::check,
            read_file: A::read_file,
            new: |params, flow| A::new(params, flow).into(),
        }
    }

    /// Checks that the controller accepts the combination of values in `params`.
    pub fn check(&self, params: &Params) -> Result<(), ParamError> {
        (self.check)(params)
    }

    /// Reads the text of the file that a parameter names. Fails with what is wrong.
    pub fn read_file(&self, text: &str) -> Result<FileContent, String> {
        (self.read_file)(text)
    }

    /// Creates the controller of a flow with `params`, which were checked ([`Params::new`], [`Registration::check`]).
    pub fn create(&self, params: &Params, flow: &FlowInfo) -> C {
        (self.new)(params, flow)
    }
}
