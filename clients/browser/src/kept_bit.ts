/** One kept bit in whole numbers, as in `untrackable/theory/integer_kept_bit.py`. Lies are chances over 2^64. */
import { ceilDiv, double, exp, fixed, logRatio } from "./exact.js";
import {
  add,
  coarser,
  delta,
  everything,
  law,
  type Law,
  LONGEST,
  mass,
  onStep,
  power,
  product,
  spread,
  STEPS,
  WHOLE,
} from "./loss_law.js";

const WORD = 1n << 64n;
const UNIT = 1n << 192n;
const HAIR = 2 ** -46;
/** Up to this many reports, every outcome is counted. With more, the observer is granted the kept bit itself. */
const MOST_REPORTS = 256;
/** The limit is lower for tracking, which has many more outcomes. */
const MOST_TRACKED = 128;
const MOST_TERMS = 65536;

/** Delta is computed at these steps, with straight lines between them. */
const dots = () => {
  const found = [0];
  for (let n = 1; n <= LONGEST; n *= 1.1) found.push(Math.round(n));
  return [...new Set([...found, STEPS])].sort((a, b) => a - b);
};

/** One randomised response that lies with this probability. */
export const response = (lie: bigint) =>
  law(logRatio(WORD - lie, lie), -1, [mass(lie, WORD), 0n, mass(WORD - lie, WORD)]);

/** The chances of 0, 1, … ones among reports of a kept 1, as whole numbers over 2^(64·reports). */
function binomials(reports: number, lie: bigint): bigint[] {
  let ways = 1n;
  return Array.from({ length: reports + 1 }, (_, ones) => {
    if (ones) ways = (ways * BigInt(reports - ones + 1)) / BigInt(ones);
    return ways * (WORD - lie) ** BigInt(ones) * lie ** BigInt(reports - ones);
  });
}

/** The loss of one value: from the kept bit, or from the number of ones among the reports, which reveals less. */
export function privacyOfOneValue(kept: bigint, lie: bigint, reports: number | null, step: number): Law {
  if (reports == null || reports > MOST_REPORTS) return response(kept);
  const whole = WORD ** BigInt(reports + 1);
  const ofOne = binomials(reports, lie);
  const outcomes = ofOne.map((one, i) => {
    const zero = ofOne[reports - i];
    const here = (WORD - kept) * one + kept * zero,
      there = kept * one + (WORD - kept) * zero;
    const sign = here > there ? 1 : here < there ? -1 : 0;
    return [mass(here, whole), sign, sign < 0 ? logRatio(there, here) : logRatio(here, there)] as const;
  });
  const pure = outcomes.at(-1)![2];
  step = coarser(step, double(pure));
  const found = new Map<number, bigint>();
  let infinite = 0n;
  for (const [chance, sign, loss] of outcomes) {
    const piece = onStep(law(loss, sign, [chance]), step);
    infinite += piece.infinite;
    piece.masses.forEach((each, i) => add(found, piece.low + i, each));
  }
  return spread(step, found, infinite, pure);
}

/** Any sequence of values, with a state for each value: one randomised response for each report (upper). */
export const privacyOfChangingValues = (lie: bigint, reports: number | null) =>
  reports == null ? everything() : power(response(lie), reports);

/** Delta at gamma of one person against two, for the worst split (upper). */
export const trackingDelta = (kept: bigint, lie: bigint, reports: number, gamma: number) =>
  gamma && reports <= MOST_TRACKED
    ? splits(kept, lie, reports, [gamma])[0]
    : Math.min(granted(kept, gamma), advantage(kept, lie, reports));

/** The tracking delta for every gamma, as a law that can be composed with others (upper). */
export function trackingLaw(kept: bigint, lie: bigint, reports: number, step: number): Law {
  const most = advantage(kept, lie, reports);
  const gammas = dots().map(position => position * step);
  const deltas =
    reports <= MOST_TRACKED
      ? splits(kept, lie, reports, gammas)
      : gammas.map(gamma => Math.min(granted(kept, gamma), most));
  deltas[0] = most;
  return profile(step, deltas);
}

/** The same if values change. Each value has its own kept bit, so two laws are composed (upper). */
export function trackingLawOfChangingValues(kept: bigint, lie: bigint, reports: number, step: number): Law {
  const largest = Math.floor(reports / 2) * response(lie).step;
  const coarse = Math.max(step, Math.min(largest, LONGEST * step) / STEPS);
  const laws = [trackingLaw(kept, lie, reports, step)];
  // The rarer value is reported 2 … half times; every case is bounded by one of four blocks.
  const rarer = Math.floor(reports / 2);
  const size = Math.max(1, Math.ceil((rarer - 1) / 4));
  for (let low = 2; low <= rarer; low += size) {
    const sizes = [Math.min(rarer, low + size - 1), reports - low];
    laws.push(sizes.map(each => trackingLaw(kept, lie, each, coarse)).reduce(product));
  }
  return profile(
    step,
    dots().map(position => Math.max(...laws.map(one => delta(one, position * step)))),
  );
}

/** Delta at gamma 0, which bounds delta at every gamma: 2a(1-a)·TV(j)·TV(k-j) for the split in the middle. */
function advantage(kept: bigint, lie: bigint, reports: number): number {
  if (reports < 2) return 0;
  const total = Math.floor(reports / 2) - 1;
  const few = Math.floor(total / 2);
  const unit = WORD * UNIT;
  const found = 2n * kept * (WORD - kept) * distance(lie, few) * distance(lie, total - few);
  return Math.min(1, (Number(ceilDiv(found << 128n, WORD * WORD * unit * unit)) / 2 ** 128) * (1 + 2 ** -52));
}

