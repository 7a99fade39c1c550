/** What a use is counted as: the days of use, or only that somebody is there. */
import type { Campaign } from "./campaign.js";

const DAY = 86400;
const DAYS = 28;

/** The answer that a use at this time gives, and the days of use that it is made of, which are numbered from 1970. */
export function answerOfUse({ encoding }: Campaign, earlier: number[], now: number): [raw: unknown, days?: number[]] {
  if (encoding.type == "presence") return [true];
  const today = Math.floor(now / DAY);
  const days = [...new Set([...earlier.filter(day => day > today - DAYS && day <= today), today])];
  return [days.length, days];
}
