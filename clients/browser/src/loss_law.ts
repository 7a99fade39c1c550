/**
 * Laws of privacy losses in whole numbers, rounded so that they are always upper bounds, as in
 * `untrackable/theory/integer_losses.py`: masses over 2^128 at multiples of a step, and at infinity.
 */
import { ceilDiv, double, fixed } from "./exact.js";

export interface Law {
  step: number;
  low: number;
  masses: bigint[];
  infinite: bigint;
  /** The largest finite loss, over 2^256. */
  pure: bigint;
  /** The mass of rare losses, at most `pure`, that were cut off. */
  cut: bigint;
}

const BITS = 128n;
export const WHOLE = 1n << BITS;
/** An end of a law with at most this mass is removed. */
const NEGLIGIBLE = 1n << 48n;
/** A common step is this part of the eps in question. */
export const STEPS = 512;
/** Losses more than this many steps from 0 are merged. */
export const LONGEST = 8 * STEPS;
/** Hexadecimal digits of a coefficient in a product of laws. */
const SLOT = 72;
const HAIR = 2 ** -49;

/** A probability as a mass, rounded up. */
export const mass = (one: bigint, other: bigint) => ceilDiv(one << BITS, other);

/** A law of few masses, on an exact step over 2^256. */
export function law(step: bigint, low: number, masses: bigint[], infinite = 0n): Law {
  const largest = low + masses.length - 1;
  return { step: double(step), low, masses, infinite, pure: BigInt(Math.max(0, largest)) * step, cut: 0n };
}

/** Two worlds that are the same. */
export const nothing = () => law(0n, 0, [WHOLE]);
/** Two worlds that an observer always tells apart. */
export const everything = () => law(0n, 0, [], WHOLE);

const still = (one: Law) => !one.low && one.masses.length < 2;
const sharedUp = (one: bigint, other: bigint) => -((-one * other) >> BITS);
/** A part of a mass, rounded up. */
const part = (whole: bigint, share: number) => -((-whole * BigInt(Math.ceil(share * 2 ** 60))) >> 60n);
/** The loss at a position, and a little more to make up for rounding of the step. */
const lossAt = (one: Law, position: number) => position * one.step + Math.abs(position * one.step) * 4 * HAIR;

/** Σ mass·(1 - e^(eps - loss)) over the losses above eps, plus the mass at infinity (upper). */
export function delta(one: Law, eps: number): number {
  let sum = one.infinite;
  let slack = 1;
  if (fixed(eps) < one.pure) {
    sum += one.cut;
    slack += HAIR;
    one.masses.forEach((found, i) => {
      const excess = lossAt(one, one.low + i) - eps;
      if (excess > 0) sum += part(found, -Math.expm1(-excess));
    });
  }
  return Math.min(1, (Number(sum) / 2 ** 128) * slack);
}

/** The law without its negligible ends: the lower end moves up to the next loss, the upper end is cut off. */
function trimmed(one: Law): Law {
  const masses = [...one.masses];
  let { low, cut } = one;
  let moved = 0n;
  let lost = 0n;
  while (masses.length > 1 && moved + masses[0] <= NEGLIGIBLE) ((moved += masses.shift()!), low++);
  while (masses.length > 1 && lost + masses.at(-1)! <= NEGLIGIBLE) lost += masses.pop()!;
  if (masses.length) masses[0] += moved;
  return { ...one, low, masses, cut: cut + lost };
}

/** The masses as one large integer, the first of them in the lowest digits. */
const packed = (masses: bigint[]) =>
  BigInt(
    "0x" +
      masses
        .map(each => each.toString(16).padStart(SLOT, "0"))
        .reverse()
        .join(""),
  );

