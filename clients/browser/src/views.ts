/**
 * What only campaigns need that ask for more, or less, than one value: many choices, records, paths, prefixes or means
 * of ordered values, sets, days of use, and presence. It makes their answers and reports, and checks their documents.
 * Problems are words.
 */
import type { Campaign } from "./campaign.js";
import { allValues, encodeAll } from "./joint_encodings.js";
import { need, Refused } from "./refused.js";
import { capacity, known, valid } from "./view_check.js";

export { answerOfUse } from "./days_of_use.js";
export { path } from "./paths.js";
export { draw, reportBits } from "./view_reports.js";

/** The whole number of an answer, or why it is refused. */
export const encode = (encoding: any, raw: unknown): Promise<bigint | string> =>
  encodeAll(encoding, raw).catch(told);

/** Why the encoding or the base of a document is refused, or nothing. */
export function problem({ encoding, mechanism: { base }, round_seconds }: Campaign): string | undefined {
  try {
    const values = allValues(encoding);
    need(known(base), "this client does not know the mechanism");
    need(valid(base) && !(encoding.looks && round_seconds % encoding.looks), "the campaign is not valid");
    need(values <= capacity(base), "the mechanism does not take all values");
  } catch (error) {
    return told(error);
  }
}

/** The words of a refusal. This file's class of refusals is not the one that pages know. */
function told(error: unknown): string {
  if (error instanceof Refused) return error.message;
  throw error;
}
