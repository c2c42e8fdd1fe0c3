//! Blobs for the simulation: a whole number with blanks before it, so many that it is a blob.

use repository::limits::DOCUMENT_INLINE_BYTES_MAX;
use repository::{BlobError, Content, Document, Repository, Transaction};

/// So many different ones there are, so that many documents have the same.
pub const PHOTOS_MAX: u64 = 12;

/// Writes one.
pub fn write(repository: &Repository, value: i64) -> Result<Content, String> {
    let mut writer = repository.blob_writer(u64::MAX);
    let text = " ".repeat(DOCUMENT_INLINE_BYTES_MAX) + &value.to_string();
    let written = writer.write(text.as_bytes()).and_then(|()| writer.finish());
    written.map_err(|error| error.to_string())
}

/// What a document says, be it a blob or not.
pub fn text(transaction: &Transaction, document: &Document) -> Result<String, BlobError> {
    let Some(pin) = transaction.pin_blob(document)? else {
        return Ok(String::from_utf8_lossy(&document.body).into_owned());
    };
    let reader = pin.open()?;
    let mut all = Vec::new();
    while (all.len() as u64) < pin.reference().length {
        all.extend_from_slice(&reader.read(all.len() as u64)?);
    }
    Ok(String::from_utf8_lossy(&all).trim().to_owned())
}
