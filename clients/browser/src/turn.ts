/** A client's only turn in a campaign: the round that it draws when it joins, and the report of this round. */
import type { Bytes } from "./bytes.js";
import { begins, type Campaign, fraction } from "./campaign.js";
import { encode } from "./encodings.js";
import { plain } from "./campaign_check.js";
import { below, drawn, type Entropy, fetchBytes } from "./entropy.js";
import { views } from "./load_chunk.js";
import { draw, reportBits } from "./local_reports.js";
import { told } from "./refused.js";
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
  /** What is shown with the report, if the campaign has ballots. */
  ballot?: Bytes;
}

/** What is kept until the report is made. */
export interface Answers {
  /** The person's answer, or those in all looks of a round. */
  value?: bigint;
  /** With looks: the round of them. */
  round?: number;
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

/**
 * The time from which the report is sent, uniform over the last look of the round except for its ends. If a relay
 * holds reports, it is the start of that look, so that every later visit may send it.
 */
export async function sendingTime(asked: Campaign, { turn, key }: Pick<Turn, "turn" | "key">): Promise<number> {
  const length = asked.round_seconds / (asked.encoding.looks ?? 1);
  if (asked.gateway?.relay) return begins(asked, turn + 1) - length;
  const position = Number(await drawn(key, "moment")(8)) / 2 ** 64;
  return begins(asked, turn + 1) - length * (1 - 1 / MARGIN - position * (1 - 2 / MARGIN));
}

/** What makes answers and reports: this file's own parts, or a chunk. */
const partsOf = async (asked: Campaign) => (plain(asked) ? { draw, encode, reportBits } : views());

/** The whole number of a person's answer; with looks, of all answers in the present round, as far as it is known. */
export async function encoded(asked: Campaign, raw: unknown, now: number, kept: Answers = {}): Promise<bigint> {
  return presentValue(asked, kept, now, told(await (await partsOf(asked)).encode(asked.encoding, raw)));
}

/** The value at a time: with looks, it has the answers of this round's, the last one being this answer if it is given. */
export const presentValue = async (asked: Campaign, kept: Answers, now: number, answer?: bigint): Promise<bigint> =>
  asked.encoding.looks ? (await views()).path(asked, kept, now, answer) : (answer ?? kept.value!);

/** The report about a value, in the bytes that are sent. */
export async function report(asked: Campaign, { turn, key, fresh, ballot }: Turn, value: bigint): Promise<Bytes> {
  const { draw, reportBits } = await partsOf(asked);
  const { base } = asked.mechanism;
  const answer = await draw(base, value, drawn(key, "noise", fresh));
  const nonce = ballot ?? (await fetchBytes(16, drawn(key, "nonce", fresh)));
  return wire(turn, nonce, answer, reportBits(base));
}