/** TV(2·last + 1) over 2^256, rounded up: (q-p)·Σ C(2i, i)·(pq)^i for i from 0 to `last`. */
function distance(lie: bigint, last: number): bigint {
  let term = UNIT;
  let sum = UNIT;
  const terms = Math.min(last, MOST_TERMS);
  for (let i = 0n; i < terms; i++) {
    term = ceilDiv(term * lie * (WORD - lie) * 2n * (2n * i + 1n), (i + 1n) * WORD * WORD);
    sum += term;
  }
  sum = (WORD - 2n * lie) * (sum + term * BigInt(last - terms));
  return sum < WORD * UNIT ? sum : WORD * UNIT;
}

type Pair = [number, number];

/** Delta for an observer who sees the kept bits of both sides. One person's are always equal. */
function granted(kept: bigint, gamma: number): number {
  const one = Number(kept) / 2 ** 64;
  return worse(
    [
      [one, one ** 2],
      [1 - one, (1 - one) ** 2],
      [0, 2 * one * (1 - one)],
    ],
    [gamma],
  )[0];
}

/** Deltas of the worst split. The observer sees the numbers of ones on both sides, from one kept bit or two. */
function splits(kept: bigint, lie: bigint, reports: number, gammas: number[]): number[] {
  const ofLie = Number(kept) / 2 ** 64;
  const ofTruth = Number(WORD - kept) / 2 ** 64;
  const chances = (size: number) => {
    const whole = WORD ** BigInt(size);
    return binomials(size, lie).map(each => Number((each << 1000n) / whole) / 2 ** 1000);
  };
  let worst = gammas.map(() => 0);
  for (let first = 1; first <= reports / 2; first++) {
    const left = chances(first);
    const right = chances(reports - first);
    const pairs: Pair[] = [];
    left.forEach((one, i) => {
      const withOne = ofLie * one;
      const withZero = ofTruth * left[first - i];
      right.forEach((a, j) => {
        const b = right[reports - first - j];
        pairs.push([withOne * a + withZero * b, (withOne + withZero) * (ofLie * a + ofTruth * b)]);
      });
    });
    worst = worse(pairs, gammas).map((each, i) => Math.max(each, worst[i]));
  }
  return worst;
}

/** The larger of Σ(P - e^γ·Q)⁺ and Σ(Q - e^γ·P)⁺. */
function worse(pairs: Pair[], gammas: number[]): number[] {
  const back = ahead(
    pairs.map(([p, q]) => [q, p]),
    gammas,
  );
  return ahead(pairs, gammas).map((each, i) => Math.max(each, back[i]));
}

/** Σ(P - e^γ·Q)⁺ over the outcomes with P/Q above e^γ, rounded up. Sums are integers over 2^80. */
function ahead(pairs: Pair[], gammas: number[]): number[] {
  const ordered = pairs.filter(([p]) => p).sort(([p, q], [r, s]) => r / s - p / q || 0);
  let here = 0n;
  let there = 0n;
  let next = 0;
  return [...gammas]
    .reverse()
    .map(gamma => {
      const factor = Math.exp(Math.min(gamma, 700)) * (1 - HAIR);
      for (let pair; (pair = ordered[next]) && !(pair[0] / pair[1] < factor / (1 + HAIR)); next++) {
        here += BigInt(Math.floor(pair[0] * 2 ** 80)) + 1n;
        there += BigInt(Math.floor(pair[1] * 2 ** 80));
      }
      const found = ((Number(here) * (1 + HAIR) - Number(there) * factor) / 2 ** 80) * (1 + HAIR);
      return Math.min(1, Math.max(0, found));
    })
    .reverse();
}

/** The law whose deltas at the dots are at most these: "connect the dots" (Doroshenko et al. 2022). */
function profile(step: number, deltas: number[]): Law {
  const hull: { alpha: bigint; height: bigint; position: number }[] = [];
  dots().forEach((position, i) => {
    const point = {
      alpha: exp(fixed(step) * BigInt(position)) >> 128n,
      height: BigInt(Math.ceil(deltas[i] * 2 ** 128)),
      position,
    };
    if (hull.length && point.height >= hull.at(-1)!.height) return;
    while (hull.length > 1) {
      const [left, middle] = hull.slice(-2);
      if (
        (middle.height - left.height) * (point.alpha - left.alpha) <
        (point.height - left.height) * (middle.alpha - left.alpha)
      )
        break;
      hull.pop();
    }
    hull.push(point);
  });
  /** The fall from a corner to the next, over 2^128 and rounded down; 0 after the last. */
  const fall = (i: number) =>
    i + 1 < hull.length
      ? ((hull[i].height - hull[i + 1].height) * WHOLE * WHOLE) / (hull[i + 1].alpha - hull[i].alpha)
      : 0n;
  const found = new Map<number, bigint>();
  const rest = WHOLE - hull[0].height - 2n * (fall(0) >> 128n);
  add(found, 0, rest > 0n ? rest : 0n);
  hull.forEach(({ alpha, position }, i) => {
    if (!i) return;
    const turn = fall(i - 1) - fall(i) + 1n;
    add(found, position, ceilDiv(turn * alpha, WHOLE * WHOLE));
    add(found, -position, ceilDiv(turn, WHOLE));
  });
  const last = hull.at(-1)!;
  return spread(step, found, last.height, fixed(step) * BigInt(last.position));
}
