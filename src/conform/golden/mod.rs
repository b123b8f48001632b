//! Cases from results computed by PyTorch: a folder of records, `tests/golden/` of the
//! project.

mod binding;
mod cases;
mod exception;
mod form;
pub mod record;
mod schema;

pub use binding::{Binding, bind};
pub use cases::{Overloads, records};
pub use exception::{Exception, exceptions};
pub use form::{Form, form};
pub use schema::Schemas;
