//! Doors to private parts for the targets in `tests/fuzz`. Nothing else may use them.

use crate::engine::extract;
use crate::engine::reference;
use crate::plan::{ExtractFrom, JsonPath, Rows, Selector};
use crate::target::Origin;

/// The values, as they stand in the text, that a path leads to, or at which byte it shows that the
/// text is not JSON; nothing if the path is none.
pub fn json<'a>(path: &str, text: &'a [u8]) -> Option<Result<Vec<&'a [u8]>, usize>> {
    let path = JsonPath::parse(path).ok()?;
    Some(extract::json_values(text, &path))
}

/// What a selector finds on a page; nothing if it is none.
pub fn page(selector: &str, attribute: Option<&str>, page: &[u8]) -> Option<Option<Vec<u8>>> {
    let from = ExtractFrom::Css(Selector::new(selector, attribute).ok()?);
    let seen = extract::Seen { status: 200, fields: b"", body: page };
    let mut finder = extract::Finder::default();
    let found = finder.find(&from, seen, None);
    Some(found.ok()?.map(<[u8]>::to_vec))
}

/// The references of a page's parts.
pub fn parts(page: &[u8]) -> Vec<String> {
    extract::parts(page).0.into_iter().map(|part| part.reference).collect()
}

/// Which server and path a reference on a page leads to; nothing if to none of these servers.
pub fn reference(origins: &[Origin], base: &[u8], reference: &[u8]) -> Option<(usize, Vec<u8>)> {
    let location = reference::resolve(origins, (0, base), reference).ok()?;
    Some((location.server, location.path))
}

/// The cells of a CSV file, row by row, or what is wrong.
pub fn csv(file: &[u8]) -> Result<Vec<Vec<Vec<u8>>>, String> {
    let rows = Rows::csv(file).map_err(|error| error.to_string())?;
    let columns = rows.columns().len();
    let row = |row| (0..columns).map(|column| rows.cell(row, column).to_vec()).collect();
    Ok((0..rows.count()).map(row).collect())
}
