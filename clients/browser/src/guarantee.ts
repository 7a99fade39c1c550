/**
 * What campaigns reveal together, as upper bounds in whole numbers: privacy, tracking and recognition. It is the
 * arithmetic of `untrackable/accounting/client_check.py` and `untrackable/client/ledger.py`.
 */
import { attending, type Campaign, fraction, type Fraction, LAST_ROUND, type Limits } from "./campaign.js";
import { double, logRatio, ONE } from "./exact.js";
import * as keptBit from "./kept_bit.js";
import { composed, delta, everything, law, type Law, LONGEST, mass, mixed, nothing, onStep, power, product, STEPS, WHOLE } from "./loss_law.js";
import { lieOf } from "./mechanisms.js";

/** A campaign, and how many rounds each of its states may answer; null means without end. */
export interface Charged {
  asked: Campaign;
  rounds: (number | null)[];
}

const AMONG = 1000;
/** The step on which attendance and reports are composed. */
const ATTENDANCE_STEP = 2 ** -8;
/** The probability with which there are more reports than are counted. */
const MISSED = 1e-9;
/** Up to this many draws, the distinct slots among them are counted exactly. */
const MOST_DRAWS = 2048;

/** The first limit that these campaigns exceed together, if any. */
export function exceeded(charged: Charged[], limits: Limits): string | undefined {
  const { eps, gamma, recognition = 1 } = limits;
  if (privacyDelta(charged, eps) > limits.delta) return "delta";
  if (trackingDelta(charged, gamma) > limits.tracking_delta) return "tracking_delta";
  if (recognition < 1 && recognised(charged) > recognition) return "recognition";
}

/** The limit that a campaign declares and this client cannot confirm, if any. */
export function unconfirmed(asked: Campaign): string | undefined {
  const problem = exceeded([{ asked, rounds: [asked.rounds] }], asked.guarantee);
  return problem == "delta" ? exceeded([{ asked, rounds: [null] }], { ...asked.guarantee, tracking_delta: 1, recognition: 1 }) && problem : problem;
}

/** Delta at eps of all reports. */
export function privacyDelta(charged: Charged[], eps: number): number {
  const step = eps / STEPS || 1;
  const laws = charged.flatMap(({ asked, rounds }) =>
    (asked.mechanism.when_empty == "stop" ? [total(rounds)] : rounds).filter(each => each !== 0).map(each => privacy(asked, each, step)));
  return delta(composed(laws, step), eps);
}

/** Delta at gamma of one person against two; sharper if only one state can be tracked. */
export function trackingDelta(charged: Charged[], gamma: number): number {
  const step = (gamma ? Math.min(Math.max(gamma, 1e-3), 80) : 1) / STEPS;
  const found = charged.flatMap(({ asked, rounds }) =>
    rounds.filter(each => each !== 0).map(each => ({ asked, rounds: each, law: tracking(asked, each, step) })));
  const all = delta(composed(found.map(each => each.law), step), gamma);
  const trackable = found.filter(each => delta(each.law, 0));
  if (trackable.length != 1) return all;
  const [{ asked, rounds }] = trackable, made = asked.mechanism, reports = rounds ?? LAST_ROUND;
  return made.bits || changing(asked) && reports > 3
    ? all : Math.min(all, keptBit.trackingDelta(lieOf(made, "eps_state"), lieOf(made), reports, gamma));
}

/** How often an observer of the places recognises a person among 1,000, by attendance and reports. */
export function recognised(charged: Charged[]): number {
  charged = charged.filter(({ rounds }) => total(rounds) !== 0);
  let missed = 0;
  const reports: Law[] = [];
  for (const { asked, rounds } of charged) {
    for (const each of rounds) {
      if (each === null) return 1;
      if (!each) continue;
      const most = asked.mechanism.when_empty ? each : mostReports(asked, each);
      reports.push(tracking(asked, most, ATTENDANCE_STEP));
      if (most < each) missed += MISSED;
    }
  }
  const revealed = composed(reports, ATTENDANCE_STEP);
  const stays = charged.map(({ asked, rounds }) => blocks(asked, total(rounds)!));
  let found = 1 / AMONG;
  for (const places of new Set(charged.map(({ asked }) => attending(asked).places.join()))) {
    const shares = places.split(",").map(fraction);
    if (shares.length > 2 && delta(revealed, 0)) return 1; // The law of the reports is that of two people.
    for (const each of [stays.flat(), atTheSameTimes(stays)]) {
      const seen = each.map(([chance, count]) => power(oneStay(chance, shares, count), count));
      found = Math.max(found, missed + recognition(composed([revealed, ...seen], ATTENDANCE_STEP)));
    }
  }
  return Math.min(1, found);
}

