//! Random delays.

/// Xorshift64*: good enough to keep boards from speaking at the same time, and not for secrets.
#[derive(Clone, Debug)]
pub(super) struct Random(u64);

impl Random {
    /// Starts from a seed that should differ between boards and between starts.
    pub(super) fn new(seed: u64) -> Self {
        // Zero is the one state the generator can't leave.
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    /// A number from `low` to `high`, both included.
    pub(super) fn between(&mut self, low: u64, high: u64) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        let bits = self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 32;
        low + bits % (high - low + 1)
    }
}
