/** What each mechanism keeps and sends: `Deck`, `InnerProduct` (rnip) and `Bitwise`. */
import { below, type Entropy } from "./entropy.js";
import { lieThreshold } from "./exact.js";

/** Stored reports, or the kept bit; and of a deck, which cards were sent. */
export interface Kept {
  cards: bigint[];
  sent: boolean[];
}

/** Makes a report about a value. */
export type Draw = (value: bigint, entropy: Entropy) => Promise<bigint>;

const SYMBOLS = (made: any) => 1n << BigInt(made.width ?? 1);

/** The probability over 2^64 that a report, or the kept bit, is a lie. */
export const lieOf = (made: any, of: "eps_report" | "eps_state" = "eps_report") =>
  lieThreshold(made[of], SYMBOLS(made));

/** The width of a report in bits. */
export const reportBits = (made: any): number => (made.bits ? made.width * (made.bits + 1) : 1);

export const lies = async (threshold: bigint, entropy: Entropy) => BigInt((await entropy(8)) < threshold);
const odd = (bits: bigint) => BigInt(bits.toString(2).replace(/0/g, "").length % 2);

const replaced = <T>(list: T[], place: number, item: T) => list.map((each, i) => (i == place ? item : each));

/** Makes noisy inner products: random independent vectors, and the value's answer to them, which may be a lie. */
export function innerProducts(made: any): Draw {
  const lie = lieOf(made);
  const width = BigInt(made.width);
  const bits = BigInt(made.bits);
  const symbols = SYMBOLS(made);
  return async (value, entropy) => {
    let report = 0n;
    let answer = 0n;
    let place = 0n;
    const sums = new Set([0n]);
    while (place < width) {
      const vector = (await entropy(Math.ceil(made.bits / 8))) & ((1n << bits) - 1n);
      if (sums.has(vector)) continue;
      if (width > 1) for (const earlier of [...sums]) sums.add(vector ^ earlier);
      report |= vector << (width + bits * place);
      answer |= odd(vector & value) << place++;
    }
    if (await lies(lie, entropy))
      answer = (answer + 1n + (width > 1 ? await below(symbols - 1n, entropy) : 0n)) % symbols;
    return report | answer;
  };
}

/** The secret state of a new client, or a deck with another value: cards that have been sent stay as they are. */
export async function newState(
  made: any,
  value: bigint,
  entropy: Entropy,
  before?: Kept,
  drawOf = innerProducts,
): Promise<Kept> {
  if (made.eps_state) return { cards: [value ^ (await lies(lieOf(made, "eps_state"), entropy))], sent: [] };
  const draw = drawOf(made);
  const cards: bigint[] = [];
  const sent = before?.sent ?? Array(made.when_empty ? made.slots : 0).fill(false);
  for (let i = 0; i < made.slots; i++) cards.push(sent[i] ? before!.cards[i] : await draw(value, entropy));
  return { cards, sent };
}

/** The report of a round. A deck marks its card as sent. Unless cards are replayed, one of value 0 replaces it. */
export async function makeReport(
  made: any,
  { cards, sent }: Kept,
  round: number,
  noise: Entropy,
  filler?: Entropy,
  drawOf = innerProducts,
): Promise<[bigint, Kept]> {
  if (made.eps_state) return [cards[0] ^ (await lies(lieOf(made), noise)), { cards, sent }];
  if (!made.when_empty) return [cards[Number(await below(BigInt(made.slots), noise))], { cards, sent }];
  const slot = (round - 1) % made.slots;
  const report = cards[slot];
  if (filler && made.when_empty == "stop") cards = replaced(cards, slot, await drawOf(made)(0n, filler));
  return [report, { cards, sent: replaced(sent, slot, true) }];
}

/** The last round in which clients can report; infinite if there is none. */
export const lastRound = (made: any): number => (made.when_empty == "stop" ? made.slots : Infinity);
