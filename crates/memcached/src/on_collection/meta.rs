//! The meta commands on a collection. It keeps no stale items and hands out no wins: the flags `I`,
//! `R`, `E`, and `N` of `mg` are refused.

use super::change::{self, Change, Kept, Put};
use super::{Collection, touch};
use crate::out::Out;
use wire::limits::KEY_BYTES_MAX;
use wire::memcached::answer::{self, Item};
use wire::memcached::{Code, Key, Meta, Refusal};

impl Collection {
    pub(super) fn mg(&self, meta: &Meta<'_>, out: &mut Out) -> Result<(), String> {
        refuse(meta, b"ENR")?;
        let mut room = [0; KEY_BYTES_MAX];
        let key = meta.key.bytes(&mut room);
        let came = self.change(key, out, |there, now| {
            let change = match meta.has(b'T') {
                true => touch(there, meta.exptime, now),
                false => Change::Nothing,
            };
            let after = ttl_after(&change, now);
            (change, there.map(|there| (Kept::of(there, now), after)))
        })?;
        let Some((kept, after)) = came.value else {
            if !meta.has(b'q') {
                answer::meta_line(&mut out.bytes, Code::Miss, None, meta, None);
            }
            return Ok(());
        };
        let item = Item {
            cas: came.commit.unwrap_or(kept.cas),
            client_flags: kept.flags,
            bytes: kept.body.len(),
            ttl: after.unwrap_or(kept.ttl),
            ttl_before: Some(kept.ttl),
            is_binary: meta.key.is_binary,
            ..Item::default()
        };
        match meta.has(b'v') {
            true => value(&kept.body, meta, &item, out),
            false => answer::meta_line(&mut out.bytes, Code::Hit, None, meta, Some(&item)),
        }
        Ok(())
    }

    pub(super) fn ms(&self, meta: &Meta<'_>, data: &[u8], out: &mut Out) -> Result<(), String> {
        refuse(meta, b"EIN")?;
        let mut room = [0; KEY_BYTES_MAX];
        let put = Put {
            mode: meta.store_mode(),
            data,
            flags: meta.client_flags,
            exptime: meta.exptime,
            compare: (meta.cas != 0).then_some(meta.cas),
            value_bytes_max: self.value_bytes_max,
        };
        let key = meta.key.bytes(&mut room);
        let came = self.change(key, out, |there, now| {
            let before = there.map_or(0, |there| there.body.len());
            let (change, came) = put.decide(there, now);
            (change, came.map(|()| before))
        })?;
        let (code, before) = match came.value {
            Ok(before) => (Code::Hit, before),
            Err(code) => (code, 0),
        };
        if code == Code::Hit && meta.has(b'q') {
            return Ok(());
        }
        let grows =
            matches!(put.mode, wire::memcached::Mode::Append | wire::memcached::Mode::Prepend);
        let bytes = data.len() + if grows { before } else { 0 };
        let cas = came.commit.unwrap_or(0);
        let item = Item { cas, bytes, is_binary: meta.key.is_binary, ..Item::default() };
        answer::meta_line(&mut out.bytes, code, None, meta, Some(&item));
        Ok(())
    }

    pub(super) fn md(&self, meta: &Meta<'_>, out: &mut Out) -> Result<(), String> {
        refuse(meta, b"EI")?;
        let mut room = [0; KEY_BYTES_MAX];
        let key = meta.key.bytes(&mut room);
        let came = self.change(key, out, |there, _| match there {
            None => (Change::Nothing, Code::NotFound),
            Some(there) if meta.has(b'C') && meta.cas != there.version.0 => {
                (Change::Nothing, Code::Exists)
            }
            Some(there) if meta.has(b'x') => {
                let (media_type, expires) = (change::media_type(0), there.expires);
                let is_blind = !meta.has(b'C');
                (Change::Put { media_type, body: Vec::new(), expires, is_blind }, Code::Hit)
            }
            Some(_) => (Change::Remove { is_blind: !meta.has(b'C') }, Code::Hit),
        })?;
        if !(meta.has(b'q') && came.value == Code::Hit) {
            answer::meta_line(&mut out.bytes, came.value, None, meta, None);
        }
        Ok(())
    }

