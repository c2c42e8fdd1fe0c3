//! The meta commands of the model.

use super::*;

impl Entry {
    fn item(&self, now: i64) -> Item {
        Item {
            cas: self.cas,
            client_flags: self.flags,
            bytes: self.data.len(),
            ttl: self.expires.map(|time| u32::try_from(time - now).unwrap_or(0)),
            ttl_before: None,
            idle: u32::try_from(now - self.used).unwrap(),
            is_fetched: self.is_fetched,
            is_binary: self.is_binary,
            is_taken: self.is_taken,
            is_stale: self.is_stale,
            is_won: false,
        }
    }
}

impl Model {
    pub(super) fn meta_get(&mut self, meta: &Meta<'_>, out: &mut Vec<u8>) {
        let mut room = [0; KEY_BYTES_MAX];
        let key = meta.key.bytes(&mut room);
        let (now, ttl, recache) = (self.now, self.expires(meta.exptime), meta.recache);
        let vivify = self.expires(meta.vivify);
        let mut is_won = false;
        if self.find(key).is_none() {
            if !meta.has(b'N') {
                if !meta.has(b'q') {
                    answer::meta_line(out, Code::Miss, None, meta, None);
                }
                return;
            }
            self.put(key, Entry { expires: vivify, ..Entry::default() });
            is_won = true;
        }
        let Some(entry) = self.items.get_mut(key) else { return };
        let before = entry.item(now).ttl.filter(|_| !is_won);
        let is_soon = |entry: &Entry| entry.expires.is_some_and(|time| time < now + recache);
        let mut is_soon_at_r = is_soon(entry);
        if meta.has(b'T') {
            entry.expires = ttl;
        }
        if meta.words().find(|word| b"RT".contains(&word[0])).is_some_and(|word| word[0] == b'T') {
            is_soon_at_r = is_soon(entry);
        }
        is_won |=
            !entry.is_taken && (entry.is_stale || (meta.has(b'R') && is_soon_at_r && !is_won));
        let item = Item { is_won, ttl_before: Some(before), ..entry.item(now) };
        entry.is_taken |= is_won;
        if !meta.has(b'u') {
            (entry.is_fetched, entry.used) = (true, now);
        }
        match meta.has(b'v') {
            true => {
                let bytes = Some(entry.data.len());
                answer::meta_line(out, Code::Value, bytes, meta, Some(&item));
                out.extend_from_slice(&entry.data);
                out.extend_from_slice(answer::END_OF_DATA);
            }
            false => answer::meta_line(out, Code::Hit, None, meta, Some(&item)),
        }
    }

    pub(super) fn meta_set(
        &mut self,
        meta: &Meta<'_>,
        after: &[u8],
        out: &mut Vec<u8>,
    ) -> Option<Taken> {
        let mut room = [0; KEY_BYTES_MAX];
        let key = meta.key.bytes(&mut room);
        if meta.bytes > VALUE_BYTES_MAX {
            self.items.remove(key);
            out.extend_from_slice(Refusal::TooLarge.line());
            return Some(Taken { bytes: 0, swallow: meta.bytes + 2 });
        }
        let (data, bytes) = match block(after, meta.bytes) {
            Block::Incomplete(_) => return None,
            Block::Bad(bytes) => {
                out.extend_from_slice(Refusal::Data.line());
                return Some(Taken { bytes, swallow: 0 });
            }
            Block::Whole(data, bytes) => (data, bytes),
        };
        let entry = Entry {
            data: data.to_vec(),
            flags: meta.client_flags,
            expires: self.expires(meta.exptime),
            is_binary: meta.key.is_binary,
            ..Entry::default()
        };
        let compared = (meta.cas != 0).then_some(meta.cas);
        let kept = self.keep(meta.store_mode(), key, entry, compared, meta.has(b'I'));
        let (code, cas) = match kept {
            Ok(cas) => (Code::Hit, cas),
            Err(code) => (code, 0),
        };
        if !(code == Code::Hit && meta.has(b'q')) {
            // Of the item it tells its number and key only.
            let item = Item { cas, is_binary: meta.key.is_binary, ..Item::default() };
            answer::meta_line(out, code, None, meta, Some(&item));
        }
        Some(Taken { bytes, swallow: 0 })
    }

