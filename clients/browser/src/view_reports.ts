/** Reports about parts of a value: one view of it, one bit that tells its mean, a set of values, or presence alone. */
import { divided, dividedWidth } from "./divided_reports.js";
import { below, type Entropy } from "./entropy.js";
import { lieThreshold } from "./lie_threshold.js";
import * as whole from "./local_reports.js";

/** The noisy inner product of each view. */
export const basesOf = ({ views, width, eps }: any): { bits: number; width: number; eps: number }[] =>
  views.map(({ length }: number[]) => ({ bits: length, width: Math.min(width, length), eps }));

const longest = (base: any) => Math.max(...basesOf(base).map(whole.reportBits));

/** The width of a report in bits: the longest one about a view and its number; of all parts; or a bit for each value. */
export const reportBits = (base: any): number =>
  base.sizes
    ? dividedWidth(base)
    : base.views
    ? longest(base) + (base.views.length > 1 ? (base.views.length - 1).toString(2).length : 0)
    : base.size
      ? base.values
      : whole.reportBits(base);

/** The probability over 2^64 that a set misses the value. */
export const missOf = ({ values, eps, size }: any) => lieThreshold(eps, BigInt(values - size), BigInt(size));

/** A report of any base. */
export const draw = async (base: any, value: bigint, entropy: Entropy): Promise<bigint> =>
  base.mechanism == "present"
    ? 0n
    : (base.sizes ? divided : base.views ? aboutView : base.size ? subset : base.values ? oneBit : whole.draw)(
        base,
        value,
        entropy,
      );

/** The view takes entropy first, and then its noisy inner product. */
async function aboutView(base: any, value: bigint, entropy: Entropy): Promise<bigint> {
  const total = base.weights.reduce((sum: number, each: number) => sum + each, 0);
  let left = Number(await below(BigInt(total), entropy));
  const view = base.weights.findIndex((weight: number) => (left -= weight) < 0);
  const part = base.views[view].reduce(
    (sum: bigint, position: number, i: number) => sum | (((value >> BigInt(position)) & 1n) << BigInt(i)),
    0n,
  );
  return (BigInt(view) << BigInt(longest(base))) | (await whole.draw(basesOf(base)[view], part, entropy));
}

/** The number is rounded at random to one end of its range, and then told with noise. */
async function oneBit({ values, eps }: any, value: bigint, entropy: Entropy): Promise<bigint> {
  const rounded = BigInt((await below(BigInt(values - 1), entropy)) < value);
  return rounded ^ (await whole.lies(lieThreshold(eps, 1n), entropy));
}

/** A set that contains the value, or misses it, and is otherwise uniform (Floyd's algorithm). */
async function subset(base: any, value: bigint, entropy: Entropy): Promise<bigint> {
  const there = 1n - (await whole.lies(missOf(base), entropy));
  let others = 0n;
  for (let last = BigInt(base.values - base.size) - 1n + there; last < base.values - 1; last++) {
    const drawn = await below(last + 1n, entropy);
    others |= 1n << ((others >> drawn) & 1n ? last : drawn);
  }
  const lower = others & ((1n << value) - 1n);
  return ((others >> value) << (value + 1n)) | (there << value) | lower;
}
