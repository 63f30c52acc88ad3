//! Other processes that hold the rest of the shards.

use std::fmt::Debug;

/// Brings together what the processes of a run have. Each call is one that all of them make, in the same order and with the same counts;
/// it comes back once all have made it. A process that is lost ends the others: no call comes back without it.
pub trait Exchange: Debug + Send + Sync {
    /// The number of this process, from 0.
    fn rank(&self) -> usize;

    /// How many processes there are.
    fn ranks(&self) -> usize;

    /// What all have, in order of the processes: process `r` has `counts[r]` numbers.
    fn all_gather(&self, own: &[f64], counts: &[usize], all: &mut [f64]);

    /// Sends `sent[r]` of the numbers, in order, to process `r`, and receives `received[r]` from it.
    fn all_to_all(&self, own: &[f64], sent: &[usize], all: &mut [f64], received: &[usize]);

    /// Ends all processes: this one cannot go on, and the others would wait for it.
    fn abort(&self, why: &str);
}

/// The bytes that all processes have, in their order.
pub fn all_bytes(exchange: &dyn Exchange, own: &[u8]) -> Vec<Vec<u8>> {
    let ranks = exchange.ranks();
    let mut lengths = vec![0.0; ranks];
    exchange.all_gather(&[own.len() as f64], &vec![1; ranks], &mut lengths);
    let words = |length: f64| (length as usize).div_ceil(8);
    let counts: Vec<usize> = lengths.iter().map(|length| words(*length)).collect();
    let mut all = vec![0.0; counts.iter().sum()];
    exchange.all_gather(&packed(own), &counts, &mut all);
    let mut rest = all.as_slice();
    let unpacked = |(count, length): (&usize, &f64)| {
        let (own, others) = rest.split_at(*count);
        rest = others;
        let mut bytes: Vec<u8> = own.iter().flat_map(|word| word.to_bits().to_le_bytes()).collect();
        bytes.truncate(*length as usize);
        bytes
    };
    counts.iter().zip(&lengths).map(unpacked).collect()
}

/// What the first process says, to all.
pub fn of_first(exchange: &dyn Exchange, own: bool) -> bool {
    let ranks = exchange.ranks();
    let mut all = vec![0.0; ranks];
    exchange.all_gather(&[f64::from(u8::from(own))], &vec![1; ranks], &mut all);
    all[0] != 0.0
}

/// Bytes as numbers of the same bits. They are moved and never reckoned with.
fn packed(bytes: &[u8]) -> Vec<f64> {
    let word = |own: &[u8]| {
        let mut word = [0; 8];
        word[..own.len()].copy_from_slice(own);
        f64::from_bits(u64::from_le_bytes(word))
    };
    bytes.chunks(8).map(word).collect()
}
