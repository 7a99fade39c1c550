/** The checks that a client makes once, when it joins. The results are problems in words, or nothing. */
import { parsed } from "./campaign_check.js";
import type { Limits } from "./campaign.js";
import { type Charged, exceeded, unconfirmed } from "./guarantee.js";
import { Refused } from "./refused.js";

/** Why a document is refused: it is not valid, or its declared guarantee cannot be confirmed. */
export function campaignProblem(document: string): string | undefined {
  try {
    const problem = unconfirmed(parsed(document));
    return problem && `the campaign's guarantee cannot be confirmed: ${problem}`;
  } catch (error) {
    return error instanceof Refused ? error.message : "the campaign is not valid";
  }
}

/** Why these campaigns may not all be answered: together they exceed the person's policy. */
export function policyProblem(charged: Charged[], policy: Limits): string | undefined {
  const problem = exceeded(charged, policy);
  return problem && `all campaigns together would exceed the person's policy: ${problem}`;
}
