/**
 * What reports reveal that get noisier with every round, as a law of losses in whole numbers (upper). It is the
 * arithmetic of `untrackable/theory/gaussian_tail.py` and `integer_gaussian.py`, which have the reasons.
 */
import type { Fraction } from "./campaign.js";
import { fixed, lieThreshold, logRatio } from "./exact.js";
import { add, law, type Law, LONGEST, mass, onStep, product, spread } from "./loss_law.js";
import { erfc, quantile } from "./normal.js";

/** Rounds up to this one are composed one by one. A Gaussian dominates all later ones. */
const ONE_BY_ONE = 1024;
/** The numbers of rounds that are bounded together. */
const GROUPS = [1, 2, 4, 8, 16, 32, 64];
/** Each piece of the tail ends at this multiple of the round before it; the last one has no end. */
const RATIO = 4;
const PIECES = 12;
const SUMMED = 5000;
/** If two probabilities differ by less than this part, the difference of their quantiles would cancel. */
const CLOSE = 1e-3;
/** Losses beyond this many standard deviations count as infinite. */
const REACH = 9;
/** A Gaussian is cut into cells this many times finer than the step, but not finer than this part of its shift. */
const CELLS = 8;
const FINEST = 2 ** 11;
/** Total losses up to this many standard deviations above their mean, and a little more, stay finite. */
const DEVIATIONS = 7;
/** The relative error of a probability of the normal distribution. */
const ROUNDED = 2 ** -40;

/** The eps of a round. */
export const epsAt = ({ scale, power }: any, round: number) => scale * round ** -power;

/**
 * The law of rounds 1 … last, each answered with probability `participation`. Two values have different answers
 * with probability `differing`, and then the loss is ±eps.
 */
export function fadingLaw(made: any, last: number, differing: Fraction, participation: Fraction): Law {
  const hit: Fraction = [differing[0] * participation[0], differing[1] * participation[1]];
  const share = Number(hit[0]) / Number(hit[1]);
  const rounds = Array.from({ length: Math.min(ONE_BY_ONE, last) }, (_, i) => epsAt(made, i + 1));
  const shift = last > ONE_BY_ONE ? tailShift(share, made, ONE_BY_ONE, last) : 0;
  const variance = shift ** 2 + share * rounds.reduce((sum, eps) => sum + eps ** 2, 0);
  const step = (variance / 2 + DEVIATIONS * Math.sqrt(variance) + 2 * made.scale) / LONGEST;
  const laws = rounds.map(eps => onStep(oneRound(eps, hit), step));
  return together(shift ? [...laws, gaussian(shift, step)] : laws);
}

/** One round that is answered, and has different answers for two values, with this probability. */
function oneRound(eps: number, [one, other]: Fraction): Law {
  const lie = lieThreshold(eps, 2n);
  const word = 1n << 64n;
  const masses = [one * lie, (other - one) * word, one * (word - lie)].map(each => mass(each, other * word));
  return law(logRatio(word - lie, lie), -1, masses);
}

/** The product of laws of one step. Short laws are multiplied first, because that takes least time. */
function together(laws: Law[]): Law {
  while (laws.length > 1) {
    const pairs: Law[] = [];
    for (let i = 1; i < laws.length; i += 2) pairs.push(product(laws[i - 1], laws[i]));
    laws = [...pairs, ...laws.slice(2 * pairs.length)];
  }
  return laws[0];
}

/** The law of the loss of N(0, 1) against N(shift, 1). Each cell counts at its upper end. */
function gaussian(shift: number, step: number): Law {
  const cell = Math.max(step / CELLS, shift / FINEST);
  const centre = shift ** 2 / 2;
  const [low, high] = [-1, 1].map(sign => Math.floor((centre + sign * REACH * shift) / cell));
  /** Twice the probabilities below and above a cell's lower end. */
  const beyond = (position: number) => {
    const far = (position * cell - centre) / (shift * Math.SQRT2);
    return [erfc(-far), erfc(far)];
  };
  const chance = (number: number) => fixed(number) / (1n << 128n) + 1n;
  const found = new Map<number, bigint>();
  let before = beyond(low);
  add(found, low, chance(before[0] * (1 + ROUNDED)));
  for (let position = low; position <= high; position++) {
    const after = beyond(position + 1);
    const side = after[0] < after[1] ? 0 : 1;
    const most = Math.max(before[side], after[side]);
    add(found, position + 1, chance(Math.abs(after[side] - before[side]) / 2 + most * ROUNDED));
    before = after;
  }
  const pure = fixed(cell) * BigInt(high + 1);
  return onStep(spread(cell, found, chance(before[1] * (1 + ROUNDED)), pure), step);
}

/** The shift of a Gaussian that dominates rounds after+1 … last together. */
function tailShift(hit: number, { scale, power }: any, after: number, last: number): number {
  let variance = 0;
  for (let piece = 0, start = after; piece < PIECES && start < last; piece++) {
    const end = piece == PIECES - 1 ? last : Math.min(last, RATIO * start);
    const first = (start + 1) ** (-2 * power);
    const rest = squares(power, start + 1, end);
    const loudest = scale * (start + 1) ** -power;
    variance += Math.min(...GROUPS.map(n => groupSlope(hit, n, loudest) ** 2 * (first + rest / n)));
    start = end;
  }
  return (1 + 1e-9) * scale * Math.sqrt(variance);
}

/** A bound on shift/eps of the Gaussian that dominates a group of rounds of the same eps, up to `loudest`. */
function groupSlope(hit: number, rounds: number, loudest: number): number {
  const tau = Math.tanh(loudest / 2);
  let largest = 0;
  let beyond = 0;
  let more = 0;
  const masses = upperLaw(hit, rounds);
  for (let s = rounds; s; s--) {
    beyond += masses[rounds - s];
    more += masses[rounds - s] * Math.sinh(s * Math.atanh(tau)) * (1 - tau * tau) ** (s / 2);
    if (!(more < beyond)) return Infinity;
    largest = Math.max(largest, apart(beyond, more));
  }
  return largest / (2 * tau);
}

/** The difference of the quantiles at centre ± distance, or a bound on it if it would cancel. */
function apart(centre: number, distance: number): number {
  const low = quantile(centre - distance);
  const high = quantile(Math.min(centre + distance, 1 - 2 ** -53));
  return distance > CLOSE * centre
    ? high - low
    : distance * Math.sqrt(2 * Math.PI) * (Math.exp((low * low) / 2) + Math.exp((high * high) / 2));
}

/** The probabilities that losses eps exceed losses -eps by n, n-1, …, 1 among n rounds, for eps = 0. */
function upperLaw(hit: number, rounds: number): number[] {
  let found = [1];
  for (let i = rounds; i; i--) {
    const wide = [0, 0, ...found, 0, 0];
    found = Array.from(
      { length: found.length + 2 },
      (_, j) => (hit / 2) * (wide[j] + wide[j + 2]) + (1 - hit) * wide[j + 1],
    );
  }
  return found.slice(0, rounds);
}

/** Σ t^(-2·power) for t = after+1 … last (upper): some terms, and an integral that bounds the rest. */
function squares(power: number, after: number, last: number): number {
  if (last <= after) return 0;
  const summed = Math.min(last, after + SUMMED);
  let total = 0;
  for (let t = summed; t > after; t--) total += t ** (-2 * power);
  const falls = 2 * power - 1;
  const left = last == Infinity ? 1 : -Math.expm1(-falls * Math.log(last / summed));
  return total + (summed ** -falls * left) / falls;
}
