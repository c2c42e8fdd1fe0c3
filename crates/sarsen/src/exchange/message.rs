//! What a command and a server say to each other about exports and imports, as JSON.

use repository::exchange::{
    ExistingDocuments, ExportFrom, ExportScope, Exporting, ImportOptions, Imported, KeptTimes,
    Plain, Trailer,
};
use repository::{CollectionName, CommitNumber, Key};
use serde_json::{Value, json};

/// What is exported, and from where on.
pub type Wanted = (ExportScope, Option<ExportFrom>);

/// As the arguments of a request.
pub fn of_export(scope: &ExportScope, from: Option<&ExportFrom>) -> Value {
    let names: Vec<&str> = scope.collections.iter().map(CollectionName::as_str).collect();
    let from = from.map(|from| {
        let last = from.last.as_ref();
        json!({
            "commit": from.commit.0,
            "collection": last.map(|(name, _)| name.as_str()),
            "key": last.and_then(|(_, key)| key.as_ref()).map(Key::as_str),
            "written": of_trailer(&from.written),
        })
    });
    json!({ "collections": names, "system": scope.system, "from": from })
}

/// The same read; `None`: it is none.
pub fn export(arguments: &Value) -> Option<Wanted> {
    let names = arguments["collections"].as_array()?;
    let name = |name: &Value| CollectionName::new(name.as_str()?).ok();
    let collections = names.iter().map(name).collect::<Option<_>>()?;
    let scope = ExportScope { collections, system: arguments["system"].as_bool()? };
    let from = &arguments["from"];
    if from.is_null() {
        return Some((scope, None));
    }
    let key = match &from["key"] {
        Value::Null => None,
        key => Some(Key::new(key.as_str()?).ok()?),
    };
    let last = match &from["collection"] {
        Value::Null => None,
        collection => Some((name(collection)?, key)),
    };
    let commit = CommitNumber(from["commit"].as_u64()?);
    let written = trailer(&from["written"])?;
    let from = ExportFrom { commit, scope: scope.clone(), last, written, bytes: 0 };
    Some((scope, Some(from)))
}

fn of_trailer(trailer: &Trailer) -> Value {
    let Trailer { collections, documents, pieces, checksum } = trailer;
    json!({
        "collections": collections, "documents": documents, "pieces": pieces, "crc32c": checksum,
    })
}

fn trailer(value: &Value) -> Option<Trailer> {
    Some(Trailer {
        collections: value["collections"].as_u64()?,
        documents: value["documents"].as_u64()?,
        pieces: value["pieces"].as_u64()?,
        checksum: u32::try_from(value["crc32c"].as_u64()?).ok()?,
    })
}

/// How far an export is, and its result.
pub fn of_exporting(at: &Exporting, commit: Option<CommitNumber>) -> Value {
    json!({
        "written": of_trailer(&at.written),
        "bytes": at.bytes,
        "collection": at.collection,
        "commit": commit.map(|commit| commit.0),
    })
}

/// The same read, with the commit that was exported.
pub fn exporting(value: &Value) -> Option<(Exporting, u64)> {
    let at = Exporting {
        written: trailer(&value["written"])?,
        bytes: value["bytes"].as_u64()?,
        collection: value["collection"].as_str()?.to_owned(),
    };
    Some((at, value["commit"].as_u64().unwrap_or_default()))
}

/// How something is imported, as the arguments of a request.
pub fn of_import(options: &ImportOptions) -> Value {
    let existing = match options.existing {
        ExistingDocuments::Fail => "fail",
        ExistingDocuments::Skip => "skip",
        ExistingDocuments::Replace => "replace",
    };
    let plain = options.plain.as_ref();
    json!({
        "existing": existing,
        "times": match options.times { KeptTimes::Keep => "keep", KeptTimes::New => "new" },
        "keep_going": options.keep_going,
        "system": options.system,
        "restart": options.restart,
        "plain": plain.map(|plain| json!({
            "collection": plain.collection.as_str(), "key": plain.key,
        })),
    })
}

/// The same read; `None`: it is none.
pub fn import(arguments: &Value) -> Option<ImportOptions> {
    let flag = |name: &str| arguments[name].as_bool();
    let existing = match arguments["existing"].as_str()? {
        "fail" => ExistingDocuments::Fail,
        "skip" => ExistingDocuments::Skip,
        "replace" => ExistingDocuments::Replace,
        _ => return None,
    };
    let times = match arguments["times"].as_str()? {
        "keep" => KeptTimes::Keep,
        "new" => KeptTimes::New,
        _ => return None,
    };
    let plain = match &arguments["plain"] {
        Value::Null => None,
        plain => Some(Plain {
            collection: CollectionName::new(plain["collection"].as_str()?).ok()?,
            key: plain["key"].as_str()?.to_owned(),
        }),
    };
    let (keep_going, system) = (flag("keep_going")?, flag("system")?);
    Some(ImportOptions { existing, times, keep_going, system, restart: flag("restart")?, plain })
}

/// How far an import is, and its result.
pub fn of_imported(at: &Imported) -> Value {
    json!({
        "lines": at.lines,
        "bytes": at.bytes,
        "documents": at.documents,
        "skipped": at.skipped,
        "expired": at.expired,
        "bad": at.bad,
        "collections": at.collections,
        "resumed_after": at.resumed_after,
        "was_done": at.was_done,
        "commit": at.commit.0,
    })
}

/// The same read.
pub fn imported(value: &Value) -> Option<Imported> {
    let number = |name: &str| value[name].as_u64();
    Some(Imported {
        lines: number("lines")?,
        bytes: number("bytes")?,
        documents: number("documents")?,
        skipped: number("skipped")?,
        expired: number("expired")?,
        bad: number("bad")?,
        collections: number("collections")?,
        resumed_after: number("resumed_after"),
        was_done: value["was_done"].as_bool()?,
        commit: CommitNumber(number("commit")?),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_come_back_as_they_were() {
        let name = |name: &str| CollectionName::new(name).unwrap();
        let scope = ExportScope { collections: vec![name("a")], system: true };
        assert_eq!(export(&of_export(&scope, None)), Some((scope.clone(), None)));
        let written = Trailer { collections: 1, documents: 2, pieces: 3, checksum: u32::MAX };
        let key = Some(Key::new("k").unwrap());
        for last in [None, Some((name("a"), None)), Some((name("b"), key))] {
            let scope = scope.clone();
            let commit = CommitNumber(7);
            let from = ExportFrom { commit, scope: scope.clone(), last, written, bytes: 0 };
            assert_eq!(export(&of_export(&scope, Some(&from))), Some((scope, Some(from))));
        }
        let at = Exporting { written, bytes: 9, collection: "a".to_owned() };
        assert_eq!(exporting(&of_exporting(&at, Some(CommitNumber(3)))), Some((at, 3)));
        let imported_at =
            Imported { lines: 1, bad: 2, resumed_after: Some(7), ..Imported::default() };
        assert_eq!(imported(&of_imported(&imported_at)), Some(imported_at));
        let plain = Some(Plain { collection: name("a"), key: "/id".to_owned() });
        let options = ImportOptions { keep_going: true, plain, ..ImportOptions::default() };
        let read = import(&of_import(&options)).unwrap();
        assert_eq!(of_import(&read), of_import(&options));
        for none in [json!(null), json!({}), json!({ "collections": ["A"], "system": true })] {
            assert!(export(&none).is_none() && import(&none).is_none(), "{none}");
        }
    }
}