const total = (rounds: (number | null)[]) =>
  rounds.includes(null) ? null : rounds.reduce<number>((sum, each) => sum + each!, 0);
const changing = ({ guarantee }: Campaign) => guarantee.values == "any";

/** The loss of one noisy inner product: ±eps if two values have different answers and the report has one of them. */
function oneReport(made: any): Law {
  const lie = lieOf(made), word = 1n << 64n, others = (1n << BigInt(made.width)) - 1n;
  const whole = 1n << BigInt(made.bits), differ = others * whole, lists = (others + 1n) * (whole - 1n) * word * others;
  const truth = differ * (word - lie) * others, other = differ * lie;
  return law(logRatio((word - lie) * others, lie), -1, [other, lists - truth - other, truth].map(each => mass(each, lists)));
}

/** The privacy loss of this many reports, or of all for ever. */
function privacy(asked: Campaign, reports: number | null, step: number): Law {
  const made = asked.mechanism;
  if (!made.bits) {
    return changing(asked) ? keptBit.privacyOfChangingValues(lieOf(made), reports)
      : keptBit.privacyOfOneValue(lieOf(made, "eps_state"), lieOf(made), reports, step);
  }
  const one = oneReport(made), slots = made.slots, count = Math.min(slots, reports ?? slots);
  if (made.when_empty) {
    const [share, of] = made.when_empty == "stop" ? fraction(attending(asked).participation) : [1n, 1n];
    return power(mixed([[mass(share, of), one], [mass(of - share, of), nothing()]]), count);
  }
  if (changing(asked)) return reports === null || reports > slots ? everything() : product(notTwice(slots, reports), power(one, count));
  return reports === null || reports > MOST_DRAWS || slots == 1 ? power(one, count) : distinctSlots(one, slots, reports);
}

/** The loss from a slot that is drawn twice, which reveals that the value did not change. */
function notTwice(slots: number, reports: number): Law {
  let different = 1;
  for (let drawn = 0; drawn < reports; drawn++) different *= 1 - drawn / slots;
  const slack = reports * 2 ** -50, chance = (share: number) => BigInt(Math.ceil(Math.min(1, share) * 2 ** 128));
  return law(0n, 0, [chance(different * (1 + slack))], reports > 1 ? chance(1 - different * (1 - slack)) : 0n);
}

/** The loss from the distinct slots among the draws. The observer learns their number. */
function distinctSlots(one: Law, slots: number, reports: number): Law {
  let chances!: number[];
  for (chances of occupancies(reports, slots));
  let each = nothing();
  const laws = chances.map((chance, i): [bigint, Law] => {
    if (i) each = product(onStep(each, one.step), one);
    return [BigInt(Math.ceil(chance * (1 + reports * 2 ** -48) * 2 ** 128)) + 1n, each];
  });
  return mixed(laws);
}

/** The probabilities of 0, 1, … distinct slots after 0, 1, … draws. */
function* occupancies(draws: number, slots: number): Generator<number[]> {
  let chances = [1];
  for (let drawn = 0; ; drawn++) {
    yield chances;
    if (drawn == draws) return;
    chances = [...chances, 0].slice(0, slots + 1).map((chance, distinct) =>
      chance * distinct / slots + (distinct && chances[distinct - 1] * (slots - distinct + 1) / slots));
  }
}

/** How well this many reports tell one person from two, for every gamma, as a law. */
function tracking(asked: Campaign, rounds: number | null, step: number): Law {
  const made = asked.mechanism, reports = rounds ?? LAST_ROUND;
  if (made.when_empty) return reports <= made.slots ? nothing() : everything();
  if (made.bits) {
    const cross = BigInt(Math.ceil(slotCrossing(made.slots, reports) * 2 ** 128));
    return law(0n, 0, [WHOLE - cross], cross);
  }
  const laws = changing(asked) && reports > 3 ? keptBit.trackingLawOfChangingValues : keptBit.trackingLaw;
  return laws(lieOf(made, "eps_state"), lieOf(made), reports, step);
}

/** The largest probability, over all splits, that a slot shows up on both sides. */
function slotCrossing(slots: number, reports: number): number {
  if (reports < 2) return 0;
  const half = Math.floor(reports / 2), rough = Math.min(1, half * (reports - half) / slots);
  if (slots == 1 || reports > MOST_DRAWS) return slots == 1 ? 1 : rough;
  let worst = 0, first = 0;
  for (const chances of occupancies(half, slots)) {
    const cross = chances.reduce((sum, chance, m) => sum - chance * Math.expm1((reports - first) * Math.log1p(-m / slots)), 0);
    if (first++) worst = Math.max(worst, cross);
  }
  return Math.min(rough, worst * (1 + reports * 2 ** -48));
}

