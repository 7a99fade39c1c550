/** What only campaigns that rely on a crowd need: their guarantee, and how their reports go through a relay. */
import { type Allowed, type Campaign, LAST_ROUND } from "./campaign.js";
import { keys } from "./encoding_check.js";
import type { Post } from "./http.js";
import { whole, within } from "./numbers.js";
import { need, Refused } from "./refused.js";
import { firstRelay, relayPost } from "./relay_post.js";
import { keyConfig, newPair, sealed } from "./sealing.js";

export { crowdLaw } from "./crowd_law.js";

/** The largest crowd. */
const MOST_PEOPLE = 1e9;

/** Why a campaign's crowd or its gateway is refused, in words, or nothing. */
export const crowdProblem = (asked: Campaign): Promise<string | undefined> =>
  told(async () => {
    const { guarantee, gateway, mechanism } = asked;
    const { crowd } = guarantee;
    need(!mechanism.local, "this client does not know how well a crowd hides reports that fade");
    need(mechanism.when_empty == "stop", "reports of this mechanism can be linked, so a crowd does not hide them");
    need(
      keys(crowd) == "delta,eps,people" &&
        within(crowd!.eps, Number.MIN_VALUE, Number.MAX_VALUE) &&
        crowd!.delta > 0 &&
        crowd!.delta < 1 &&
        whole(crowd!.people, 2, MOST_PEOPLE) &&
        keys(gateway) == "keys" &&
        Array.isArray(gateway!.keys) &&
        gateway!.keys.length &&
        gateway!.keys.every(
          (key, i, { [i - 1]: before }) =>
            keys(key) == "config,first_round" &&
            whole(key.first_round, i ? before.first_round + 1 : 1, i ? LAST_ROUND : 1),
        ),
      "the campaign is not valid",
    );
    await newPair();
    const configs = gateway!.keys.map(key => keyConfig(key.config));
    need(new Set(configs.map(each => each.id)).size == configs.length, "two gateway keys have the same number");
    for (const each of configs) {
      try {
        await sealed(each, []);
      } catch {
        throw new Refused("a gateway key cannot be used");
      }
    }
  }) as Promise<string | undefined>;

/** The way of a campaign's reports through the first relay of a policy that may be used, or why there is none. */
export const relayed = (asked: Campaign, { relays }: Allowed, collector: string): Promise<Post | string> =>
  told(async () => {
    await newPair();
    return relayPost(asked, firstRelay(relays, new URL(collector)));
  }) as Promise<Post | string>;

/** The result of some work, or the words of its refusal. */
async function told<T>(work: () => Promise<T>): Promise<T | string> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof Refused) return error.message;
    throw error;
  }
}
