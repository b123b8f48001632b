//! Source files: finding them, reading them, and the map from a file's number to its text.

mod find;
mod load;
mod sources;

pub use find::{find, project_above, project_folder, read};
pub use load::Project;
pub use sources::{Place, Source, SourceMap};
