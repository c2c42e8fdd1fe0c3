//! Which media types an asker takes, and which of several it likes best (RFC 9110 §12.5.1). Parsing
//! the Accept field is `http/accept`.

use repository::MediaType;

/// Ranges of media types with their weights.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Acceptable(pub Vec<Range>);

/// A range: `type/subtype`, `type/*` or `*/*`. Names and parameters are in lower case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Range {
    /// `None`: any.
    pub kind: Option<String>,
    /// `None`: any.
    pub subtype: Option<String>,
    /// What the media type must have.
    pub parameters: Vec<(String, String)>,
    /// In thousandths; 0: not acceptable.
    pub weight: u16,
}

/// How closely a range names a media type: the parts of its name, and the parameters.
type Specificity = (usize, usize);

impl Acceptable {
    /// Whether the asker takes `media_type`.
    pub(crate) fn admits(&self, media_type: &MediaType) -> bool {
        self.fit(media_type.as_str()).is_some_and(|(_, weight)| weight > 0)
    }

    /// The place in `offers` of the media type that the asker likes best: the one of the highest
    /// weight, of equals the one that it names most closely, of those the first.
    pub(crate) fn best(&self, offers: &[&str]) -> Option<usize> {
        let fits = offers.iter().enumerate().filter_map(|(place, offer)| {
            let (specificity, weight) = self.fit(offer)?;
            (weight > 0).then_some(((weight, specificity), place))
        });
        fits.reduce(|best, next| if next.0 > best.0 { next } else { best }).map(|(_, place)| place)
    }

    /// The most specific range that `media_type` is in, which decides, and its weight.
    fn fit(&self, media_type: &str) -> Option<(Specificity, u16)> {
        let (essence, parameters) = split(media_type);
        let (kind, subtype) = essence.split_once('/').unwrap_or((&essence, ""));
        let is_json = subtype == "json" || subtype.ends_with("+json");
        let specificity = |range: &Range| {
            let fits = |wanted: &Option<String>, is: &str| wanted.as_ref().is_none_or(|w| w == is);
            let has = |wanted: &(String, String)| {
                // A charset says nothing of JSON (RFC 8259 §11), nor of a type that names none.
                let is_charset = wanted.0 == "charset";
                let is_silent = is_json || parameters.iter().all(|(name, _)| name != "charset");
                parameters.contains(wanted) || (is_charset && is_silent)
            };
            let is_in = fits(&range.kind, kind)
                && fits(&range.subtype, subtype)
                && range.parameters.iter().all(has);
            let named = usize::from(range.kind.is_some()) + usize::from(range.subtype.is_some());
            is_in.then_some((named, range.parameters.len()))
        };
        self.0.iter().filter_map(|range| Some((specificity(range)?, range.weight))).max()
    }
}

/// `type/subtype` and the parameters, in lower case.
pub(crate) fn split(media_type: &str) -> (String, Vec<(String, String)>) {
    let lower = media_type.to_ascii_lowercase();
    let mut parts = unquoted(&lower, ';').map(str::trim);
    let essence = parts.next().unwrap_or_default().to_owned();
    let parameters = parts.filter(|part| !part.is_empty()).map(|part| {
        let (name, value) = part.split_once('=').unwrap_or((part, ""));
        (name.trim_end().to_owned(), value.trim_start().trim_matches('"').to_owned())
    });
    (essence, parameters.collect())
}

/// The parts of `text` between separators that are not within quotes (RFC 9110 §5.6.4).
pub(crate) fn unquoted(text: &str, separator: char) -> impl Iterator<Item = &str> {
    let (mut is_quoted, mut is_escaped) = (false, false);
    text.split(move |c| {
        let was_escaped = std::mem::take(&mut is_escaped);
        match c {
            '"' if !was_escaped => is_quoted = !is_quoted,
            '\\' if is_quoted && !was_escaped => is_escaped = true,
            _ => {}
        }
        c == separator && !is_quoted
    })
}