    pub(super) fn ma(&self, meta: &Meta<'_>, out: &mut Out) -> Result<(), String> {
        refuse(meta, b"E")?;
        let mut room = [0; KEY_BYTES_MAX];
        let key = meta.key.bytes(&mut room);
        let came = self.change(key, out, |there, now| self.count(meta, there, now))?;
        let sum = match came.value {
            Ok(sum) => sum,
            Err(None) => {
                out.bytes.extend_from_slice(Refusal::NotNumeric.line());
                return Ok(());
            }
            Err(Some(code)) => {
                answer::meta_line(&mut out.bytes, code, None, meta, None);
                return Ok(());
            }
        };
        if meta.has(b'q') && !sum.is_new {
            return Ok(());
        }
        let item = Item {
            cas: came.commit.unwrap_or(0),
            ttl: sum.ttl,
            ttl_before: Some(sum.ttl_before),
            is_binary: meta.key.is_binary,
            ..Item::default()
        };
        match meta.has(b'v') {
            true => value(sum.number.to_string().as_bytes(), meta, &item, out),
            false => answer::meta_line(&mut out.bytes, Code::Hit, None, meta, Some(&item)),
        }
        Ok(())
    }

    /// The error is none if there is no number.
    fn count(
        &self,
        meta: &Meta<'_>,
        there: Option<&repository::Document>,
        now: repository::Timestamp,
    ) -> (Change, Result<Sum, Option<Code>>) {
        let Some(there) = there else {
            if !meta.has(b'N') {
                return (Change::Nothing, Err(Some(Code::NotFound)));
            }
            let digits = meta.initial.to_string();
            let media_type = change::media_type(0);
            let made = change::with_expiry(media_type, digits, meta.vivify, now);
            let ttl = ttl_after(&made, now).unwrap_or_default();
            let sum = Sum { number: meta.initial, ttl, ttl_before: ttl, is_new: true };
            return (made, Ok(sum));
        };
        if meta.cas != 0 && meta.cas != there.version.0 && !there.body.is_empty() {
            return (Change::Nothing, Err(Some(Code::Exists)));
        }
        let Some((change, number)) = change::add(there, meta.delta, meta.is_decrement()) else {
            return (Change::Nothing, Err(None));
        };
        let ttl_before = Kept::of(there, now).ttl;
        let change = match change {
            Change::Put { media_type, body, .. } if meta.has(b'T') => {
                change::with_expiry(media_type, body, meta.exptime, now)
            }
            change => change,
        };
        let ttl = ttl_after(&change, now).unwrap_or(ttl_before);
        (change, Ok(Sum { number, ttl, ttl_before, is_new: false }))
    }

    pub(super) fn me(&self, key: Key<'_>, out: &mut Out) -> Result<(), String> {
        let mut room = [0; KEY_BYTES_MAX];
        let Some(kept) = self.read(key.bytes(&mut room), out)? else {
            out.bytes.extend_from_slice(answer::EN);
            return Ok(());
        };
        let exp = kept.ttl.map_or("-1".to_owned(), |ttl| format!("-{ttl}"));
        let (cas, size) = (kept.cas.to_string(), kept.body.len().to_string());
        let fields = [
            ("exp", exp.as_str()),
            ("la", "0"),
            ("cas", &cas),
            ("fetch", "no"),
            ("cls", "1"),
            ("size", &size),
        ];
        answer::meta_debug(&mut out.bytes, key, key.is_binary, &fields);
        Ok(())
    }
}

/// What `ma` came to.
struct Sum {
    number: u64,
    ttl: Option<u32>,
    ttl_before: Option<u32>,
    is_new: bool,
}

/// The seconds left after a change; none if it changes nothing.
fn ttl_after(change: &Change, now: repository::Timestamp) -> Option<Option<u32>> {
    match change {
        Change::Nothing => None,
        Change::Remove { .. } => Some(Some(0)),
        Change::Put { expires, .. } => Some(expires.map(|at| {
            u32::try_from(at.0.saturating_sub(now.0).div_ceil(1_000)).unwrap_or(u32::MAX)
        })),
    }
}

fn value(data: &[u8], meta: &Meta<'_>, item: &Item, out: &mut Out) {
    answer::meta_line(&mut out.bytes, Code::Value, Some(data.len()), meta, Some(item));
    out.bytes.extend_from_slice(data);
    out.bytes.extend_from_slice(answer::END_OF_DATA);
}

/// Refuses flags that mean what a collection does not keep.
fn refuse(meta: &Meta<'_>, flags: &[u8]) -> Result<(), String> {
    match flags.iter().find(|flag| meta.has(**flag)) {
        Some(flag) => Err(format!(
            "a durable collection has no stale items and no numbers of the client's: flag {}",
            char::from(*flag)
        )),
        None => Ok(()),
    }
}
