//! A backup as a stream of tar (POSIX.1-2017, pax, "ustar Interchange Format"): plain files only,
//! with short names, so that any tar reads it. Sizes beyond eight gigabytes are in base 256, as GNU
//! tar and others have it.

use std::io::{self, ErrorKind, Read, Write};

const BLOCK_BYTES: usize = 512;
const NAME: std::ops::Range<usize> = 0..100;
const SIZE: std::ops::Range<usize> = 124..136;
const SUM: std::ops::Range<usize> = 148..156;
const KIND: usize = 156;

/// From here on a size is in base 256: octal has eleven digits.
const OCTAL_END: u64 = 1 << 33;

/// The header of a plain file; `None` where the name is too long.
fn header(name: &str, bytes: u64) -> Option<[u8; BLOCK_BYTES]> {
    let mut header = [0; BLOCK_BYTES];
    if name.len() > NAME.len() || name.is_empty() {
        return None;
    }
    header[..name.len()].copy_from_slice(name.as_bytes());
    let mut put = |at: usize, text: &[u8]| header[at..at + text.len()].copy_from_slice(text);
    put(100, b"0000600\0");
    put(108, b"0000000\0");
    put(116, b"0000000\0");
    match bytes < OCTAL_END {
        true => put(SIZE.start, format!("{bytes:011o}\0").as_bytes()),
        false => {
            put(SIZE.start, &[0x80, 0, 0, 0]);
            put(SIZE.start + 4, &bytes.to_be_bytes());
        }
    }
    put(136, b"00000000000\0");
    put(KIND, b"0");
    put(257, b"ustar\x0000");
    let sum = checksum(&header);
    header[SUM].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    Some(header)
}

/// The sum of the bytes, those of the sum itself counted as spaces.
fn checksum(header: &[u8; BLOCK_BYTES]) -> u32 {
    let byte = |(at, byte): (usize, &u8)| u32::from(if SUM.contains(&at) { b' ' } else { *byte });
    header.iter().enumerate().map(byte).sum()
}

fn padding(bytes: u64) -> usize {
    let over = (bytes % BLOCK_BYTES as u64) as usize;
    if over == 0 { 0 } else { BLOCK_BYTES - over }
}

/// Writes one file after the other.
pub(crate) struct TarWriter<W> {
    to: W,
    /// Bytes of the present file that are still to come, and its padding.
    left: (u64, usize),
}

impl<W: Write> TarWriter<W> {
    pub(crate) fn new(to: W) -> Self {
        Self { to, left: (0, 0) }
    }

    /// Begins a file; just so many bytes follow by [`Self::write`].
    pub(crate) fn begin(&mut self, name: &str, bytes: u64) -> io::Result<()> {
        debug_assert_eq!(self.left.0, 0);
        let header = header(name, bytes).ok_or(ErrorKind::InvalidFilename)?;
        self.to.write_all(&header)?;
        self.left = (bytes, padding(bytes));
        Ok(())
    }

    /// The next bytes of the file.
    pub(crate) fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        debug_assert!(bytes.len() as u64 <= self.left.0);
        self.to.write_all(bytes)?;
        self.left.0 -= bytes.len() as u64;
        if self.left.0 == 0 {
            self.to.write_all(&[0; BLOCK_BYTES][..std::mem::take(&mut self.left.1)])?;
        }
        Ok(())
    }

    /// A whole file.
    pub(crate) fn file(&mut self, name: &str, content: &[u8]) -> io::Result<()> {
        self.begin(name, content.len() as u64)?;
        self.write(content)
    }

    /// The end of the archive.
    pub(crate) fn finish(mut self) -> io::Result<()> {
        self.to.write_all(&[0; 2 * BLOCK_BYTES])?;
        self.to.flush()
    }
}

/// Reads one file after the other.
pub(crate) struct TarReader<R> {
    from: R,
    /// Bytes of the present file that were not read, and its padding.
    left: (u64, usize),
}

impl<R: Read> TarReader<R> {
    pub(crate) fn new(from: R) -> Self {
        Self { from, left: (0, 0) }
    }

