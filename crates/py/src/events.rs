//! What a Python controller receives: its flow, and one class for each event with fields. The table is in the crate cc. A
//! time is a float in seconds (`_s`) and an exact number of picoseconds (`_ps`).

use cc::{Cause, Event, External, Hint, Phase};
use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;
use units::{Segments, Span, Time};

/// An argument of an event method as a Python object.
trait ToPython {
    fn to_python<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>>;
}

impl ToPython for Time {
    fn to_python<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.seconds().into_bound_py_any(py)
    }
}

impl ToPython for Segments {
    fn to_python<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.into_bound_py_any(py)
    }
}

/// Defines a Python class for each struct, with one read-only attribute for each name.
macro_rules! define_classes {
    ($($(#[doc = $about:literal])+ $struct:ident {
        $($(#[doc = $doc:literal])+ $field:ident: $type:ty => $name:ident $($exact:ident)?,)+
    } {
        $($(#[doc = $derived_doc:literal])+ $derived:ident(): $derived_type:ty => $derived_name:ident $($derived_exact:ident)?,)*
    })+) => {$(
        $(#[doc = $about])+
        #[pyclass(frozen, module = "ackclock._core")]
        pub struct $struct(pub cc::$struct);

        #[pymethods]
        impl $struct {
            /// Itself: it never changes, and a controller that keeps it can be copied.
            fn __deepcopy__(slf: Py<Self>, _memo: &Bound<'_, PyAny>) -> Py<Self> {
                slf
            }
            $(
                #[getter]
                fn $name(&self) -> <$type as External>::Value {
                    self.0.$field.value()
                }
                $(#[getter]
                fn $exact(&self) -> <$type as External>::Exact {
                    self.0.$field.exact()
                })?
            )+
            $(
                #[getter]
                fn $derived_name(&self) -> <$derived_type as External>::Value {
                    self.0.$derived().value()
                }
                $(#[getter]
                fn $derived_exact(&self) -> <$derived_type as External>::Exact {
                    self.0.$derived().exact()
                })?
            )*
        }

        impl ToPython for cc::$struct {
            fn to_python<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
                $struct(*self).into_bound_py_any(py)
            }
        }
    )+

        /// Adds the classes to the module.
        pub fn add_classes(module: &Bound<'_, PyModule>) -> PyResult<()> {
            $(module.add_class::<$struct>()?;)+
            Ok(())
        }
    };
}
cc::event_structs!(define_classes);

/// Defines [`argument`].
macro_rules! define_argument {
    ([] $($(#[$doc:meta])+ $event:ident: fn $method:ident(
        &mut $self:ident, $argument:ident: $($copied:ident)? $(&$borrowed:ident)?
    ) $(-> $required:ident)?;)+) => {
        /// The argument of an event's method.
        pub fn argument<'py>(py: Python<'py>, event: Event<'_>) -> PyResult<Bound<'py, PyAny>> {
            match event { $(Event::$event(argument) => argument.to_python(py),)+ }
        }
    };
}
cc::controller_events!(define_argument);
