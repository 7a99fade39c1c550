/** The answers in all looks of a round, its equal parts, as one number with the first look in the low bits. */
import { begins, type Campaign, roundAt } from "./campaign.js";
import { bitsOf } from "./joint_encodings.js";
import type { Answers } from "./turn.js";

/** The path of the present round: what is known of earlier looks, and from now on this answer, or else the last one. */
export function path(asked: Campaign, { value, round }: Answers, now: number, answer?: bigint): bigint {
  const { of, looks } = asked.encoding;
  const bits = BigInt(bitsOf(of));
  const everywhere = ((1n << (bits * BigInt(looks))) - 1n) / ((1n << bits) - 1n);
  const last = value === undefined ? answer! : value >> (bits * BigInt(looks - 1));
  const present = roundAt(asked, now);
  const known = round == present ? value! : everywhere * last;
  const over = Math.floor(((now - begins(asked, present)) * looks) / asked.round_seconds);
  const earlier = (1n << (bits * BigInt(over))) - 1n;
  return (known & earlier) | (everywhere * (answer ?? last) & ~earlier);
}