    pub(super) fn meta_delete(&mut self, meta: &Meta<'_>, out: &mut Vec<u8>) {
        let mut room = [0; KEY_BYTES_MAX];
        let key = meta.key.bytes(&mut room);
        let (ttl, next) = (self.expires(meta.exptime), self.cas + 1);
        let code = match self.find(key) {
            None => Code::NotFound,
            Some(entry) if meta.has(b'C') && meta.cas != entry.cas => Code::Exists,
            Some(entry) if meta.has(b'I') => {
                if meta.has(b'T') {
                    entry.expires = ttl;
                }
                (entry.is_stale, entry.is_taken, entry.cas) = (true, false, next);
                self.cas = next;
                Code::Hit
            }
            Some(_) => {
                self.items.remove(key);
                Code::Hit
            }
        };
        if !(code == Code::Hit && meta.has(b'q')) {
            answer::meta_line(out, code, None, meta, None);
        }
    }

    pub(super) fn meta_arithmetic(&mut self, meta: &Meta<'_>, out: &mut Vec<u8>) {
        let mut room = [0; KEY_BYTES_MAX];
        let key = meta.key.bytes(&mut room);
        let compared = (meta.cas != 0).then_some(meta.cas);
        let (ttl, vivify) = (self.expires(meta.exptime), self.expires(meta.vivify));
        let is_quiet = meta.has(b'q');
        let code = match self.add(key, meta.delta, meta.is_decrement(), compared) {
            Ok(_) if is_quiet => {
                if meta.has(b'T') {
                    self.items.get_mut(key).unwrap().expires = ttl;
                }
                return;
            }
            Ok(_) => Code::Hit,
            Err(None) => return out.extend_from_slice(Refusal::NotNumeric.line()),
            Err(Some(Code::NotFound)) if meta.has(b'N') => {
                let data = meta.initial.to_string().into_bytes();
                self.put(key, Entry { data, expires: vivify, ..Entry::default() });
                Code::Hit
            }
            Err(Some(code)) => code,
        };
        if code != Code::Hit {
            return answer::meta_line(out, code, None, meta, None);
        }
        let now = self.now;
        let entry = self.items.get_mut(key).unwrap();
        let before = Some(entry.item(now).ttl);
        if meta.has(b'T') {
            entry.expires = ttl;
        }
        let number = entry.data.trim_ascii_end().to_vec();
        let is_binary = meta.key.is_binary;
        let item = Item { is_binary, ttl_before: before, ..entry.item(now) };
        match meta.has(b'v') {
            true => {
                answer::meta_line(out, Code::Value, Some(number.len()), meta, Some(&item));
                out.extend_from_slice(&number);
                out.extend_from_slice(answer::END_OF_DATA);
            }
            false => answer::meta_line(out, Code::Hit, None, meta, Some(&item)),
        }
    }

    pub(super) fn meta_debug(&mut self, key: Key<'_>, out: &mut Vec<u8>) {
        let mut room = [0; KEY_BYTES_MAX];
        let now = self.now;
        let Some(entry) = self.find(key.bytes(&mut room)) else {
            return out.extend_from_slice(answer::EN);
        };
        let exp = entry.expires.map_or(-1, |time| now - time).to_string();
        let (idle, cas) = ((now - entry.used).to_string(), entry.cas.to_string());
        let fields = [
            ("exp", exp.as_str()),
            ("la", &idle),
            ("cas", &cas),
            ("fetch", if entry.is_fetched { "yes" } else { "no" }),
            ("cls", "1"),
            ("size", "1"),
        ];
        answer::meta_debug(out, key, entry.is_binary, &fields);
    }
}
