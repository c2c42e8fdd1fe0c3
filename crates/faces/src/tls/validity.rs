//! From when until when a certificate is valid (RFC 5280 §4.1.2.5). It is only told to the server's
//! operator; nothing is decided by it. So this reads the few elements before the dates, and no
//! more.

use std::time::{Duration, SystemTime};

const INTEGER: u8 = 0x02;
const UTC_TIME: u8 = 0x17;
const GENERALIZED_TIME: u8 = 0x18;
const SEQUENCE: u8 = 0x30;
/// The explicit tag of the version, which may be missing.
const VERSION: u8 = 0xa0;

/// The dates of a certificate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Validity {
    pub from: SystemTime,
    pub until: SystemTime,
}

/// The dates of the certificate `der`, if it has such.
pub(super) fn of(der: &[u8]) -> Option<Validity> {
    let (certificate, _) = expect(der, SEQUENCE)?;
    let (mut rest, _) = expect(certificate, SEQUENCE)?;
    if let Some((_, after)) = expect(rest, VERSION) {
        rest = after;
    }
    // The serial number, the signature's algorithm, the issuer.
    for tag in [INTEGER, SEQUENCE, SEQUENCE] {
        rest = expect(rest, tag)?.1;
    }
    let (dates, _) = expect(rest, SEQUENCE)?;
    let (from, dates) = time(dates)?;
    let (until, _) = time(dates)?;
    Some(Validity { from, until })
}

/// The content of the element of type `tag` with which `der` begins, and what follows it.
fn expect(der: &[u8], tag: u8) -> Option<(&[u8], &[u8])> {
    let (found, content, rest) = element(der)?;
    (found == tag).then_some((content, rest))
}

/// Type, content and rest (X.690 §8.1).
fn element(der: &[u8]) -> Option<(u8, &[u8], &[u8])> {
    let (&tag, rest) = der.split_first()?;
    let (&first, rest) = rest.split_first()?;
    let (length, rest) = if first < 0x80 {
        (usize::from(first), rest)
    } else {
        let digits = usize::from(first & 0x7f);
        if !(1..=4).contains(&digits) {
            return None;
        }
        let (digits, rest) = rest.split_at_checked(digits)?;
        (digits.iter().fold(0, |length, digit| length << 8 | usize::from(*digit)), rest)
    };
    let (content, rest) = rest.split_at_checked(length)?;
    Some((tag, content, rest))
}

/// `YYMMDDHHMMSSZ` up to the year 2049, `YYYYMMDDHHMMSSZ` after.
fn time(der: &[u8]) -> Option<(SystemTime, &[u8])> {
    let (tag, content, rest) = element(der)?;
    let text = std::str::from_utf8(content).ok()?.strip_suffix('Z')?;
    if !text.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let (year, text) = match tag {
        UTC_TIME => {
            let (year, text) = text.split_at_checked(2)?;
            let year: u64 = year.parse().ok()?;
            (if year < 50 { 2_000 + year } else { 1_900 + year }, text)
        }
        GENERALIZED_TIME => {
            let (year, text) = text.split_at_checked(4)?;
            (year.parse().ok()?, text)
        }
        _ => return None,
    };
    if text.len() != 10 {
        return None;
    }
    let number = |at: usize| text[at..at + 2].parse::<u64>().ok();
    let days = days(year, number(0)?, number(2)?)?;
    let seconds = days * 86_400 + number(4)? * 3_600 + number(6)? * 60 + number(8)?;
    Some((SystemTime::UNIX_EPOCH.checked_add(Duration::from_secs(seconds))?, rest))
}