    /// The name and the length of the next file; `None` at the end. What was not read of the one
    /// before is passed over.
    pub(crate) fn next(&mut self) -> io::Result<Option<(String, u64)>> {
        let (left, padded) = std::mem::take(&mut self.left);
        let skip = left + padded as u64;
        if io::copy(&mut (&mut self.from).take(skip), &mut io::sink())? < skip {
            return Err(ErrorKind::UnexpectedEof.into());
        }
        let mut header = [0; BLOCK_BYTES];
        self.from.read_exact(&mut header)?;
        if header == [0; BLOCK_BYTES] {
            return Ok(None);
        }
        let invalid = |why: &str| io::Error::new(ErrorKind::InvalidData, why.to_owned());
        if octal(&header[SUM]) != Some(u64::from(checksum(&header))) {
            return Err(invalid("a header of the tar stream has another checksum"));
        }
        if !matches!(header[KIND], b'0' | 0) {
            return Err(invalid("the tar stream holds something else than plain files"));
        }
        let name = &header[NAME];
        let name = &name[..name.iter().position(|byte| *byte == 0).unwrap_or(name.len())];
        let name = String::from_utf8(name.to_vec());
        let name = name.map_err(|_| invalid("a name in the tar stream is not UTF-8"))?;
        let bytes = size(&header[SIZE]);
        let bytes = bytes.ok_or_else(|| invalid("a size in the tar stream is damaged"))?;
        self.left = (bytes, padding(bytes));
        Ok(Some((name, bytes)))
    }

    /// At most so many of the next bytes of the file; none at its end.
    pub(crate) fn read(&mut self, most: u64) -> io::Result<Vec<u8>> {
        let wanted = most.min(self.left.0);
        let mut bytes = Vec::new();
        (&mut self.from).take(wanted).read_to_end(&mut bytes)?;
        if (bytes.len() as u64) < wanted {
            return Err(ErrorKind::UnexpectedEof.into());
        }
        self.left.0 -= wanted;
        Ok(bytes)
    }
}

fn octal(digits: &[u8]) -> Option<u64> {
    let text = std::str::from_utf8(digits).ok()?;
    u64::from_str_radix(text.trim_matches(['\0', ' ']), 8).ok()
}

fn size(field: &[u8]) -> Option<u64> {
    match field.split_first()? {
        (0x80, rest) => {
            let (high, low) = rest.split_last_chunk::<8>()?;
            high.iter().all(|byte| *byte == 0).then(|| u64::from_be_bytes(*low))
        }
        _ => octal(field),
    }
    // Room for the padding.
    .filter(|bytes| *bytes < u64::MAX / 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_come_back_and_may_be_passed_over() {
        let mut bytes = Vec::new();
        let mut tar = TarWriter::new(&mut bytes);
        tar.file("a", b"").unwrap();
        tar.file("b/c", &[7; 700]).unwrap();
        tar.file("d", &[8; 512]).unwrap();
        tar.finish().unwrap();
        assert_eq!(bytes.len() % BLOCK_BYTES, 0);
        let mut read = TarReader::new(&bytes[..]);
        assert_eq!(read.next().unwrap(), Some(("a".to_owned(), 0)));
        assert_eq!(read.next().unwrap(), Some(("b/c".to_owned(), 700)));
        assert_eq!(read.read(10).unwrap(), [7; 10]);
        assert_eq!(read.next().unwrap(), Some(("d".to_owned(), 512)));
        assert_eq!(read.read(u64::MAX).unwrap(), [8; 512]);
        assert_eq!(read.next().unwrap(), None);
        for length in 0..bytes.len() - BLOCK_BYTES {
            let mut cut = TarReader::new(&bytes[..length]);
            let end = loop {
                match cut.next().map(|file| file.map(|_| cut.read(u64::MAX))) {
                    Ok(Some(Ok(_))) => {}
                    end => break end,
                }
            };
            assert!(!matches!(end, Ok(None)), "{length} bytes pass for all");
        }
    }

    #[test]
    fn large_sizes_are_in_base_256() {
        for bytes in [OCTAL_END - 1, OCTAL_END, 1 << 50] {
            assert_eq!(size(&header("x", bytes).unwrap()[SIZE]), Some(bytes));
        }
        assert_eq!(header(&"x".repeat(101), 0), None);
    }

    #[test]
    fn tar_reads_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.tar");
        let mut tar = TarWriter::new(std::fs::File::create(&path).unwrap());
        tar.file("one", b"1").unwrap();
        tar.file("two/three", &[b'3'; 600]).unwrap();
        tar.finish().unwrap();
        let listed = std::process::Command::new("tar").arg("tf").arg(&path).output().unwrap();
        assert_eq!(String::from_utf8_lossy(&listed.stdout), "one\ntwo/three\n");
    }
}
