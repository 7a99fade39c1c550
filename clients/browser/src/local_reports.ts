/** Reports about one whole value: a noisy inner product, or randomised response. */
import { below, type Entropy } from "./entropy.js";
import { lieThreshold } from "./lie_threshold.js";

/** The width of a report in bits. */
export const reportBits = ({ bits, width }: any): number => (bits ? width * (bits + 1) : 1);

/** The probability over 2^64 that a report is a lie. */
export const lieOf = ({ eps, width = 1 }: any) => lieThreshold(eps, (1n << BigInt(width)) - 1n);

export const lies = async (threshold: bigint, entropy: Entropy) => BigInt((await entropy(8)) < threshold);
const odd = (bits: bigint) => BigInt(bits.toString(2).replace(/0/g, "").length % 2);

/** A report: the bit or its opposite; or random independent vectors, and the value's answer, which may be a lie. */
export async function draw(base: any, value: bigint, entropy: Entropy): Promise<bigint> {
  const lie = lieOf(base);
  if (!base.bits) return value ^ (await lies(lie, entropy));
  const width = BigInt(base.width);
  const bits = BigInt(base.bits);
  const symbols = 1n << width;
  let report = 0n;
  let answer = 0n;
  let place = 0n;
  const sums = new Set([0n]);
  while (place < width) {
    const vector = (await entropy(Math.ceil(base.bits / 8))) & ((1n << bits) - 1n);
    if (sums.has(vector)) continue;
    for (const earlier of [...sums]) sums.add(vector ^ earlier);
    report |= vector << (width + bits * place);
    answer |= odd(vector & value) << place++;
  }
  // With one bit, there is only one other answer, and nothing to draw.
  if (await lies(lie, entropy))
    answer = (answer + 1n + (width > 1 ? await below(symbols - 1n, entropy) : 0n)) % symbols;
  return report | answer;
}
