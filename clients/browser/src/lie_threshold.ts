/** The probability of a lie, in whole numbers that every client computes alike. */

const BITS = 256n;
const ONE = 1n << BITS;
/** Halvings before the series of the exponential, and squarings after it. */
const HALVED = 12n;

/** e^x over 2^256, to more than 60 digits. */
function exp(x: number): bigint {
  const small = BigInt(Math.floor(x * 2 ** 256)) >> HALVED;
  let sum = 0n;
  for (let term = ONE, n = 1n; term; n++) {
    sum += term;
    term = ((term * small) >> BITS) / n;
  }
  for (let i = HALVED; i; i--) sum = (sum * sum) >> BITS;
  return sum;
}

/** The probability over 2^64, rounded up, that a report is not the truth: others/(size·e^ε + others). */
export function lieThreshold(eps: number, others: bigint, size = 1n): bigint {
  const whole = size * exp(Math.min(eps, 100)) + others * ONE;
  return (((others * ONE) << 64n) + whole - 1n) / whole;
}
