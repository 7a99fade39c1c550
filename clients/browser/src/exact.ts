/** Exponentials and logarithms in whole numbers over 2^256. */

const BITS = 256n;
export const ONE = 1n << BITS;
/** Halvings before the series of the exponential, and squarings after it. */
const HALVED = 12n;

/** A number of 0 or more as a whole number over 2^256, exactly unless it is tiny. */
export const fixed = (number: number) => BigInt(Math.floor(number * 2 ** 256));

/** The nearest double. */
export const double = (number: bigint) => Number(number) / 2 ** 256;

/** e^x, to more than 60 digits. */
export function exp(x: bigint): bigint {
  let sum = 0n;
  for (let term = ONE, n = 1n; term; n++) {
    sum += term;
    term = ((term * (x >> HALVED)) >> BITS) / n;
  }
  for (let i = HALVED; i; i--) sum = (sum * sum) >> BITS;
  return sum;
}

/** ln(one/other) for one ≥ other, rounded up in the fiftieth decimal. */
export function logRatio(one: bigint, other: bigint): bigint {
  const ratio = (one * ONE) / other;
  const digits = ratio.toString(16);
  let log = fixed(Math.max(0, Math.log(+("0x" + digits.slice(0, 13))) + (digits.length - 77) * Math.LN2 * 4));
  for (let i = 3; i; i--) {
    const reached = exp(log);
    log += (2n * ONE * (ratio - reached)) / (ratio + reached);
  }
  return log + ONE / 10n ** 50n;
}

/** one/other, rounded up. */
export const ceilDiv = (one: bigint, other: bigint) => (one + other - 1n) / other;

/** The probability of lying in randomised response over g symbols, over 2^64, rounded up: (g-1)/(e^ε + g-1). */
export const lieThreshold = (eps: number, symbols: bigint) =>
  ceilDiv(((symbols - 1n) * ONE) << 64n, exp(fixed(Math.min(eps, 100))) + (symbols - 1n) * ONE);
