//! The manifest of a set: what the set is and which files belong to it, as lines of JSON. It is
//! written last: what has none does not exist. `docs/backup.md`, "Manifest".

use crate::document::{CommitNumber, Timestamp};
use crate::folder::{hex, parse_id};
use crate::json;

/// Its name in the folder of its set.
pub(crate) const NAME: &str = "manifest";

/// Before it is whole.
pub(crate) const UNFINISHED: &str = "manifest.tmp";

const FORMAT: &str = "sarsen backup set, format 1";

/// More of a file that should be a manifest is not read.
pub(crate) const BYTES_MAX: u64 = 64 << 20;

/// What a set holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SetKind {
    /// Everything as of one commit.
    Full,
    /// The commits after one and up to another.
    Log,
}

impl SetKind {
    /// The word for it in names and manifests.
    pub fn name(self) -> &'static str {
        match self {
            Self::Full => "full",
            Self::Log => "log",
        }
    }
}

/// One file of a set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ManifestFile {
    /// Its name in the folder of the set.
    pub name: String,
    pub bytes: u64,
    /// CRC32C of its content.
    pub sum: u32,
}

impl ManifestFile {
    pub(crate) fn of(name: &str, content: &[u8]) -> Self {
        let (bytes, sum) = (content.len() as u64, crc32c::crc32c(content));
        Self { name: name.to_owned(), bytes, sum }
    }
}

/// See the module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Manifest {
    pub kind: SetKind,
    /// The id of the repository.
    pub repository: [u8; 16],
    /// Of a log, the commit that its first one follows; 0 otherwise.
    pub after: CommitNumber,
    /// The last commit in it.
    pub to: CommitNumber,
    /// The time of that commit.
    pub time: Timestamp,
    /// When the set was made.
    pub made: Timestamp,
    /// Rows, or records.
    pub items: u64,
    pub files: Vec<ManifestFile>,
    /// Blobs that were copied for it, and the bytes of their content. Others that it names were
    /// there already.
    pub blobs: u64,
    pub blob_bytes: u64,
}

impl Manifest {
    /// The name of the set's folder.
    pub(crate) fn folder(&self) -> String {
        match self.kind {
            SetKind::Full => format!("full-{:020}", self.to.0),
            SetKind::Log => format!("log-{:020}-{:020}", self.after.0, self.to.0),
        }
    }

    /// Bytes of the set's own files, without the blobs.
    pub(crate) fn bytes(&self) -> u64 {
        self.files.iter().map(|file| file.bytes).sum()
    }

    pub(crate) fn to_text(&self) -> String {
        let mut text = format!(
            "{{\"format\":\"{FORMAT}\",\"kind\":\"{}\",\"repository\":\"{}\",\"after\":{},\
             \"to\":{},\"time\":{},\"made\":{},\"items\":{}{}}}\n",
            self.kind.name(),
            hex(&self.repository),
            self.after,
            self.to,
            self.time.0,
            self.made.0,
            self.items,
            match self.blobs {
                0 => String::new(),
                blobs => format!(",\"blobs\":{blobs},\"blob_bytes\":{}", self.blob_bytes),
            }
        );
        for ManifestFile { name, bytes, sum } in &self.files {
            text.push_str(&format!(
                "{{\"file\":\"{name}\",\"bytes\":{bytes},\"crc32c\":\"{sum:08x}\"}}\n"
            ));
        }
        let (files, sum) = (self.files.len(), crc32c::crc32c(text.as_bytes()));
        text + &format!("{{\"files\":{files},\"crc32c\":\"{sum:08x}\"}}\n")
    }

    pub(crate) fn from_text(text: &str) -> Result<Self, String> {
        let body = text.strip_suffix('\n').ok_or("the manifest is cut off")?;
        let start = body.rfind('\n').ok_or("the manifest is cut off")? + 1;
        let (lines, end) = body.split_at(start);
        let end = Line::new(end)?;
        if end.sum()? != crc32c::crc32c(lines.as_bytes()) {
            return Err("the manifest has another checksum".to_owned());
        }
        let mut lines = lines.lines();
        let first = Line::new(lines.next().unwrap_or_default())?;
        let format = first.text("format")?;
        if format != FORMAT {
            return Err(format!("expected \"{FORMAT}\", found \"{format}\""));
        }
        let kind = match first.text("kind")? {
            "full" => SetKind::Full,
            "log" => SetKind::Log,
            other => return Err(format!("unknown kind of set \"{other}\"")),
        };
        let id = first.text("repository")?;
        let repository = parse_id(id).ok_or_else(|| format!("\"{id}\" is no repository's id"))?;
        let manifest = Self {
            kind,
            repository,
            after: CommitNumber(first.number("after")?),
            to: CommitNumber(first.number("to")?),
            time: Timestamp(first.number("time")?),
            made: Timestamp(first.number("made")?),
            items: first.number("items")?,
            files: lines.map(|line| Line::new(line)?.file()).collect::<Result<_, _>>()?,
            blobs: first.number_or_0("blobs")?,
            blob_bytes: first.number_or_0("blob_bytes")?,
        };
        if (manifest.blobs == 0) != (manifest.blob_bytes == 0) {
            return Err("the manifest has blobs without bytes, or bytes without blobs".to_owned());
        }
        match end.number("files")? == manifest.files.len() as u64 {
            true => Ok(manifest),
            false => Err("the manifest has another number of files".to_owned()),
        }
    }
}

