/** Attendance in whole numbers: what the rounds that somebody answers, and the places, reveal by themselves. */
import { attending, type Campaign, fraction, type Fraction } from "./campaign.js";
import { double, logRatio } from "./exact.js";
import { delta, law, type Law, LONGEST, mass, mixed, onStep, WHOLE } from "./loss_law.js";

/** The number of people among whom somebody is to be recognised. */
const AMONG = 1000;

/** A number of reports that is exceeded with a probability of at most 1e-12, by Chernoff's bound. */
export function mostReports(asked: Campaign, rounds: number): number {
  const { participation, places, persistence } = attending(asked);
  const share = (text: string) => {
    const [one, other] = fraction(text);
    return Number(one) / Number(other);
  };
  const trials = rounds * places.length;
  const chance =
    share(participation) *
    (persistence > 1 ? 1 : places.reduce((sum, each) => sum + share(each), 0) / places.length);
  let low = Math.ceil(trials * chance) + 1;
  let high = trials;
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    const seen = (middle + 1) / trials;
    const rest = seen < 1 ? (1 - seen) * Math.log((1 - seen) / (1 - chance)) : 0;
    if (seen > 1 || (seen > chance && Math.exp(-trials * (seen * Math.log(seen / chance) + rest)) <= 1e-12))
      high = middle;
    else low = middle + 1;
  }
  return Math.min(low, rounds);
}

type Block = [chance: Fraction, count: number];

/** How many times a person stays at a place, and the probability of answering at least once in that time. */
export function blocks(asked: Campaign, rounds: number): Block[] {
  const { participation, persistence } = attending(asked);
  const [one, other] = fraction(participation);
  const once = (length: number): Fraction => {
    if (length * other.toString(2).length <= 8192)
      return [other ** BigInt(length) - (other - one) ** BigInt(length), other ** BigInt(length)];
    let never = 1n << 512n,
      square = ((other - one) << 512n) / other;
    for (; length; length = Math.floor(length / 2), square = (square * square) >> 512n)
      if (length % 2) never = (never * square) >> 512n;
    return [(1n << 512n) - never, 1n << 512n];
  };
  const stays = [
    [persistence, Math.floor(rounds / persistence)],
    [rounds % persistence, 1],
  ];
  return stays.filter(([length, count]) => length && count).map(([length, count]) => [once(length), count]);
}

/** Stay i of all campaigns together: a person who answers one of them at a place was there. */
export function atTheSameTimes(campaigns: Block[][]): Block[] {
  const ends = new Set<number>();
  for (const stays of campaigns) stays.reduce((end, [, count]) => (ends.add(end + count), end + count), 0);
  let begin = 0;
  return [...ends]
    .sort((a, b) => a - b)
    .map(end => {
      let away = 1n;
      let whole = 1n;
      for (const stays of campaigns) {
        let left = begin;
        const [one, other] = stays.find(([, count]) => (left -= count) < 0)?.[0] ?? [0n, 1n];
        away *= other - one;
        whole *= other;
      }
      const block: Block = [[whole - away, whole], end - begin];
      begin = end;
      return block;
    });
}

/** The loss of one stay, at which places somebody answers: one person against one for each place. */
export function oneStay([one, other]: Fraction, places: Fraction[], count: number): Law {
  const whole = places.reduce((product, [, each]) => product * each, other);
  const here = places.map(([share, of]) => one * share * (whole / other / of));
  const silent = (without?: number) =>
    here.reduce((product, each, i) => (i == without ? product : product * (whole - each)), 1n);
  const power = whole ** BigInt(places.length - 1);
  const all = whole * power;
  // Answers at one place only: (one person, several people), for each place; and at none.
  const seen = here.map((each, i) => [each * power, each * silent(i)]);
  seen.push([(whole - here.reduce((sum, each) => sum + each, 0n)) * power, silent()]);
  const losses = seen
    .filter(([p]) => p)
    .map(([p, q]) => [mass(p, all), p > q ? logRatio(p, q) : p < q ? -logRatio(q, p) : 0n]);
  const moment = (degree: number) =>
    losses.reduce((sum, [p, loss]) => sum + (Number(p) / 2 ** 128) * double(loss) ** degree, 0);
  const reach = count * moment(1) + 12 * Math.sqrt(count * moment(2));
  const step = Math.max(...losses.map(([, loss]) => double(loss) / 32), reach / LONGEST);
  return mixed(
    losses.map(([p, loss]) => [
      WHOLE,
      onStep(loss < 0n ? law(-loss, -1, [p]) : law(loss, loss ? 1 : 0, [p]), step),
    ]),
  );
}

/** A bound on the probability of recognising a person: the least of e^gamma/people + delta, found by thirds. */
export function recognition(one: Law): number {
  const bound = (ratio: number) => (ratio / AMONG) * (1 + 1e-12) + delta(one, Math.log(ratio));
  let low = 1;
  let high = AMONG;
  for (let i = 60; i; i--) {
    const third = (high - low) / 3;
    const left = low + third;
    const right = high - third;
    if (bound(left) <= bound(right)) high = right;
    else low = left;
  }
  return Math.min(1, bound(low), bound(high));
}