/** The law of two independent experiments together: one product of two large integers. */
export function product(one: Law, other: Law): Law {
  const size = one.masses.length + other.masses.length - 1;
  const masses: bigint[] = [];
  if (one.masses.length && other.masses.length) {
    const digits = (packed(one.masses) * packed(other.masses)).toString(16).padStart(size * SLOT, "0");
    for (let i = size; i--;) masses.push(-(-BigInt("0x" + digits.slice(i * SLOT, (i + 1) * SLOT)) >> BITS));
  }
  return trimmed({
    step: Math.max(one.step, other.step),
    low: one.low + other.low,
    masses,
    infinite: one.infinite + other.infinite - ((one.infinite * other.infinite) >> BITS),
    pure: one.pure + other.pure,
    cut: one.cut + other.cut,
  });
}

/** The law of several independent repetitions; for very many, on a coarser step. */
export function power(one: Law, times: number): Law {
  let result = nothing();
  for (let square = one; times;) {
    if (times % 2) result = product(onStep(result, square.step), square);
    times = Math.floor(times / 2);
    if (times) {
      square = product(square, square);
      if (square.masses.length > 2 * LONGEST) square = onStep(square, 2 * square.step);
    }
  }
  return result;
}

/** Masses at positions that need not be in order. */
export function spread(step: number, found: Map<number, bigint>, infinite: bigint, pure: bigint, cut = 0n): Law {
  const low = Math.min(...found.keys());
  const high = Math.max(...found.keys());
  const masses = Array.from({ length: found.size && high - low + 1 }, (_, i) => found.get(low + i) ?? 0n);
  return trimmed({ step, low: found.size && low, masses, infinite, pure, cut });
}

export const add = (found: Map<number, bigint>, position: number, more: bigint) =>
  found.set(position, (found.get(position) ?? 0n) + more);

/** A law on another step that dominates this one: each loss is split over its two neighbours. */
export function onStep(one: Law, step: number): Law {
  if (one.step == step || still(one)) return { ...one, step };
  const found = new Map<number, bigint>();
  let { infinite } = one;
  one.masses.forEach((each, i) => {
    if (!each) return;
    const loss = lossAt(one, one.low + i);
    if (loss > LONGEST * step) return void (infinite += each);
    const below = Math.max(-LONGEST, Math.floor(loss / step));
    const slack = 2 * HAIR * (Math.abs(below) + 4);
    const inside = Math.max(0, loss - below * step);
    const share = Math.min(1, Math.expm1(-inside) / Math.expm1(-step) + slack);
    add(found, below + 1, part(each, share));
    add(found, below, part(each, Math.min(1, 1 - share + 2 * slack)));
  });
  return spread(step, found, infinite, one.pure, one.cut);
}

/** A mixture of laws of the same step. The observer learns which one it is; weights are masses. */
export function mixed(laws: [bigint, Law][]): Law {
  const found = new Map<number, bigint>();
  const result = { ...nothing() };
  for (const [weight, one] of laws) {
    one.masses.forEach((each, i) => add(found, one.low + i, sharedUp(weight, each)));
    result.infinite += sharedUp(weight, one.infinite);
    result.step = Math.max(result.step, one.step);
    if (one.pure > result.pure) result.pure = one.pure;
    result.cut += one.cut;
  }
  return spread(result.step, found, result.infinite, result.pure, result.cut);
}

/** The law of all experiments together: exact if their steps agree, else on this step or a coarser one. */
export function composed(laws: Law[], step: number): Law {
  const groups = new Map<number, Law>();
  for (const one of laws) {
    const before = groups.get(one.step);
    groups.set(one.step, before ? product(before, one) : one);
  }
  const moving = [...groups.values()].filter(one => !still(one));
  const reach = moving.reduce(
    (sum, one) => sum + Math.max(-one.low, one.low + one.masses.length - 1) * one.step,
    0,
  );
  const common = moving.length > 1 ? coarser(step, reach) : (moving[0]?.step ?? 0);
  return [...groups.values()].map(one => onStep(one, common)).reduce(product, nothing());
}

/** A step for which losses up to `reach` are not too many positions. */
export const coarser = (step: number, reach: number) => Math.max(step, Math.min(reach, 32) / (LONGEST - 1));
