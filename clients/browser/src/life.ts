/** A client's life in one campaign: its state as it is made, changed and used, and the rounds it may answer. */
import { bytesOf, type Bytes } from "./bytes.js";
import { attending, begins, type Campaign, fraction, LAST_ROUND, lastBegun } from "./campaign.js";
import { answers, drawn, type Entropy, keyAt, moment, type Ratchet } from "./entropy.js";
import { encode } from "./encodings.js";
import { views } from "./load_chunk.js";
import { makeReport, newState, reportBits } from "./mechanisms.js";
import { need } from "./refused.js";
import type { Ledger, Life, State } from "./storage.js";
import { wire } from "./wire.js";

/** Reports stay away from both ends of a round by this part of it. */
const MARGIN = 20;
/** The most rounds in a row that a client may miss. */
const FARTHEST = 2 ** 20;
/** In a crowd, a report is not sent if its time passed more than this many seconds ago. */
const GRACE = 30;

/** A document that was checked before. */
export const parse = (document: string): Campaign => JSON.parse(document);

/** What makes the answers and reports of a campaign: this file's own parts, or a chunk. */
const partsOf = async ({ mechanism }: Campaign) =>
  mechanism.eps_report ? { encode, makeReport, newState, reportBits } : views();

/** The whole number of a person's answer. */
export async function encoded(asked: Campaign, raw: unknown): Promise<bigint> {
  const found = await (await partsOf(asked)).encode(asked.encoding, raw);
  need(typeof found != "string", found as string);
  return found;
}

/** Whether no further round is answered. */
export const over = (life?: Life) => !life || (life[1] !== null && life[2] >= life[1]);
/** The number of rounds that may be answered in all; null if there is no last one. */
export const rounds = ([first, last]: Life) => (last === null ? null : Math.max(0, last - first + 1));

/** The last round that may be answered; null if there is none. */
export const lastOf = (lives: Life[]) =>
  lives.reduce<number | null>((last, [, end]) => (last === null || end === null ? null : Math.max(last, end)), 0);

/** A new state for rounds from `first` on. Its name takes entropy first, then key and mechanism. */
export async function joined(asked: Campaign, value: bigint, first: number, entropy: Entropy): Promise<State> {
  const life = await entropy(16);
  const key = await keyOf(entropy);
  const { newState } = await partsOf(asked);
  const kept = { [String(value)]: await newState(asked.mechanism, value, entropy) };
  return { life, value, kept, key, round: first, fresh: new Uint8Array(), sealed: null };
}

/** The state with another value from now on. The keys get new entropy first. */
export async function changed(asked: Campaign, state: State, value: bigint, entropy: Entropy): Promise<State> {
  need(asked.guarantee.values == "any", "this campaign is about a value that never changes");
  const fresh = await keyOf(entropy);
  const { newState } = await partsOf(asked);
  const made = asked.mechanism;
  const name = String(value);
  const kept = state.kept[name]
    ? state.kept
    : made.when_empty || made.local
      ? { [name]: await newState(made, value, entropy, state.kept[String(state.value)]) }
      : { ...state.kept, [name]: await newState(made, value, entropy) };
  return { ...state, value, kept, fresh };
}

/** The state with the report of a round. The round's key gives its randomness, and is then forgotten. */
export async function answered(asked: Campaign, state: State, { key, round, fresh }: Ratchet): Promise<State> {
  const name = String(state.value);
  const made = asked.mechanism;
  const { makeReport, reportBits } = await partsOf(asked);
  const [report, after] = await makeReport(
    made,
    state.kept[name],
    round,
    drawn(key, "noise", fresh),
    drawn(key, "filler", fresh),
  );
  const body = wire(round, await drawn(key, "nonce", fresh)(16), report, reportBits(made));
  const next = await keyAt({ key, round, fresh }, round + 1);
  return {
    ...state,
    ...next,
    kept: { ...state.kept, [name]: after },
    sealed: { round, body, since: null, tries: 0 },
  };
}

/** The time at which the report of a round is sent, uniform over the round except for its ends. */
export const sendingTime = async (asked: Campaign, key: Ratchet) =>
  begins(asked, key.round) + asked.round_seconds * (1 / MARGIN + (await moment(key)) * (1 - 2 / MARGIN));

/**
 * The time at which a round is answered, or nothing: its secret coin says no; or the time has passed in a crowd,
 * where late reports of several campaigns would leave together, as one person's.
 */
export async function answerTime(asked: Campaign, key: Ratchet, now: number): Promise<number | undefined> {
  if (!(await answers(key, fraction(attending(asked).participation)))) return;
  const time = await sendingTime(asked, key);
  if (!asked.gateway || now <= time + GRACE) return time;
}

const keyOf = async (entropy: Entropy): Promise<Bytes> => new Uint8Array(bytesOf(await entropy(32), 32));

/** Whether a round may be answered: it belongs to this life, and no round from it on was answered. */
export const open = ([first, last, through]: Life, state: State, round: number) =>
  round >= first &&
  round <= (last ?? LAST_ROUND) &&
  round > through &&
  round >= state.round &&
  round - state.round <= FARTHEST;

/** The lives without any further round. Rounds that are answered by chance stay charged once they have begun. */
export const ended = ({ campaign, lives }: Ledger["accounts"][string], now: number): Life[] => {
  const asked = parse(campaign);
  const begun = attending(asked).participation == "1" ? 0 : lastBegun(asked, now);
  return lives.map(([first, last, through], i) => {
    const end = Math.min(last ?? Infinity, Math.max(through, i == lives.length - 1 ? begun : 0));
    return [first, end, Math.max(through, end)];
  });
};
