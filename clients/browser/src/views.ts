/**
 * What only campaigns about parts of a value need: many choices, records, and prefixes or means of ordered values.
 * It makes their answers and reports, checks their documents, and says what a report reveals. Problems are words.
 */
import type { Campaign } from "./campaign.js";
import type { Entropy } from "./entropy.js";
import { keys } from "./encoding_check.js";
import { allValues, encodeAll } from "./joint_encodings.js";
import * as mechanisms from "./mechanisms.js";
import { whole } from "./numbers.js";
import { need, Refused } from "./refused.js";
import { capacity, known, valid } from "./view_check.js";
import { drawOf } from "./view_reports.js";

export { oneReport } from "./view_check.js";
export { reportBits } from "./view_reports.js";

/** The most slots that a client keeps or accounts for. */
const MOST_SLOTS = 1e6;

/** The whole number of an answer, or why it is refused. */
export const encode = (encoding: any, raw: unknown): Promise<bigint | string> =>
  encodeAll(encoding, raw).catch(told);

/** Why the encoding or the mechanism of a document is refused, or nothing. */
export function problem({ encoding, mechanism: made }: Campaign): string | undefined {
  try {
    const values = allValues(encoding);
    need(
      keys(made) == "base,mechanism,slots,when_empty" && made.mechanism == "dealt" && known(made.base),
      "this client does not know the mechanism",
    );
    need(
      valid(made.base) && whole(made.slots, 1, MOST_SLOTS) && /^(stop|replay)$/.test(made.when_empty),
      "the campaign is not valid",
    );
    need(values <= capacity(made.base), "the mechanism does not take all values");
  } catch (error) {
    return told(error);
  }
}

export const newState = (made: any, value: bigint, entropy: Entropy, before?: mechanisms.Kept) =>
  mechanisms.newState(made, value, entropy, before, drawOf);

export const makeReport = (made: any, kept: mechanisms.Kept, round: number, noise: Entropy, filler?: Entropy) =>
  mechanisms.makeReport(made, kept, round, noise, filler, drawOf);

/** The words of a refusal. This file's class of refusals is not the one that pages know. */
function told(error: unknown): string {
  if (error instanceof Refused) return error.message;
  throw error;
}
