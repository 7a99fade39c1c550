/** Reports about all parts of a value, each with its part of eps: noisy inner products, the first in the lowest bits. */
import type { Entropy } from "./entropy.js";
import { draw, reportBits } from "./local_reports.js";
import { localEps, whole } from "./numbers.js";

const MOST_PARTS = 8;
/** The largest numbers of bits of a part, and of a value. */
const LARGEST_PART = 16;
const MOST_BITS = 63;
/** The parts of eps are smaller by this factor, so that they are never more than eps together. */
const ROUNDED_DOWN = 1 - 2 ** -50;

const sum = (numbers: number[]) => numbers.reduce((one, other) => one + other, 0);

/** The noisy inner product of each part. */
export const partsOf = ({ sizes, eps, weights, widths }: any): { bits: number; width: number; eps: number }[] =>
  sizes.map((bits: number, i: number) => ({
    bits,
    width: widths[i],
    eps: ((eps * weights[i]) / sum(weights)) * ROUNDED_DOWN,
  }));

/** The number of bits of a value. */
export const dividedBits = ({ sizes }: any): number => sum(sizes);

/** The width of a report in bits. */
export const dividedWidth = (base: any): number => sum(partsOf(base).map(reportBits));

/** A report: each part takes entropy in its turn. */
export async function divided(base: any, value: bigint, entropy: Entropy): Promise<bigint> {
  let report = 0n;
  let place = 0n;
  for (const part of partsOf(base)) {
    const shown = value & ((1n << BigInt(part.bits)) - 1n);
    report |= (await draw(part, shown, entropy)) << place;
    place += BigInt(reportBits(part));
    value >>= BigInt(part.bits);
  }
  return report;
}

/** Whether the base's numbers are possible. */
export const validParts = (base: any): boolean =>
  [base.sizes, base.weights, base.widths].every(list => Array.isArray(list) && list.length == base.sizes.length) &&
  whole(base.sizes.length, 2, MOST_PARTS) &&
  base.weights.every((weight: unknown) => whole(weight, 1, 2 ** 32)) &&
  partsOf(base).every(
    ({ bits, width, eps }) =>
      whole(bits, 1, LARGEST_PART) && whole(width, 1, Math.min(bits, 8)) && localEps(eps, width),
  ) &&
  dividedBits(base) <= MOST_BITS &&
  localEps(base.eps);
