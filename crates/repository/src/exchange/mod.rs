//! Export and import: collections as lines of JSON, and back (`docs/export.md`). `line` knows what
//! a line says, `export` writes lines from a snapshot, `import` reads them into transactions
//! (`batch`), `plain` reads JSON Lines of others, `position` remembers how far an import has come.
//! Bytes come and go by what the caller gives; no file is opened here.

mod batch;
mod export;
mod import;
mod imported;
mod line;
mod plain;
mod position;
mod source;

pub use export::{ExportError, ExportFrom, ExportScope, Exporting, export, resume_of};
pub use import::{check, import};
pub use imported::{Event, ExistingDocuments, ImportError, ImportOptions, Imported, KeptTimes};
pub use line::{
    Exported, Header, Line, LineError, Piece, Trailer, read as read_line, write as write_line,
};
pub use plain::Plain;
