/** Reports about parts of a value that get noisier with every round. Cards: the value, the last round, its report. */
import type { Entropy } from "./entropy.js";
import { epsAt } from "./fading_law.js";
import type { Kept } from "./mechanisms.js";
import { drawOf } from "./view_reports.js";

/** The value, before any report; or another value, with the last report. */
export const fadedState = (value: bigint, before?: Kept): Kept => ({
  cards: [value, ...(before?.cards.slice(1) ?? [0n, 0n])],
  sent: [],
});

/** The report of a round, with its own eps. One of value 0 replaces it in the state. */
export async function fadedReport(
  made: any,
  { cards, sent }: Kept,
  round: number,
  noise: Entropy,
  filler?: Entropy,
): Promise<[bigint, Kept]> {
  if (cards[1] == BigInt(round)) return [cards[2], { cards, sent }];
  const draw = drawOf({ base: { ...made.local, eps: epsAt(made, round) } });
  const report = await draw(cards[0], noise);
  return [report, { cards: [cards[0], BigInt(round), filler ? await draw(0n, filler) : report], sent }];
}
