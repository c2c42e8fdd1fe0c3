//! Every bound of queries, with what happens when it is reached. Over HTTP a refusal is the status
//! given here.

/// Filter of a query, in bytes. Longer: 400.
pub const FILTER_BYTES_MAX: usize = 4 << 10;

/// Levels of parentheses in a filter. More: 400.
pub const FILTER_DEPTH_MAX: usize = 16;

/// Comparisons in a filter. More: 400.
pub const FILTER_COMPARISONS_MAX: usize = 100;

/// Fields that a query orders by. More: 400.
pub const ORDER_FIELDS_MAX: usize = 4;

/// Bytes of a text that count when documents are ordered by it; what is in an index is shorter.
/// Longer texts that begin alike are ordered by key.
pub const ORDER_TEXT_BYTES_MAX: usize = repository::limits::INDEX_VALUE_BYTES_MAX;

/// Characters of a cursor. More: 400. The longest that a query gives: so many values of that
/// length and a key, and 22 bytes around them, in base64.
pub const CURSOR_CHARS_MAX: usize =
    (ORDER_FIELDS_MAX * (ORDER_TEXT_BYTES_MAX + 3) + repository::limits::KEY_BYTES_MAX + 20) * 4
        / 3
        + 1;

/// Members that a query's `fields` lists. More: 400.
pub const QUERY_FIELDS_MAX: usize = 64;

/// Documents of a page. A larger `limit`: 400.
pub const QUERY_DOCUMENTS_MAX: usize = 1_000;

/// Documents of a page where the query does not say.
pub const QUERY_DOCUMENTS_DEFAULT: usize = 50;

/// Bytes of the documents of a page. More: the page ends before it has as many documents as were
/// asked for; one document is always given.
pub const QUERY_REPLY_BYTES_MAX: usize = 8 << 20;

/// Documents that one plan of a query may read; also the most that are sorted in memory. More: the
/// next plan is tried, and after the last one 422; a count is not exact.
pub const QUERY_EXAMINED_MAX: usize = 10_000;

/// Bytes of the documents that one plan of a query may read. More: as above.
pub const QUERY_EXAMINED_BYTES_MAX: usize = 32 << 20;

/// Plans that are tried for a query.
pub const QUERY_PLANS_MAX: usize = 2;

/// Documents that a query may read on the reactor. More: it moves to another thread, because it
/// would hold up the reactor's other connections.
pub const QUERY_INLINE_EXAMINED_MAX: usize = 128;

/// Bytes of these documents. More: as above.
pub const QUERY_INLINE_BYTES_MAX: usize = 256 << 10;

/// Documents that a query takes from the repository at a time.
pub const QUERY_BATCH_MAX: usize = 64;

const _: () = assert!(QUERY_EXAMINED_MAX <= repository::limits::RANGE_DOCUMENTS_MAX);
const _: () = assert!(QUERY_DOCUMENTS_MAX < QUERY_EXAMINED_MAX);
const _: () = assert!(QUERY_INLINE_EXAMINED_MAX < QUERY_EXAMINED_MAX);
const _: () = assert!(QUERY_REPLY_BYTES_MAX <= QUERY_EXAMINED_BYTES_MAX);
const _: () = assert!(
    2 * QUERY_PLANS_MAX * QUERY_EXAMINED_BYTES_MAX
        <= repository::limits::TRANSACTION_READ_BYTES_MAX
);
// Twice for each plan that is tried (once to count), a document and a range for each batch.
const _: () =
    assert!(4 * QUERY_PLANS_MAX * QUERY_EXAMINED_MAX <= repository::limits::TRANSACTION_READS_MAX);
