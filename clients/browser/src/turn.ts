/** A client's only turn in a campaign: the round that it draws when it joins, and the report of this round. */
import type { Bytes } from "./bytes.js";
import { begins, type Campaign, fraction } from "./campaign.js";
import { encode } from "./encodings.js";
import { plain } from "./campaign_check.js";
import { below, drawn, type Entropy, fetchBytes } from "./entropy.js";
import { views } from "./load_chunk.js";
import { draw, reportBits } from "./local_reports.js";
import { need } from "./refused.js";
import { wire } from "./wire.js";

/** Reports stay away from both ends of a round by this part of it. */
const MARGIN = 20;

/** The secret of a turn that lies ahead. */
export interface Turn {
  /** A random name. */
  life: bigint;
  /** All randomness follows from it, so that a copied state sends the same bytes, which are counted once. */
  key: Bytes;
  /** Drawn when the answer last changed, so that another answer has other noise. */
  fresh: Bytes;
  /** The round; 0 without a turn. */
  turn: number;
}

/** Draw a turn out of all rounds, those that are over included. */
export async function drawTurn({ rounds, turns }: Campaign, entropy: Entropy): Promise<Turn> {
  const life = await entropy(16);
  const key = await fetchBytes(32, entropy);
  const [one, other] = fraction(turns.share);
  const source = drawn(key, "turn");
  const has = (await below(other, source)) < one;
  const turn = 1 + Number(await below(BigInt(rounds), source));
  return { life, key, fresh: new Uint8Array(), turn: has ? turn : 0 };
}

/** The time at which the report is sent, uniform over the round except for its ends. */
export const sendingTime = async (asked: Campaign, { turn, key }: Turn) =>
  begins(asked, turn) +
  asked.round_seconds * (1 / MARGIN + (Number(await drawn(key, "moment")(8)) / 2 ** 64) * (1 - 2 / MARGIN));

/** What makes answers and reports: this file's own parts, or a chunk. */
const partsOf = async (asked: Campaign) => (plain(asked) ? { draw, encode, reportBits } : views());

/** The whole number of a person's answer. */
export async function encoded(asked: Campaign, raw: unknown): Promise<bigint> {
  const found = await (await partsOf(asked)).encode(asked.encoding, raw);
  need(typeof found != "string", found as string);
  return found;
}

/** The report about a value, in the bytes that are sent. */
export async function report(asked: Campaign, { turn, key, fresh }: Turn, value: bigint): Promise<Bytes> {
  const { draw, reportBits } = await partsOf(asked);
  const { base } = asked.mechanism;
  const answer = await draw(base, value, drawn(key, "noise", fresh));
  return wire(turn, await drawn(key, "nonce", fresh)(16), answer, reportBits(base));
}
