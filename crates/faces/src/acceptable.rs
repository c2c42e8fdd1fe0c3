//! Which media types an asker takes (RFC 9110 §12.5.1). Parsing the Accept field is `http/accept`.

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

impl Acceptable {
    /// Whether the asker takes `media_type`: the most specific range that it is in decides.
    pub(crate) fn admits(&self, media_type: &MediaType) -> bool {
        let (essence, parameters) = split(media_type.as_str());
        let (kind, subtype) = essence.split_once('/').unwrap_or((&essence, ""));
        let specificity = |range: &Range| {
            let fits = |wanted: &Option<String>, is: &str| wanted.as_ref().is_none_or(|w| w == is);
            let has = |wanted: &(String, String)| parameters.contains(wanted);
            let is_in = fits(&range.kind, kind)
                && fits(&range.subtype, subtype)
                && range.parameters.iter().all(has);
            let named = usize::from(range.kind.is_some()) + usize::from(range.subtype.is_some());
            is_in.then_some((named, range.parameters.len()))
        };
        let fitting = self.0.iter().filter_map(|range| Some((specificity(range)?, range.weight)));
        fitting.max().is_some_and(|(_, weight)| weight > 0)
    }
}

/// `type/subtype` and the parameters, in lower case.
pub(crate) fn split(media_type: &str) -> (String, Vec<(String, String)>) {
    let lower = media_type.to_ascii_lowercase();
    let mut parts = lower.split(';').map(str::trim);
    let essence = parts.next().unwrap_or_default().to_owned();
    let parameters = parts.filter(|part| !part.is_empty()).map(|part| {
        let (name, value) = part.split_once('=').unwrap_or((part, ""));
        (name.trim_end().to_owned(), value.trim_start().trim_matches('"').to_owned())
    });
    (essence, parameters.collect())
}
