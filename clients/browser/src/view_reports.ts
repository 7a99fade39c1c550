/** Reports about parts of a value: one view of it, or one bit that tells its mean. */
import { below } from "./entropy.js";
import { lieThreshold } from "./exact.js";
import { type Draw, innerProducts, lies } from "./mechanisms.js";

/** The noisy inner product of what a view shows. */
export interface ViewBase {
  bits: number;
  width: number;
  eps_report: number;
}

/** The noisy inner product of each view. */
export const basesOf = ({ views, width, eps }: any): ViewBase[] =>
  views.map(({ length }: number[]) => ({ bits: length, width: Math.min(width, length), eps_report: eps }));

const bitsOf = (base: any) => Math.max(...basesOf(base).map(({ bits, width }) => width * (bits + 1)));

/** The width of a report in bits: the longest one about a view, and above it the number of the view. */
export const reportBits = ({ local, base = local }: any): number =>
  base.views ? bitsOf(base) + (base.views.length > 1 ? (base.views.length - 1).toString(2).length : 0) : 1;

/** Makes reports of a deck's base, or of one with its own eps. */
export const drawOf = ({ base }: any): Draw => (base.views ? aboutViews(base) : oneBit(base));

/** The view is drawn for every report, and never kept. */
function aboutViews(base: any): Draw {
  const room = BigInt(bitsOf(base));
  const bases = basesOf(base);
  const draws: Record<number, Draw> = {};
  const total = base.weights.reduce((sum: number, each: number) => sum + each, 0);
  return async (value, entropy) => {
    let left = Number(await below(BigInt(total), entropy));
    const view = base.weights.findIndex((weight: number) => (left -= weight) < 0);
    const { bits } = bases[view];
    draws[bits] ??= innerProducts(bases[view]);
    const part = base.views[view].reduce(
      (sum: bigint, position: number, i: number) => sum | (((value >> BigInt(position)) & 1n) << BigInt(i)),
      0n,
    );
    return (BigInt(view) << room) | (await draws[bits](part, entropy));
  };
}

/** The number is rounded at random to one end of its range, and then told with noise. */
function oneBit({ values, eps }: any): Draw {
  const lie = lieThreshold(eps, 2n);
  return async (value, entropy) => {
    const rounded = BigInt((await below(BigInt(values - 1), entropy)) < value);
    return rounded ^ (await lies(lie, entropy));
  };
}
