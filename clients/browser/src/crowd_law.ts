/**
 * A crowd's round as a law of losses, rounded so that it is always an upper bound. It is the arithmetic of
 * `untrackable/theory/integer_crowd.py`, which has the reasons.
 */
import { attending, type Campaign, fraction } from "./campaign.js";
import { ceilDiv, double, exp, fixed } from "./exact.js";
import { delta, type Law, power, WHOLE } from "./loss_law.js";
import { oneReport } from "./report_laws.js";

/** The law has this many losses for each standard deviation of a round's loss. */
const FINE = 8;
/** After this many standard deviations, losses are coarser. */
const FARTHEST = 14;
/** Losses beyond this many steps count as infinite. */
const MOST_STEPS = 2 ** 13;
/** Where delta has fallen to this, larger losses are infinite too. */
const ENOUGH = 1e-19;
/** The probability of numbers of reports that are left out, for each number. It is added to delta. */
const NEGLIGIBLE = 1e-22;
/** The numbers of a range differ by at most this share of them, unless there are too many ranges. */
const NARROW = 1 / 512;
const MOST_RANGES = 96;
/** The number of people outside a range is rounded down to a multiple of this part of all people. */
const TOGETHER = 2 ** 13;
/** The number of places on which the weight of the others may lie. */
const NODES = 24;
/** Factors for the rounding errors of probabilities, and of a ratio. */
const ROUNDED = 1 + 1e-7;
const ROUNDED_RATIO = 1 + 2 ** -50;

/** What this many reports of a campaign reveal to somebody who does not know who sent which (upper). */
export function crowdLaw(asked: Campaign, reports: number | null): Law {
  const { slots } = asked.mechanism;
  const one = oneReport(asked);
  const ratio = Math.exp(double(one.pure)) * ROUNDED_RATIO;
  const [share, of] = fraction(attending(asked).participation);
  const round = oneRound(ratio, delta(one, 0), ratio, asked.guarantee.crowd!.people, Number(share) / Number(of));
  return power(round, Math.min(slots, reports ?? slots));
}

/** One round of a crowd of this many enrolled people, for the numbers p, β and q of the theorem. */
export function oneRound(ratio: number, distance: number, other: number, people: number, present: number): Law {
  const variance = (((2 * distance * (ratio - 1) * other) / ratio) * present) / people;
  const largest = Math.log(ratio);
  const step = Math.min(largest, Math.sqrt(variance) / FINE);
  const places = positions(Math.ceil(largest / step));
  const gammas = places.map(place => place * step);
  const found = deltas(ratio, distance, other, people, present, gammas);
  // The crowd adds nothing to the ratio of two reports.
  if (gammas.at(-1)! >= largest) found[found.length - 1] = 0;
  const enough = found.findIndex(each => each <= ENOUGH);
  return profile(step, places.slice(0, enough < 0 ? places.length : enough + 1), found);
}

/** The multiples of the step at which delta is computed: all of the first ones, and then ever fewer. */
function positions(last: number): number[] {
  const found = Array.from({ length: Math.min(last, FINE * FARTHEST) + 1 }, (_, i) => i);
  for (let at = found.at(-1)!; at < Math.min(last, MOST_STEPS); found.push(at))
    at = Math.min(last, at + Math.floor(at / 4));
  return found;
}

/** Delta at each gamma (upper). */
function deltas(
  ratio: number,
  distance: number,
  other: number,
  people: number,
  present: number,
  gammas: number[],
): number[] {
  const share = distance / (ratio - 1);
  const first = (present * ratio * share) / other;
  const third = (present * Math.max(0, 1 - share * (ratio + 1))) / other;
  const others = first < 0.5 ? Math.min(1, (third + (1 - present) / other) / (1 - 2 * first)) : 0;
  const slope = (other * (ratio - 1)) / (2 * ratio);
  const weight = (other * (ratio + 1)) / (2 * ratio);
  const tilts = gammas.map(Math.expm1);
  const unit = Math.max(1, Math.floor(people / TOGETHER));
  const totals = gammas.map(() => 0);
  const tables = new Map<number, [number, number][]>();
  for (const [low, high, chance] of ranges(people, 2 * first)) {
    const meanAbove = signs(high);
    // Fewer people can only reveal more, and so a table serves several ranges.
    const outside = Math.floor((people - high) / unit) * unit;
    if (!tables.has(outside)) tables.set(outside, nodes(outside, others));
    const table = tables.get(outside)!;
    tilts.forEach((tilt, i) => {
      const scale = slope * (2 + tilt);
      let mean = 0;
      for (const [z, mass] of table) mean += mass * meanAbove((tilt * (weight * low + other * z)) / scale);
      totals[i] += chance * scale * mean;
    });
  }
  return totals.map((total, i) =>
    Math.min(1, (total / people) * ROUNDED + 4 * NEGLIGIBLE * (2 + tilts[i])),
  );
}

/** For the difference d of a number of fair signs: the mean of (d - limit)⁺, as a function of the limit. */
function signs(count: number): (limit: number) => number {
  const [low, masses] = binomial(count, 0.5);
  const above = tails(masses);
  const mean = [...tails(above.slice(1)), 0];
  return limit => {
    const place = Math.max(0, Math.floor((count + limit) / 2) + 1 - low);
    return place < above.length
      ? 2 * mean[place] + (2 * (place + low) - count - limit) * above[place]
      : 0;
  };
}

