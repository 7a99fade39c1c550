/** What only campaigns that rely on a crowd need: the keys of the gateway, and the way of reports through a relay. */
import type { Campaign } from "./campaign.js";
import { keys } from "./encoding_check.js";
import type { Post } from "./http.js";
import { whole, within } from "./numbers.js";
import { need, Refused } from "./refused.js";
import { firstRelay, relayPost } from "./relay_post.js";
import { keyConfig, newPair, sealed } from "./sealing.js";
import { webAddress } from "./web_address.js";

/** The largest crowd. */
const MOST_REPORTS = 1e9;
const LAST_ROUND = 2 ** 32 - 1;
/** The longest time from the end of a round to its release, in seconds. */
const LONGEST_DELAY = 30 * 86400;

/** Why a campaign's crowd or its gateway is refused, in words, or nothing. */
export const crowdProblem = (asked: Campaign): Promise<string | undefined> =>
  told(async () => {
    const { guarantee, gateway } = asked;
    const { crowd } = guarantee;
    const relay = gateway!.relay;
    need(
      keys(crowd) == "delta,eps,reports" &&
        within(crowd!.eps, Number.MIN_VALUE, Number.MAX_VALUE) &&
        crowd!.delta > 0 &&
        crowd!.delta < 1 &&
        whole(crowd!.reports, 2, MOST_REPORTS) &&
        keys(gateway) == (relay === undefined ? "keys" : "keys,relay") &&
        (relay === undefined || (keys(relay) == "address,delay" && whole(relay.delay, 0, LONGEST_DELAY))) &&
        Array.isArray(gateway!.keys) &&
        gateway!.keys.length &&
        gateway!.keys.every(
          (key, i, { [i - 1]: before }) =>
            keys(key) == "config,first_round" &&
            whole(key.first_round, i ? before.first_round + 1 : 1, i ? LAST_ROUND : 1),
        ),
      "the campaign is not valid",
    );
    if (relay) webAddress("the relay's address", relay.address);
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

/** The way of reports through the campaign's relay, or the first of these that may be used; or why there is none. */
export const relayed = (asked: Campaign, relays: string[], collector: string): Promise<Post | string> =>
  told(async () => {
    await newPair();
    return relayPost(asked, firstRelay(asked, relays, new URL(collector)));
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
