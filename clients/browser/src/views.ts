/**
 * What only campaigns about parts of a value need: many choices, records, and prefixes or means of ordered values.
 * It makes their answers and reports, checks their documents, and says what a report reveals. Problems are words.
 */
import { attending, type Campaign, fraction, LAST_ROUND } from "./campaign.js";
import type { Entropy } from "./entropy.js";
import { keys } from "./encoding_check.js";
import { fadedReport, fadedState } from "./faded.js";
import { epsAt, fadingLaw } from "./fading_law.js";
import { allValues, encodeAll } from "./joint_encodings.js";
import type { Law } from "./loss_law.js";
import * as mechanisms from "./mechanisms.js";
import { whole, within } from "./numbers.js";
import { need, Refused } from "./refused.js";
import { capacity, differing, known, oneReport, valid } from "./view_check.js";
import { drawOf } from "./view_reports.js";

export { reportBits } from "./view_reports.js";

/** The most slots that a client keeps or accounts for. */
const MOST_SLOTS = 1e6;
/** With a smaller eps, a report would be a fair coin. */
const SMALLEST_EPS = 2.2e-19;

const FIELDS: Record<string, string> = {
  dealt: "base,mechanism,slots,when_empty",
  faded: "delta,eps,local,mechanism,power,scale",
};

/** What reports reveal: one of a deck; or all up to a round if they fade, as a deck that has no last card. */
export function lawsOf(asked: Campaign): Partial<Campaign> {
  const made = asked.mechanism;
  if (!made.local) return { one: oneReport(made.base) };
  const found = new Map<number | null, Law>();
  return {
    mechanism: { ...made, slots: Infinity, when_empty: "stop" },
    faded: last => {
      const share = fraction(attending(asked).participation);
      if (!found.has(last)) found.set(last, fadingLaw(made, last ?? Infinity, differing(made.local), share));
      return found.get(last)!;
    },
  };
}

/** The whole number of an answer, or why it is refused. */
export const encode = (encoding: any, raw: unknown): Promise<bigint | string> =>
  encodeAll(encoding, raw).catch(told);

/** Why the encoding or the mechanism of a document is refused, or nothing. */
export function problem({ encoding, mechanism: made, rounds }: Campaign): string | undefined {
  try {
    const values = allValues(encoding);
    const { local, base = local } = made ?? {};
    need(
      keys(made) == FIELDS[made?.mechanism] && known(base) && !(local && base.width > 1),
      "this client does not know the mechanism",
    );
    need(
      valid(base) &&
        (local
          ? within(made.delta, 1e-11, 1) &&
            within(made.eps, Number.MIN_VALUE, Number.MAX_VALUE) &&
            within(made.power, 0.5, 4) &&
            made.power > 0.5 &&
            within(made.scale, SMALLEST_EPS, 40)
          : whole(made.slots, 1, MOST_SLOTS) && /^(stop|replay)$/.test(made.when_empty)),
      "the campaign is not valid",
    );
    need(
      !local || epsAt(made, rounds ?? LAST_ROUND) > SMALLEST_EPS,
      "the campaign has rounds whose reports would be pure noise",
    );
    need(values <= capacity(base), "the mechanism does not take all values");
  } catch (error) {
    return told(error);
  }
}

export const newState = (made: any, value: bigint, entropy: Entropy, before?: mechanisms.Kept) =>
  made.local ? fadedState(value, before) : mechanisms.newState(made, value, entropy, before, drawOf);

export const makeReport = (made: any, kept: mechanisms.Kept, round: number, noise: Entropy, filler?: Entropy) =>
  made.local
    ? fadedReport(made, kept, round, noise, filler)
    : mechanisms.makeReport(made, kept, round, noise, filler, drawOf);

/** The words of a refusal. This file's class of refusals is not the one that pages know. */
function told(error: unknown): string {
  if (error instanceof Refused) return error.message;
  throw error;
}