/** A number of reports that is exceeded with a probability of at most 1e-12, by Chernoff's bound. */
function mostReports(asked: Campaign, rounds: number): number {
  const { participation, places, persistence } = attending(asked);
  const share = (text: string) => { const [one, other] = fraction(text); return Number(one) / Number(other); };
  const trials = rounds * places.length;
  const chance = share(participation) * (persistence > 1 ? 1 : places.reduce((sum, each) => sum + share(each), 0) / places.length);
  let low = Math.ceil(trials * chance) + 1, high = trials;
  while (low < high) {
    const middle = Math.floor((low + high) / 2), seen = (middle + 1) / trials;
    const rest = seen < 1 ? (1 - seen) * Math.log((1 - seen) / (1 - chance)) : 0;
    if (seen > 1 || seen > chance && Math.exp(-trials * (seen * Math.log(seen / chance) + rest)) <= 1e-12) high = middle;
    else low = middle + 1;
  }
  return Math.min(low, rounds);
}

type Block = [chance: Fraction, count: number];

/** How many times a person stays at a place, and the probability of answering at least once in that time. */
function blocks(asked: Campaign, rounds: number): Block[] {
  const { participation, persistence } = attending(asked), [one, other] = fraction(participation);
  const once = (length: number): Fraction => {
    if (length * other.toString(2).length <= 8192) return [other ** BigInt(length) - (other - one) ** BigInt(length), other ** BigInt(length)];
    let never = 1n << 512n, square = (other - one << 512n) / other;
    for (; length; length = Math.floor(length / 2), square = square * square >> 512n) if (length % 2) never = never * square >> 512n;
    return [(1n << 512n) - never, 1n << 512n];
  };
  const stays = [[persistence, Math.floor(rounds / persistence)], [rounds % persistence, 1]];
  return stays.filter(([length, count]) => length && count).map(([length, count]) => [once(length), count]);
}

/** Stay i of all campaigns together: a person who answers one of them at a place was there. */
function atTheSameTimes(campaigns: Block[][]): Block[] {
  const ends = new Set<number>();
  for (const stays of campaigns) stays.reduce((end, [, count]) => (ends.add(end + count), end + count), 0);
  let begin = 0;
  return [...ends].sort((a, b) => a - b).map(end => {
    let away = 1n, whole = 1n;
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
function oneStay([one, other]: Fraction, places: Fraction[], count: number): Law {
  const whole = places.reduce((product, [, each]) => product * each, other);
  const here = places.map(([share, of]) => one * share * (whole / other / of));
  const silent = (without?: number) => here.reduce((product, each, i) => i == without ? product : product * (whole - each), 1n);
  const power = whole ** BigInt(places.length - 1), all = whole * power;
  // Answers at one place only: (one person, several people), for each place; and at none.
  const seen = here.map((each, i) => [each * power, each * silent(i)]);
  seen.push([(whole - here.reduce((sum, each) => sum + each, 0n)) * power, silent()]);
  const losses = seen.filter(([p]) => p).map(([p, q]) => [mass(p, all), p > q ? logRatio(p, q) : p < q ? -logRatio(q, p) : 0n]);
  const moment = (degree: number) => losses.reduce((sum, [p, loss]) => sum + Number(p) / 2 ** 128 * double(loss) ** degree, 0);
  const reach = count * moment(1) + 12 * Math.sqrt(count * moment(2));
  const step = Math.max(...losses.map(([, loss]) => double(loss) / 32), reach / LONGEST);
  return mixed(losses.map(([p, loss]) => [WHOLE, onStep(loss < 0n ? law(-loss, -1, [p]) : law(loss, loss ? 1 : 0, [p]), step)]));
}

/** A bound on the probability of recognising a person: the least of e^gamma/people + delta, by a search by thirds. */
function recognition(one: Law): number {
  const bound = (ratio: number) => ratio / AMONG * (1 + 1e-12) + delta(one, Math.log(ratio));
  let low = 1, high = AMONG;
  for (let i = 60; i; i--) {
    const third = (high - low) / 3, left = low + third, right = high - third;
    if (bound(left) <= bound(right)) high = right;
    else low = left;
  }
  return Math.min(1, bound(low), bound(high));
}