/// Days from 1970-01-01 to a date of the Gregorian calendar. A date before counts as that day.
fn days(year: u64, month: u64, day: u64) -> Option<u64> {
    const BEFORE_MONTH: [u64; 12] = [0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334];
    let before = *BEFORE_MONTH.get(usize::try_from(month.checked_sub(1)?).ok()?)?;
    let is_leap = year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    let leap_day = u64::from(is_leap && month > 2);
    // Leap days of the years before this one, from the year 1 on; 477 of them are before 1970.
    let last = year.checked_sub(1)?;
    let leap_days = (last / 4 - last / 100 + last / 400).saturating_sub(477);
    let years = year.saturating_sub(1_970);
    Some(years * 365 + leap_days + before + leap_day + day.checked_sub(1)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seconds(text: &str, tag: u8) -> Option<u64> {
        let der = [&[tag, u8::try_from(text.len()).unwrap()], text.as_bytes()].concat();
        let (time, _) = time(&der)?;
        Some(time.duration_since(SystemTime::UNIX_EPOCH).unwrap().as_secs())
    }

    #[test]
    fn rfc5280_4_1_2_5_dates() {
        // Each figure is what `date -u -d ... +%s` says.
        assert_eq!(seconds("700101000000Z", UTC_TIME), Some(0));
        assert_eq!(seconds("000301000000Z", UTC_TIME), Some(951_868_800));
        assert_eq!(seconds("240229235959Z", UTC_TIME), Some(1_709_251_199));
        assert_eq!(seconds("491231235959Z", UTC_TIME), Some(2_524_607_999));
        assert_eq!(seconds("20500101000000Z", GENERALIZED_TIME), Some(2_524_608_000));
        assert_eq!(seconds("21000301000000Z", GENERALIZED_TIME), Some(4_107_542_400));
        assert_eq!(seconds("99991231235959Z", GENERALIZED_TIME), Some(253_402_300_799));
    }

    #[test]
    fn what_is_no_date() {
        for text in ["", "Z", "2402292359Z", "241301000000Z", "24022923595aZ", "240229235959"] {
            assert_eq!(seconds(text, UTC_TIME), None, "{text}");
        }
        assert_eq!(seconds("240229235959Z", INTEGER), None);
    }

    fn tlv(tag: u8, content: &[u8]) -> Vec<u8> {
        let length = u8::try_from(content.len()).unwrap();
        // The longer form of a length, which is allowed for short ones in BER and read here, too.
        [&[tag, 0x81, length], content].concat()
    }

    /// As much of a certificate as is read, and something after it.
    fn certificate(version: &[u8]) -> Vec<u8> {
        let dates =
            [tlv(UTC_TIME, b"240229235959Z"), tlv(GENERALIZED_TIME, b"20500101000000Z")].concat();
        let before = [tlv(INTEGER, &[1]), tlv(SEQUENCE, &[]), tlv(SEQUENCE, b"issuer")].concat();
        let fields = [version, &before, &tlv(SEQUENCE, &dates), &tlv(SEQUENCE, b"rest")].concat();
        tlv(SEQUENCE, &tlv(SEQUENCE, &fields))
    }

    #[test]
    fn the_dates_are_found_with_and_without_a_version() {
        let at = |seconds| SystemTime::UNIX_EPOCH + Duration::from_secs(seconds);
        let dates = Validity { from: at(1_709_251_199), until: at(2_524_608_000) };
        for version in [Vec::new(), tlv(VERSION, &tlv(INTEGER, &[2]))] {
            let der = certificate(&version);
            assert_eq!(of(&der), Some(dates));
            for end in 0..der.len() {
                assert_eq!(of(&der[..end]), None, "cut at {end}");
            }
            for place in 0..der.len() {
                for byte in 0..=u8::MAX {
                    let mut changed = der.clone();
                    changed[place] = byte;
                    // Whatever comes of it, it comes without a panic.
                    let _read = of(&changed);
                }
            }
        }
    }

    #[test]
    fn what_is_no_certificate() {
        for der in [&[][..], &[0x30], &[0x30, 0x80], &[0x30, 0x85, 1, 1, 1, 1, 1], &[0x30, 3, 1]] {
            assert_eq!(of(der), None, "{der:?}");
        }
    }
}
