//! Writes messages in the wire format of Protocol Buffers, as far as a profile needs it.

/// A message that is being written.
#[derive(Debug, Default)]
pub struct Message {
    bytes: Vec<u8>,
}

impl Message {
    /// Adds an integer field; 0 is what an absent one means.
    pub fn int(&mut self, field: u32, value: u64) -> &mut Self {
        if value != 0 {
            self.varint(u64::from(field) << 3);
            self.varint(value);
        }
        self
    }

    /// Adds a repeated integer field, packed.
    pub fn ints(&mut self, field: u32, values: &[u64]) -> &mut Self {
        let mut packed = Self::default();
        values.iter().for_each(|&value| packed.varint(value));
        self.bytes(field, &packed.bytes)
    }

    /// Adds bytes or a string.
    pub fn bytes(&mut self, field: u32, bytes: &[u8]) -> &mut Self {
        const LENGTH_DELIMITED: u64 = 2;
        self.varint(u64::from(field) << 3 | LENGTH_DELIMITED);
        self.varint(bytes.len() as u64);
        self.bytes.extend_from_slice(bytes);
        self
    }

    /// Adds a message.
    pub fn message(&mut self, field: u32, message: &Self) -> &mut Self {
        self.bytes(field, &message.bytes)
    }

    /// The message's bytes.
    pub fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }

    /// Seven bits a byte, the low ones first; the eighth says that more follow.
    fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.bytes.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.bytes.push(value as u8);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_as_the_specification_has_them() {
        let mut inner = Message::default();
        inner.int(1, 150);
        let mut message = Message::default();
        message.bytes(2, b"testing").message(3, &inner).ints(4, &[3, 270, 86942]).int(5, 0);
        let expected =
            [&b"\x12\x07testing"[..], b"\x1a\x03\x08\x96\x01", b"\x22\x06\x03\x8e\x02\x9e\xa7\x05"];
        assert_eq!(message.into_bytes(), expected.concat());
    }

    #[test]
    fn the_largest_number_fits() {
        let mut message = Message::default();
        message.int(1, u64::MAX);
        assert_eq!(message.into_bytes(), b"\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01");
    }
}
