//! A merge operation as a record carries it: `docs/format.md`, "Record".

use super::{Merge, Operand};
use crate::record::{DecodeError, Reader, put_short};

const ADD: u8 = 1;
const MIN: u8 = 2;
const MAX: u8 = 3;
const APPEND: u8 = 4;
const INSERT_IF_ABSENT: u8 = 5;
const SET_ADD: u8 = 6;
const SET_REMOVE: u8 = 7;

/// Appends the encoded operation.
pub(crate) fn encode(operation: &Merge, out: &mut Vec<u8>) {
    out.push(match operation {
        Merge::Add { .. } => ADD,
        Merge::Min { .. } => MIN,
        Merge::Max { .. } => MAX,
        Merge::Append { .. } => APPEND,
        Merge::InsertIfAbsent { .. } => INSERT_IF_ABSENT,
        Merge::SetAdd { .. } => SET_ADD,
        Merge::SetRemove { .. } => SET_REMOVE,
    });
    put_short(operation.path().as_bytes(), out);
    match operation.operand() {
        Operand::Number(number) => out.extend_from_slice(&number.to_le_bytes()),
        Operand::Value(value) => {
            out.extend_from_slice(&(value.len() as u32).to_le_bytes());
            out.extend_from_slice(value.as_bytes());
        }
    }
}

/// Decodes the operation that `reader` is at.
pub(crate) fn decode(reader: &mut Reader) -> Result<Merge, DecodeError> {
    let kind = reader.u8()?;
    let length = usize::from(reader.u16()?);
    let path = reader.text(length)?;
    Ok(match kind {
        ADD => Merge::Add { path, delta: number(reader)? },
        MIN => Merge::Min { path, value: number(reader)? },
        MAX => Merge::Max { path, value: number(reader)? },
        APPEND => Merge::Append { path, value: value(reader)? },
        INSERT_IF_ABSENT => Merge::InsertIfAbsent { path, value: value(reader)? },
        SET_ADD => Merge::SetAdd { path, value: value(reader)? },
        SET_REMOVE => Merge::SetRemove { path, value: value(reader)? },
        other => return Err(reader.error(format!("unknown merge operation {other}"))),
    })
}

fn number(reader: &mut Reader) -> Result<f64, DecodeError> {
    reader.u64().map(f64::from_bits)
}

fn value(reader: &mut Reader) -> Result<String, DecodeError> {
    let length = reader.u32()? as usize;
    reader.text(length)
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytes::Bytes;

    #[test]
    fn operations_come_back_as_they_were() {
        let path = || "/a".to_owned();
        let value = || "[\"ü\"]".to_owned();
        for operation in [
            Merge::Add { path: String::new(), delta: -0.5 },
            Merge::Min { path: path(), value: 1.0 },
            Merge::Max { path: path(), value: f64::MAX },
            Merge::Append { path: path(), value: value() },
            Merge::InsertIfAbsent { path: path(), value: value() },
            Merge::SetAdd { path: path(), value: value() },
            Merge::SetRemove { path: path(), value: value() },
        ] {
            let mut encoded = Vec::new();
            encode(&operation, &mut encoded);
            assert!(encoded.len() <= operation.bytes());
            let encoded = Bytes::from(encoded);
            let mut reader = Reader::new(encoded.clone());
            assert_eq!(decode(&mut reader), Ok(operation));
            assert!(reader.rest().is_empty());
            for length in 0..encoded.len() {
                assert!(decode(&mut Reader::new(encoded.slice(..length))).is_err(), "{length}");
            }
        }
    }

    #[test]
    fn an_unknown_operation_is_refused() {
        let refused = decode(&mut Reader::new(Bytes::from_static(&[8, 0, 0])));
        assert_eq!(refused.unwrap_err().why, "unknown merge operation 8");
    }
}
