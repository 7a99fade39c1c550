/** What a client checks before it joins: that the campaign is the pinned one, and that it fits the person's policy. */
import { hex, sha256, utf8 } from "./bytes.js";
import { begins, type Campaign } from "./campaign.js";
import { request } from "./http.js";
import { need, Refused } from "./refused.js";
import type { Account, Allowed, Ledger } from "./kept.js";

const YEAR = 365 * 86400;
/** The share by which rounding may make a sum larger than it is. */
const FORGIVEN = 1 + 1e-12;

/** The campaign's document, if it is the pinned one. */
export async function fetched(address: string, id: string): Promise<string> {
  let document;
  try {
    const found = await request(address);
    need(found.ok, `the collector answers ${found.status} instead of the campaign`);
    document = await found.text();
  } catch (error) {
    throw error instanceof Refused ? error : new Refused("the collector cannot be reached");
  }
  need(hex(await sha256(utf8(document))) == id, "the collector's campaign is not the pinned one");
  return document;
}

/** The account of a campaign that is joined now. It is refused if it does not fit the policy with all others. */
export function opened({ accounts }: Ledger, policy: Allowed, asked: Campaign): Account {
  const account = {
    eps: asked.guarantee.eps,
    first: asked.first_round,
    end: begins(asked, asked.rounds + 1),
    done: false,
  };
  const others = Object.values(accounts);
  const eps = others.reduce((sum, each) => sum + each.eps, account.eps);
  need(
    eps <= policy.eps * FORGIVEN,
    `the campaign does not fit the person's privacy budget: with all others it needs eps ${eps}, and the policy allows ${policy.eps}`,
  );
  need(
    others.every(({ first, end }) => end <= account.first || account.end <= first),
    "another campaign has or had a turn at the same time, and two would help to recognise the person; " +
      "ask both in one campaign, as a set",
  );
  const most = policy.turns_a_year;
  const starts = [account, ...others].map(({ first }) => first).sort((a, b) => a - b);
  need(
    most && starts.every((first, i) => !(starts[i + most] - first < YEAR)),
    `the policy allows ${most} turns within 365 days (turns_a_year), and this would be one more`,
  );
  return account;
}
