/** A client's only turn in a campaign: the round that it draws when it joins, and the report of this round. */
import type { Bytes } from "./bytes.js";
import { begins, type Campaign, fraction } from "./campaign.js";
import { encode } from "./encodings.js";
import { plain } from "./campaign_check.js";
import { below, type Entropy } from "./entropy.js";
import { views } from "./load_chunk.js";
import { draw, reportBits } from "./local_reports.js";
import { need } from "./refused.js";
import { wire } from "./wire.js";

/** Reports stay away from both ends of a round by this part of it. */
const MARGIN = 20;

export interface Turn {
  /** A random name. */
  life: bigint;
  /** The round; 0 without a turn. */
  turn: number;
  /** The position of the sending time in the round, over 2^64. */
  moment: bigint;
}

/** Draw a turn out of all rounds, those that are over included. */
export function drawTurn({ rounds, turns }: Campaign, entropy: Entropy): Turn {
  const life = entropy(16);
  const [one, other] = fraction(turns.share);
  const has = below(other, entropy) < one;
  const turn = 1 + Number(below(BigInt(rounds), entropy));
  return { life, turn: has ? turn : 0, moment: entropy(8) };
}

/** The time at which the report is sent, uniform over the round except for its ends. */
export const sendingTime = (asked: Campaign, { turn, moment }: Turn) =>
  begins(asked, turn) + asked.round_seconds * (1 / MARGIN + (Number(moment) / 2 ** 64) * (1 - 2 / MARGIN));

/** What makes answers and reports: this file's own parts, or a chunk. */
const partsOf = async (asked: Campaign) => (plain(asked) ? { draw, encode, reportBits } : views());

/** The whole number of a person's answer. */
export async function encoded(asked: Campaign, raw: unknown): Promise<bigint> {
  const found = await (await partsOf(asked)).encode(asked.encoding, raw);
  need(typeof found != "string", found as string);
  return found;
}

/** The report of a round in the bytes that are sent. Its noise is drawn first, and then its nonce. */
export async function report(asked: Campaign, round: number, value: bigint, entropy: Entropy): Promise<Bytes> {
  const { draw, reportBits } = await partsOf(asked);
  const { base } = asked.mechanism;
  const drawn = draw(base, value, entropy);
  return wire(round, entropy(16), drawn, reportBits(base));
}