/// The text with its last line made to fit, for fuzzing.
pub(super) fn with_sum(text: &str) -> String {
    let (files, sum) = (text.lines().count().saturating_sub(1), crc32c::crc32c(text.as_bytes()));
    format!("{text}{{\"files\":{files},\"crc32c\":\"{sum:08x}\"}}\n")
}

/// A line of JSON, whose members are numbers and plain texts.
struct Line<'a>(&'a str);

impl<'a> Line<'a> {
    fn new(text: &'a str) -> Result<Self, String> {
        match json::canonicalize(text.as_bytes()) {
            Ok(canonical) if canonical == text.as_bytes() => Ok(Self(text)),
            Ok(_) => Err("a line of the manifest is not in canonical form".to_owned()),
            Err(error) => Err(format!("a line of the manifest is {error}")),
        }
    }

    fn member(&self, name: &str) -> Result<&'a str, String> {
        match json::locate(self.0, &format!("/{name}")) {
            Ok(json::Span::Value(span)) => Ok(&self.0[span]),
            _ => Err(format!("the manifest lacks \"{name}\"")),
        }
    }

    fn text(&self, name: &str) -> Result<&'a str, String> {
        let member = self.member(name)?;
        let text = member.strip_prefix('"').and_then(|text| text.strip_suffix('"'));
        text.filter(|text| !text.contains('\\'))
            .ok_or_else(|| format!("\"{name}\" in the manifest is {member}"))
    }

    fn number(&self, name: &str) -> Result<u64, String> {
        let member = self.member(name)?;
        member.parse().map_err(|_| format!("\"{name}\" in the manifest is {member}"))
    }

    /// The same of a member that is left out where it is 0.
    fn number_or_0(&self, name: &str) -> Result<u64, String> {
        match json::locate(self.0, &format!("/{name}")) {
            Ok(json::Span::Value(_)) => self.number(name),
            _ => Ok(0),
        }
    }

    fn sum(&self) -> Result<u32, String> {
        let text = self.text("crc32c")?;
        let sum = u32::from_str_radix(text, 16).map_err(|_| text);
        sum.map_err(|text| format!("\"crc32c\" in the manifest is \"{text}\""))
    }

    /// The file that it names: a plain name, in the folder of the set.
    fn file(&self) -> Result<ManifestFile, String> {
        let name = self.text("file")?;
        let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '.';
        if name.is_empty() || name.starts_with('.') || !name.chars().all(is_plain) {
            return Err(format!("the manifest names a file \"{name}\""));
        }
        Ok(ManifestFile { name: name.to_owned(), bytes: self.number("bytes")?, sum: self.sum()? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn manifest() -> Manifest {
        Manifest {
            kind: SetKind::Log,
            repository: [0xab; 16],
            after: CommitNumber(5),
            to: CommitNumber(90),
            time: Timestamp(1_700_000_000_000),
            made: Timestamp(1_700_000_001_000),
            items: 80,
            files: vec![ManifestFile::of("000000.records", b"abc")],
            blobs: 2,
            blob_bytes: 200_000,
        }
    }

    #[test]
    fn a_manifest_comes_back() {
        let manifest = manifest();
        assert_eq!(Manifest::from_text(&manifest.to_text()), Ok(manifest.clone()));
        assert_eq!(manifest.folder(), "log-00000000000000000005-00000000000000000090");
        let (files, kind, blobs, blob_bytes) = (Vec::new(), SetKind::Full, 0, 0);
        let empty = Manifest { files, kind, blobs, blob_bytes, ..manifest };
        assert_eq!(Manifest::from_text(&empty.to_text()), Ok(empty));
    }

    #[test]
    fn what_was_changed_or_cut_off_is_refused() {
        let text = manifest().to_text();
        for length in 0..text.len() {
            assert!(Manifest::from_text(&text[..length]).is_err(), "{length} bytes");
        }
        for at in 0..text.len() {
            let mut bytes = text.clone().into_bytes();
            bytes[at] ^= 1;
            let changed = String::from_utf8(bytes).unwrap();
            assert!(Manifest::from_text(&changed).is_err(), "byte {at}");
        }
    }

    #[test]
    fn names_do_not_lead_out_of_the_folder() {
        for name in ["../x", "a/b", "", ".x"] {
            let files = vec![ManifestFile { name: name.to_owned(), bytes: 1, sum: 1 }];
            let manifest = Manifest { files, ..manifest() };
            assert!(Manifest::from_text(&manifest.to_text()).is_err(), "{name}");
        }
    }
}
