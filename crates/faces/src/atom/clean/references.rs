//! References to characters in HTML (§13.5): numbers, and the names that people write. A name that
//! is not known stays as it is in text, where a browser knows it, and means nothing in an
//! attribute.

use std::borrow::Cow;

/// Longest name of a character in HTML, and longest number.
const BYTES_MAX: usize = 33;

/// How many bytes of `text`, which begins with `&`, are a reference. Its name may be unknown.
pub(super) fn length(text: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    let end = bytes.iter().take(BYTES_MAX).position(|byte| *byte == b';')?;
    let inner = &bytes[1..end];
    let is_one = match inner {
        [b'#', b'x' | b'X', digits @ ..] => {
            !digits.is_empty() && digits.iter().all(u8::is_ascii_hexdigit)
        }
        [b'#', digits @ ..] => !digits.is_empty() && digits.iter().all(u8::is_ascii_digit),
        [first, rest @ ..] => {
            first.is_ascii_alphabetic() && rest.iter().all(u8::is_ascii_alphanumeric)
        }
        [] => false,
    };
    is_one.then_some(end + 1)
}

/// The text that is meant. Numbers without a semicolon are references, too, as in browsers.
pub(super) fn decoded(text: &str) -> Cow<'_, str> {
    if !text.contains('&') {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('&') {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        let (meant, bytes) = one(rest);
        out.push_str(&meant);
        rest = &rest[bytes..];
    }
    out.push_str(rest);
    Cow::Owned(out)
}

/// What the reference at the beginning means, and how long it is.
fn one(text: &str) -> (Cow<'static, str>, usize) {
    const ITSELF: (Cow<'static, str>, usize) = (Cow::Borrowed("&"), 1);
    if let Some(number) = text.strip_prefix("&#") {
        let (digits, radix, before) = match number.strip_prefix(['x', 'X']) {
            Some(digits) => (digits, 16, 3),
            None => (number, 10, 2),
        };
        let count = digits.bytes().take_while(|b| char::from(*b).is_digit(radix)).count();
        if count == 0 {
            return ITSELF;
        }
        let code = u32::from_str_radix(&digits[..count], radix).ok();
        let meant = code.and_then(char::from_u32).filter(|c| *c != '\0').unwrap_or('\u{fffd}');
        let semicolon = usize::from(digits[count..].starts_with(';'));
        return (Cow::Owned(meant.to_string()), before + count + semicolon);
    }
    let Some(length) = length(text) else { return ITSELF };
    match named(&text[1..length - 1]) {
        Some(meant) => (Cow::Borrowed(meant), length),
        None => ITSELF,
    }
}

fn named(name: &str) -> Option<&'static str> {
    NAMES.iter().find(|(known, _)| *known == name).map(|(_, meant)| *meant)
}

/// What is written, and what could hide the scheme of a link.
const NAMES: [(&str, &str); 104] = [
    ("amp", "&"),
    ("lt", "<"),
    ("gt", ">"),
    ("quot", "\""),
    ("apos", "'"),
    ("nbsp", "\u{a0}"),
    ("colon", ":"),
    ("sol", "/"),
    ("Tab", "\t"),
    ("NewLine", "\n"),
    ("lpar", "("),
    ("rpar", ")"),
    ("period", "."),
    ("comma", ","),
    ("excl", "!"),
    ("quest", "?"),
    ("num", "#"),
    ("equals", "="),
    ("AMP", "&"),
    ("LT", "<"),
    ("GT", ">"),
    ("QUOT", "\""),
    ("shy", "\u{ad}"),
    ("copy", "©"),
    ("reg", "®"),
    ("trade", "™"),
    ("hellip", "…"),
    ("mdash", "—"),
    ("ndash", "–"),
    ("lsquo", "‘"),
    ("rsquo", "’"),
    ("sbquo", "‚"),
    ("ldquo", "“"),
    ("rdquo", "”"),
    ("bdquo", "„"),
    ("laquo", "«"),
    ("raquo", "»"),
    ("lsaquo", "‹"),
    ("rsaquo", "›"),
    ("bull", "•"),
    ("middot", "·"),
    ("deg", "°"),
    ("plusmn", "±"),
    ("times", "×"),
    ("divide", "÷"),
    ("micro", "µ"),
    ("para", "¶"),
    ("sect", "§"),
    ("euro", "€"),
    ("pound", "£"),
    ("yen", "¥"),
    ("cent", "¢"),
    ("frac12", "½"),
    ("frac14", "¼"),
    ("frac34", "¾"),
    ("iexcl", "¡"),
    ("iquest", "¿"),
    ("Agrave", "À"),
    ("Aacute", "Á"),
    ("Acirc", "Â"),
    ("Atilde", "Ã"),
    ("Auml", "Ä"),
    ("Aring", "Å"),
    ("AElig", "Æ"),
    ("Ccedil", "Ç"),
    ("Egrave", "È"),
    ("Eacute", "É"),
    ("Ecirc", "Ê"),
    ("Euml", "Ë"),
    ("Ntilde", "Ñ"),
    ("Ograve", "Ò"),
    ("Oacute", "Ó"),
    ("Ocirc", "Ô"),
    ("Ouml", "Ö"),
    ("Oslash", "Ø"),
    ("Uuml", "Ü"),
    ("szlig", "ß"),
    ("agrave", "à"),
    ("aacute", "á"),
    ("acirc", "â"),
    ("atilde", "ã"),
    ("auml", "ä"),
    ("aring", "å"),
    ("aelig", "æ"),
    ("ccedil", "ç"),
    ("egrave", "è"),
    ("eacute", "é"),
    ("ecirc", "ê"),
    ("euml", "ë"),
    ("igrave", "ì"),
    ("iacute", "í"),
    ("icirc", "î"),
    ("iuml", "ï"),
    ("ntilde", "ñ"),
    ("ograve", "ò"),
    ("oacute", "ó"),
    ("ocirc", "ô"),
    ("otilde", "õ"),
    ("ouml", "ö"),
    ("oslash", "ø"),
    ("uuml", "ü"),
    ("thinsp", "\u{2009}"),
    ("ensp", "\u{2002}"),
    ("rarr", "→"),
];
