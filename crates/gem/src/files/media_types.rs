//! Media types by the extension of a file, and whether such files gain by compression: those that
//! are compressed already do not.

const BYTES: (&str, bool) = ("application/octet-stream", false);

/// Extension in lower case, media type, whether it gains. Sorted by nothing but what is common:
/// <https://www.iana.org/assignments/media-types> has the names.
const TABLE: &[(&str, &str, bool)] = &[
    ("html", "text/html; charset=utf-8", true),
    ("htm", "text/html; charset=utf-8", true),
    ("css", "text/css; charset=utf-8", true),
    ("js", "text/javascript; charset=utf-8", true),
    ("mjs", "text/javascript; charset=utf-8", true),
    ("json", "application/json", true),
    ("map", "application/json", true),
    ("webmanifest", "application/manifest+json", true),
    ("geojson", "application/geo+json", true),
    ("svg", "image/svg+xml", true),
    ("txt", "text/plain; charset=utf-8", true),
    ("md", "text/markdown; charset=utf-8", true),
    ("csv", "text/csv; charset=utf-8", true),
    ("ics", "text/calendar; charset=utf-8", true),
    ("vtt", "text/vtt; charset=utf-8", true),
    ("xml", "application/xml", true),
    ("xhtml", "application/xhtml+xml", true),
    ("atom", "application/atom+xml", true),
    ("rss", "application/rss+xml", true),
    ("wasm", "application/wasm", true),
    ("ttf", "font/ttf", true),
    ("otf", "font/otf", true),
    ("ico", "image/vnd.microsoft.icon", true),
    ("bmp", "image/bmp", true),
    ("png", "image/png", false),
    ("jpg", "image/jpeg", false),
    ("jpeg", "image/jpeg", false),
    ("gif", "image/gif", false),
    ("webp", "image/webp", false),
    ("avif", "image/avif", false),
    ("woff", "font/woff", false),
    ("woff2", "font/woff2", false),
    ("mp3", "audio/mpeg", false),
    ("m4a", "audio/mp4", false),
    ("ogg", "audio/ogg", false),
    ("opus", "audio/ogg", false),
    ("flac", "audio/flac", false),
    ("wav", "audio/wav", false),
    ("mp4", "video/mp4", false),
    ("webm", "video/webm", false),
    ("pdf", "application/pdf", false),
    ("zip", "application/zip", false),
    ("gz", "application/gzip", false),
    ("epub", "application/epub+zip", false),
];

/// The media type of the file at `path`, and whether it gains by compression.
pub(super) fn of(path: &str) -> (&'static str, bool) {
    let name = path.rsplit('/').next().unwrap_or(path);
    let Some((_, extension)) = name.rsplit_once('.') else { return BYTES };
    let row = TABLE.iter().find(|(known, ..)| extension.eq_ignore_ascii_case(known));
    row.map_or(BYTES, |&(_, media_type, gains)| (media_type, gains))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_extension_decides() {
        assert_eq!(of("/a.min.CSS"), ("text/css; charset=utf-8", true));
        assert_eq!(of("/a.d/b"), BYTES);
        assert_eq!(of("/a.tar.gz"), ("application/gzip", false));
        assert_eq!(of("/a.nothing"), BYTES);
    }

    #[test]
    fn no_extension_is_twice() {
        for (at, (extension, ..)) in TABLE.iter().enumerate() {
            assert!(!TABLE[..at].iter().any(|(other, ..)| other == extension), "{extension}");
            assert_eq!(*extension, extension.to_lowercase());
        }
    }
}