/** The sums of each number and all after it. */
function tails(masses: number[]): number[] {
  const found = [...masses];
  for (let i = found.length - 1; i--;) found[i] += found[i + 1];
  return found;
}

const sum = (masses: number[]) => masses.reduce((one, other) => one + other, 0);

/** Smallest number, largest number and probability of ranges of a binomial number above 0. */
function* ranges(trials: number, chance: number): Generator<[low: number, high: number, chance: number]> {
  const [start, masses] = binomial(trials, chance);
  const stop = start + masses.length;
  const wide = Math.max(1, Math.floor(NARROW * trials * chance), Math.ceil(masses.length / MOST_RANGES));
  for (let low = start; low < stop; low += wide) {
    const high = Math.min(low + wide, stop) - 1;
    if (high) yield [low, high, sum(masses.slice(low - start, high - start + 1))];
  }
}

/** A coarse law that is spread more widely than a binomial number around the same mean: places and masses. */
function nodes(trials: number, chance: number): [number, number][] {
  const [start, law] = binomial(trials, chance);
  const wide = Math.max(1, Math.ceil((law.length - 1) / (NODES - 1)));
  const last = Math.ceil((law.length - 1) / wide);
  const masses = Array<number>(last + 1).fill(0);
  for (let node = 0; node < last; node++) {
    const cell = law.slice(node * wide, (node + 1) * wide);
    const upper = sum(cell.map((mass, i) => mass * i)) / wide;
    masses[node] += sum(cell) - upper;
    masses[node + 1] += upper;
  }
  masses[last] += sum(law.slice(last * wide));
  const found = masses.map((mass, node): [number, number] => [start + node * wide, mass]);
  return [[0, 2 * NEGLIGIBLE], ...found.filter(([, mass]) => mass > 0)];
}

/** The first number and the probabilities of a binomial number, without rare ones at both ends. */
function binomial(trials: number, chance: number): [first: number, masses: number[]] {
  if (chance <= 0 || trials <= 0) return [0, [1]];
  if (chance >= 1) return [trials, [1]];
  const rare = -Math.log(NEGLIGIBLE);
  const mean = trials * chance;
  const far = rare / 3 + Math.sqrt(rare ** 2 / 9 + 2 * mean * (1 - chance) * rare);
  const low = Math.max(0, Math.floor(mean - far) - 1);
  const high = Math.min(trials, Math.ceil(mean + far) + 1);
  const middle = Math.min(high, Math.max(low, Math.floor((trials + 1) * chance)));
  const odds = chance / (1 - chance);
  const up = [1];
  for (let each = middle; each < high; each++) up.push(((up.at(-1)! * (trials - each)) / (each + 1)) * odds);
  const down: number[] = [];
  for (let each = middle, mass = 1; each > low; each--)
    down.push((mass = (mass * each) / (trials - each + 1) / odds));
  const law = [...down.reverse(), ...up];
  const whole = sum(law);
  return [low, law.map(mass => mass / whole)];
}

type Point = [alpha: bigint, delta: bigint, position: number];

/** The law that dominates all worlds whose deltas at these multiples of a step are at most these. */
function profile(step: number, places: number[], given: number[]): Law {
  const points = places.map((place, i): Point => [
    exp(fixed(step) * BigInt(place)) >> 128n,
    ceilDiv(fixed(given[i]), WHOLE),
    place,
  ]);
  const corners = hull(points);
  // Slopes over 2^256, rounded towards more mass.
  const slopes = corners.slice(1).map(([alpha, found], i) => {
    const [before, above] = corners[i];
    return -(((above - found) << 256n) / (alpha - before));
  });
  slopes.push(0n);
  const [, , last] = corners.at(-1)!;
  const masses = Array<bigint>(2 * last + 1).fill(0n);
  const still = WHOLE - corners[0][1] + 2n * -(-slopes[0] >> 128n);
  masses[last] = still > 0n ? still : 0n;
  corners.slice(1).forEach(([alpha, , place], i) => {
    const change = slopes[i + 1] - slopes[i] + 1n;
    masses[last + place] = -((-change * alpha) >> 256n);
    masses[last - place] = -(-change >> 128n);
  });
  const pure = BigInt(last) * fixed(step);
  return { step, low: -last, masses, infinite: corners.at(-1)![1], pure, cut: 0n };
}

/** The points on the lower convex hull, as far as it falls. Points are given from left to right. */
function hull(points: Point[]): Point[] {
  const found: Point[] = [];
  for (const point of points) {
    if (found.length && point[1] >= found.at(-1)![1]) continue;
    while (found.length > 1 && aboveLine(found.at(-1)!, found.at(-2)!, point)) found.pop();
    found.push(point);
  }
  return found;
}

const aboveLine = (point: Point, left: Point, right: Point) =>
  (point[1] - left[1]) * (right[0] - left[0]) >= (right[1] - left[1]) * (point[0] - left[0]);
