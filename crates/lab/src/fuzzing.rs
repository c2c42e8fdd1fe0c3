//! Doors to private parts for the targets in `tests/fuzz`. Nothing else may use them.

use crate::atompub::{self, Page};
use crate::engine::extract;
use crate::engine::reference;
use crate::http1::{HeadCache, Jar, ReplyReader, Taking};
use crate::plan::{AtomPlace, ExtractFrom, JsonPath, Rows, Selector};
use crate::scenario::AccessLog;
use crate::target::Origin;
use crate::transport::{Kept, Reply};

/// The values, as they stand in the text, that a path leads to, or at which byte it shows that the
/// text is not JSON; nothing if the path is none.
pub fn json<'a>(path: &str, text: &'a [u8]) -> Option<Result<Vec<&'a [u8]>, usize>> {
    let path = JsonPath::parse(path).ok()?;
    Some(extract::json_values(text, &path))
}

/// What a selector finds on a page; nothing if it is none.
pub fn page(selector: &str, attribute: Option<&str>, page: &[u8]) -> Option<Option<Vec<u8>>> {
    let from = ExtractFrom::Css(Selector::new(selector, attribute).ok()?);
    let seen = extract::Seen { status: 200, fields: b"", body: page, base: (0, b"/") };
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

/// The edit links of a page of a collection, and where the next one is; nothing if it is none.
pub fn collection(page: &[u8]) -> Option<(Vec<String>, Option<String>)> {
    let page = Page::read(page).ok()?;
    Some((page.entries.into_iter().filter_map(|entry| entry.edit).collect(), page.next))
}

/// The addresses in a document of AtomPub: of collections, of members, of links to the next page.
pub fn addresses(document: &[u8]) -> [Option<Vec<String>>; 4] {
    ["entries", "media", "members", "next"]
        .map(|name| atompub::addresses(document, &AtomPlace::named(name)).ok())
}

/// The cells of a CSV file, row by row, or what is wrong.
pub fn csv(file: &[u8]) -> Result<Vec<Vec<Vec<u8>>>, String> {
    let rows = Rows::csv(file).map_err(|error| error.to_string())?;
    let columns = rows.columns().len();
    let row = |row| (0..columns).map(|column| rows.cell(row, column).to_vec()).collect();
    Ok((0..rows.count()).map(row).collect())
}

/// Methods and paths of an access log's lines, in the order of their times.
pub fn access_log(log: &[u8], methods: &[&str]) -> Result<Vec<(String, Vec<u8>)>, String> {
    let methods: Vec<String> = methods.iter().map(|&method| method.to_owned()).collect();
    let log = AccessLog::read(log, &methods)?;
    assert_eq!(log.times.len(), log.rows.count());
    let kind = |row| std::str::from_utf8(log.rows.cell(row, 0)).ok()?.parse::<usize>().ok();
    let request = |row: usize| {
        let kind = kind(row).expect("a kind is a number");
        (log.kinds[kind].method.clone(), log.rows.cell(row, 1).to_vec())
    };
    Ok((0..log.rows.count()).map(request).collect())
}

/// What a stream of replies came to.
#[derive(Debug, PartialEq, Eq)]
pub struct Replies {
    /// Status, whether the connection stays, length of the body.
    pub read: Vec<(u16, bool, u64)>,
    /// Their bodies, if they were kept.
    pub bodies: Vec<Vec<u8>>,
    /// Whether what followed was refused.
    pub is_refused: bool,
    /// Whether the close of the connection there would be the end of a reply.
    pub may_close: bool,
    /// Bytes of the cookies at the end.
    pub cookies: usize,
}

/// Reads replies from a connection that brings `piece` bytes at a time, as users do.
pub fn read_replies(input: &[u8], piece: usize, is_head: bool, keeps: bool) -> Replies {
    let (mut heads, mut jar, mut kept) =
        (HeadCache::default(), Jar::default(), Kept::new(usize::MAX, 0));
    let mut found = Replies {
        read: Vec::new(),
        bodies: Vec::new(),
        is_refused: false,
        may_close: false,
        cookies: 0,
    };
    let (mut reader, mut pending) = (ReplyReader::new(), Vec::new());
    for piece in input.chunks(piece.max(1)) {
        pending.extend_from_slice(piece);
        loop {
            let mut taking = Taking {
                is_head,
                set_cookie: &mut |value| jar.store(value),
                kept: keeps.then_some(&mut kept),
                heads: &mut heads,
            };
            let Ok((used, reply)) = reader.advance(&pending, &mut taking) else {
                found.is_refused = true;
                return found;
            };
            pending.drain(..used);
            let Some(Reply { status, keep_alive, body_bytes }) = reply else { break };
            found.read.push((status, keep_alive, body_bytes));
            found.bodies.push(kept.body.clone());
            kept.clear();
            reader = ReplyReader::new();
        }
    }
    found.may_close = reader.close(pending.len()).is_ok();
    found.cookies = jar.line().len();
    found
}
