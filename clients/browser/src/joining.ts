/** What a client does once, when it joins. The results are problems in words, or nothing. */
import { hex, sha256, utf8 } from "./bytes.js";
import { parsed } from "./campaign_check.js";
import { type Allowed, type Campaign, lastBegun } from "./campaign.js";
import { charge, type Charged, exceeded, unconfirmed } from "./guarantee.js";
import { request } from "./http.js";
import { ended, lastOf, parse, rounds } from "./life.js";
import type { crowd, views } from "./load_chunk.js";
import { lastRound } from "./mechanisms.js";
import { need, Refused } from "./refused.js";
import type { Ledger } from "./storage.js";

/** Loaders of the chunks that some campaigns need. */
interface Chunks {
  crowd: typeof crowd;
  views: typeof views;
}

/** A campaign that was checked before, with what a report reveals if a chunk has to say it. */
export async function known(document: string, { views }: Chunks): Promise<Campaign> {
  const asked = parse(document);
  return asked.mechanism.eps_report ? asked : { ...asked, ...(await views()).lawsOf(asked) };
}

/** The campaign's document, if it is the pinned one, and otherwise the problem. */
export async function fetched(
  address: string,
  id: string,
  chunks: Chunks,
): Promise<[document: string, problem?: string]> {
  let document;
  try {
    const found = await request(address);
    need(found.ok, `the collector answers ${found.status} instead of the campaign`);
    document = await found.text();
    need(hex(await sha256(utf8(document))) == id, "the collector's campaign is not the pinned one");
  } catch (error) {
    return ["", error instanceof Refused ? error.message : "the collector cannot be reached"];
  }
  return [document, await campaignProblem(document, chunks)];
}

/** Why a document is refused: it is not valid, or its declared guarantee cannot be confirmed. */
export async function campaignProblem(document: string, chunks: Chunks): Promise<string | undefined> {
  let asked;
  try {
    await parsed(document, chunks.views);
    asked = await known(document, chunks);
  } catch (error) {
    return error instanceof Refused ? error.message : "the campaign is not valid";
  }
  const crowd = asked.gateway && (await chunks.crowd());
  const invalid = await crowd?.crowdProblem(asked);
  if (invalid) return invalid;
  const problem = unconfirmed(asked, crowd?.crowdLaw);
  return problem && `the campaign's guarantee cannot be confirmed: ${problem}`;
}

/** Enter a campaign into the ledger: the first round that is answered, and the problem if it may not be joined. */
export async function entered(
  { accounts, policy }: Ledger,
  id: string,
  document: string,
  now: number,
  address: string,
  chunks: Chunks,
): Promise<[first: number, problem?: string]> {
  const asked = parse(document);
  const account = (accounts[id] ??= { campaign: document, lives: [] });
  account.lives = ended(account, now).filter(life => rounds(life));
  const first = Math.max(lastBegun(asked, now), ...account.lives.map(life => life[2])) + 1;
  const last = Math.min(asked.rounds ?? Infinity, lastRound(asked.mechanism));
  if (first > last) return [first, "the campaign is over: no later round is left"];
  account.lives.push([first, last == Infinity ? null : last, first - 1]);
  const charged: Charged[] = [];
  for (const { campaign, lives } of Object.values(accounts))
    charged.push(charge(await known(campaign, chunks), lives.map(rounds), lastOf(lives)));
  const way = asked.gateway && (await (await chunks.crowd()).relayed(asked, policy!, address));
  return [first, typeof way == "string" ? way : await policyProblem(charged, policy!, chunks)];
}

/** Why these campaigns may not all be answered: together they exceed the person's policy. */
export async function policyProblem(
  charged: Charged[],
  policy: Allowed,
  chunks: Chunks,
): Promise<string | undefined> {
  const crowd = charged.some(({ asked }) => asked.gateway) ? await chunks.crowd() : undefined;
  const problem = exceeded(charged, policy, crowd?.crowdLaw);
  return problem && `all campaigns together would exceed the person's policy: ${problem}`;
}
