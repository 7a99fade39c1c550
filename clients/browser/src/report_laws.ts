/** What the reports of a mechanism reveal, as laws: the privacy of values, and how well reports can be linked. */
import { attending, type Campaign, fraction, LAST_ROUND } from "./campaign.js";
import { logRatio } from "./exact.js";
import * as keptBit from "./kept_bit.js";
import { everything, law, type Law, mass, mixed, nothing, onStep, power, product, WHOLE } from "./loss_law.js";
import { lieOf } from "./mechanisms.js";

/** Up to this many draws, the distinct slots among them are counted exactly. */
const MOST_DRAWS = 2048;

/** Whether the guarantee is for any sequence of values. */
export const changing = ({ guarantee }: Campaign) => guarantee.values == "any";

/** The loss of one report. */
export const oneReport = ({ one, mechanism }: Campaign) => one ?? innerProductLaw(mechanism);

/** The loss of one noisy inner product: ±eps if the report has one of two different answers, else 0. */
export function innerProductLaw(made: any): Law {
  const lie = lieOf(made);
  const word = 1n << 64n;
  const others = (1n << BigInt(made.width)) - 1n;
  const whole = 1n << BigInt(made.bits);
  const differ = others * whole;
  const lists = (others + 1n) * (whole - 1n) * word * others;
  const truth = differ * (word - lie) * others;
  const other = differ * lie;
  return law(
    logRatio((word - lie) * others, lie),
    -1,
    [other, lists - truth - other, truth].map(each => mass(each, lists)),
  );
}

/** The privacy loss of this many reports, or of all for ever. */
export function privacy(asked: Campaign, reports: number | null, step: number): Law {
  const made = asked.mechanism;
  if (made.eps_state) {
    return changing(asked)
      ? keptBit.privacyOfChangingValues(lieOf(made), reports)
      : keptBit.privacyOfOneValue(lieOf(made, "eps_state"), lieOf(made), reports, step);
  }
  if (asked.faded) return asked.faded(reports);
  const one = oneReport(asked);
  const slots = made.slots;
  const count = Math.min(slots, reports ?? slots);
  if (made.when_empty) {
    const [share, of] = made.when_empty == "stop" ? fraction(attending(asked).participation) : [1n, 1n];
    return power(
      mixed([
        [mass(share, of), one],
        [mass(of - share, of), nothing()],
      ]),
      count,
    );
  }
  if (changing(asked))
    return reports === null || reports > slots
      ? everything()
      : product(notTwice(slots, reports), power(one, count));
  return reports === null || reports > MOST_DRAWS || slots == 1
    ? power(one, count)
    : distinctSlots(one, slots, reports);
}

/** The loss from a slot that is drawn twice, which reveals that the value did not change. */
function notTwice(slots: number, reports: number): Law {
  let different = 1;
  for (let drawn = 0; drawn < reports; drawn++) different *= 1 - drawn / slots;
  const slack = reports * 2 ** -50;
  const chance = (share: number) => BigInt(Math.ceil(Math.min(1, share) * 2 ** 128));
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
    chances = [...chances, 0]
      .slice(0, slots + 1)
      .map(
        (chance, distinct) =>
          (chance * distinct) / slots + (distinct && (chances[distinct - 1] * (slots - distinct + 1)) / slots),
      );
  }
}

/** How well this many reports tell one person from two, for every gamma, as a law. */
export function tracking(asked: Campaign, rounds: number | null, step: number): Law {
  const made = asked.mechanism;
  const reports = rounds ?? LAST_ROUND;
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
  const half = Math.floor(reports / 2);
  const rough = Math.min(1, (half * (reports - half)) / slots);
  if (slots == 1 || reports > MOST_DRAWS) return slots == 1 ? 1 : rough;
  let worst = 0;
  let first = 0;
  for (const chances of occupancies(half, slots)) {
    const cross = chances.reduce(
      (sum, chance, m) => sum - chance * Math.expm1((reports - first) * Math.log1p(-m / slots)),
      0,
    );
    if (first++) worst = Math.max(worst, cross);
  }
  return Math.min(rough, worst * (1 + reports * 2 ** -48));
}
